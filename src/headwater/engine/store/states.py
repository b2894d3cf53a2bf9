"""The states of a stored row, as values of its stamp.

A positive stamp is the round in which the row came alive. A ghost gave way to a better row of its group: readers do not
see it, but witnesses may name it.

| from | to | who | when |
|---|---|---|---|
| not stored | alive | `Store.append`, `Store.merge`, the join kernels | a row comes that was never there |
| alive | alive | `Store.restamp`, `Store.restamp_all` | its round is numbered again; it is no other row |
| alive | gone | `Store.set_state` from `Shard` and `Clock` | a base row is deleted, or its lease is over |
| alive, ghost | marked | `mark_children`, `mark_descendants`, `StratumRun` | its witness names a row that is lost |
| marked | alive | the pulls of `StratumRun`, by a kernel or by `Store.merge` | another derivation is found |
| marked | gone | `StratumRun.bury` | none is found |
| alive | ghost | `select`, the frontier kernels, `StratumRun` for aggregates | a better row takes its place |
| ghost | alive | `Store.merge`, the join kernels | it is offered again, and is best again |
| ghost | gone | `StratumRun.drop_ghosts`, `Clock`, `compact` | no witness can name it any more |
| gone | alive | `Store.merge`, the join kernels | it comes back, under the number it had |
| any | what it was | `Store.restore` | the transaction is undone; appended rows stay as gone |
"""

from __future__ import annotations

GONE = 0
MARKED = -1
GHOST = -2
BASE = -1  # the rule number of a row that came from outside: inserted by the user, or sent by another shard
EVER = 2**31 - 1  # newer than every round: "all rows that are alive"
RENUMBER_FROM = 2**30  # the round from which on a transaction numbers them anew, so that one has as many again to go
