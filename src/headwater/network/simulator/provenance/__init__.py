"""Annotations of rows, kept by nodes and sent between them."""
