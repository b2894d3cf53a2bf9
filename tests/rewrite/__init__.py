"""Tests of the rewrites: text in, text out, and the same answers before and after."""
