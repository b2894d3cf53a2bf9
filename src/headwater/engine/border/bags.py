"""Bags kept in sets: equal rows of a table differ in the number of the copy, in a hidden last column.

The copies of a row are numbered from 0 without gaps. An insert adds copies behind the last one, a delete takes the last
ones away; a row that is deleted more often than it is there is gone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.expressions import distinct_rows
from headwater.engine.codes.symbols import Codes
from headwater.engine.store.index import Matrix
from headwater.engine.store.states import GONE
from headwater.engine.store.store import Store
from headwater.plan.model import Table


def number_copies(stores: Mapping[str, Store], inserts: dict[str, Codes], deletes: dict[str, Codes]) -> None:
    """Rows of tables that may hold equal rows get the numbers of their copies; other rows stay as they are."""
    for name in {*inserts, *deletes}:
        store = stores[name]
        if store.table.hidden:
            nothing = np.zeros((0, store.width - 1), dtype=np.int64)
            inserts[name], deletes[name] = numbered(store, inserts.get(name, nothing), deletes.get(name, nothing))


def numbered(store: Store, inserts: Codes, deletes: Codes) -> tuple[Codes, Codes]:
    """Rows without their copy numbers, as rows with them: those to insert and those to delete."""
    distinct, inverse = distinct_rows(np.concatenate([inserts, deletes]))
    coming, going = inverse[: inserts.shape[0]], inverse[inserts.shape[0] :]
    there = _counts(store, distinct)
    gone = np.minimum(there, np.bincount(going, minlength=distinct.shape[0]))
    added = (there - gone)[coming] + _ranks(coming)
    taken = there[going] - 1 - _ranks(going)
    kept = taken >= 0
    return _with_number(inserts, added), _with_number(deletes[kept], taken[kept])


def net(table: Table, inserted: Matrix, deleted: Matrix) -> tuple[Matrix, Matrix]:
    """Changes of a bag as it looks: a row that came and went as often is no change."""
    columns = [column.at for column in table.written if column.at is not None]
    both = np.concatenate([inserted[:, columns], deleted[:, columns]]).astype(np.int64)
    distinct, inverse = distinct_rows(np.ascontiguousarray(both))
    came, went = inverse[: inserted.shape[0]], inverse[inserted.shape[0] :]
    size = distinct.shape[0]
    cancelled = np.minimum(np.bincount(came, minlength=size), np.bincount(went, minlength=size))
    return inserted[_ranks(came) >= cancelled[came]], deleted[_ranks(went) >= cancelled[went]]


def _counts(store: Store, rows: Codes) -> npt.NDArray[np.int64]:
    """How many copies of each row are there."""
    counts = np.zeros(rows.shape[0], dtype=np.int64)
    left = np.arange(rows.shape[0])
    number = 0
    while left.size and store.size:
        found = store.find(_with_number(rows[left], np.full(left.size, number, dtype=np.int64)))
        left = left[(found >= 0) & (store.stamp[np.maximum(found, 0)] > GONE)]
        number += 1
        counts[left] = number
    return counts


def _ranks(groups: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """For each item, how many items of its group stand before it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    first = np.ones(ordered.size, dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.maximum.accumulate(np.where(first, np.arange(ordered.size), 0))
    ranks = np.empty(ordered.size, dtype=np.int64)
    ranks[order] = np.arange(ordered.size) - starts
    return ranks


def _with_number(rows: Codes, numbers: npt.NDArray[np.int64]) -> Codes:
    return np.concatenate([rows, numbers.reshape(-1, 1)], axis=1)
