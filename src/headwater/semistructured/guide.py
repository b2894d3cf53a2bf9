"""The DataGuide of a store: every label path that leads somewhere, with the number and kinds of objects at its end.

It is maintained: once it has been asked for, a document that is put or removed changes the counts of its own paths.
After updates of single edges, and in stores with shared objects, it is counted anew when it is asked for: there a path
leads to each object once, and a path that leads to the same objects as a shorter one ends there, so that cycles end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DataError
from headwater.semistructured.reading.nodes import KIND_NAMES, Ints
from headwater.semistructured.schema import ATOM, EDGE
from headwater.semistructured.store.contents import StoredObjects

Path = tuple[str, ...]
COMPLEX_KIND = "object"
_MOST_PATHS = 100_000


@dataclass(frozen=True, slots=True)
class GuidePath:
    """One path of a guide: its labels, the objects that it leads to by kind, and the path that it repeats, if any."""

    labels: Path
    kinds: dict[str, int]
    same_as: Path | None = None

    @property
    def count(self) -> int:
        return sum(self.kinds.values())

    def __str__(self) -> str:
        return ".".join(self.labels)


class GuideCounts:
    """Objects by path and kind."""

    def __init__(self) -> None:
        self._counts: dict[Path, Counter[str]] = {}

    def add(self, found: dict[Path, Counter[str]], sign: int = 1) -> None:
        """Count the objects of some documents in, or out."""
        for path, kinds in found.items():
            own = self._counts.setdefault(path, Counter())
            for kind, count in kinds.items():
                own[kind] += sign * count
                if not own[kind]:
                    del own[kind]
            if not own:
                del self._counts[path]

    def paths(self) -> list[GuidePath]:
        return [GuidePath(path, dict(kinds)) for path, kinds in sorted(self._counts.items())]


def tree_paths(
    name: str,
    parent: npt.NDArray[np.integer[Any]],
    label: Ints,
    kind: Ints,
    labels: dict[int, str],
    kinds: dict[int, str],
) -> dict[Path, Counter[str]]:
    """The paths of documents as flat arrays, parents before children; labels and kinds are numbers with names."""
    paths: list[Path] = [(name,)]
    number = np.zeros(parent.size, dtype=np.int64)
    level = np.flatnonzero(parent < 0)
    order = np.argsort(parent, kind="stable")
    begins = np.searchsorted(parent[order], np.arange(parent.size + 1))
    while level.size:
        counts = begins[level + 1] - begins[level]
        ends = np.cumsum(counts)
        within = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
        level = order[np.repeat(begins[level], counts) + within]
        if not level.size:
            break
        steps = np.column_stack([number[parent[level]], label[level]])
        distinct, which = np.unique(steps, axis=0, return_inverse=True)
        number[level] = len(paths) + which.reshape(-1)
        paths += [(*paths[above], labels[step]) for above, step in distinct.tolist()]
    found: dict[Path, Counter[str]] = {}
    pairs, sizes = np.unique(np.column_stack([number, kind]), axis=0, return_counts=True)
    for (path, one), count in zip(pairs.tolist(), sizes.tolist(), strict=True):
        found.setdefault(paths[path], Counter())[kinds[one]] += count
    return found


NODE_KINDS = {at: COMPLEX_KIND if at == 0 else KIND_NAMES[at].as_py() for at in range(len(KIND_NAMES))}


def graph_paths(contents: StoredObjects, names: dict[str, list[int]]) -> list[GuidePath]:
    """The paths of any graph, each object once on a path; one that leads to the same objects as another ends there."""
    found: list[GuidePath] = []
    seen: dict[frozenset[int], Path] = {}
    waiting: list[tuple[Path, frozenset[int]]] = [((name,), frozenset(oids)) for name, oids in names.items()]
    while waiting:
        path, oids = waiting.pop(0)
        if len(found) >= _MOST_PATHS:
            raise DataError(f"error[HW823]: the store has more than {_MOST_PATHS:,} label paths")
        atoms = {row[0]: row[1] for row in contents.rows(ATOM, 0, oids)}
        kinds = Counter(atoms.get(oid, COMPLEX_KIND) for oid in oids)
        same = seen.setdefault(oids, path) if kinds[COMPLEX_KIND] else path
        found.append(GuidePath(path, dict(kinds), None if same == path else same))
        if same != path:
            continue
        below: dict[str, set[int]] = {}
        for _, label, child, _ in contents.rows(EDGE, 0, oids):
            below.setdefault(label, set()).add(child)
        waiting += [((*path, label), frozenset(below[label])) for label in sorted(below)]
    return sorted(found, key=lambda one: one.labels)


__all__ = ["NODE_KINDS", "GuideCounts", "GuidePath", "graph_paths", "tree_paths"]
