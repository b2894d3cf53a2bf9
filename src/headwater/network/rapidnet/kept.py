"""The rows of stored tables, node by node: which row a key has, when it expires, which one is the oldest.

Changes are collected (`store`, `delete`, `expire`, `forget`) and taken as one net change of the tables, so that a row
that is replaced twice, or stored again as it is, is no change but in its age.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headwater.engine.codes.symbols import Codes
from headwater.network.rapidnet.model import StoredTable

Row = tuple[int, ...]  # codes


@dataclass(slots=True)
class _Kept:
    row: Row
    expires: int | None  # tick


@dataclass(slots=True)
class KeptRows:
    """All rows of the tables that actions write to, and of given tables with a limit."""

    tables: Mapping[str, StoredTable]
    _rows: dict[tuple[str, int], dict[Row, _Kept]] = field(default_factory=dict)  # by table and node; oldest first
    _before: dict[tuple[str, int, Row], Row | None] = field(default_factory=dict)  # of keys that were touched
    _due: list[tuple[int, str, int, Row]] = field(default_factory=list)

    def store(self, table: str, node: int, row: Row, expires: int | None) -> None:
        """Put a row in the place of the one with its key; beyond the table's size, the oldest goes."""
        key = self._key(table, row)
        held = self._rows.setdefault((table, node), {})
        before = held.pop(key, None)
        self._touch(table, node, key, before)
        held[key] = _Kept(row, expires)
        if expires is not None:
            heapq.heappush(self._due, (expires, table, node, key))
        size = self.tables[table].size
        if size is not None and len(held) > size:
            self._drop(table, node, next(iter(held)))

    def delete(self, table: str, node: int, row: Row, *, exact: bool = False) -> None:
        """Delete the row with this one's key; if `exact`, only if it is this one."""
        key = self._key(table, row)
        kept = self._rows.get((table, node), {}).get(key)
        if kept is not None and (not exact or kept.row == row):
            self._drop(table, node, key)

    def expire(self, tick: int) -> None:
        """Delete the rows that were not stored again in time."""
        while self._due and self._due[0][0] <= tick:
            _, table, node, key = heapq.heappop(self._due)
            kept = self._rows.get((table, node), {}).get(key)
            if kept is not None and kept.expires is not None and kept.expires <= tick:
                self._drop(table, node, key)

    def forget(self, node: int) -> None:
        """Delete all that a node holds."""
        for table, at in list(self._rows):
            if at == node:
                for key in list(self._rows[table, at]):
                    self._drop(table, node, key)

    def take(self) -> tuple[dict[str, Codes], dict[str, Codes]]:
        """The net change since the last time: rows that come, rows that go."""
        inserts: dict[str, list[Row]] = {}
        deletes: dict[str, list[Row]] = {}
        for (table, node, key), before in self._before.items():
            kept = self._rows.get((table, node), {}).get(key)
            after = None if kept is None else kept.row
            if before != after:
                if before is not None:
                    deletes.setdefault(table, []).append(before)
                if after is not None:
                    inserts.setdefault(table, []).append(after)
        self._before.clear()
        return (
            {table: np.array(rows, dtype=np.int64) for table, rows in inserts.items()},
            {table: np.array(rows, dtype=np.int64) for table, rows in deletes.items()},
        )

    def _key(self, table: str, row: Row) -> Row:
        return tuple(row[at] for at in self.tables[table].key)

    def _touch(self, table: str, node: int, key: Row, before: _Kept | None) -> None:
        self._before.setdefault((table, node, key), None if before is None else before.row)

    def _drop(self, table: str, node: int, key: Row) -> None:
        self._touch(table, node, key, self._rows[table, node].pop(key))
