"""Runs a delta rule: from starting rows or keys, through joins and tests, to bindings of the head.

Bindings flow in batches. A join fills a buffer of bounded size, hands that on through the rest of the delta rule,
and goes on where it stopped, so that memory does not follow the number of derivations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.core.types import Type
from headwater.core.widening import keeps
from headwater.engine.codes.batch import Batch, Column, stacked
from headwater.engine.codes.columns import to_values
from headwater.engine.codes.fitting import shown
from headwater.engine.codes.symbols import Symbols, encode
from headwater.engine.codes.term_values import Value
from headwater.engine.rules.context import Context
from headwater.engine.rules.fused import fused
from headwater.engine.rules.fused_set import FusedCopy, FusedPull, FusedTail
from headwater.engine.store import kernels
from headwater.engine.store.index import Rows
from headwater.engine.store.states import EVER, GONE
from headwater.engine.store.store import Store
from headwater.language.syntax import Variable
from headwater.plan.model import (
    Absent,
    DeltaRule,
    Filter,
    FlatRule,
    FrontierLoop,
    Join,
    JoinLoop,
    Let,
    Literal,
    Owned,
    Pattern,
    Reads,
    Source,
    Step,
    Test,
    Var,
)

_BUFFER = 1 << 17
_TRIED = 1 << 14  # bindings that are filtered before it is judged whether that pays
Done = npt.NDArray[np.bool_]


class _Key:
    """The known columns of a pattern and where their values come from."""

    __slots__ = ("columns", "sources", "whole")

    def __init__(self, meet: Pattern, store: Store, symbols: Symbols) -> None:
        self.columns = tuple(column for column, _ in meet.key)
        self.sources = [_encoded(source, store.table.types[column], symbols) for column, source in meet.key]
        self.whole = len(self.columns) == store.width

    def of(self, batch: Batch) -> npt.NDArray[np.int64]:
        keys = np.empty((batch.size, len(self.sources)), dtype=np.int64)
        for at, source in enumerate(self.sources):
            keys[:, at] = batch.columns[source] if isinstance(source, str) else source
        return keys


def _pinned(delta_rule: DeltaRule, stores: Mapping[str, Store]) -> list[tuple[int, Store]]:
    """The atoms of a pull whose values are all in the head, with their stores."""
    assert delta_rule.start is not None
    known = {name for _, name in delta_rule.start.binds}
    found = []
    for step in delta_rule.steps:
        if isinstance(step, Join):
            store = stores[step.pattern.table]
            given = all(isinstance(source, Literal) or source.name in known for _, source in step.pattern.key)
            if given and len(step.pattern.key) == store.width:
                found.append((step.atom, store))
    return found


def _encoded(source: Source, kind: Type, symbols: Symbols) -> str | int:
    """A variable's name, or a constant's code in a column of that type."""
    if isinstance(source, Var):
        return source.name
    return encode(source.value, kind, symbols)


class _Join:
    def __init__(self, step: Join, context: Context) -> None:
        self._step = step
        self._store = context.stores[step.pattern.table]
        self._key = _Key(step.pattern, self._store, context.symbols)

    def is_empty(self, tick: int) -> bool:
        """Whether no row can be met. Rows lie in the order in which they came first: mostly one look tells."""
        newest = tick if self._step.reads is Reads.ALL else tick - 1
        return not kernels.any_until(self._store.stamp, self._store.size, newest)

    def run(self, batch: Batch, tick: int, done: Done | None) -> Iterator[Batch]:
        step, store = self._step, self._store
        newest = tick if step.reads is Reads.ALL else tick - 1
        keys = self._key.of(batch)
        if self._key.whole:
            rows = store.find(keys)
            seen = np.where(rows >= 0, store.stamp[rows], 0)
            met = np.flatnonzero((seen > 0) & (seen <= newest))
            yield self._extend(batch, met, rows[met])
            return
        index = store.index(self._key.columns)
        cells, lists = index.cells(keys, store.data), index.lists  # kept to the end, whatever comes between two batches
        if step.any:
            rows = np.empty(batch.size, dtype=np.int32)
            kernels.exists(cells, lists.arrays, store.stamp, newest, rows)
            met = np.flatnonzero(rows >= 0)
            yield self._extend(batch, met, rows[met])
            return
        size = min(_BUFFER, max(64, 8 * batch.size)) if done is None else min(_BUFFER, max(64, 4 * batch.size))
        left = np.empty(size, dtype=np.int32)
        right = np.empty(size, dtype=np.int32)
        at, place, row = 0, -1, -1
        while at < cells.size:
            count, at, place, row = kernels.expand(
                cells, lists.arrays, store.stamp, newest, at, place, row, left, right
            )
            if count:
                yield self._extend(batch, left[:count], right[:count])
            if at < cells.size and done is not None and batch.origin is not None:
                finished = done[batch.origin]
                if finished[at]:
                    at, place = at + 1, -1
                cells = np.where(finished, np.int64(-1), cells)

    def _extend(self, batch: Batch, left: npt.NDArray[np.intp] | Rows, right: Rows) -> Batch:
        step, data = self._step, self._store.data
        for first, second in step.pattern.equal:
            agree = data[right, first] == data[right, second]
            left, right = left[agree], right[agree]
        out = batch.take(left, step.keep)
        for column, name in step.pattern.binds:
            if name in step.keep:
                out.columns[name] = data[right, column]
        out.rows[step.atom] = right
        return out


class _Filter:
    """See `Filter`. It stops asking where it has been asked often and most bindings passed."""

    def __init__(self, step: Filter, context: Context) -> None:
        self._reads = step.reads
        self._store = context.stores[step.pattern.table]
        self._key = _Key(step.pattern, self._store, context.symbols)
        self._asked = self._passed = 0

    def run(self, batch: Batch, tick: int) -> Batch:
        if self._asked >= _TRIED and 2 * self._passed > self._asked:
            return batch
        rows = np.empty(batch.size, dtype=np.int32)
        index, store = self._store.index(self._key.columns), self._store
        newest = tick if self._reads is Reads.ALL else tick - 1
        kernels.exists(index.cells(self._key.of(batch), store.data), index.arrays, store.stamp, newest, rows)
        passed = batch.take(rows >= 0)
        self._asked += batch.size
        self._passed += passed.size
        return passed


class _Absent:
    def __init__(self, step: Absent, context: Context) -> None:
        self._store = context.stores[step.pattern.table]
        self._key = _Key(step.pattern, self._store, context.symbols)

    def run(self, batch: Batch) -> Batch:
        store = self._store
        keys = self._key.of(batch)
        if self._key.whole:
            rows = store.find(keys)
            return batch.take(np.where(rows >= 0, store.stamp[rows], 0) <= 0)
        index = store.index(self._key.columns)
        rows = np.empty(batch.size, dtype=np.int32)
        kernels.exists(index.cells(keys, store.data), index.arrays, store.stamp, EVER, rows)
        return batch.take(rows < 0)


def _prepared(step: Step, context: Context) -> _Join | _Filter | _Absent | Let | Test | Owned:
    match step:
        case Join():
            return _Join(step, context)
        case Filter():
            return _Filter(step, context)
        case Absent():
            return _Absent(step, context)
        case Let() | Test() | Owned():
            return step
        case _:
            assert_never(step)


class Runner:
    """One delta rule, ready to run. `exact` are the atoms of which it finds every match, not just one."""

    def __init__(
        self,
        delta_rule: DeltaRule,
        rule: FlatRule,
        context: Context,
        columns: tuple[int, ...] | None = None,
        *,
        searching: bool = False,
        way: int = 0,
    ) -> None:
        """`columns` are the head columns that the keys of a pull hold; a pull is `searching` (see `Expressions`).

        `way` is the place of the delta rule in its rule.
        """
        self.rule = rule
        self.key = rule.id, way
        self.expected = delta_rule.expected
        self.met = 0  # rows met, and bindings made, since they were last counted; None: a loop did not count them
        self.made: int | None = 0
        loop = fused(delta_rule, rule, context)
        self.tail = loop if isinstance(loop, FusedTail) else None
        self.pull = loop if isinstance(loop, FusedPull) else None
        self.fused = None if isinstance(loop, FusedTail | FusedPull) else loop
        self.closes = isinstance(delta_rule.loop, FrontierLoop | JoinLoop) and delta_rule.loop.closes
        self._delta_rule = delta_rule
        self._context = context
        self._expressions = context.expressions(rule, searching=searching or columns is not None)
        kinds = context.stores[rule.table].table.types
        self._head = [_encoded(source, kind, context.symbols) for source, kind in zip(rule.head, kinds, strict=True)]
        self._cast = {
            at: kind
            for at, (source, kind) in enumerate(zip(rule.head, kinds, strict=True))
            if isinstance(source, Var) and not keeps(kind, rule.types[source.name])
        }
        loose = {step.atom for step in delta_rule.steps if isinstance(step, Join) and step.any}
        self.exact = [atom for atom in range(len(rule.atoms)) if atom not in loose]
        self._pinned = _pinned(delta_rule, context.stores) if columns else []
        self._recheck = [(at, column) for at, column in enumerate(columns or ()) if column in self._cast]
        self._checks: list[tuple[int, int]] = []
        if delta_rule.start is not None:
            types = context.stores[delta_rule.start.table].table.types
            if columns is not None:
                types = tuple(types[column] for column in columns)
            for column, source in delta_rule.start.key:
                code = _encoded(source, types[column], context.symbols)
                assert isinstance(code, int), "a delta rule starts with no variable known"
                self._checks.append((column, code))
        self._steps = [_prepared(step, context) for step in delta_rule.steps]
        self._joins = [step for step in self._steps if isinstance(step, _Join)]

    def looped(self, found: int | None) -> None:
        """A compiled loop has found so many bindings; None: it did not count them."""
        if found is None or self.made is None:
            self.made = None
        else:
            self.met += 0 if isinstance(self.fused, FusedCopy) else found
            self.made += found

    def before_tail(self, rows: Rows, tick: int) -> Iterator[Batch]:
        """Bindings of all goals but the last join."""
        return self.from_rows(rows, tick, len(self._steps) - 1)

    def from_rows(self, rows: Rows, tick: int, until: int | None = None) -> Iterator[Batch]:
        """Bindings that use one of these rows where the delta rule starts, after all steps or those before `until`."""
        start = self._delta_rule.start
        assert start is not None
        if self._meets_nothing(tick):
            return
        data = self._context.stores[start.table].data
        for at in range(0, rows.size, _BUFFER):
            chunk = self.starters(rows[at : at + _BUFFER])
            if chunk.size:
                batch = Batch(chunk.size, {name: data[chunk, column] for column, name in start.binds})
                if self._delta_rule.atom is not None:
                    batch.rows[self._delta_rule.atom] = chunk
                yield from self._flow(batch, 0, tick, None, until)

    def _meets_nothing(self, tick: int) -> bool:
        """Whether one of several joins surely meets no row: then the others would be made for nothing."""
        return len(self._joins) > 1 and any(join.is_empty(tick) for join in self._joins)

    def starters(self, rows: Rows) -> Rows:
        """Of these rows those that the delta rule's start matches."""
        start = self._delta_rule.start
        if start is None or not (self._checks or start.equal):
            return rows
        data = self._context.stores[start.table].data
        keep = np.ones(rows.size, dtype=np.bool_)
        for column, code in self._checks:
            keep &= data[rows, column] == code
        for first, second in start.equal:
            keep &= data[rows, first] == data[rows, second]
        return rows[keep]

    def from_keys(self, keys: npt.NDArray[np.int64], done: Done | None) -> Iterator[Batch]:
        """Bindings whose head has the values of one of these keys; keys that are `done` may be left out."""
        start = self._delta_rule.start
        assert start is not None
        keep = np.ones(keys.shape[0], dtype=np.bool_) if done is None else ~done
        for column, code in self._checks:
            keep &= keys[:, column] == code
        for first, second in start.equal:
            keep &= keys[:, first] == keys[:, second]
        wanted = np.flatnonzero(keep).astype(np.int32)
        for at in range(0, wanted.size, _BUFFER):
            origin = wanted[at : at + _BUFFER]
            columns: dict[str, Column] = {name: keys[origin, column] for column, name in start.binds}
            for batch in self._flow(Batch(origin.size, columns, origin=origin), 0, EVER, done):
                if not self._recheck:
                    yield batch
                    continue
                same = np.ones(batch.size, dtype=np.bool_)
                for place, column in self._recheck:
                    found = self._cast_head(batch, column)
                    same &= found.codes == keys[batch.origin, place]
                    if found.ok is not None:
                        same &= found.ok
                if same.any():
                    yield batch.take(same)

    def worth_pulling(self, store: Store, rows: Rows) -> Rows:
        """Of marked rows those that the rule may derive again: not those whose witness by it names a row that is gone
        and that no other can stand in for, because all its values are in the head."""
        if not self._pinned:
            return rows
        own = store.rules[rows] == self.rule.id
        lost = np.zeros(rows.size, dtype=np.bool_)
        for position, parent in self._pinned:
            lost |= own & (parent.stamp[np.where(own, store.witness[rows, position], 0)] <= GONE)
        return rows[~lost]

    def from_nothing(self) -> Iterator[Batch]:
        yield from self._flow(Batch(1), 0, EVER, None)

    def trace(self, keys: npt.NDArray[np.int64], most: int) -> tuple[int | None, Batch]:
        """How far one key gets: the step at which no binding is left (-1: the start), and the bindings before it.

        At most `most` bindings are followed. (None, ...) means that a derivation was found.
        """
        start = self._delta_rule.start
        assert start is not None
        met = all(keys[0, column] == code for column, code in self._checks)
        if not met or any(keys[0, first] != keys[0, second] for first, second in start.equal):
            return -1, Batch(0)
        batch = Batch(1, {name: keys[:, column] for column, name in start.binds})
        for position, step in enumerate(self._steps):
            if isinstance(step, _Join):
                after = next(step.run(batch, EVER, None), Batch(0))
                after = after.take(np.arange(min(most, after.size)))
            else:
                after = self._one(Batch(batch.size, dict(batch.columns), dict(batch.rows)), step, EVER)
            if not after.size:
                return position, batch
            if batch.size == 1:  # joins drop what no later goal asks for; a reader wants to see it
                before = {name: column.repeat(after.size) for name, column in batch.columns.items()}
                after.columns = {**before, **after.columns}
            batch = after
        return None, batch

    def _flow(self, batch: Batch, at: int, tick: int, done: Done | None, end: int | None = None) -> Iterator[Batch]:
        for position in range(at, len(self._steps) if end is None else end):
            if not batch.size:
                return
            step = self._steps[position]
            if isinstance(step, _Join):
                for wider in step.run(batch, tick, done):
                    self.met += wider.size
                    yield from self._flow(wider, position + 1, tick, done, end)
                return
            batch = self._one(batch, step, tick)
        if batch.size:
            if end is None and self.made is not None:
                self.made += batch.size
            yield batch

    def _one(self, batch: Batch, step: _Filter | _Absent | Let | Test | Owned, tick: int) -> Batch:
        """A step that joins nothing: the bindings that pass it."""
        match step:
            case _Filter():
                return step.run(batch, tick)
            case _Absent():
                return step.run(batch)
            case Let(variable=variable, type=kind, term=term):
                value = self._expressions.cast(self._expressions.value(term, batch, kind), kind)
                batch.columns[variable] = value.codes
                return batch if value.ok is None else batch.take(value.ok)
            case Test(goal=goal):
                truth = self._expressions.holds(goal, batch)
                return batch if truth.all() else batch.take(truth)
            case Owned(source=source, type=kind, mine=mine):
                code = _encoded(source, kind, self._context.symbols)
                column = batch.columns[code] if isinstance(code, str) else np.full(batch.size, code, dtype=np.int64)
                return batch.take(self._context.owns(column, kind) == mine)
            case other:
                assert_never(other)

    def head_columns(self, batch: Batch) -> Sequence[Column]:
        """The head's columns for these bindings."""
        columns: list[Column] = []
        for at, source in enumerate(self._head):
            if not isinstance(source, str):
                columns.append(np.full(batch.size, source, dtype=np.int64))
            elif at in self._cast:
                found = self._cast_head(batch, at)
                if found.ok is not None and not found.ok.all():
                    raise self._refused(batch, at, int(np.flatnonzero(~found.ok)[0]))
                columns.append(found.codes)
            else:
                columns.append(batch.columns[source])
        return columns

    def heads(self, batch: Batch) -> npt.NDArray[np.int64]:
        """The head rows for these bindings."""
        return stacked(self.head_columns(batch), batch.size)

    def _cast_head(self, batch: Batch, at: int) -> Value:
        """A column of the head whose variable has another type."""
        source = self._head[at]
        assert isinstance(source, str), "a constant is encoded as its column asks for"
        return self._expressions.fitted(self._expressions.value(Variable(source), batch), self._cast[at])

    def _refused(self, batch: Batch, at: int, row: int) -> EvaluationError:
        """A mixed value that does not fit the column it would go to."""
        table, types, symbols = self._context.stores[self.rule.table].table, self.rule.types, self._context.symbols
        values = [
            to_values(batch.columns[source.name][row : row + 1], types[source.name], symbols, nullable=True)[0]
            if isinstance(source, Var)
            else source.value
            for source in self.rule.head
        ]
        row_text = ", ".join(map(shown, values))
        name, kind = table.stands_for or table.name.partition("'")[0], table.types[at].value
        return EvaluationError(
            f"error[HW810]: {shown(values[at])} does not fit column `{table.columns[at]}` of `{name}` (type {kind})\n"
            f"  note: it is an item of a mixed list, and the row would be {name}({row_text})\n"
            f'  hint: keep out what is of another type with has_type(X, "{kind}"), convert it, or declare what the '
            f"list holds, list<{kind}>, so that rows with other lists are set aside"
        )

    def witnesses(self, batch: Batch) -> npt.NDArray[np.int32]:
        """For each binding the rows it used, in the order of the rule's positive atoms."""
        out = np.empty((batch.size, len(self.rule.atoms)), dtype=np.int32)
        for atom in range(len(self.rule.atoms)):
            out[:, atom] = batch.rows[atom]
        return out
