"""Fused strands: a rule of two atoms runs as one compiled loop from starting rows to head rows.

Most of the time of a closure, of shortest paths and of components goes here. What it does is what `Runner`, `select`
and `Store.merge` do in steps; whether a strand qualifies is decided once, when it is prepared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.core.types import Type
from headwater.engine import kernels
from headwater.engine.batch import Batch
from headwater.engine.frontiers import is_listed
from headwater.engine.fused_frontier import FusedFrontier
from headwater.engine.index import Rows, box_of
from headwater.engine.journal import Entry, Journal
from headwater.engine.probe import CONSTANT, LEFT, RIGHT, Places, Probe, as_places
from headwater.engine.selection import is_single
from headwater.engine.standing import Standing
from headwater.engine.states import EVER, GHOST, MARKED
from headwater.engine.store import Store, Writer
from headwater.engine.values import NULL, Symbols, encode
from headwater.language.tree import Binary, Call, Constant, Term, Variable
from headwater.plan.model import FlatRule, Join, Let, Literal, Owned, Reads, Source, Strand, Var
from headwater.program.terms import names

_ROOM = 1 << 16
_WORTH = 64  # rows looked at in the time that one takes to be derived step by step
Outcome = tuple[Rows, Rows]  # rows that came, and rows that lost their place


Owns = Callable[[npt.NDArray[np.integer[Any]], Type], npt.NDArray[np.bool_]]  # of values, those that a shard owns


class FusedCopy:
    """One atom into a table that keeps all rows: columns moved about, nothing met."""

    def __init__(
        self,
        strand: Strand,
        rule: FlatRule,
        stores: dict[str, Store],
        symbols: Symbols,
        owned: Owned | None,
        owns: Owns,
    ) -> None:
        assert strand.start is not None
        self._owned = owned
        self._owns = owns
        self._left = stores[strand.start.table]
        self._head = stores[rule.table]
        self._rule = rule.id
        columns = {name: column for column, name in strand.start.binds}
        self._places = [
            (CONSTANT, encode(source.value, kind, symbols))
            if isinstance(source, Literal)
            else (LEFT, columns[source.name])
            for source, kind in zip(rule.head, self._head.table.types, strict=True)
        ]
        if owned is not None:
            assert isinstance(owned.source, Var)
            self._owner = columns[owned.source.name]
        taken = [column for side, column in self._places if side == LEFT]
        self._distinct = set(taken) == set(range(self._left.width))  # different rows give different rows
        self._same = taken == list(range(self._left.width)) and len(taken) == len(self._places)

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome:
        """As `FusedSet.run`."""
        if self._owned is not None:
            rows = rows[self._owns(self._left.data[rows, self._owner], self._owned.type) == self._owned.mine]
        if rows.size == 0:
            return _NO_ROWS, _NO_ROWS
        candidates = np.empty((rows.size, self._head.width), dtype=np.int64)
        for at, (side, column) in enumerate(self._places):
            candidates[:, at] = column if side == CONSTANT else self._left.data[rows, column]
        self._head.admit_rows(candidates)
        if self._head.size == 0 and self._distinct and (rows[1:] > rows[:-1]).all():  # each row once
            came = self._head.append(candidates, rows.reshape(-1, 1), self._rule, after, journal)
            in_order = self._same and self._left.size == self._left.ordered
            self._head.ordered = self._head.size if in_order else 0
            return came, _NO_ROWS
        return self._head.merge(candidates, rows.reshape(-1, 1), self._rule, after, journal), _NO_ROWS


class FusedSet:
    """Two atoms into a table that keeps all rows."""

    def __init__(self, probe: Probe, rule: FlatRule, head: Store, symbols: Symbols) -> None:
        self._probe = probe
        self._rule = rule
        self._head = head
        kinds = head.table.types
        places = [probe.place(one, kind, symbols) for one, kind in zip(rule.head, kinds, strict=True)]
        self._places = as_places(places)
        self._short = _is_short(places, probe.key_from)
        self._admitted: tuple[Any, ...] = ()  # the bounds for which the head has room
        self._ends = (*places[0], *places[-1])

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome:
        """Head rows that these starting rows give, alive from round `after` on."""
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return _NO_ROWS, _NO_ROWS
        reach = (*probe.reach(), head.bounds)
        if reach != self._admitted:
            head.admit_range(*probe.bounds(self._places))
            self._admitted = reach
        arguments = probe.arguments(tick)
        head.identify()
        clean = journal.all_alive(head)
        writer = Writer(head, journal, _room(rows.size, clean))
        proofs, slots = rows.reshape(-1, 1), np.array([probe.slot])
        at, place, linked = 0, np.int64(-1), np.int32(-1)
        while at < rows.size:
            if self._short and head.space is not None and arguments.box[0]:
                at, place, linked, size, revived = kernels.join_short(
                    rows, probe.left.data, probe.key_from[0], probe.right.data, *arguments.box[1:], *arguments.lists,
                    probe.right.stamp, arguments.newest, *self._ends, proofs, slots, 1 - probe.slot, self._rule.id,
                    after, head.data, head.stamp, head.rules, head.proof, head.heads, head.space.base,
                    head.space.extent, head.size, head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            else:
                at, place, linked, size, revived = kernels.join_merge(
                    rows, *arguments.all, *self._places, proofs, slots, 1 - probe.slot, self._rule.id, after, head.data,
                    head.stamp, head.rules, head.proof, head.heads, *box_of(head.space), head.size, head.room(), clean,
                    at, place, linked, *writer.buffers,
                )  # fmt: skip
            writer.took(size, revived)
            if at < rows.size:
                head.expand()
                if probe.left is head or probe.right is head:
                    arguments = probe.arguments(tick)
        return writer.came(), _NO_ROWS


def _room(starting: int, clean: bool) -> int:
    """Rows that may come back before the loop stops to write them down; large buffers cost more than they save."""
    return 1 if clean else min(_ROOM, 8 * starting + 256)


def _is_short(places: list[tuple[int, int]], key_from: npt.NDArray[np.int64]) -> bool:
    """Whether `join_short` can do it: one or two columns, copied, met by a key of one column."""
    return len(places) <= 2 and key_from.size == 1 and key_from[0] >= 0 and all(one != CONSTANT for one, _ in places)


class FusedTail:
    """The last join of a longer rule, from bindings of all other atoms into a table that keeps all rows."""

    def __init__(self, strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> None:
        join = strand.steps[-1]
        assert isinstance(join, Join)
        self._rule = rule.id
        self._head = stores[rule.table]
        self._right = stores[join.pattern.table]
        self._reads = join.reads
        self._columns = tuple(column for column, _ in join.pattern.key)
        self._slot = join.atom
        self._slots = np.array([at for at in range(len(rule.atoms)) if at != join.atom], dtype=np.int64)
        rights = {name: column for column, name in join.pattern.binds}
        keyed = [source.name for _, source in join.pattern.key if isinstance(source, Var)]
        copied = [source.name for source in rule.head if isinstance(source, Var) and source.name not in rights]
        self._names = list(dict.fromkeys((*keyed, *copied)))
        self._key_from = np.full(len(join.pattern.key), -1, dtype=np.int64)
        self._constants = np.zeros(len(join.pattern.key), dtype=np.int64)
        for at, (column, source) in enumerate(join.pattern.key):
            if isinstance(source, Var):
                self._key_from[at] = self._names.index(source.name)
            else:
                self._constants[at] = encode(source.value, self._right.table.types[column], symbols)
        places: list[tuple[int, int]] = []
        for source, kind in zip(rule.head, self._head.table.types, strict=True):
            if isinstance(source, Literal):
                places.append((CONSTANT, encode(source.value, kind, symbols)))
            elif source.name in rights:
                places.append((RIGHT, rights[source.name]))
            else:
                places.append((LEFT, self._names.index(source.name)))
        self._places = as_places(places)
        self._short = _is_short(places, self._key_from)
        self._ends = (*places[0], *places[-1])

    def run(self, batch: Batch, tick: int, after: int, journal: Journal) -> Rows:
        """Head rows that these bindings give, alive from round `after` on."""
        head, right = self._head, self._right
        if right.size == 0:
            return _NO_ROWS
        left = np.empty((batch.size, len(self._names)), dtype=np.int64)
        for at, name in enumerate(self._names):
            left[:, at] = batch.columns[name]
        proofs = np.stack([batch.rows[int(slot)] for slot in self._slots], axis=1)
        head.admit_range(*self._bounds(left))
        head.identify()
        index = right.index(self._columns)
        newest = tick if self._reads is Reads.ALL else tick - 1
        clean = journal.all_alive(head)
        writer = Writer(head, journal, _room(batch.size, clean))
        rows = np.arange(batch.size, dtype=np.int32)
        at, place, linked = 0, np.int64(-1), np.int32(-1)
        while at < rows.size:
            if self._short and head.space is not None and index.space is not None:
                at, place, linked, size, revived = kernels.join_short(
                    rows, left, self._key_from[0], right.data, index.space.base, index.space.extent, *index.lists,
                    right.stamp, newest, *self._ends, proofs, self._slots, self._slot, self._rule, after, head.data,
                    head.stamp, head.rules, head.proof, head.heads, head.space.base, head.space.extent, head.size,
                    head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            else:
                at, place, linked, size, revived = kernels.join_merge(
                    rows, left, self._key_from, self._constants, right.data, index.columns, *box_of(index.space),
                    *index.lists, right.stamp, newest, *self._places, proofs, self._slots, self._slot, self._rule,
                    after, head.data, head.stamp, head.rules, head.proof, head.heads, *box_of(head.space), head.size,
                    head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            writer.took(size, revived)
            if at < rows.size:
                head.expand()
        return writer.came()

    def _bounds(self, left: npt.NDArray[np.int64]) -> Places:
        low = np.empty(self._places[0].size, dtype=np.int64)
        high = np.empty(self._places[0].size, dtype=np.int64)
        for at, (side, column) in enumerate(zip(*(part.tolist() for part in self._places), strict=True)):
            if side == CONSTANT:
                low[at] = high[at] = column
            elif side == LEFT:
                low[at], high[at] = left[:, column].min(), left[:, column].max()
            else:
                low[at], high[at] = self._right.bounds.low[column], self._right.bounds.high[column]
        return low, high


def fuse_tail(strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> FusedTail | None:
    """The compiled form of a strand's last join, if it has one."""
    head = stores[rule.table]
    if strand.atom is None or len(rule.atoms) < 3 or head.table.picks or not rule.head:
        return None
    join = strand.steps[-1]
    if not isinstance(join, Join) or join.any or join.pattern.equal:
        return None
    if len(join.pattern.key) == stores[join.pattern.table].width:
        return None
    for source, kind in zip(rule.head, head.table.types, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return None
    return FusedTail(strand, rule, stores, symbols)


class FusedBest:
    """Two atoms into a table with one row per group, whose value is a copy or a sum of ints."""

    def __init__(
        self,
        probe: Probe,
        rule: FlatRule,
        head: Store,
        addends: list[tuple[int, int]],
        symbols: Symbols,
        *,
        holds_nulls: bool,
    ) -> None:
        (self._pick,) = head.table.picks
        self._probe = probe
        self._rule = rule
        self._head = head
        types = head.table.types
        group = [probe.place(rule.head[at], types[at], symbols) for at in self._pick.group]
        self._group = as_places(group)
        self._value = as_places(addends)
        self._least = NULL + holds_nulls  # where nulls can be, a sum must not look like one
        self._waited = 0  # rows that did without a table of what stands
        self._short = _short_form(probe, group, addends)
        if self._short is not None:
            side, column, _, weight, _ = self._short
            self._carried = (column if side == RIGHT else -1, weight)

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome | None:
        """As `FusedSet.run`; None when the groups do not lie close enough together for direct addressing.

        Nor is a table of what stands made anew for a few rows, before as many have come as make up for it.
        """
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return _NO_ROWS, _NO_ROWS
        if head.standing is None:
            self._waited += rows.size
            if self._waited * _WORTH < head.size:
                return None
            self._waited = 0
        low, high = probe.bounds(self._group)
        standing = head.standing or Standing(head)
        assert isinstance(standing, Standing), "a table that keeps one row per group has no lists"
        if not standing.fit(low, high, max(probe.left.size, probe.right.size)):
            return None
        head.standing = standing
        met = self._join(rows, tick, standing, journal)
        if met < 0:
            head.standing = None
            raise EvaluationError(f"a sum in `{head.name}` does not fit into 64 bits; use floats (write 1.0 for 1)")
        cells = standing.touched[:met]
        cells.sort()  # rows in the order of their groups meet the rows of the next round side by side
        left, right, lost = standing.left[cells], standing.right[cells], standing.rows[cells]
        standing.left[cells] = -1
        values = standing.values[cells]
        values = ~values if standing.complemented else values
        if int(values.min(initial=0)) < self._least:
            head.standing = None
            raise EvaluationError(f"a sum in `{head.name}` is {NULL}, whose place is taken by null; use floats")
        return self._store(left, right, values, lost, cells, after, journal)

    def _join(self, rows: Rows, tick: int, standing: Standing, journal: Journal) -> int:
        probe = self._probe
        arguments = probe.arguments(tick)
        space = standing.space
        assert space is not None
        room = standing.rows, standing.values, standing.left, standing.right, standing.touched
        if self._short is not None and arguments.box[0]:
            any_stamp = probe.right.all_older(arguments.newest, rows.size)
            return kernels.join_best_short(
                rows, probe.left.data, probe.key_from[0], probe.right.data, *arguments.box[1:], *arguments.lists,
                *(probe.carried(column, rows.size if any_stamp else 0) for column in self._carried),
                probe.right.stamp, arguments.newest, any_stamp, *self._short, space.base, standing.complemented, *room,
            )  # fmt: skip
        return kernels.join_best(
            rows, *arguments.all, *self._group, *self._value, standing.complemented, space.base,
            space.extent, *room,
        )  # fmt: skip

    def _store(
        self,
        left: Rows,
        right: Rows,
        values: npt.NDArray[np.int64],
        lost: Rows,
        cells: npt.NDArray[np.int64],
        after: int,
        journal: Journal,
    ) -> Outcome:
        probe, head = self._probe, self._head
        candidates = np.empty((values.size, head.width), dtype=np.int64)
        candidates[:, self._pick.value] = values
        for column, side, source in zip(self._pick.group, *(part.tolist() for part in self._group), strict=True):
            if side == CONSTANT:
                candidates[:, column] = source
            else:
                candidates[:, column] = (
                    probe.left.data[left, source] if side == LEFT else probe.right.data[right, source]
                )
        proofs = np.empty((values.size, 2), dtype=np.int32)
        proofs[:, probe.slot], proofs[:, 1 - probe.slot] = left, right
        lost = lost[lost >= 0]
        if lost.size:
            head.set_state(lost, GHOST, journal)
        head.admit_rows(candidates)
        if head.buried or head.standing is None:
            head.reserve(values.size)
            return head.merge(candidates, proofs, self._rule.id, after, journal), lost
        # Every ghost is worse than what stands in its group, and nothing else is left over: these rows are new.
        came = head.append(candidates, proofs, self._rule.id, after, journal)
        assert isinstance(head.standing, Standing)
        head.standing.rows[cells] = came
        head.standing.knows_all()
        return came, lost


def _short_form(
    probe: Probe, group: list[tuple[int, int]], addends: list[tuple[int, int]]
) -> tuple[int, int, int, int, int] | None:
    """What `join_best_short` is told about the head: side and column of the group, columns of the sum, constant."""
    starts = [column for side, column in addends if side == LEFT]
    weights = [column for side, column in addends if side == RIGHT]
    constants = [value for side, value in addends if side == CONSTANT]
    if len(group) != 1 or group[0][0] == CONSTANT or len(probe.columns) != 1 or probe.key_from[0] < 0:
        return None
    if len(starts) > 1 or len(weights) > 1 or len(constants) > 1:
        return None
    columns = (starts[0] if starts else -1, weights[0] if weights else -1)
    return (*group[0], *columns, constants[0] if constants else 0)


class FusedPull:
    """Marked rows of a set table derived again by a rule of two atoms: the first by index, the second known whole."""

    def __init__(self, strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> None:
        assert strand.start is not None
        first, second = strand.steps
        assert isinstance(first, Join)
        assert isinstance(second, Join)
        self._head = stores[rule.table]
        self._right = stores[first.pattern.table]
        self._last = stores[second.pattern.table]
        self._rule = rule.id
        self._slot = first.atom
        self._columns = tuple(column for column, _ in first.pattern.key)
        known = {name: column for column, name in strand.start.binds}
        bound = {name: column for column, name in first.pattern.binds}
        self._key_from = np.full(len(self._columns), -1, dtype=np.int64)
        self._constants = np.zeros(len(self._columns), dtype=np.int64)
        for at, (column, source) in enumerate(first.pattern.key):
            if isinstance(source, Var):
                self._key_from[at] = known[source.name]
            else:
                self._constants[at] = encode(source.value, self._right.table.types[column], symbols)
        places: list[tuple[int, int]] = [(0, 0)] * self._last.width
        for column, source in second.pattern.key:
            if isinstance(source, Literal):
                places[column] = CONSTANT, encode(source.value, self._last.table.types[column], symbols)
            else:
                places[column] = (LEFT, known[source.name]) if source.name in known else (RIGHT, bound[source.name])
        self._places = as_places(places)
        self._short = bool(places) and _is_short(places, self._key_from)
        self._ends = (*places[0], *places[-1]) if places else ()

    def run(self, rows: Rows, tick: int, journal: Journal) -> Rows:
        """Of these marked rows those that were derived again, alive from round `tick` on."""
        head, right, last = self._head, self._right, self._last
        if right.size == 0 or last.size == 0:
            return _NO_ROWS
        index = right.index(self._columns)
        last.identify()
        found = np.empty(rows.size, dtype=np.int32)
        old_rule = np.empty(rows.size, dtype=np.int16)
        old_proof = np.empty((rows.size, head.depth), dtype=np.int32)
        written = head.stamp, head.rules, head.proof, found, old_rule, old_proof
        if self._short and index.space is not None and last.space is not None:
            count = kernels.pull_short(
                rows, MARKED, head.data, self._key_from[0], right.data, index.space.base, index.space.extent,
                *index.lists, right.stamp, right.all_older(EVER, rows.size), *self._ends, last.heads, last.space.base,
                last.space.extent, last.stamp, self._slot, self._rule, tick, *written,
            )  # fmt: skip
        else:
            count = kernels.pull_pairs(
                rows, MARKED, head.data, self._key_from, self._constants, right.data, index.columns,
                *box_of(index.space), *index.lists, right.stamp, *self._places, last.data, last.heads,
                *box_of(last.space), last.stamp, self._slot, self._rule, tick, *written,
            )  # fmt: skip
        came = found[:count].copy()
        if count:
            was = np.full(count, MARKED, dtype=np.int32)
            journal.note(head, Entry(came, was, old_rule[:count].copy(), old_proof[:count].copy()))
            head.relink(came)
        return came


def fuse_pull(
    strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols, columns: tuple[int, ...]
) -> FusedPull | None:
    """The compiled form of a pull, if it has one."""
    head = stores[rule.table]
    if head.table.picks or len(columns) != head.width or len(rule.atoms) != 2 or len(strand.steps) != 2:
        return None
    first, second = strand.steps
    start = strand.start
    if start is None or start.key or start.equal or len(start.binds) != head.width:
        return None
    if not isinstance(first, Join) or not isinstance(second, Join) or first.pattern.equal:
        return None
    if len(second.pattern.key) != stores[second.pattern.table].width:
        return None
    known = {name for _, name in start.binds}
    if any(isinstance(source, Var) and source.name not in known for _, source in first.pattern.key):
        return None
    return FusedPull(strand, rule, stores, symbols)


Fused = FusedCopy | FusedSet | FusedBest | FusedFrontier


def fuse(
    strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols, owns: Owns, *, holds_nulls: bool
) -> Fused | None:
    """The compiled form of a strand, if it has one."""
    if strand.atom is not None and strand.start is not None and len(rule.atoms) == 1:
        return _fuse_copy(strand, rule, stores, symbols, owns)
    joins = [step for step in strand.steps if isinstance(step, Join)]
    if len(joins) != 1 or strand.atom is None or strand.start is None or len(rule.atoms) != 2 or not rule.head:
        return None
    (join,) = joins
    if join.any or join.pattern.equal or len(join.pattern.key) == stores[join.pattern.table].width:
        return None
    if any(isinstance(source, Var) and not _starts(strand, source) for _, source in join.pattern.key):
        return None
    head = stores[rule.table]
    probe = Probe(strand, join, stores, symbols)
    copied = {**probe.lefts, **probe.rights}
    for source, kind in zip(rule.head, head.table.types, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return None
    if not head.table.picks:
        plain = len(strand.steps) == 1 and all(isinstance(one, Literal) or one.name in copied for one in rule.head)
        return FusedSet(probe, rule, head, symbols) if plain else None
    listed = is_listed(head.table)
    if not (listed or is_single(head)):
        return None
    (pick,) = head.table.picks
    lets = {step.variable: step.term for step in strand.steps if isinstance(step, Let)}
    if len(lets) != len(strand.steps) - 1:
        return None
    groups = [rule.head[at] for at in pick.group]
    if not all(isinstance(one, Literal) or one.name in copied for one in groups):
        return None
    value = rule.head[pick.value]
    needed = _needed(value, lets)
    if listed:
        assert head.table.lease is not None
        until = rule.head[head.table.lease]
        lease = _smallest(until, lets, probe, symbols) or _copied(until, lets, probe, symbols)
        latest = pick.value == head.table.lease
        addends = [] if latest else _addends(value, lets, probe, rule, head.table.types[pick.value], symbols)
        if not lease or addends is None or any(name not in needed | _needed(until, lets) for name in lets):
            return None
        if not FusedFrontier.can(addends, lease):
            return None
        return FusedFrontier(probe, rule, head, addends, lease, symbols, nulls=holds_nulls)
    if any(name not in needed for name in lets):
        return None  # what nobody asks for may have no value, and then there is no row
    addends = _addends(value, lets, probe, rule, head.table.types[pick.value], symbols)
    if not addends:
        return None
    return FusedBest(probe, rule, head, addends, symbols, holds_nulls=holds_nulls)


def _fuse_copy(
    strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols, owns: Owns
) -> FusedCopy | None:
    head = stores[rule.table]
    if head.table.picks or not rule.head:
        return None
    match strand.steps:
        case ():
            owned = None
        case (Owned(source=Var()) as owned,):
            pass
        case _:
            return None
    for source, kind in zip(rule.head, head.table.types, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return None
    return FusedCopy(strand, rule, stores, symbols, owned, owns)


def _starts(strand: Strand, source: Var) -> bool:
    assert strand.start is not None
    return any(name == source.name for _, name in strand.start.binds)


def _needed(source: Source, lets: dict[str, Term]) -> set[str]:
    """The computed variables that a head value is made from."""
    found: set[str] = set()
    pending = [source.name] if isinstance(source, Var) else []
    while pending:
        name = pending.pop()
        if name in lets and name not in found:
            found.add(name)
            pending.extend(names(lets[name]))
    return found


def _smallest(source: Source, lets: dict[str, Term], probe: Probe, symbols: Symbols) -> list[tuple[int, int]] | None:
    """A lease as the smallest of columns; None if it is anything else."""
    term = lets.get(source.name) if isinstance(source, Var) else None
    match term:
        case Call(function="smaller" | "smallest", args=args) if all(isinstance(arg, Variable) for arg in args):
            columns = [arg.name for arg in args if isinstance(arg, Variable)]
            if any(name in lets for name in columns):
                return None
            return [probe.place(Var(name), Type.INT, symbols) for name in columns]
        case _:
            return None


def _copied(source: Source, lets: dict[str, Term], probe: Probe, symbols: Symbols) -> list[tuple[int, int]] | None:
    """A lease as it is; None if it is computed."""
    if isinstance(source, Var) and source.name in lets:
        return None
    return [probe.place(source, Type.INT, symbols)]


def _addends(
    source: Source, lets: dict[str, Term], probe: Probe, rule: FlatRule, kind: Type, symbols: Symbols
) -> list[tuple[int, int]] | None:
    """A head value as a sum of columns and constants; None if it is anything else."""
    if isinstance(source, Literal) or source.name not in lets:
        return [probe.place(source, kind, symbols)]
    if kind is not Type.INT:
        return None
    found: list[tuple[int, int]] = []
    pending: list[Term] = [lets[source.name]]
    while pending:
        match pending.pop():
            case Variable(name=name) if name in lets:
                pending.append(lets[name])
            case Variable(name=name) if rule.types[name] is Type.INT and name not in rule.nullable:
                found.append(probe.place(Var(name), kind, symbols))
            case Constant(value=int(value), type=Type.INT):
                found.append((CONSTANT, value))
            case Binary(op="+", left=left, right=right):
                pending.extend((left, right))
            case _:
                return None
    return found


_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
