"""Networks to try programs on: topologies and sensor fields, the same for the same seed."""
