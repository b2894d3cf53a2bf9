"""Whether the changes of a store can matter to any view, from the labels, names and objects that they touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.semistructured.schema import ATOM, EDGE, NAME
from headwater.semistructured.store.contents import Ints, StoredObjects
from headwater.semistructured.views.updates.sight import ViewSight


def is_seen(sight: ViewSight, contents: StoredObjects, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> bool:
    """Whether a view may see one of these changes. The store is as it was before them."""
    for changes in (insert, delete):
        if sight.sees_edges(_distinct(changes.get(EDGE, ()), 1)):
            return True
        if not sight.names.isdisjoint(_distinct(changes.get(NAME, ()), 0)):
            return True
    oids = np.unique(np.concatenate([_oids(changes.get(ATOM, ())) for changes in (insert, delete)]))
    return bool(oids.size) and _sees_values(sight, contents, oids)


def _sees_values(sight: ViewSight, contents: StoredObjects, oids: Ints) -> bool:
    """Whether the value of one of these objects may matter. What leads to a new object is a new edge."""
    if not sight.values.isdisjoint(oids.tolist() if sight.values else ()):
        return True
    words = contents.words
    _, edges = contents.codes(EDGE, 2, oids)
    if sight.sees_values(words[code] for code in np.unique(edges[:, 1]).tolist()):
        return True
    if not sight.named_values:
        return False
    _, named = contents.codes(NAME, 1, oids)
    return not sight.named_values.isdisjoint(words[code] for code in np.unique(named[:, 0]).tolist())


def _distinct(rows: Any, column: int) -> Iterable[str]:
    if isinstance(rows, pa.Table):
        found: list[str] = rows.column(column).unique().to_pylist()
        return found
    return {row[column] for row in rows}


def _oids(rows: Any) -> Ints:
    if isinstance(rows, pa.Table):
        return np.asarray(rows.column(0), dtype=np.int64)
    return np.fromiter((row[0] for row in rows), dtype=np.int64)
