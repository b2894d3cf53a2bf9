"""Many small nodes that maintain one view together over links that take their time (000)."""
