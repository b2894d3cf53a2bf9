"""Syntax tree to checked program: names, types, safety, strata, termination and network rules."""
