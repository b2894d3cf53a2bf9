"""Types: of columns, variables, calls and literals, and where nulls can be."""
