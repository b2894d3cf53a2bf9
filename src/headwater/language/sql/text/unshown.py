"""Columns that Headwater adds to a query for its own use: no `*` shows them.

Their names end in a quote. So may the names of a user's columns (`DATE '2024-02-27'` is one), so a column is told by
its whole name.
"""

from __future__ import annotations

import re

STEPS = "steps'"  # how many steps led to a row: SEARCH BREADTH FIRST counts them
_UNSHOWN = re.compile(rf"asked\d+'|{STEPS}")


def asked_name(number: int) -> str:
    """The name of a column that a subquery borrows from the query around it."""
    return f"asked{number}'"


def is_unshown(name: str) -> bool:
    return _UNSHOWN.fullmatch(name) is not None
