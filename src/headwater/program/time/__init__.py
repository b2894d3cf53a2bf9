"""Time: clocks, windows, leases, and negation over streams."""
