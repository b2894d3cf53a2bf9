"""DistributedScan: base rows, each on the node where it lives, and how a transaction changes them.

Windows are handled here alone (000, sections 3.1 and 4.3.3): a base row of a relation with a window or a ttl has a time
at which it goes, unless it comes again before; derived rows go when they no longer follow. A window function in
every join, as in Algorithm 2, gives the same, because joins see base rows only through this scan.

Rows of a stream have a time of their own, which is no part of their identity: of several versions of a row, or of rows
with one key, the latest is there. The clock of a shard (`headwater.engine.clock`) does the same, column by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.core.errors import DataError, UnknownRelation
from headwater.engine.codes.fitting import fit
from headwater.network.simulator.layout.base_lifetimes import BaseLifetime
from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.rows.table import RowChange
from headwater.network.simulator.rows.terms import Row

Rows = Mapping[str, Iterable[Iterable[Any]]]


@dataclass(slots=True)
class _BaseRows:
    """The rows of one base relation by identity, each with its age and the moment at which it goes."""

    lives: BaseLifetime
    rows: dict[Row, tuple[Row, float, float]] = field(default_factory=dict)
    by_key: dict[Row, Row] = field(default_factory=dict)
    waiting: dict[Row, float] = field(default_factory=dict)  # for their window to move, with the moment it does
    touched: dict[Row, bool] = field(default_factory=dict)  # in this transaction: whether the row was there before

    def expire(self, now: float | None) -> None:
        if self.lives.ends and now is not None:
            for identity in [identity for identity, (_, _, until) in self.rows.items() if until <= now]:
                self.take_out(identity)

    def take_out(self, identity: Row) -> None:
        for row in [row for row in self.waiting if self.lives.identity(row) == identity]:
            del self.waiting[row]
        held = self.rows.pop(identity, None)
        if held is not None:
            self.touched.setdefault(held[0], True)
            if self.lives.key is not None:
                del self.by_key[self.lives.key(held[0])]

    def begin_due(self, now: float | None) -> None:
        """Add the rows whose window has moved."""
        for row in [row for row, start in self.waiting.items() if now is not None and start <= now]:
            del self.waiting[row]
            self._put_in(row, now)

    def begin(self, row: Row, now: float | None) -> None:
        """A row came; with a window that moves in steps it may have to wait for the next."""
        start = self.lives.start(row)
        if start is not None and now is not None and start > now:
            self.waiting[row] = start
        else:
            self._put_in(row, now)

    def _put_in(self, row: Row, now: float | None) -> None:
        """Make a row the version of its identity, and of its key, if none is newer."""
        age, until = self.lives.age_and_end(row, now)
        if now is not None and until <= now:
            return
        identity = self.lives.identity(row)
        rivals = {identity} & self.rows.keys()
        if self.lives.key is not None and (rival := self.by_key.get(self.lives.key(row))) is not None:
            rivals.add(self.lives.identity(rival))
        if any(self.rows[rival][1] > age for rival in rivals):
            return
        for rival in rivals:
            self.touched.setdefault(self.rows.pop(rival)[0], True)
        self.touched.setdefault(row, False)
        self.rows[identity] = row, age, until
        if self.lives.key is not None:
            self.by_key[self.lives.key(row)] = row

    def net(self, stated: frozenset[Row]) -> RowChange:
        """What the transaction changed; rows that the program states stay."""
        change = RowChange()
        for row, was in self.touched.items():
            held = self.rows.get(self.lives.identity(row))
            if row not in stated and was != (held is not None and held[0] == row):
                (change.went if was else change.came).append(row)
        self.touched = {}
        return change


class BaseScan:
    """The base rows of all nodes; `now` is the time of the last transaction, `late` counts rows that came too late."""

    def __init__(self, layout: Layout, places: Places, windows: Mapping[str, float]) -> None:
        for name in windows:
            if name not in layout.locations:
                raise UnknownRelation(f"a window over `{name}`, which is not a base relation")
        self.now: float | None = None
        self.late: dict[str, int] = {}
        self._layout = layout
        self._places = places
        self._base = {
            name: _BaseRows(replace(layout.lives[name], ttl=windows[name]) if name in windows else layout.lives[name])
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
            raise DataError(f"error[HW803]: {time!r} is not a valid time: {problem}") from None
        if isinstance(moment, bool) or not isinstance(moment, int | float) or moment != moment:
            raise DataError(f"error[HW803]: {time!r} is not a valid time: give a number")
        if self.now is not None and moment < self.now:
            raise DataError(f"error[HW803]: time does not go back: it is {self.now} already, not {time}")
        return moment

    def apply(self, insert: Rows, delete: Rows, now: float | None) -> list[dict[str, RowChange]]:
        """The net change of the base rows, for each node: what has ended goes first, then deletes, then inserts."""
        given_in = {name: self._fitting(name, rows) for name, rows in insert.items()}
        given_out = {name: self._fitting(name, rows) for name, rows in delete.items()}
        coming = {name: [row for row in rows if not self._is_late(name, row)] for name, rows in given_in.items()}
        moments = [moment for moment in (self.now, now, *self._times(coming)) if moment is not None]
        moment = max(moments, default=None)
        if moment is None and any(rows and self._base[name].lives.by_clock for name, rows in coming.items()):
            raise DataError("error[HW803]: these rows live by the clock, and no time is known yet; pass now=...")
        self.now = moment
        for name, rows in given_in.items():
            if len(coming[name]) < len(rows):
                self.late[name] = self.late.get(name, 0) + len(rows) - len(coming[name])
        for base in self._base.values():
            base.expire(moment)
        for name, rows in given_out.items():
            for row in rows:
                self._base[name].take_out(self._base[name].lives.identity(row))
        for base in self._base.values():
            base.begin_due(moment)
        for name, rows in coming.items():
            for row in rows:
                self._base[name].begin(row, moment)
        nets = {name: base.net(self._layout.facts.get(name, frozenset())) for name, base in self._base.items()}
        return self._placed(nets)

    def _times(self, coming: Mapping[str, list[Row]]) -> Iterator[float]:
        for name, rows in coming.items():
            at = self._base[name].lives.time
            if at is not None:
                yield from (row[at] for row in rows)

    def _is_late(self, name: str, row: Row) -> bool:
        """Whether a row lies further behind the clock than its stream allows."""
        return self.now is not None and self._base[name].lives.is_late(row, self.now)

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
            pairs = enumerate(zip(values, kinds, strict=True))
            try:
                found.append(tuple(fit(value, kind, nullable=to in table.nullable) for to, (value, kind) in pairs))
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
