"""Cheap functions of texts over whole columns: lists of Python values in, codes out, every new text interned once.

Looking for equal arguments costs more than calling such a function again, so it is called for every row (see
`benchmarks/sql.md`: paths of 100,000 names take a third of the time). What one of its rows cannot do, such as a text
that gets too long, is left to the caller, which goes row by row and knows what to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from headwater.core.errors import EvaluationError
from headwater.core.functions.sizes import LONGEST_TEXT
from headwater.core.types import Type
from headwater.engine.codes.symbols import Codes, Symbols, decode
from headwater.engine.codes.term_values import Value

_CHEAP = frozenset(
    {"left", "lower", "lpad", "ltrim", "position", "replace", "right", "rpad", "rtrim", "substring", "trim", "upper"}
    | {"concat", "length", "to_string", "try_to_string"}
)


def _concat(columns: list[list[str]]) -> list[str]:
    if len(columns) == 2:
        return [one + other for one, other in zip(*columns, strict=True)]
    return list(map("".join, zip(*columns, strict=True)))


_OF_COLUMNS: Mapping[str, Callable[[list[list[str]]], list[str]]] = MappingProxyType({"concat": _concat})
_OF_INTS: Mapping[str, Callable[[Any], str]] = MappingProxyType({"to_string": str, "try_to_string": str})


def at_once(name: str, result: Type, body: Callable[..., Any], args: list[Value], symbols: Symbols) -> Codes | None:
    """The codes of a call for every row; None if it has to be made row by row. No argument is null."""
    if name not in _CHEAP or result not in (Type.STRING, Type.INT):
        return None
    columns = [decode(arg.codes, arg.type, symbols, nullable=False) for arg in args]
    kinds = {arg.type for arg in args}
    if kinds == {Type.STRING} and name in _OF_COLUMNS:
        answers: list[Any] = _OF_COLUMNS[name](columns)
    elif kinds == {Type.INT} and name in _OF_INTS:
        answers = list(map(_OF_INTS[name], columns[0]))
    else:
        try:
            answers = list(map(body, *columns))
        except (TypeError, ValueError, OverflowError, EvaluationError):
            return None
    return _codes(answers, result, symbols)


def _codes(answers: list[Any], result: Type, symbols: Symbols) -> Codes | None:
    if result is Type.INT:
        whole = set(map(type, answers)) <= {int}
        return np.array(answers, dtype=np.int64) if whole else None
    if set(map(type, answers)) - {str} or max(map(len, answers), default=0) > LONGEST_TEXT:
        return None
    once = list(dict.fromkeys(answers))
    numbers = symbols.numbers(once)
    if len(once) < len(answers):
        known = dict(zip(once, numbers, strict=True))
        numbers = [known[answer] for answer in answers]
    return np.array(numbers, dtype=np.int64)
