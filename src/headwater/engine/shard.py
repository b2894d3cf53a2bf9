"""The engine of one shard: base rows in, changed rows out, transaction by transaction.

`Shard.transaction` is the only sequence of a transaction. It is a generator: it yields what it ships and is sent what
it receives. A database is one shard that ships nothing; members of a cluster, of a gang or of a shuffle drive the same
generator. A transaction is applied whole or not at all: whatever goes wrong, down to Ctrl-C, the journal puts every
row back. A shard knows codes, not values: `border.codec` translates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from headwater.core.alarm import Alarm
from headwater.core.errors import DataError, GuardError
from headwater.engine.best.search import SearchedRow, search_between, search_from
from headwater.engine.best.selection import rows_with
from headwater.engine.border.codec import Change as Change
from headwater.engine.border.codec import set_late_aside
from headwater.engine.clock import Clock
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.driver import drive, step
from headwater.engine.guard import Guard
from headwater.engine.profile import Meter
from headwater.engine.rules.context import Context
from headwater.engine.rules.delta_rule import Runner
from headwater.engine.shipping import ALONE, HELD, Activity, Mask, Outboxes, Received, Routing, Shipped
from headwater.engine.store.budget import Budget
from headwater.engine.store.compaction import Moment, compact, forget_sparse, is_worth
from headwater.engine.store.index import Matrix, Rows, packed_sort
from headwater.engine.store.states import BASE, GONE, RENUMBER_FROM
from headwater.engine.store.store import Store, Use
from headwater.engine.stratum_runner import StratumRunner
from headwater.engine.transaction import Transaction
from headwater.language.syntax import Atom, Wildcard
from headwater.plan.model import FlatRule, Plan
from headwater.plan.reorder import Orders, in_orders, orders_of
from headwater.program.model import WaySearch

_BULK_FROM = 1 << 12
Seen = TypeVar("Seen")
Rounds: TypeAlias = Generator[Shipped, Received, None]


@dataclass(frozen=True, slots=True)
class Committed:
    """What a transaction did: the net change of every table that changed, which of the rows to insert were late, and
    the alarms that ring now."""

    changes: dict[str, Change]
    late: dict[str, Mask]
    alarms: tuple[Alarm, ...] = ()


Follow = Callable[[dict[str, Change], Callable[[], None]], None]  # the changes, and a check to be called now and then


class Shard:
    """One shard: its tables, its clock and its strata; alone, or with others that `routing` knows.

    It is `replayable` until a transaction is undone: the same transactions, with the same rounds received, lead another
    shard to the same state. An undone transaction leaves dead rows behind, which may lead later ones to other, equally
    good, witnesses.
    """

    def __init__(
        self,
        plan: Plan,
        symbols: Symbols,
        keys: Mapping[str, tuple[int, ...]],
        guard: Guard,
        routing: Routing = ALONE,
        budget: Budget | None = None,
    ) -> None:
        self._plan, self._replans = plan, 0
        self.symbols = symbols
        self.guard = guard
        self.keys = keys
        self.budget = Budget() if budget is None else budget
        self.stores: dict[str, Store] = {table.name: Store(table, self.budget) for table in plan.tables}
        self.budget.covers(self.stores.values(), symbols)
        self.context = Context(self.stores, symbols, routing.owns, holds_nulls=plan.holds_nulls)
        self.uses = [
            Use(rule.id, at, self.stores[parent], self.stores[rule.table], lasting=self._lasts(rule, at))
            for rule in plan.rules
            for at, parent in enumerate(rule.atoms)
        ]
        self._derived = [store for store in self.stores.values() if not store.table.base]
        self._alarmed = [store for store in self._derived if store.table.alarm is not None]
        self.clock = Clock(self.stores, keys)
        self._soft_facts = any(_is_soft(self.stores[plan.rules[number].table]) for number in plan.facts)
        self.meter = Meter()
        self.strata = [StratumRunner(stratum, plan, self.context, self.uses, self.meter) for stratum in plan.strata]
        self.tick = 0
        self.replayable = True
        self._routing = routing
        self._outboxes = Outboxes(self.stores, plan.shipments, routing)

    @property
    def plan(self) -> Plan:
        """The plan, with the join orders that are in force."""
        if self._replans != self.context.replans:
            now = self.context.replanned
            self._plan = replace(self._plan, rules=tuple(now.get(rule.id, rule) for rule in self._plan.rules))
            self._replans = self.context.replans
        return self._plan

    def join_orders(self) -> dict[str, Any]:
        """The join orders that were chosen by the data, and for which sizes of tables, as JSON."""
        chosen = sorted(self.context.replanned.items())
        return {
            "planned": [stratum.planned for stratum in self.strata],
            "orders": [[number, *orders_of(rule).packed] for number, rule in chosen],
        }

    def restore_join_orders(self, saved: Mapping[str, Any]) -> None:
        """Join as a shard did that gave these `join_orders`; raises ValueError, KeyError or TypeError if none did."""
        rules = {rule.id: rule for rule in self.plan.rules}
        tables = {table.name: table for table in self.plan.tables}
        anew = [in_orders(rules[number], tables, Orders.of(*packed)) for number, *packed in saved["orders"]]
        for stratum, planned in zip(self.strata, saved["planned"], strict=True):
            stratum.restore_plan(planned, anew)

    def _lasts(self, rule: FlatRule, position: int) -> bool:
        """Whether heads may go on resting on a row that a version with a later lease replaced: if the
        versions differ only in what makes the head's own lease."""
        parent, child = self.stores[rule.atoms[position]].table, self.stores[rule.table].table
        atom = [goal for goal in rule.body if isinstance(goal, Atom)][position]
        blind = parent.time is None or isinstance(atom.args[parent.time], Wildcard)
        return parent.lasting and child.lasting and blind

    # Transactions

    def transaction(
        self,
        inserts: Mapping[str, Codes],
        deletes: Mapping[str, Codes],
        *,
        now: int | None = None,
        first: bool = False,
        cancelled: Callable[[], bool] = lambda: False,
        follow: Follow | None = None,
        hold: bool = False,
        late_too: bool = False,
        unread: bool = False,
    ) -> Generator[Shipped, Received, Committed]:
        """Deletes, then inserts, of base rows as written, without leases; the `first` one states the program's facts.

        The clock moves to `now`, or to the latest time among the inserts if that is later; shards that work together
        must be given the same. Rows whose lease is over by then are dropped first. Rows that are late are set aside,
        unless they are wanted, too. `follow` gets what changes before it is committed. With `hold`, the last thing
        yielded is `HELD`: the transaction is committed when anything is sent. An error, or closing it, undoes it.
        With `unread`, the caller knows that no rule can match the rows, so no rule runs.
        """
        late: dict[str, Mask] = {}
        if not late_too:
            inserts, late = set_late_aside(self.clock, inserts, self._after_facts() if first else self.clock.now)
        transaction = self._begin(cancelled)
        try:
            self._change_base(transaction, inserts, deletes, now, first=first)
            for stratum in () if unread else self.strata:
                if stratum.outboxes:
                    yield from self._exchange(stratum, transaction, first=first)
                elif first or stratum.concerns(transaction):
                    stratum.run(transaction, first=first and self._routing.begins)
            transaction.check()
            alarms = self._ringing()
            changes = self._changes(transaction)
            if follow is not None:
                follow(changes, transaction.check)
            if hold:
                yield HELD
        except BaseException as problem:
            self._undo(transaction, problem)
            if isinstance(problem, MemoryError):
                raise self.budget.failed() from problem
            raise
        self._commit(transaction)
        return Committed(changes, late, alarms)

    def _ringing(self) -> tuple[Alarm, ...]:
        """The alarms that ring; raises DataError if one refuses what the transaction did."""
        ringing = []
        for store in self._alarmed:
            alarm = store.table.alarm
            if alarm is not None and store.alive().size:
                if alarm.refuses:
                    raise DataError(alarm.text)
                ringing.append(alarm)
        return tuple(ringing)

    def _exchange(self, stratum: StratumRunner, transaction: Transaction, *, first: bool) -> Rounds:
        """Bring a stratum that ships rows up to date, together with the other shards (see `shipping`)."""
        concerned = first or stratum.concerns(transaction)
        run = stratum.begin_run(transaction)
        while True:
            activity = Activity.WORK if concerned else Activity.NOTHING
            received = yield Shipped(self._outboxes.marks(run), marks=True, activity=activity)
            if received.activity is Activity.NOTHING:
                return
            for inbox, rows in received.boxes:
                run.receive_marks(inbox, rows)
            if received.activity is not Activity.SENT:
                break
            concerned = True
        run.derive(first=first and self._routing.begins)
        while True:
            received = yield Shipped(self._outboxes.rows(run), marks=False, activity=Activity.WORK)
            if received.activity is not Activity.SENT:
                break
            for inbox, rows in received.boxes:
                run.receive_rows(inbox, rows)
            run.propagate()
        run.finish()

    def start(self) -> None:
        """Put the program's own facts in place and derive what follows from them."""
        drive(self.transaction({}, {}, first=True), _ships_nothing)

    def apply(
        self,
        inserts: Mapping[str, Codes],
        deletes: Mapping[str, Codes],
        cancelled: Callable[[], bool] = lambda: False,
        now: int | None = None,
        follow: Follow | None = None,
        *,
        late_too: bool = False,
        unread: bool = False,
    ) -> Committed:
        """A transaction of a shard that is alone."""
        run = self.transaction(
            inserts, deletes, now=now, cancelled=cancelled, follow=follow, late_too=late_too, unread=unread
        )
        return drive(run, _ships_nothing)

    def suppose(self, inserts: Mapping[str, Codes], deletes: Mapping[str, Codes]) -> dict[str, Change]:
        """What a transaction would change; nothing is changed."""
        return self._try(lambda changes: changes, deletes, None, inserts)

    def at(self, now: int, look: Callable[[], Seen]) -> Seen:
        """What `look` sees once the clock shows `now` and nothing else has come; nothing is changed."""
        return self._try(lambda _: look(), {}, now)

    def search_between(self, search: WaySearch, start: int, goal: int) -> SearchedRow | None:
        """The row between two codes, searched for along the rows that are there; None where only rules can tell."""
        return search_between(self.stores[search.steps], search, start, goal)

    def search_from(self, search: WaySearch, end: int, start: int) -> Codes | None:
        """The rows of which one end is this code, searched for along the rows that are there; None as above."""
        return search_from(self.stores[search.steps], search, end, start)

    def supposing(self, inserts: Mapping[str, Codes], look: Callable[[], Seen]) -> Seen:
        """What `look` sees once these rows are there; nothing is changed."""
        return self._try(lambda _: look(), {}, None, inserts)

    def _try(
        self,
        look: Callable[[dict[str, Change]], Seen],
        deletes: Mapping[str, Codes],
        now: int | None,
        inserts: Mapping[str, Codes] | None = None,
    ) -> Seen:
        """What `look` sees at the end of a transaction, which is then undone."""
        found: list[Seen] = []

        def follow(changes: dict[str, Change], _: object) -> None:
            found.append(look(changes))

        run = self.transaction(inserts or {}, deletes, now=now, follow=follow, hold=True)
        step(run)
        run.close()
        return found[0]

    # Steps

    def _begin(self, cancelled: Callable[[], bool]) -> Transaction:
        self.meter.transactions += 1
        for stratum in self.strata:
            stratum.begin()
        for store in self._derived:
            store.begin(self.guard.rows)
        if self.tick >= RENUMBER_FROM:
            self._renumber_rounds()
        return Transaction(self.tick, self.guard, self.budget, cancelled)

    def _renumber_rounds(self) -> None:
        """Between transactions all rows alive are equally old: to number rounds anew, they all came in the first.

        A replay does so at the same transactions, as the number of rounds is part of the state.
        """
        for store in self.stores.values():
            store.restamp_all(1)
        self.tick = 1

    def _change_base(
        self,
        transaction: Transaction,
        inserts: Mapping[str, Codes],
        deletes: Mapping[str, Codes],
        now: int | None,
        *,
        first: bool,
    ) -> None:
        """Make the changes of base rows; the very `first` ones state the program's own facts too.

        Facts that live by the clock wait until it shows a time.
        """
        transaction.next_tick()
        timeless = self.clock.now is None
        stated = list(self._facts()) if first or (timeless and self._soft_facts) else []
        transaction.now = self.clock.after(inserts, now)
        for store, rows, _, _ in stated:
            if store.table.life is not None:
                transaction.now = self.clock.after({store.name: rows}, transaction.now)
        self.clock.expire(transaction)
        for store, rows, rule, witnesses in stated:
            if (timeless and transaction.now is not None) if _is_soft(store) else first:
                mine = self._routing.holds(store.name, rows)
                self._state(transaction, store, rows[mine], rule, witnesses[mine])
        for name, rows in deletes.items():
            store = self.stores[name]
            if store.table.life is not None:
                self.clock.delete(transaction, store, rows)
            else:
                self._delete(transaction, store, store.find(rows))
        self.clock.begin(transaction)
        for name, rows in inserts.items():
            store = self.stores[name]
            if store.table.life is not None:
                self.clock.insert(transaction, store, rows, BASE, np.zeros((rows.shape[0], 0), dtype=np.int32))
            else:
                self._insert(transaction, store, rows)
        for store in self.stores.values():
            if store.table.base:
                transaction.close(store)

    def _undo(self, transaction: Transaction, problem: BaseException) -> None:
        """Take a transaction back, however far it got; tables that it left mostly dead give their memory back."""
        self.replayable = False
        if isinstance(problem, MemoryError | GuardError):
            for store in self.stores.values():
                store.forget_lists()
        changed = tuple(transaction.journal.entries)
        transaction.journal.undo(self.stores)
        for stratum in self.strata:
            stratum.undo()
        self.tick = transaction.tick  # rounds are never counted twice
        self._compact(changed)

    def _commit(self, transaction: Transaction) -> None:
        self.tick = transaction.tick
        self.clock.committed(transaction)
        for name, rows in transaction.came.items():
            self.stores[name].committed(rows.size, 0)
        for name, rows in transaction.went.items():
            self.stores[name].committed(0, rows.size)
        changed = transaction.journal.entries.keys()
        for name in changed:
            self.stores[name].stop_growing()
        self._compact(changed)

    def _compact(self, changed: Collection[str], moment: Moment = Moment.BUSY) -> None:
        for name in changed:
            if self.stores[name].table.base:
                compact((name,), self.stores, moment)
        for stratum in self.strata:
            if any(name in changed for name in stratum.stratum.tables):
                compact(stratum.stratum.tables, self.stores, moment)

    def rest(self) -> None:
        """Give back what rows that are there do not need, if it is much: no transaction is expected for a while."""
        if any(is_worth(store, Moment.REST) for store in self.stores.values()):
            self._compact(self.stores, Moment.REST)
        for store in self.stores.values():
            forget_sparse(store)

    def _after_facts(self) -> int | None:
        """What the clock shows once the program's own facts have come."""
        now = self.clock.now
        for store, rows, _, _ in self._facts():
            if store.table.life is not None:
                now = self.clock.after({store.name: rows}, now)
        return now

    def _facts(self) -> Iterator[tuple[Store, Codes, int, npt.NDArray[np.int32]]]:
        """The program's own facts, those of other shards too, with the rules that state them."""
        for number in self.plan.facts:
            rule = self.plan.rules[number]
            if rule.spontaneous is None:
                continue
            runner = Runner(rule.spontaneous, rule, self.context)
            for batch in runner.from_nothing():
                columns = runner.head_columns(batch)
                codes = np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((1, 0), dtype=np.int64)
                yield self.stores[rule.table], codes, rule.id, runner.witnesses(batch)

    def _state(
        self, transaction: Transaction, store: Store, codes: Codes, rule: int, witnesses: npt.NDArray[np.int32]
    ) -> None:
        if store.table.life is not None:
            written = codes if store.table.lease is None else codes[:, : store.table.lease]
            self.clock.insert(transaction, store, written, rule, witnesses)
            return
        store.admit([codes[:, column] for column in range(store.width)])
        store.merge(codes, witnesses, rule, transaction.tick, transaction.journal)

    def _delete(self, transaction: Transaction, store: Store, rows: Rows) -> None:
        rows = np.unique(rows[rows >= 0])
        rows = rows[(store.stamp[rows] > GONE) & (store.rules[rows] == BASE)]
        if rows.size:
            store.set_state(rows, GONE, transaction.journal)

    def _insert(self, transaction: Transaction, store: Store, rows: Codes) -> None:
        key = self.keys.get(store.name)
        if key is not None:
            rows = _last_per_key(rows, key)
            same = store.find(rows)
            held = rows_with(store.index(key), np.ascontiguousarray(rows[:, list(key)]), store)[1]
            stated = held[(store.rules[held] != BASE) & ~np.isin(held, same)]
            if stated.size:
                raise DataError(f"a fact of the program has the key of a row of `{store.name}`, and cannot be replaced")
            self._delete(transaction, store, np.setdiff1d(held, same[same >= 0]))
        store.admit_rows(rows)
        if store.size == 0 and rows.shape[0] > _BULK_FROM and store.width:
            distinct = packed_sort(rows)
            if distinct is not None:
                store.append_ordered(distinct, BASE, transaction.tick, transaction.journal)
                return
        store.reserve(rows.shape[0])
        witnesses = np.zeros((rows.shape[0], 0), dtype=np.int32)
        store.merge(rows, witnesses, BASE, transaction.tick, transaction.journal)

    def _changes(self, transaction: Transaction) -> dict[str, Change]:
        changes: dict[str, Change] = {}
        for name in dict.fromkeys((*transaction.came, *transaction.went)):
            store = self.stores[name]
            changes[name] = Change(
                _copied(store, transaction.came.get(name, _NO_ROWS)),
                _copied(store, transaction.went.get(name, _NO_ROWS)),
            )
        return changes

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self.stores.values())


