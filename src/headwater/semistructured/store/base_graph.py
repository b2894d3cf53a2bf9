"""The objects of a store as a graph to be written as documents, and found by JSON Pointers."""

from __future__ import annotations

from typing import Any

from headwater.core.errors import DataError
from headwater.semistructured.output.rendering import ITEM
from headwater.semistructured.reading.python_values import TimeText
from headwater.semistructured.schema import ATOM, EDGE, TIME
from headwater.semistructured.store.contents import HOLLOW, StoredObjects, value_of


class BaseGraph:
    """Edges, values and empty arrays, as the store has them now; times are texts, unless they are to be told apart."""

    __slots__ = ("_contents", "_times")

    def __init__(self, contents: StoredObjects, *, times: bool = False) -> None:
        self._contents, self._times = contents, times

    def children(self, oids: list[Any]) -> dict[Any, list[tuple[str, Any, int]]]:
        found: dict[Any, list[tuple[str, Any, int]]] = {}
        for parent, label, child, place in self._contents.rows(EDGE, 0, oids):
            found.setdefault(parent, []).append((label, child, place))
        return found

    def values(self, oids: list[Any]) -> dict[Any, Any]:
        return {
            oid: TimeText(text) if self._times and kind == TIME else value_of(kind, text)
            for oid, kind, text, _ in self._contents.rows(ATOM, 0, oids)
        }

    def hollow(self, oids: list[Any]) -> dict[Any, list[str]]:
        found: dict[Any, list[str]] = {}
        for parent, label in self._contents.rows(HOLLOW, 0, oids):
            found.setdefault(parent, []).append(label)
        return found

    def at_pointer(self, root: int, pointer: str) -> int:
        """The object that a JSON Pointer (RFC 6901) leads to. An array that is a member is no object of its own."""
        if pointer and not pointer.startswith("/"):
            raise DataError(f"error[HW821]: a JSON Pointer is empty or begins with `/`, not {pointer!r}")
        here, waiting = root, None  # the label of an array whose item is to be chosen
        for part in pointer.split("/")[1:]:
            label = part.replace("~1", "/").replace("~0", "~")
            edges = self.children([here]).get(here, [])
            if waiting is None and any(edge[0] == ITEM for edge in edges):
                waiting = ITEM
            if waiting is not None:
                chosen = [child for name, child, place in edges if name == waiting and str(place) == label]
                waiting = None
            else:
                own = [(child, place) for name, child, place in edges if name == label]
                if own and (len(own) > 1 or own[0][1] >= 0):
                    waiting = label
                    continue
                chosen = [child for child, _ in own]
            if len(chosen) != 1:
                raise DataError(f"error[HW821]: nothing is at {pointer!r}: there is no `{label}`")
            here = chosen[0]
        if waiting is not None:
            raise DataError(f"error[HW821]: {pointer!r} is an array, which has no id of its own; name an item")
        return here
