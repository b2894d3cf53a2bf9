"""Rules over batches of rows: joins and tests step by step, and the compiled loops that do several steps at once."""
