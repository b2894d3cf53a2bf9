"""Where rows enter and leave a shard: users' rows in, answers out, and a shard as a file."""
