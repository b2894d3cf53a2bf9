"""Queries of any shape as rules."""
