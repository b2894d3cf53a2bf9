"""Values and their codes: how a value becomes a number of a column, and terms worked out over columns of codes."""
