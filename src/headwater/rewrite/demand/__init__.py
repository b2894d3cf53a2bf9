"""The rewrites that derive only what is asked for: which columns are bound, how demand spreads, the rules for it."""
