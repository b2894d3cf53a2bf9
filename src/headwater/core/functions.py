"""The functions a rule may call, with their types: built in, and registered by the user.

A function is total or partial: where it has no value (the first of an empty list, a division by
zero) it returns None, and the goal that called it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.core.types import Type


@dataclass(frozen=True, slots=True)
class Function:
    """`scalar` takes Python values (lists are tuples); `arrays`, for user functions, takes Arrow arrays.

    `params` are the types asked for, None where any type will do; with `variadic` the last one repeats.
    `result` is the type given back; None means "the type of the first argument".
    """

    name: str
    params: tuple[Type | None, ...]
    result: Type | None
    scalar: Callable[..., Any] | None = None
    arrays: Callable[..., Any] | None = None
    variadic: bool = False
    doc: str = ""


Registry = Mapping[str, Function]
