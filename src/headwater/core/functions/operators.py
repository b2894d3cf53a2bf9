"""What the operators of rules mean on single values: comparisons and arithmetic.

`/` always gives a float, and a division by zero has no value. An int beside a float counts as a float, and so do both
sides of `/`, as in SQL: ints beyond 2**53 lose digits there. A bool is not a number. Nulls are up to the caller.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod}
)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def calculated(op: str, left: Any, right: Any) -> float | None:
    """The result for two numbers; None where there is none."""
    if not is_number(left) or not is_number(right) or (right == 0 and op in "/%"):
        return None
    result: float = ARITHMETIC[op](*((float(left), float(right)) if op == "/" else (left, right)))
    return result


def compared(op: str, left: Any, right: Any) -> bool:
    """Whether the comparison holds for two values that are not null."""
    if isinstance(left, float) != isinstance(right, float) and is_number(left) and is_number(right):
        left, right = float(left), float(right)
    return bool(COMPARE[op](left, right))
