"""Text to syntax tree: one grammar for plain Datalog, NDlog and Streamlog."""
