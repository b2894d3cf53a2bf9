"""Rows on one node: tables, joins, terms and aggregates."""
