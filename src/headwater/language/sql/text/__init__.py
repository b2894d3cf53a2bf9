"""SQL text as parsed queries and statements, with the place of everything in it."""
