"""Gives back the lists, proofs and facts that no row needs any more: most paths that nodes try are dropped again.

A list (a path, most often) is a symbol, of which there is one for all nodes; a proof is a set of facts with a number.
Both are needed while a table or a message under way names them. Now and then, when their number has grown by a quarter,
those that are named are marked, and all others are forgotten; their numbers are given to others. That a fact is dead is
known to nodes until no proof and no notice under way names it: nobody can hear of it again.

Guarantees: what is held follows what tables and messages have, and not how often links have failed. The network behaves
as if nothing were ever forgotten: the same messages, the same bytes.

The record of a view's changes names lists too, mostly paths that were replaced by better ones. A list of names that
nothing else names is moved there (see `report.RecordedLists`), where it takes a tenth of the memory.

Only lists are forgotten: names of nodes and the constants of rules stay.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.symbols import Codes
from headwater.engine.reading import GONE, Matrix
from headwater.network.nodes.post import MessageBatch
from headwater.network.nodes.report import SimulationReport
from headwater.network.nodes.work import NodeWork

_WORTH_IT = 2048
_WORTH_IT_AT_REST = 256
_LIST, _NAME, _VALUE = 140, 8, 120  # bytes of a list, and for each of its items, with all that finds it
_NUMBER = 12  # bytes of a number, also of one that is free

Marks = npt.NDArray[np.bool_]


class SymbolReclaimer:
    """Forgets what nothing names, between two moments of a simulation."""

    def __init__(self, nodes: NodeWork, report: SimulationReport) -> None:
        self._nodes, self._report = nodes, report
        self._tables = nodes.tables
        self._first = len(self._tables.symbols)  # of symbols that rules may name
        self._last = (0, 0, 0)  # so many lists, proofs and facts there were the last time

    @property
    def is_due(self) -> bool:
        """Whether there are a quarter more than last time."""
        return self._has_grown(4, _WORTH_IT)

    @property
    def pays_at_rest(self) -> bool:
        """Whether it pays to look again when the network is quiet."""
        return self._has_grown(32, _WORTH_IT_AT_REST)

    def _has_grown(self, part: int, least: int) -> bool:
        return any(now > last + last // part + least for now, last in zip(self._held(), self._last, strict=True))

    def _held(self) -> tuple[int, int, int]:
        proofs = self._nodes.proofs
        lists = self._tables.symbols.held
        return (lists, 0, 0) if proofs is None else (lists, proofs.numbers.held, proofs.told.held)

    def reclaim(self, batches: Iterable[list[MessageBatch]], noticed: Iterable[int]) -> None:
        """Forget all that no table, no record and none of these batches and notices, under way or held, names."""
        under_way = [batch for some in batches for batch in some]
        self._forget_lists(under_way)
        self._forget_proofs(under_way, noticed)
        self._last = self._held()

    def _forget_lists(self, under_way: list[MessageBatch]) -> None:
        symbols = self._tables.symbols
        named = np.zeros(len(symbols), dtype=np.bool_)
        named[: self._first] = True
        stores = self._tables.shard.stores
        for store in stores.values():
            there = store.stamp[: store.size] != GONE
            _mark(named, store.data[: store.size], store.table.types, there)
        for batch in under_way:
            _mark(named, batch.rows, stores[self._tables.program.boxes[batch.box].outbox].table.types)
        for view, rows in self._report.recorded():
            self._move(rows, _list_columns(stores[view].table.types), named)
        unnamed = [at for at in np.flatnonzero(~named).tolist() if type(symbols.values[at]) is tuple]
        symbols.forget(unnamed)
        self._nodes.sorter.sizes.forget(np.array(unnamed, dtype=np.intp))

    def _move(self, rows: Codes, columns: list[int], named: Marks) -> None:
        """Move lists of names that only these recorded rows name; all others that they name are marked."""
        symbols, lists = self._tables.symbols, self._report.lists
        for at in columns:
            codes = rows[:, at]
            here = codes >= 0
            recorded = np.unique(codes[here])
            places = np.arange(len(symbols), dtype=np.int64)
            for code in recorded[~named[recorded]].tolist():
                value = symbols.values[code]
                if type(value) is tuple and all(type(item) is str for item in value):
                    places[code] = lists.add(map(symbols.find, value))
                else:
                    named[code] = True
            rows[here, at] = places[codes[here]]

    def recalled(self, view: str, rows: Codes) -> Codes:
        """Recorded rows of a view with codes for all their lists."""
        symbols, lists = self._tables.symbols, self._report.lists
        found = rows.copy()
        for at in _list_columns(self._tables.shard.stores[view].table.types):
            for row in np.flatnonzero(found[:, at] < 0).tolist():
                names = [symbols.values[item] for item in lists.items(int(found[row, at]))]
                found[row, at] = symbols.number(tuple(names))
        return found

    def _forget_proofs(self, under_way: list[MessageBatch], noticed: Iterable[int]) -> None:
        proofs = self._nodes.proofs
        if proofs is None:
            return
        named = np.zeros(len(proofs.numbers.proofs), dtype=np.bool_)
        for box in proofs.boxes:
            for table in (box.inbox, box.sent):
                assert table is not None
                store = self._tables.shard.stores[table]
                named[store.data[: store.size, -1][store.stamp[: store.size] != GONE]] = True
        for batch in under_way:
            if batch.proofs is not None:
                named[batch.proofs] = True
        proofs.numbers.forget(named)
        proofs.forget_facts(noticed)

    @property
    def nbytes(self) -> int:
        """About how many bytes the lists take that are held."""
        values = self._tables.symbols.values[self._first :]
        lists = [value for value in values if type(value) is tuple]
        held = sum(_LIST + len(value) * (_NAME if _is_named(value) else _VALUE) for value in lists)
        return held + _NUMBER * len(values) + self._nodes.sorter.sizes.nbytes


def _is_named(value: tuple[object, ...]) -> bool:
    return not value or type(value[0]) is str


def _mark(named: Marks, rows: Matrix, types: tuple[Type, ...], there: Marks | None = None) -> None:
    for at in _list_columns(types):
        named[rows[:, at] if there is None else rows[there, at]] = True


def _list_columns(types: tuple[Type, ...]) -> list[int]:
    """The columns that can have lists in them."""
    return [
        at for at, kind in enumerate(types) if kind.is_symbolic and kind is not Type.STRING and kind is not Type.ADDRESS
    ]
