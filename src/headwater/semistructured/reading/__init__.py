"""Documents in: JSON text, Python values, Arrow tables and OEM text as flat arrays of nodes."""
