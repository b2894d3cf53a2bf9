"""The functions that rules may call."""
