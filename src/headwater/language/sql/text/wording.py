"""Findings of later stages in the words of SQL.

Checks speak of relations and rules. An SQL user wrote views and their parts, and never saw the relations that stand for
subqueries and groups: these are named after the view that needs them, with a mark (`r'rows`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from headwater.core.diagnostics import Diagnostic

_QUOTED = re.compile(r"`([^`]*'[^`]*)`")
_BARE = re.compile(r"(?<![\w`'])([^\W\d]\w*(?:'(?!s\b)\w+)+)")  # but not an English genitive
_KINDS = {
    **dict.fromkeys(("rows", "borrowed", "any", "value", "values"), "a subquery of `{}`"),
    **dict.fromkeys(("part", "left", "right", "join", "match"), "a part of `{}`"),
    **dict.fromkeys(("set", "levels", "inside", "beyond"), "`{}`"),
    **dict.fromkeys(("step", "needs", "got", "sure", "cycle"), "the search for cycles in `{}`"),
    "groups": "an aggregate of `{}`",
    **dict.fromkeys(("lateral", "many"), "a subquery of `{}`"),
    "window": "a window function of `{}`",
    "places": "a generator of `{}`",
}
UNION_ALL = ("bag", "set", "refuse")
"""What UNION ALL in a recursion means: a bag, and a set while the data has a cycle; a set; a bag, and a cycle is an
error."""
_RULES = (
    ("the rules for `", "the parts of `"),
    ("the rule for `", "the part of `"),
    ("in every rule", "in every part"),
    ("recursive relation", "recursive view"),
    ("by another rule", "by another part"),
)
_HINTS = {
    "HW402": "cast one side: CAST(... AS DOUBLE), or CAST(... AS STRING)",
    "HW407": "cast one part: CAST(... AS DOUBLE), or CAST(... AS STRING)",
    "HW501": "read the finished view from outside: write a second view, or the last SELECT, with NOT IN or NOT EXISTS",
    "HW502": "aggregate over the finished view, in a second view or in the last SELECT; min and max may stay inside",
    "HW504": "inside the recursion it may only stand in the column that keeps it (min() AS cost), as it is or in "
    "+, greatest and least of columns that are NOT NULL; use it from outside",
    "HW505": "keep one best column: min() AS cost; select what else is needed over the finished view",
}

TOO_DEEP = Diagnostic(
    "HW106",
    "an expression of this text is too long",
    hint="name a part of it with WITH; write many comparisons with one column as IN (...)",
)


def in_sql(diagnostic: Diagnostic) -> Diagnostic:
    """The finding without names that are not in the text."""
    return replace(
        diagnostic,
        message=_spoken(diagnostic.message),
        note=None if diagnostic.note is None else _spoken(diagnostic.note),
        hint=_HINTS.get(diagnostic.code) or (None if diagnostic.hint is None else _spoken(diagnostic.hint)),
    )


def _spoken(text: str) -> str:
    for rule, part in _RULES:
        text = text.replace(rule, part)
    text = re.sub(r"the part of `([^`]*'[^`]*)`", lambda one: _phrase(one[1]), text)
    return _BARE.sub(lambda one: _phrase(one[1]), _QUOTED.sub(lambda one: _phrase(one[1]), text))


def _phrase(name: str) -> str:
    """What a relation stands for: `r'groups'rows_2` is a subquery of `r`."""
    owner, *helpers = name.split("'")
    if not owner or not helpers or not helpers[-1]:
        return f"`{name}`"
    kind = re.sub(r"_?\d+$", "", helpers[-1])
    if not kind:
        return f"`{owner[:1].lower()}{owner[1:]}`"  # a variable for what a column is computed as
    return _KINDS[kind].format(owner) if kind in _KINDS else f"`{helpers[-1]}`"
