"""Objects that nothing leads to any more.

In OEM an object is there as long as a name leads to it. A store holds such objects only. So when edges go, only what
they led to can have become garbage, and of that everything that no object from elsewhere, and no name, still leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

import numpy as np

from headwater.semistructured.schema import EDGE, NAME
from headwater.semistructured.store.contents import StoredObjects

Edge: TypeAlias = tuple[int, str, int, int]


def unreachable(
    contents: StoredObjects,
    suspects: Iterable[int],
    deleted: Collection[Edge] = (),
    inserted: Collection[Edge] = (),
    named: Iterable[int] = (),
    unnamed: Collection[tuple[str, int]] = (),
) -> set[int]:
    """Of these objects and all that they lead to, those that will be garbage after the change."""
    gone = set(deleted)
    below: dict[int, list[int]] = {}
    for parent, _, child, _ in inserted:
        below.setdefault(parent, []).append(child)
    level = set(suspects)
    found = set(level)
    inner: dict[int, list[int]] = {}
    while level:
        after: set[int] = set()
        for row in contents.rows(EDGE, 0, level):
            if row not in gone:
                inner.setdefault(row[0], []).append(row[2])
        for parent in level:
            inner.setdefault(parent, []).extend(below.get(parent, ()))
            after.update(child for child in inner[parent] if child not in found)
        found |= after
        level = after
    held: set[int] = set()
    if inserted or not contents.is_tree:  # else only what is deleted leads to them; 001, section 3.3.2, has a subquery
        held |= {row[2] for row in contents.rows(EDGE, 2, found) if row[0] not in found and row not in gone}
        held |= {row[1] for row in contents.rows(NAME, 1, found) if (row[0], row[1]) not in unnamed}
    held |= {child for parent, _, child, _ in inserted if child in found and parent not in found}
    held |= found & set(named)
    stack = list(held)
    while stack:
        for child in inner.get(stack.pop(), ()):
            if child not in held:
                held.add(child)
                stack.append(child)
    return found - held


def has_outside_parents(contents: StoredObjects, gone: np.ndarray, inside: np.ndarray) -> bool:
    """Whether an edge from elsewhere leads to one of these objects."""
    _, rows = contents.codes(EDGE, 2, gone)
    return bool(np.setdiff1d(rows[:, 0], inside).size)
