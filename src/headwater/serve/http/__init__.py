"""The HTTP interface of a live database. The page is one of its clients."""
