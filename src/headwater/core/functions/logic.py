"""Comparisons and logic as functions, with three truth values: true, false and null for "not known".

Goals compare; these functions give the answer as a value, for a condition inside a term, as in SQL's CASE. A
comparison with a null is null. `all_true` is false as soon as one part is, `any_true` is true as soon as one part is,
whatever the others are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from headwater.core.functions.function import plain
from headwater.core.types import Type
from headwater.core.widening import wider

_BOOL = Type.BOOL


def alike(types: tuple[Type | None, ...]) -> Type | None:
    """The type that holds every argument whose type is known: float beside int, address beside string."""
    found: Type | None = None
    for kind in types:
        found = wider(found, kind) or found  # what goes with nothing else is reported elsewhere
    return found


def _all_true(*parts: bool | None) -> bool | None:
    if any(part is False for part in parts):
        return False
    return None if None in parts else True


def _any_true(*parts: bool | None) -> bool | None:
    if any(part is True for part in parts):
        return True
    return None if None in parts else False


def never(_: tuple[bool, ...]) -> bool:
    """For `nullable`: a null is never given back."""
    return False


def of_present(choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    """A choice among the arguments that are not null; null where all of them are."""

    def chosen(*values: Any) -> Any:
        present = [value for value in values if value is not None]
        return choose(present) if present else None

    return chosen


OF_PRESENT: Mapping[str, Any] = MappingProxyType(
    {"variadic": True, "typing": alike, "sees_nulls": True, "nullable": all, "alike": 0}
)
"""What is true of every function made by `of_present`."""


def _chosen(test: bool | None, yes: Any, no: Any) -> Any:
    return yes if test is True else no


_PAIR, _PARTS = ((None, None), _BOOL), ((_BOOL,), _BOOL)
_SEEING_PARTS: Mapping[str, Any] = {"variadic": True, "sees_nulls": True}

LOGIC = (
    plain("is_equal", *_PAIR, operator.eq, "true if both are equal; null if one is null", alike=0),
    plain("is_unequal", *_PAIR, operator.ne, "true if they differ; null if one is null", alike=0),
    plain("is_less", *_PAIR, operator.lt, "true if the first is smaller; null if one is null", alike=0),
    plain("is_at_most", *_PAIR, operator.le, "true if the first is not larger; null if one is null", alike=0),
    plain("is_more", *_PAIR, operator.gt, "true if the first is larger; null if one is null", alike=0),
    plain("is_at_least", *_PAIR, operator.ge, "true if the first is not smaller; null if one is null", alike=0),
    plain(
        "is_same",
        *_PAIR,
        operator.eq,
        "true if both are equal, or both are null",
        sees_nulls=True,
        nullable=never,
        alike=0,
    ),
    plain("all_true", *_PARTS, _all_true, "AND: true if every argument is true; null if unknown", **_SEEING_PARTS),
    plain("any_true", *_PARTS, _any_true, "OR: true if an argument is true; null if unknown", **_SEEING_PARTS),
    plain("negated", *_PARTS, operator.not_, "NOT: true for false, false for true"),
    plain(
        "if",
        (_BOOL, None, None),
        None,
        _chosen,
        "the second if the first is true, else the third",
        typing=lambda types: alike(types[1:]),
        sees_nulls=True,
        nullable=lambda nulls: nulls[1] or nulls[2],
        alike=1,
    ),
)
