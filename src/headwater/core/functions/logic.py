"""Comparisons and logic as functions, with three truth values: true, false and null for "not known".

Goals compare; these functions give the answer as a value, for a condition inside a term, as in SQL's CASE. A
comparison with a null is null. `all_true` is false as soon as one part is, `any_true` is true as soon as one part is,
whatever the others are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from headwater.core.functions.registry import Function
from headwater.core.types import Type
from headwater.core.widening import wider

_BOOL = Type.BOOL


def alike(types: tuple[Type | None, ...]) -> Type | None:
    """The type that holds every argument whose type is known: float beside int, address beside string."""
    found: Type | None = None
    for kind in types:
        found = wider(found, kind) or found  # what goes with nothing else is an error that is told elsewhere
    return found


def _all_true(*parts: bool | None) -> bool | None:
    if any(part is False for part in parts):
        return False
    return None if None in parts else True


def _any_true(*parts: bool | None) -> bool | None:
    if any(part is True for part in parts):
        return True
    return None if None in parts else False


def _never(_: tuple[bool, ...]) -> bool:
    return False


def _compared(name: str, compare: Callable[[Any, Any], bool], doc: str) -> Function:
    return Function(name, (None, None), _BOOL, compare, doc=doc, grows=False, alike=0)


def _chosen(test: bool | None, yes: Any, no: Any) -> Any:
    return yes if test is True else no


LOGIC = (
    _compared("is_equal", operator.eq, "both are the same value; null if one is null"),
    _compared("is_unequal", operator.ne, "they are different values; null if one is null"),
    _compared("is_less", operator.lt, "the first comes before the second; null if one is null"),
    _compared("is_at_most", operator.le, "the first does not come after the second; null if one is null"),
    _compared("is_more", operator.gt, "the first comes after the second; null if one is null"),
    _compared("is_at_least", operator.ge, "the first does not come before the second; null if one is null"),
    Function(
        "is_same",
        (None, None),
        _BOOL,
        operator.eq,
        doc="both are the same value, or both null",
        grows=False,
        sees_nulls=True,
        nullable=_never,
        alike=0,
    ),
    Function(
        "all_true",
        (_BOOL,),
        _BOOL,
        _all_true,
        variadic=True,
        doc="every part is true; null if that is not known",
        grows=False,
        sees_nulls=True,
    ),
    Function(
        "any_true",
        (_BOOL,),
        _BOOL,
        _any_true,
        variadic=True,
        doc="some part is true; null if that is not known",
        grows=False,
        sees_nulls=True,
    ),
    Function("negated", (_BOOL,), _BOOL, operator.not_, doc="true for false, false for true", grows=False),
    Function(
        "if",
        (_BOOL, None, None),
        None,
        _chosen,
        doc="the second where the first is true, else the third",
        typing=lambda types: alike(types[1:]),
        grows=False,
        sees_nulls=True,
        nullable=lambda nulls: nulls[1] or nulls[2],
        alike=1,
    ),
)
