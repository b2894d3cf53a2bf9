"""Several shards that evaluate one program together: routing, minimal shipping, rounds."""
