"""The embedded handle as a demanding user meets it."""
