"""DataFrames and files on their way to the shards."""
