"""The functions that the generated programs call, for Python values; None where there is no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.oracle.program import Value


def concat_path(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    """Two paths end to end; a node that ends the one and begins the other is named once."""
    if left and right and left[-1] == right[0]:
        return left + right[1:]
    return left + right


FUNCTIONS: Mapping[str, Callable[..., Value | None]] = {
    "f_concatPath": concat_path,
    "concatPath": concat_path,
    "f_inPath": lambda path, node: node in path,
    "inPath": lambda path, node: node in path,
    "member": lambda item, items: item in items,
    "length": lambda items: len(items),
    "first": lambda items: items[0] if items else None,
    "last": lambda items: items[-1] if items else None,
    "abs": abs,
    "smaller": min,
}
