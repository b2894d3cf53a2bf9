"""A function that rules may call: its types, and what it makes of values.

A function is total or partial: where it has no value (the first of an empty list, a division by zero) it returns None,
and the goal that called it does not hold. Every function may also be written with the prefix `f_`, as in NDlog;
`lookup` takes either spelling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from headwater.core.types import Type
from headwater.core.widening import item_of

ResultType: TypeAlias = Callable[[tuple[Type | None, ...]], Type | None]


@dataclass(frozen=True, slots=True)
class Function:
    """`scalar` takes Python values (lists are tuples); `arrays`, for user functions, takes Arrow arrays.

    `params` are the types asked for, None where any type will do (FLOAT takes an int too); with
    `variadic` the last one repeats. `also` lists other argument counts that are accepted.
    `result` is the type given back; None means "the type of the first argument", unless `typing`
    works it out from the types of the arguments.
    `output_first` marks functions that may stand as a goal `f(Result, Argument, ...)`.
    `grows`: calling it again and again can make ever new values.
    A null argument gives null without a call, unless the function `sees_nulls`: then a None it returns is null, too.
    `nullable` works out from the arguments that may be null whether the result may be null.
    The arguments from place `alike` on must be comparable with each other.
    The argument at place `pattern` is a regular expression.
    """

    name: str
    params: tuple[Type | None, ...]
    result: Type | None
    scalar: Callable[..., Any] | None = None
    doc: str = ""
    arrays: Callable[..., Any] | None = None
    variadic: bool = False
    also: tuple[int, ...] = ()
    typing: ResultType | None = None
    output_first: bool = False
    grows: bool = True
    sees_nulls: bool = False
    nullable: Callable[[tuple[bool, ...]], bool] = any
    alike: int | None = None
    pattern: int | None = None

    def accepts(self, count: int) -> bool:
        """Whether it can be called with `count` arguments."""
        return count == len(self.params) or (self.variadic and count >= len(self.params)) or count in self.also

    def parameter(self, index: int) -> Type | None:
        """The type asked for at position `index`."""
        return self.params[min(index, len(self.params) - 1)] if self.params else None

    def result_type(self, arguments: tuple[Type | None, ...]) -> Type | None:
        """The type given back for arguments of these types; None: not known before run time."""
        if self.typing is not None:
            return self.typing(arguments)
        if self.result is not None:
            return self.result
        return arguments[0] if arguments else None

    @property
    def is_condition(self) -> bool:
        """Whether it may stand as a goal of its own: it answers yes or no."""
        return self.result is Type.BOOL

    @property
    def is_goal(self) -> bool:
        return self.is_condition or self.output_first

    def of_values(self, *values: Any) -> Any:
        """What it gives for single values."""
        if self.scalar is not None:
            return self.scalar(*values)
        if self.arrays is None:
            return None
        import pyarrow as pa  # late: importing headwater must stay quick

        answer = self.arrays(*(pa.array([value]) for value in values)).to_pylist()[0]
        return tuple(answer) if isinstance(answer, list) else answer


Registry: TypeAlias = Mapping[str, Function]


def lookup(registry: Registry, name: str) -> Function | None:
    """The function called `name`, with or without NDlog's prefix `f_`."""
    found = registry.get(name)
    if found is None and name.startswith("f_"):
        found = registry.get(name[2:])
    return found


def plain(
    name: str, params: tuple[Type | None, ...], result: Type | None, scalar: Callable[..., Any], doc: str, **more: Any
) -> Function:
    """A function that, unless it says so, cannot make ever new values from its own results."""
    return Function(name, params, result, scalar, doc, **{"grows": False, **more})


def partial(
    name: str, params: tuple[Type | None, ...], result: Type | None, scalar: Callable[..., Any], doc: str, **more: Any
) -> Function:
    """A function with SQL's convention: null where an argument is null or there is no value."""

    def total(*values: Any) -> Any:
        if None in values:
            return None
        try:
            found = scalar(*values)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            return None
        return None if isinstance(found, float) and not math.isfinite(found) else found

    return plain(name, params, result, total, doc, sees_nulls=True, nullable=lambda _: True, **more)


def item_type(types: tuple[Type | None, ...]) -> Type | None:
    """The type of an item of the first argument, a list."""
    return item_of(types[0])
