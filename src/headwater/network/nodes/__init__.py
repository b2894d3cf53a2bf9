"""Nodes that run the rules themselves and talk along links, in simulated time. The face is `headwater.network`."""
