"""Shards on Spark's workers: how many, how they exchange rows, and who runs them."""
