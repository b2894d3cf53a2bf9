"""DistributedScan: base rows, each on the node where it lives, and what a transaction makes of them.

Windows stand here and nowhere else (000, sections 3.1 and 4.3.3): a base row of a relation with a window or a ttl has a
time at which it goes, unless it comes again before; derived rows go when they no longer follow. A window function
called by every join, as in Algorithm 2, comes to the same, because joins only ever see base rows through this scan.

Rows of a stream have a time of their own, which is no part of what they are: of several versions of a row, or of rows
with one key, the latest is there. This is what the clock of a shard does (`headwater.engine.clock`), row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import DataError, UnknownRelation
from headwater.engine.codes.fitting import fit
from headwater.network.simulator.layout.base_lifetimes import BaseLifetime
from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.rows.table import RowChange
from headwater.network.simulator.rows.terms import Row

Rows = Mapping[str, Iterable[Iterable[Any]]]


@dataclass(slots=True)
class _Base:
    """The rows of one base relation: by what they are, each with its age and the moment at which it goes."""

    lives: BaseLifetime
    rows: dict[Row, tuple[Row, float, float]] = field(default_factory=dict)
    by_key: dict[Row, Row] = field(default_factory=dict)
    waiting: dict[Row, float] = field(default_factory=dict)  # for their window to move, with the moment it does


class BaseScan:
    def __init__(self, layout: Layout, places: Places, windows: Mapping[str, float]) -> None:
        for name in windows:
            if name not in layout.locations:
                raise UnknownRelation(f"a window over `{name}`, which is no base relation")
        self.now: float | None = None
        self.late: dict[str, int] = {}
        self._layout = layout
        self._places = places
        self._base = {
            name: _Base(layout.lives[name] if name not in windows else layout.lives[name].with_window(windows[name]))
            for name in layout.locations
        }

    def first(self) -> list[dict[str, RowChange]]:
        """The facts that the program states, for each node."""
        return self._placed({name: RowChange(sorted(rows, key=repr)) for name, rows in self._layout.facts.items()})

    def moment(self, time: Any) -> float:
        """A moment of the clock, given as the streams' times are."""
        try:
            moment = time if self._layout.clock is None else fit(time, self._layout.clock)
        except ValueError as problem:
            raise DataError(f"error[HW803]: {time!r} is no moment of the clock: {problem}") from None
        if isinstance(moment, bool) or not isinstance(moment, int | float) or moment != moment:
            raise DataError(f"error[HW803]: {time!r} is no moment of the clock: give a number")
        if self.now is not None and moment < self.now:
            raise DataError(f"error[HW803]: time does not go back: it is {self.now} already, not {time}")
        return moment

    def apply(self, insert: Rows, delete: Rows, now: float | None) -> list[dict[str, RowChange]]:
        """The net change of the base rows, for each node: what has ended goes first, then deletes, then inserts."""
        given_in = {name: self._fitting(name, rows) for name, rows in insert.items()}
        given_out = {name: self._fitting(name, rows) for name, rows in delete.items()}
        coming, late = self._in_time(given_in)
        moments = [moment for moment in (self.now, now, *self._times(coming)) if moment is not None]
        moment = max(moments, default=None)
        if moment is None and any(rows and self._base[name].lives.by_clock for name, rows in coming.items()):
            raise DataError("error[HW803]: these rows live by the clock, and no time is known yet; pass now=...")
        self.now = moment
        for name, count in late.items():
            self.late[name] = self.late.get(name, 0) + count
        before: dict[str, dict[Row, bool]] = {}
        for name in self._base:
            self._expire(name, before)
        for name, rows in given_out.items():
            for row in rows:
                self._take_out(name, self._base[name].lives.identity(row), before)
        for name, base in self._base.items():
            due = [row for row, start in base.waiting.items() if moment is not None and start <= moment]
            for row in due:
                del base.waiting[row]
                self._put_in(name, row, before)
        for name, rows in coming.items():
            for row in rows:
                self._begin(name, row, before)
        return self._placed(self._net(before))

    def _times(self, coming: Mapping[str, list[Row]]) -> Iterator[float]:
        for name, rows in coming.items():
            at = self._base[name].lives.time
            if at is not None:
                yield from (row[at] for row in rows)

    def _in_time(self, given: Mapping[str, list[Row]]) -> tuple[dict[str, list[Row]], dict[str, int]]:
        """Rows that do not lie further behind the clock than their stream allows, and how many do."""
        found: dict[str, list[Row]] = {}
        late: dict[str, int] = {}
        for name, rows in given.items():
            lives = self._base[name].lives
            found[name] = [row for row in rows if self.now is None or not lives.is_late(row, self.now)]
            if len(found[name]) < len(rows):
                late[name] = len(rows) - len(found[name])
        return found, late

    def _expire(self, name: str, before: dict[str, dict[Row, bool]]) -> None:
        base = self._base[name]
        if base.lives.ends and self.now is not None:
            for identity in [one for one, (_, _, until) in base.rows.items() if until <= self.now]:
                self._take_out(name, identity, before)

    def _net(self, before: Mapping[str, Mapping[Row, bool]]) -> dict[str, RowChange]:
        found: dict[str, RowChange] = {}
        for name, touched in before.items():
            stated = self._layout.facts.get(name, frozenset())
            base = self._base[name]
            change = RowChange()
            for row, was in touched.items():
                held = base.rows.get(base.lives.identity(row))
                if row not in stated and was != (held is not None and held[0] == row):
                    (change.went if was else change.came).append(row)
            if change.came or change.went:
                found[name] = change
        return found

    def _take_out(self, name: str, identity: Row, before: dict[str, dict[Row, bool]]) -> None:
        base = self._base[name]
        for row in [row for row in base.waiting if base.lives.identity(row) == identity]:
            del base.waiting[row]
        held = base.rows.pop(identity, None)
        if held is not None:
            before.setdefault(name, {}).setdefault(held[0], True)
            if base.lives.key is not None:
                del base.by_key[base.lives.key(held[0])]

    def _begin(self, name: str, row: Row, before: dict[str, dict[Row, bool]]) -> None:
        """A row came; with a window that moves in steps it may have to wait for the next."""
        start = self._base[name].lives.start(row)
        if start is not None and self.now is not None and start > self.now:
            self._base[name].waiting[row] = start
        else:
            self._put_in(name, row, before)

    def _put_in(self, name: str, row: Row, before: dict[str, dict[Row, bool]]) -> None:
        """A row that begins now becomes the version of its identity, and of its key, if none is newer."""
        base = self._base[name]
        age, until = base.lives.age_and_end(row, self.now)
        if self.now is not None and until <= self.now:
            return
        identity = base.lives.identity(row)
        rivals = {identity} & base.rows.keys()
        if base.lives.key is not None:
            rivals |= {base.lives.identity(one) for one in [base.by_key.get(base.lives.key(row))] if one is not None}
        if any(base.rows[one][1] > age for one in rivals):
            return
        for one in rivals:
            held = base.rows.pop(one)[0]
            before.setdefault(name, {}).setdefault(held, True)
        before.setdefault(name, {}).setdefault(row, False)
        base.rows[identity] = row, age, until
        if base.lives.key is not None:
            base.by_key[base.lives.key(row)] = row

    def _fitting(self, name: str, rows: Iterable[Iterable[Any]]) -> list[Row]:
        if name not in self._base:
            raise UnknownRelation(f"there is no base relation `{name}`")
        table = self._layout.tables[name]
        kinds = table.types
        found = []
        for at, given in enumerate(rows, start=1):
            values = tuple(given)
            if len(values) != len(kinds):
                raise DataError(f"error[HW801]: {name}, row {at}: {len(values)} values for {len(kinds)} columns")
            try:
                found.append(
                    tuple(
                        fit(value, kind, nullable=column in table.nullable)
                        for column, (value, kind) in enumerate(zip(values, kinds, strict=True))
                    )
                )
            except ValueError as problem:
                raise DataError(f"error[HW801]: {name}, row {at}: {problem}") from None
        return found

    def _placed(self, changes: Mapping[str, RowChange]) -> list[dict[str, RowChange]]:
        found: list[dict[str, RowChange]] = [{} for _ in range(self._places.nodes)]
        for name, change in changes.items():
            for row in change.came:
                found[self._home(name, row)].setdefault(name, RowChange()).came.append(row)
            for row in change.went:
                found[self._home(name, row)].setdefault(name, RowChange()).went.append(row)
        return found

    def _home(self, name: str, row: Row) -> int:
        column = self._layout.locations[name]
        return 0 if column is None else self._places.owner(row[column])
