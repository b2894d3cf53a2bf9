"""The rows of one table as flat arrays: witnesses, indexes, leases, and the journal that undoes changes."""
