"""One stratum under one transaction: mark what lost its witness, derive again, propagate what came.

Input: which rows of lower tables came and went. Promise: afterwards the stratum's tables hold exactly the least
fixpoint over what the lower tables hold now, every row alive has a witness of rows alive (or ghosts), and no
witness rests on itself.

Mark (phase 1) walks the lists of children from the rows that went, and asks the `forbid` delta rules which
derivations a negated row has ended. Derive again (phase 2) pulls every marked row, or its group, from the
rows left. Then semi-naive rounds carry on what came. A stratum with sums inside its recursion (`Mode.STAGED`)
has no order in which values only improve: there a changed sum takes back what rested on the old one, and the two
phases alternate with the sums until both rest. That ends where the groups do not depend on themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from headwater.core.errors import EvaluationError
from headwater.engine.aggregation import Aggregator
from headwater.engine.best.selection import best_part, rows_with, select
from headwater.engine.codes.batch import Batch, stacked
from headwater.engine.codes.expressions import distinct_rows
from headwater.engine.codes.symbols import Codes
from headwater.engine.guard import Watch
from headwater.engine.rules.delta_rule import Done, Runner
from headwater.engine.rules.fused_frontier import FusedFrontier
from headwater.engine.rules.fused_set import FusedJoin
from headwater.engine.store.budget import RowsSpent
from headwater.engine.store.index import Rows
from headwater.engine.store.marking import by_store, distinct, mark_children, mark_descendants, versions
from headwater.engine.store.states import BASE, EVER, GHOST, GONE, MARKED
from headwater.engine.store.store import Store
from headwater.engine.stratum_rules import StratumRules
from headwater.engine.transaction import Transaction
from headwater.engine.turns import Turns
from headwater.program.recursion.strata import Mode

Delta = dict[str, list[Rows]]
_HURRY_FROM = 2048
_PASSES = 3


class StratumRun:
    """One run of one stratum: mark, derive, and finish.

    Where several shards run the stratum together, `receive_marks` and `receive_rows` take in what the others send, and
    `marks_to_send` and `rows_to_send` give what they must get, each once.
    """

    def __init__(self, rules: StratumRules, transaction: Transaction) -> None:
        self._rules = rules
        self._tx = transaction
        self._watch = Watch(transaction.tally, rules.names)
        self._kept = 0  # rows that came by rules
        self._begun = EVER  # the last round in which rows came from elsewhere
        self.delta: Delta = {}
        self._ghosts: list[tuple[Store, Rows]] = []
        self._marked: list[tuple[Store, Rows]] = []
        self._waiting: Delta = {}  # rows that the rules for outboxes have not seen yet
        self._outgoing: Delta = {name: [] for name in rules.outboxes}
        self._turns = Turns(rules.aggregators) if rules.stratum.mode is Mode.STAGED else None

    # Steps

    def derive(self, *, first: bool = False) -> None:
        """All marks are set: derive again what can be, and propagate that and what came."""
        rules, transaction = self._rules, self._tx
        for parts in self._outgoing.values():
            parts.clear()
        tick = self._begun = transaction.next_tick()
        marked = by_store(self._marked)
        self.derive_again(marked, tick)
        for name, rows in transaction.went.items():
            for runner in rules.allow.get(name, ()):
                with self._measured(runner, rows.size):
                    self.offer(runner, runner.from_rows(rows, EVER), tick)
        if first:
            for runner in rules.spontaneous:
                with self._measured(runner, 0):
                    self.offer(runner, runner.from_nothing(), tick)
        for name, rows in transaction.came.items():
            if name in rules.arrive:
                rules.context.stores[name].restamp(rows, tick)
                self.delta.setdefault(name, []).append(rows)
        self.settle(tick)
        if rules.stratum.mode is Mode.STAGED:
            self.alternate(marked)
        else:
            self.rounds()

    def propagate(self) -> None:
        """Carry on what was received."""
        self.settle(self._tx.tick)
        self.rounds()

    def finish(self) -> None:
        """Nothing more will come: bury what found no witness, and work out the net effect."""
        self.bury(self._marked)
        if not self._rules.stratum.recursive:
            self.drop_ghosts()
        for store in self._rules.stores.values():
            self._tx.close(store)

    def receive_marks(self, inbox: str, rows: Codes) -> None:
        """Rows that another shard sent have lost their witness there."""
        store = self._rules.stores[inbox]
        found = store.find(rows)
        found = np.unique(found[found >= 0])
        found = found[store.stamp[found] > GONE]
        if found.size:
            store.set_state(found, MARKED, self._tx.journal)
            self.mark([(store, found)])

    def receive_rows(self, inbox: str, rows: Codes) -> None:
        """Rows that another shard has derived."""
        store = self._rules.stores[inbox]
        tick = self._begun = self._tx.tick if self.delta else self._tx.next_tick()
        store.admit_rows(rows)
        witnesses = np.zeros((rows.shape[0], 0), dtype=np.int32)
        with self._naming(BASE):
            self._came(store, store.merge(rows, witnesses, BASE, tick, self._tx.journal), BASE)

    def marks_to_send(self) -> dict[str, Rows]:
        """Rows of outboxes that were marked since this was last asked."""
        return self._taken(lambda store, rows: rows)

    def rows_to_send(self) -> dict[str, Rows]:
        """Rows of outboxes that came alive since this was last asked, and still are."""
        return self._taken(lambda store, rows: distinct(rows[store.stamp[rows] > GONE]))

    def _taken(self, keep: Callable[[Store, Rows], Rows]) -> dict[str, Rows]:
        taken = {name: np.concatenate(parts) for name, parts in self._outgoing.items() if parts}
        for parts in self._outgoing.values():
            parts.clear()
        kept = {name: keep(self._rules.stores[name], rows) for name, rows in taken.items()}
        return {name: rows for name, rows in kept.items() if rows.size}

    # Phase 1

    def lost(self) -> list[tuple[Store, Rows]]:
        """Mark the rows of this stratum whose witness a change of a lower table has ended."""
        transaction, rules = self._tx, self._rules
        lost: list[tuple[Store, Rows]] = []
        for name, rows in transaction.went.items():
            store = rules.context.stores[name]
            for use in rules.uses.get(name, ()):
                parents = transaction.truly_lost(store, rows) if use.lasting else rows
                if parents.size:
                    lost.append((use.child, mark_children(use, parents, transaction.journal)))
            lost.extend(self.mark_groups(store, rows))
        for name, rows in transaction.fallen.items():
            uses = rules.uses.get(name, ())
            lost.extend((use.child, mark_children(use, rows, transaction.journal)) for use in uses)
        for name, rows in transaction.came.items():
            for runner in rules.forbid.get(name, ()):
                with self._measured(runner, rows.size):
                    lost.extend(self.forbidden(runner, rows))
        return lost

    def forbidden(self, runner: Runner, rows: Rows) -> Iterator[tuple[Store, Rows]]:
        """Mark the rows whose witness is a derivation that these rows of a negated table forbid."""
        store = self._rules.stores[runner.rule.table]
        for batch in runner.from_rows(rows, EVER):
            if store.table.picks:
                found = self._borne_by(runner.rule.id, store, runner.heads(batch))
                if found.size:
                    store.set_state(found, MARKED, self._tx.journal)
                    yield store, found
                continue
            heads = store.find(runner.heads(batch))
            witnesses = runner.witnesses(batch)
            at = np.flatnonzero(heads >= 0)
            heads, witnesses = heads[at], witnesses[at]
            same = (store.rules[heads] == runner.rule.id) & (
                (store.stamp[heads] > GONE) | (store.stamp[heads] == GHOST)
            )
            same &= (store.witness[heads][:, runner.exact] == witnesses[:, runner.exact]).all(axis=1)
            found = np.unique(heads[same])
            if found.size:
                store.set_state(found, MARKED, self._tx.journal)
                yield store, found

    def _borne_by(self, rule: int, store: Store, heads: Codes) -> Rows:
        """Rows in the groups of these heads that a rule derived: where rows give way to better ones, their witnesses
        may name rows that have given way too, and not those that a join finds."""
        stamps = np.where(store.stamp == GHOST, EVER, store.stamp)
        found: list[Rows] = []
        for pick in store.table.picks:
            keys, _ = distinct_rows(np.ascontiguousarray(heads[:, list(pick.group)]))
            found.append(rows_with(store.index(pick.group), keys, store, stamps)[1])
        rows = np.unique(np.concatenate(found))
        return rows[store.rules[rows] == rule]

    def mark_groups(self, store: Store, rows: Rows) -> Iterator[tuple[Store, Rows]]:
        """Where values only improve, a lost binding of a recursive aggregate marks the rows of its group."""
        if not (self._rules.stratum.recursive and self._rules.stratum.mode is Mode.MONOTONE):
            return
        for aggregator in self._rules.aggregators:
            if aggregator.reads(store):
                head = aggregator.head
                groups, _ = distinct_rows(aggregator.groups_of(store, rows))
                aggregator.ask(groups)
                found = versions(head.index(aggregator.plan.group), groups, head)
                if found.size:
                    head.set_state(found, MARKED, self._tx.journal)
                    yield head, found

    def mark(self, lost: list[tuple[Store, Rows]]) -> list[tuple[Store, Rows]]:
        """Everything in this stratum whose witness rests on a lost row, the lost rows included; all unlinked."""
        marked: list[tuple[Store, Rows]] = []
        frontier = [(store, rows) for store, rows in lost if rows.size]
        while frontier:
            store, rows = frontier.pop()
            rows = mark_descendants(store, rows, self._tx.journal)
            marked.append((store, rows))
            for use in self._rules.uses.get(store.name, ()):
                if use.child is store:
                    continue
                more = mark_children(use, rows, self._tx.journal)
                if more.size:
                    frontier.append((use.child, more))
            frontier.extend(self.mark_groups(store, rows))
        out = by_store(marked)
        for store, rows in out:
            store.release(rows, self._tx.journal)
            self._note_outgoing(store, rows)
        self._marked.extend(out)
        return out

    # Phase 2

    def derive_again(self, marked: list[tuple[Store, Rows]], tick: int) -> None:
        """Give marked rows that have another derivation their life back.

        Where the stratum's tables are sets, what follows from a row given back is alive or marked itself: it is
        enough to pull the rows left again, and to propagate only what the last pass gave back, which that pass may have
        found too late for some. Rows of earlier passes count as old. Elsewhere a row given back may be a
        worse one than before, and is propagated like a new one.
        """
        if not self._rules.plain:
            for store, rows in marked:
                if store.table.picks:
                    self._pull_groups(store, rows, tick)
                else:
                    self._came_back(self._pull_rows(store, rows, tick))
            return
        for _ in range(_PASSES):
            back = [one for store, rows in marked for one in self._pull_rows(store, rows, tick - 1)]
            for store, rows, _ in back:
                self._note_outgoing(store, rows)
            marked = [(store, rows[store.stamp[rows] == MARKED]) for store, rows in marked]
            marked = [(store, rows) for store, rows in marked if rows.size]
            if not back or not marked:
                return
        for store, rows, _ in back:
            store.restamp(rows, tick)
        self._came_back(back)

    def _came_back(self, back: Iterable[tuple[Store, Rows, int]]) -> None:
        for store, rows, rule in back:
            self._came(store, rows, rule)

    def _pull_rows(self, store: Store, rows: Rows, tick: int) -> list[tuple[Store, Rows, int]]:
        """Pull marked rows one by one: those given back, with the rule that did it."""
        back: list[tuple[Store, Rows, int]] = []
        for _, runner in self._rules.pulls[store.name]:
            rows = rows[store.stamp[rows] == MARKED]
            if not rows.size:
                break
            with self._measured(runner, rows.size):
                if runner.pull is not None:
                    runner.looped(None)
                    found = [runner.pull.run(rows, tick, self._tx.journal)]
                else:
                    found = list(self._pull_by_steps(runner, store, rows, tick))
                self._kept += sum(came.size for came in found)
            back.extend((store, came, runner.rule.id) for came in found)
        return [(store, came, rule) for store, came, rule in back if came.size]

    def _pull_by_steps(self, runner: Runner, store: Store, rows: Rows, tick: int) -> Iterator[Rows]:
        rows = runner.worth_pulling(store, rows)
        if not rows.size:
            return
        keys = store.data[rows].astype(np.int64)
        done: Done = np.zeros(rows.size, dtype=np.bool_)
        for batch in runner.from_keys(keys, done):
            assert batch.origin is not None
            origin, first = np.unique(batch.origin, return_index=True)
            open_ = ~done[origin]
            origin, first = origin[open_], first[open_]
            done[origin] = True
            yield store.merge(keys[origin], runner.witnesses(batch.take(first)), runner.rule.id, tick, self._tx.journal)

    def _pull_groups(self, store: Store, rows: Rows, tick: int) -> None:
        for columns, runner in self._rules.pulls[store.name]:
            keys, _ = distinct_rows(store.data[rows][:, list(columns)].astype(np.int64))
            with self._measured(runner, keys.shape[0]):
                self.offer(runner, runner.from_keys(keys, None), tick)

    # Rounds

    def offer(self, runner: Runner, batches: Iterable[Batch], tick: int) -> None:
        """Head rows for the stratum's tables, to be alive from round `tick` on."""
        store = self._rules.stores[runner.rule.table]
        with self._naming(runner.rule.id):
            for batch in batches:
                self._tx.check()
                columns = runner.head_columns(batch)
                store.admit(columns)
                candidates = stacked(columns, batch.size)
                witnesses = runner.witnesses(batch)
                if store.table.picks:
                    symbols = self._rules.context.symbols
                    came, lost = select(store, candidates, witnesses, runner.rule.id, tick, self._tx.journal, symbols)
                    self._lost_place(store, lost)
                else:
                    came = store.merge(candidates, witnesses, runner.rule.id, tick, self._tx.journal)
                self._came(store, came, runner.rule.id)

    @contextmanager
    def _naming(self, rule: int) -> Iterator[None]:
        """Errors tell the rule that met them."""
        try:
            yield
        except (RowsSpent, EvaluationError) as problem:
            raise self._watch.named(problem, rule) from problem

    @contextmanager
    def _measured(self, runner: Runner, started: int) -> Iterator[None]:
        """Count what a delta rule does, from so many rows or keys."""
        began, kept = perf_counter(), self._kept
        yield
        self._rules.meter.note(runner, self._tx.rounds, started, self._kept - kept, perf_counter() - began)

    def _came(self, store: Store, rows: Rows, rule: int) -> None:
        if not rows.size:
            return
        self._kept += rows.size
        self.delta.setdefault(store.name, []).append(rows)
        self._note_outgoing(store, rows)
        self._watch.came(rule, rows.size)

    def _note_outgoing(self, store: Store, rows: Rows) -> None:
        if store.name in self._outgoing:
            self._outgoing[store.name].append(rows)

    def _lost_place(self, store: Store, rows: Rows) -> None:
        if rows.size:
            self._ghosts.append((store, rows))

    def settle(self, tick: int) -> None:
        """Work out the groups of aggregates that may have changed; changed rows come alive in round `tick`.

        Where sums rest on sums, only those that have their turn.
        """
        journal = self._tx.journal
        if self._turns is None:
            for aggregator in self._rules.aggregators:
                with self._naming(aggregator.rule):
                    self._replace(aggregator, *aggregator.settle(journal), tick)
            return
        for aggregator, groups, heights in self._turns.next(journal):
            with self._naming(aggregator.rule):
                self._replace(aggregator, groups, aggregator.rows(groups), tick)
            head = aggregator.head
            at, rows = rows_with(head.index(aggregator.plan.group), groups, head)
            head.note_heights(rows, heights[at])

    def _replace(self, aggregator: Aggregator, groups: Codes, rows: Codes, tick: int) -> None:
        """Have these groups of an aggregate hold these rows."""
        if not groups.shape[0]:
            return
        head = aggregator.head
        head.admit_rows(rows)
        standing = rows_with(head.index(aggregator.plan.group), groups, head)[1]
        keep = head.find(rows)
        lost = np.setdiff1d(standing, keep)
        if lost.size:
            head.set_state(lost, GHOST, self._tx.journal)
            self._lost_place(head, lost)
        witnesses = np.empty((rows.shape[0], 0), dtype=np.int32)
        self._came(head, head.merge(rows, witnesses, aggregator.rule, tick, self._tx.journal), aggregator.rule)

    def rounds(self, *, settle: bool = True) -> None:
        """Semi-naive rounds until nothing comes any more.

        Of many new rows of a table that keeps the best per group, the best go first and the others wait for the next
        round: most of them are superseded before their turn comes (as in delta-stepping for shortest paths).
        """
        while self.delta or self._carry_to_outboxes():
            tick = self._tx.tick
            delta, self.delta = self.delta, {}
            self._watch.round()
            if self._rules.joins.due():
                self._rules.reorder(self._rules.joins)
            after = self._tx.next_tick()
            for name, parts in delta.items():
                store = self._rules.context.stores[name]
                rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
                rows = rows[store.stamp[rows] == tick]
                if name in self._rules.closing and self._closed(self._rules.closing[name], rows, tick, after):
                    continue
                if rows.size > _HURRY_FROM and name in self._rules.ranked:
                    rows, later = best_part(store, rows)
                    store.restamp(later, after)
                    self.delta.setdefault(name, []).append(later)
                if rows.size:
                    for runner in self._rules.arrive.get(name, ()):
                        self._arrived(runner, rows, tick, after)
                    if name in self._rules.late:
                        self._waiting.setdefault(name, []).append(rows)
            if settle:
                self.settle(after)

    def _carry_to_outboxes(self) -> bool:
        """This shard has nothing more to derive for itself: now the rules for others see what is left of what came.

        Of rows that gave way to better ones meanwhile, no shard ever hears.
        """
        waiting, self._waiting = self._waiting, {}
        tick = self._tx.tick
        for name, parts in waiting.items():
            store = self._rules.stores[name]
            rows = distinct(np.concatenate(parts))
            rows = rows[store.stamp[rows] > GONE]
            if rows.size:
                for runner in self._rules.late[name]:
                    self._arrived(runner, rows, tick, tick + 1)
        if waiting:
            self._tx.next_tick()
        return bool(self.delta)

    def _closed(self, runner: Runner, rows: Rows, tick: int, after: int) -> bool:
        """Go on from these rows until nothing comes any more, or too much for one go, if that can be done."""
        loop, meter, rule, counted = runner.fused, self._rules.meter, runner.rule.id, 0
        assert isinstance(loop, FusedJoin | FusedFrontier)
        if isinstance(loop, FusedJoin) and (tick <= self._begun or meter.counts_all):
            return False  # rows from elsewhere are still new, and met by what they derive; or each round is to be seen

        def pause(count: int) -> None:
            nonlocal counted
            counted += count
            self._tx.check()
            self._watch.came(rule, count)
            self._watch.round()

        began, store = perf_counter(), self._rules.stores[runner.rule.table]
        with self._naming(rule):
            closed = loop.close(rows, tick, after, self._tx.journal, pause)
        if closed is None:
            return False
        runner.looped(None)
        self._kept += closed.came.size
        started = rows.size + closed.came.size - closed.waiting.size
        meter.note(runner, self._tx.rounds, started, closed.came.size, perf_counter() - began)
        self._lost_place(store, closed.lost)
        self._watch.came(rule, max(0, closed.came.size - counted))
        if closed.waiting.size:
            self.delta.setdefault(store.name, []).append(closed.waiting)
        return True

    def _arrived(self, runner: Runner, rows: Rows, tick: int, after: int) -> None:
        meter, loop = self._rules.meter, runner.fused
        found = loop.count(runner.starters(rows), tick) if meter.counts_all and loop is not None else None
        began, kept = perf_counter(), self._kept  # not `_measured`: in single edits its overhead would show
        self._run(runner, rows, tick, after, found)
        meter.note(runner, self._tx.rounds, rows.size, self._kept - kept, perf_counter() - began)

    def _run(self, runner: Runner, rows: Rows, tick: int, after: int, found: int | None) -> None:
        """A delta rule from rows that came; `found` is what its loop will find, if that was counted."""
        store, outcome = self._rules.stores[runner.rule.table], None
        if runner.fused is not None:
            try:  # not `_naming`: see `_arrived`
                outcome = runner.fused.run(runner.starters(rows), tick, after, self._tx.journal)
            except (RowsSpent, EvaluationError) as problem:
                raise self._watch.named(problem, runner.rule.id) from problem
        if outcome is not None:
            runner.looped(found)
            self._lost_place(store, outcome[1])
            self._came(store, outcome[0], runner.rule.id)
        elif runner.tail is not None:
            counts = self._rules.meter.counts_all
            with self._naming(runner.rule.id):
                for batch in runner.before_tail(rows, tick):
                    self._tx.check()
                    runner.looped(runner.tail.count_from(batch, tick) if counts else None)
                    self._came(store, runner.tail.run(batch, tick, after, self._tx.journal), runner.rule.id)
        else:
            self.offer(runner, runner.from_rows(rows, tick), after)

    # Ends

    def bury(self, marked: list[tuple[Store, Rows]]) -> None:
        """Rows that found no new witness are gone."""
        for store, rows in marked:
            dead = rows[store.stamp[rows] == MARKED]
            if dead.size:
                store.set_state(dead, GONE, self._tx.journal)

    def drop_ghosts(self) -> None:
        """Without recursion no witness of this stratum rests on a ghost: they are gone at once.

        Witnesses of higher strata may, until its lease is over, if a row with a later one took its place. Owners on
        other shards hold every row that was sent, and must hear when its witness is lost.
        """
        for store, dead in self._fallen():
            if store.table.lasting or store.table.outbox:
                continue
            store.release(dead, self._tx.journal)
            store.set_state(dead, GONE, self._tx.journal)

    def _fallen(self) -> list[tuple[Store, Rows]]:
        """The rows that lost their place and have not won it back, each once."""
        fallen, self._ghosts = by_store(self._ghosts), []
        found = [(store, np.unique(rows[store.stamp[rows] == GHOST])) for store, rows in fallen]
        return [(store, rows) for store, rows in found if rows.size]

    def alternate(self, marked: list[tuple[Store, Rows]]) -> None:
        """Sums inside a recursion: take back what rested on old values, derive on, sum again, until all rests."""
        self.bury(marked)
        while True:
            lost = self._fallen()
            if not lost and not self.delta and not self._turns:
                return
            for store, rows in lost:
                store.set_state(rows, MARKED, self._tx.journal)
            marked = self.mark(lost)
            self.derive_again(marked, self._tx.tick)
            self.bury(marked)
            self.rounds(settle=False)
            self.settle(self._tx.next_tick())
            self._watch.round()
