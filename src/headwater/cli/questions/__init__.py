"""Commands that ask about rows: why they are there, and what would be."""
