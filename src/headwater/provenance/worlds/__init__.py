"""All rows of all possible worlds: what would hold without some facts."""
