"""The states of a stored row, as values of its stamp.

A positive stamp is the round in which the row came alive. A ghost was superseded by a better row of its
group: nobody sees it, but proofs may rest on it.
"""

from __future__ import annotations

GONE = 0
MARKED = -1
GHOST = -2
BASE = -1  # the rule number of a row that came from outside: inserted by the user, or sent by another shard
EVER = 2**31 - 1  # newer than every round: "all rows that are alive"
RENUMBER_FROM = 2**30  # the round from which on a transaction numbers them anew, so that one has as many again to go
