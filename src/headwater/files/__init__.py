"""Rows in files: csv, jsonl and parquet, in and out. Bad rows are set aside with the line they stand in."""
