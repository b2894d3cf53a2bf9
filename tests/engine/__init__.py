"""The engine held against the oracle: maintained must equal recomputed after every transaction."""
