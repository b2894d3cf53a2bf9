"""Messages as bytes, and the links that carry them."""
