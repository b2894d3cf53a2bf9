"""Tests of plans: text in, text out."""
