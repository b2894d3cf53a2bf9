"""Which types go together: what holds values of both, what one variable may stand for, what fits into what.

A value of type `any` goes with everything: whether it fits is found when it is there. `None` is a type that is not
known yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.core.types import Type, list_of, list_with

_TEXT = (Type.STRING, Type.ADDRESS)


def wider(left: Type | None, right: Type | None) -> Type | None:
    """The type of a column that gets both, or None if nothing holds both (or nothing is known)."""
    if left is None or right is None or left is right:
        return left or right
    if Type.ANY in (left, right):
        return Type.ANY
    if left.is_numeric and right.is_numeric:
        return Type.FLOAT
    if left in _TEXT and right in _TEXT:
        return Type.ADDRESS
    if left.is_moment and right.is_moment:
        return Type.TIMESTAMP
    if left.is_list and right.is_list:
        if left.parts and len(left.parts) == len(right.parts):
            return list_with(_beside(one, other) for one, other in zip(left.parts, right.parts, strict=True))
        return list_of(_beside(item_of(left), item_of(right)))
    return None


def _beside(left: Type | None, right: Type | None) -> Type | None:
    """The type of items that are of both types."""
    found = wider(left, right)
    return Type.ANY if found is None and left is not None and right is not None else found


def widest(kinds: Iterable[Type | None]) -> Type | None:
    """The type of items of all these types: `any` if nothing else holds them; None if none is known."""
    found: Type | None = None
    for kind in kinds:
        found = _beside(found, kind)
    return found


def item_of(kind: Type | None) -> Type | None:
    """The type of what leaves a list at a position that is not known."""
    if kind is None or kind is Type.ANY:
        return kind
    return widest(kind.parts) if kind.parts else kind.items


def same(left: Type | None, right: Type | None) -> bool:
    """Whether one variable may stand for both: also string beside address, date beside timestamp, all beside `any`."""
    if left is None or right is None or left is right or Type.ANY in (left, right):
        return True
    if left.is_list and right.is_list:
        return _all_pairs(same, left, right)
    return (left in _TEXT and right in _TEXT) or (left.is_moment and right.is_moment)


def narrower(left: Type | None, right: Type | None) -> Type | None:
    """The type of a variable that stands for both (see `same`)."""
    if left is None or left is Type.ANY:
        return left if right is None else right
    if right is None or right is Type.ANY:
        return left
    if left.is_list and right.is_list and left is not right and same(left, right):
        if left.parts or right.parts:
            return list_with(narrower(one, other) for one, other in _paired(left, right))
        return list_of(narrower(left.items, right.items))
    return wider(left, right) or left


def comparable(left: Type | None, right: Type | None) -> bool:
    return same(left, right) or wider(left, right) is not None


def flows(value: Type | None, column: Type | None) -> bool:
    """Whether a value of one type may be put into a column of another: ints are widened, `any` is looked at then."""
    if value is not None and column is not None and value.is_list and column.is_list:
        return _all_pairs(flows, value, column)
    if value is Type.TIMESTAMP and column is Type.DATE:
        return False
    return same(value, column) or (value is Type.INT and column is Type.FLOAT)


def keeps(column: Type, value: Type) -> bool:
    """Whether every value of one type is one of the other as it is: nothing to convert, nothing to refuse."""
    if column is value or (column in _TEXT and value in _TEXT) or (column is Type.TIMESTAMP and value is Type.DATE):
        return True
    if column is Type.ANY:
        return value.is_symbolic
    return column.is_list and value.is_list and _all_pairs(_keeps_item, column, value)


def _keeps_item(column: Type | None, value: Type | None) -> bool:
    """The same inside a list, where values of all types stand side by side."""
    return column in (None, Type.ANY) or (value is not None and keeps(column, value))


def _all_pairs(test: Callable[[Type | None, Type | None], bool], left: Type, right: Type) -> bool:
    """Whether two lists can be equally long, and a test holds for the items at each place."""
    if left.parts and right.parts and len(left.parts) != len(right.parts):
        return False
    return all(test(one, other) for one, other in _paired(left, right))


def _paired(left: Type, right: Type) -> list[tuple[Type | None, Type | None]]:
    """The types of items that stand at the same place of two lists."""
    count = len(left.parts or right.parts)
    return [(left.part(at), right.part(at)) for at in range(count)] or [(left.items, right.items)]
