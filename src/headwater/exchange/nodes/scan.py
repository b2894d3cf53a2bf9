"""DistributedScan: base rows, each on the node where it lives, and what a transaction makes of them.

Windows stand here and nowhere else (000, sections 3.1 and 4.3.3): a base row that comes to a relation with a window
gets a time at which it goes, unless it comes again before; derived rows go when they no longer follow. A window
function called by every join, as in Algorithm 2, comes to the same, because joins only ever see base rows through
this scan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.core.errors import DataError, UnknownRelation
from headwater.engine.fitting import fit
from headwater.exchange.nodes.join import picker
from headwater.exchange.nodes.layout import Layout, Places
from headwater.exchange.nodes.table import Change
from headwater.exchange.nodes.terms import Row

Rows = Mapping[str, Iterable[Iterable[Any]]]


class Scan:
    def __init__(self, layout: Layout, places: Places, windows: Mapping[str, float]) -> None:
        for name in windows:
            if name not in layout.locations:
                raise UnknownRelation(f"a window over `{name}`, which is no base relation")
        self.now = float("-inf")
        self._layout = layout
        self._places = places
        self._windows = windows
        self._rows: dict[str, dict[Row, float]] = {name: {} for name in layout.locations}  # with the time they go
        self._by_key: dict[str, dict[Row, Row]] = {name: {} for name in layout.keys}

    def first(self) -> list[dict[str, Change]]:
        """The facts that the program states, for each node."""
        return self._placed({name: Change(sorted(rows, key=repr)) for name, rows in self._layout.facts.items()})

    def apply(self, insert: Rows, delete: Rows, now: float) -> list[dict[str, Change]]:
        """The net change of the base rows, for each node: deletes before inserts, then whatever has expired by now."""
        given_in = {name: self._fitting(name, rows) for name, rows in insert.items()}
        given_out = {name: self._fitting(name, rows) for name, rows in delete.items()}
        self.now = max(self.now, now)
        before: dict[str, dict[Row, bool]] = {}
        for name, rows in given_out.items():
            for row in rows:
                self._take_out(name, row, before)
        for name, rows in given_in.items():
            for row in rows:
                self._put_in(name, row, before)
        for name in self._windows:
            for row in [row for row, until in self._rows[name].items() if until <= self.now]:
                self._take_out(name, row, before)
        found: dict[str, Change] = {}
        for name, touched in before.items():
            stated = self._layout.facts.get(name, frozenset())
            change = Change()
            for row, was in touched.items():
                if row not in stated and was != (row in self._rows[name]):
                    (change.went if was else change.came).append(row)
            if change.came or change.went:
                found[name] = change
        return self._placed(found)

    def _take_out(self, name: str, row: Row, before: dict[str, dict[Row, bool]]) -> None:
        before.setdefault(name, {}).setdefault(row, row in self._rows[name])
        if self._rows[name].pop(row, None) is not None and name in self._by_key:
            del self._by_key[name][self._key(name, row)]

    def _put_in(self, name: str, row: Row, before: dict[str, dict[Row, bool]]) -> None:
        if name in self._by_key:
            old = self._by_key[name].get(self._key(name, row))
            if old is not None and old != row:
                self._take_out(name, old, before)
            self._by_key[name][self._key(name, row)] = row
        before.setdefault(name, {}).setdefault(row, row in self._rows[name])
        self._rows[name][row] = self.now + self._windows[name] if name in self._windows else float("inf")

    def _key(self, name: str, row: Row) -> Row:
        return picker(self._layout.keys[name])(row)

    def _fitting(self, name: str, rows: Iterable[Iterable[Any]]) -> list[Row]:
        if name not in self._rows:
            raise UnknownRelation(f"there is no base relation `{name}`")
        kinds = self._layout.tables[name].types
        found = []
        for at, given in enumerate(rows, start=1):
            values = tuple(given)
            if len(values) != len(kinds):
                raise DataError(f"error[HW801]: {name}, row {at}: {len(values)} values for {len(kinds)} columns")
            try:
                found.append(tuple(fit(value, kind) for value, kind in zip(values, kinds, strict=True)))
            except ValueError as problem:
                raise DataError(f"error[HW801]: {name}, row {at}: {problem}") from None
        return found

    def _placed(self, changes: Mapping[str, Change]) -> list[dict[str, Change]]:
        found: list[dict[str, Change]] = [{} for _ in range(self._places.nodes)]
        for name, change in changes.items():
            for row in change.came:
                found[self._home(name, row)].setdefault(name, Change()).came.append(row)
            for row in change.went:
                found[self._home(name, row)].setdefault(name, Change()).went.append(row)
        return found

    def _home(self, name: str, row: Row) -> int:
        column = self._layout.locations[name]
        return 0 if column is None else self._places.owner(row[column])
