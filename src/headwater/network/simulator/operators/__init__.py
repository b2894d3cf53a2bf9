"""The operators of 000: Fixpoint, MinShip, and aggregate selection."""
