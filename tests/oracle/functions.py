"""The functions that the generated programs call, for Python values; NOTHING where there is no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.oracle.terms import Value


def concat_path(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    """Two paths end to end; a node that ends the one and begins the other is named once."""
    if left and right and left[-1] == right[0]:
        return left + right[1:]
    return left + right


NOTHING = object()
"""What a term is that has no value: the first of an empty list, a quotient by zero. Null (None) is a value."""

ABOUT_NULLS: Mapping[str, Callable[..., Value]] = {
    "is_null": lambda value: value is None,
    "is_not_null": lambda value: value is not None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
}
"""Functions that are called with nulls; any other gives null for one."""

FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "f_concatPath": concat_path,
    "concatPath": concat_path,
    "f_inPath": lambda path, node: node in path,
    "inPath": lambda path, node: node in path,
    "member": lambda item, items: item in items,
    "length": lambda items: len(items),
    "first": lambda items: items[0] if items else NOTHING,
    "last": lambda items: items[-1] if items else NOTHING,
    "nth": lambda items, at: items[at] if 0 <= at < len(items) else NOTHING,
    "rest": lambda items: items[1:] if items else NOTHING,
    "reverse": lambda items: items[::-1],
    "append": lambda items, item: (*items, item),
    "concat": lambda *parts: sum(parts, ()),
    "abs": abs,
    "smaller": min,
}
