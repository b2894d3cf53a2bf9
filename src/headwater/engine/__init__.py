"""Plan and changes to changes, for one shard: relations as flat arrays, semi-naive rounds, witnesses."""
