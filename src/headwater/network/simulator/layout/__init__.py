"""The plan as all nodes share it: stages, places, and how long base rows live."""
