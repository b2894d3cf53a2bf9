"""Where rows enter and leave a shard: users' rows in, answers out, and a shard as a file.

Others import its modules one by one. The package itself exports nothing: a shard encodes rows with `codec`, and
`snapshot` reads shards, so names of both in one place would import each other in a circle.
"""
