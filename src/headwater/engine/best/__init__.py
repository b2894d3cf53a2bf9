"""Tables that keep only the best rows of each group."""
