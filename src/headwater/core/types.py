"""The types of columns and of expressions.

`None` stands for "not known yet" wherever a `Type | None` is asked for: a base relation without a
declaration takes its types from the first data it gets.

A list has the type of its items: `list<int>`, `list<list<string>>`. A list that was written item by item, with items of
different types, has one type per item: `list<int, string>`. Where neither is so, its items are of type `any`. Bare
`list` is a list whose items are not known yet.

There is one object per type, so types compare by `is`; `Type("list<int>")` finds or makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

_DEEPEST = 4  # a recursion may nest lists without end: what is inside deeper ones counts as `any`
_MOST_BRACKETS = 100
_WIDEST = 8  # longer lists of different items are lists of `any`


class Type:
    """`items` is the type of a list's items, None if it is not known; `parts` are the types of items one by one."""

    __slots__ = ("has_floats", "is_list", "is_symbolic", "items", "parts", "value")

    INT: ClassVar[Type]
    FLOAT: ClassVar[Type]
    STRING: ClassVar[Type]
    BOOL: ClassVar[Type]
    TIMESTAMP: ClassVar[Type]
    DATE: ClassVar[Type]
    DURATION: ClassVar[Type]
    LIST: ClassVar[Type]
    ADDRESS: ClassVar[Type]
    ANY: ClassVar[Type]

    value: str
    items: Type | None
    parts: tuple[Type | None, ...]
    is_list: bool
    is_symbolic: bool  # its values are kept in a table of symbols: texts, lists, values of any type
    has_floats: bool  # a list in which floats stand, so that an int among its items is one

    def __new__(cls, value: str) -> Type:
        found = _MADE.get(value)
        return _parsed(value) if found is None else found

    def __repr__(self) -> str:
        return f"Type({self.value!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Type, (self.value,)

    @property
    def is_numeric(self) -> bool:
        return self in (Type.INT, Type.FLOAT)

    @property
    def is_moment(self) -> bool:
        """Whether its values are moments: a date is the one at which its day begins, in UTC."""
        return self in (Type.TIMESTAMP, Type.DATE)

    @property
    def is_known(self) -> bool:
        """Whether also the items of a list are known."""
        if self.parts:
            return all(part is not None and part.is_known for part in self.parts)
        return not self.is_list or (self.items is not None and self.items.is_known)

    @property
    def holds_any(self) -> bool:
        """Whether it is `any`, or a list in which such values stand."""
        return self is Type.ANY or any(part is not None and part.holds_any for part in (self.items, *self.parts))

    @property
    def is_mixed(self) -> bool:
        """Whether values of several types may stand in it, at one place."""
        if self.parts:
            return any(part is None or part.is_mixed for part in self.parts)
        if self.is_list:
            return self.items is None or self.items.is_mixed
        return self is Type.ANY

    def part(self, at: int) -> Type | None:
        """The type of the item at a position; None: not known, or no such item."""
        if self.parts:
            return self.parts[at] if -len(self.parts) <= at < len(self.parts) else None
        return self.items


_MADE: dict[str, Type] = {}


def _made(value: str, items: Type | None = None, parts: tuple[Type | None, ...] = ()) -> Type:
    found = _MADE.get(value)
    if found is None:
        found = object.__new__(Type)
        found.value, found.items, found.parts = value, items, parts
        found.is_list = value.startswith("list")
        found.is_symbolic = found.is_list or value in ("string", "address", "any")
        inside = [part for part in (items, *parts) if part is not None]
        found.has_floats = any(part.value == "float" or part.has_floats for part in inside)
        found = _MADE.setdefault(value, found)
    return found


Type.INT, Type.FLOAT, Type.STRING, Type.BOOL = map(_made, ("int", "float", "string", "bool"))
Type.TIMESTAMP, Type.DATE, Type.DURATION = map(_made, ("timestamp", "date", "duration"))
Type.ADDRESS, Type.ANY, Type.LIST = map(_made, ("address", "any", "list"))
_VALUES = (Type.INT, Type.FLOAT, Type.STRING, Type.BOOL, Type.TIMESTAMP, Type.DATE, Type.DURATION)
SCALARS = (*_VALUES, Type.ADDRESS, Type.ANY)
ONE_WORD = (*_VALUES, Type.LIST, Type.ADDRESS, Type.ANY)
"""Every type but those that say what a list holds."""


def list_of(items: Type | None) -> Type:
    """The type of a list of such items."""
    if items is None:
        return Type.LIST
    return _made(f"list<{items.value}>", items) if _depth(items) < _DEEPEST else _made("list<any>", Type.ANY)


def list_with(parts: Iterable[Type | None]) -> Type:
    """The type of a list that was written item by item."""
    given = tuple(parts)
    if not given or (len(set(given)) == 1 and (given[0] is not None or len(given) == 1)):
        return list_of(given[0] if given else None)
    if len(given) > _WIDEST or max(_depth(part) for part in given) >= _DEEPEST:
        return list_of(Type.ANY)
    return _with(given)


def _with(parts: tuple[Type | None, ...]) -> Type:
    return _made(f"list<{', '.join('?' if part is None else part.value for part in parts)}>", None, parts)


def _depth(kind: Type | None) -> int:
    if kind is None or not kind.is_list:
        return 0
    return 1 + max((_depth(part) for part in (kind.parts or (kind.items,))), default=0)


def _parsed(text: str) -> Type:
    if not isinstance(text, str) or text.count("<") > _MOST_BRACKETS:  # as a damaged file may have it
        raise ValueError(f"there is no type {text!r:.60}")
    kind, rest = _parse(text.replace(" ", ""))
    if rest or kind is None:
        raise ValueError(f"there is no type {text!r}")
    return kind


def _parse(text: str) -> tuple[Type | None, str]:
    """The type that a text starts with, and what follows it."""
    if text.startswith("?"):
        return None, text[1:]
    if text.startswith("list<"):
        parts: list[Type | None] = []
        rest = "," + text[len("list<") :]
        while rest.startswith(","):
            part, rest = _parse(rest[1:])
            parts.append(part)
        if not rest.startswith(">"):
            raise ValueError(f"there is no type {text!r}")
        return list_named(parts), rest[1:]
    size = next((at for at, letter in enumerate(text) if letter in ",<>"), len(text))
    found = _MADE.get(text[:size])
    if found is None:
        raise ValueError(f"there is no type {text!r}")
    return found, text[size:]


def list_named(parts: Iterable[Type | None]) -> Type:
    """The type written `list<...>` with these between its brackets."""
    given = tuple(parts)
    if len(given) > 1:
        return _with(given)
    return Type.LIST if given[0] is None else _made(f"list<{given[0].value}>", given[0])