def _is_soft(store: Store) -> bool:
    """Whether rows live from the moment of the clock at which they come."""
    return store.table.life is not None and store.table.time is None


def _ships_nothing(shipped: Shipped) -> NoReturn:
    raise AssertionError("a shard that is alone ships nothing")


def _copied(store: Store, rows: Rows) -> Matrix:
    """The columns of some rows, in ascending order of their numbers; what is most of a store is not copied.

    A row's columns are written once: compaction, too, makes new arrays.
    """
    if rows.size and int(rows[-1]) - int(rows[0]) + 1 == rows.size:
        side_by_side = store.data[rows[0] : rows[-1] + 1]
        return side_by_side if 2 * rows.size > store.size else side_by_side.copy()
    return store.data[rows]


def _last_per_key(rows: Codes, key: tuple[int, ...]) -> Codes:
    """Of several rows with one key the last word wins."""
    if (rows[1:, key[0]] > rows[:-1, key[0]]).all():
        return rows
    columns = [rows[::-1, column] for column in key]
    order = np.lexsort(columns)  # stable: of equal keys, the one that came last is the first
    same = np.ones(order.size - 1, dtype=np.bool_)
    for column in columns:
        same &= column[order[1:]] == column[order[:-1]]
    return rows if not same.any() else rows[np.sort(rows.shape[0] - 1 - order[np.r_[True, ~same]])]


_NO_ROWS: npt.NDArray[np.int32] = np.zeros(0, dtype=np.int32)
