"""The page and its HTTP interface: a database that many browsers and programs look at while it changes.

`live/` is the database with its last transactions, owned by one thread. `http/` answers requests about it. `page/` is
what a browser loads: a client of the same interface as any other. `follow/` brings in changes from files that
grow, from folders and from the checkpoint of a query on Spark.

Why Starlette and uvicorn, and a page of our own: they are 3 MB with everything that they need, and every header, cookie
and byte that a request may bring is decided in `http/guard.py`. NiceGUI would bring a grid, charts and 40 packages,
keeps state per browser in the server, and asks for inline scripts, which our content security policy forbids. The
page is plain ES modules without a build step; graphs and proofs are SVG that it draws itself.

The engine knows nothing of this package, and only this package imports the web library.
"""
