"""The rows of one table as flat arrays: proofs, indexes, leases, and the journal that undoes changes."""
