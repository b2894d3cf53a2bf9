"""Recursion: strata, monotone aggregates, stages, termination."""
