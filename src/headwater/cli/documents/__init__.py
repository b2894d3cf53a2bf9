"""Commands over documents: views of Lorel, and the guide of a store."""
