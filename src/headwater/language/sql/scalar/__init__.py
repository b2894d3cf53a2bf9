"""Scalar expressions of SQL as terms."""
