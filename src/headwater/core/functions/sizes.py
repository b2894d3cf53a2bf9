"""How large a single value may get: a bound on what functions make, checked before any of it is made.

Without it one row could ask for a text of 10^10 letters, and a recursion that joins a text with itself would fill the
memory within forty rounds, long before any guard on rows sees it.
"""

from __future__ import annotations

from typing import Any

from headwater.core.errors import EvaluationError

LONGEST_TEXT = 2**24  # letters
MOST_ITEMS = 2**18  # of a list, those of lists inside it counted


def check_text(function: str, letters: int) -> None:
    """Raises EvaluationError if a function would make a text of so many letters."""
    if letters > LONGEST_TEXT:
        raise EvaluationError(
            f"`{function}` would make a text of {letters:,} letters; a text may have {LONGEST_TEXT:,}. "
            "Bound its arguments in the rule, or remove the rows that need it"
        )


def check_size(function: str, value: Any) -> None:
    """Raises EvaluationError if what a function made is too large: the next call might double it."""
    kind = type(value)
    if kind is str:
        if len(value) > LONGEST_TEXT:
            check_text(function, len(value))
    elif kind is tuple and _exceeds(value, MOST_ITEMS):
        raise EvaluationError(
            f"`{function}` made a list of more than {MOST_ITEMS:,} items, those of lists inside it counted. "
            "Bound its arguments in the rule, or remove the rows that need it"
        )


def _exceeds(items: tuple[Any, ...], most: int) -> bool:
    """Whether a list has more items than this; lists inside it are looked at only as far as needed."""
    count = len(items)
    if count > most:
        return True
    inside = [item for item in items if type(item) is tuple]
    while inside:
        part = inside.pop()
        count += len(part)
        if count > most:
            return True
        inside += [item for item in part if type(item) is tuple]
    return False
