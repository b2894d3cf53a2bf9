"""Checked program -> checked program with the same answers: `rules.py` is the ordered list of rewrites."""
