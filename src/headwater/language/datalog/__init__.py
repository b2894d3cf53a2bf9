"""Datalog text to a syntax tree, and back to text."""
