"""The embedded handle: apply changes, read views, ask why.

    db = Database(compile(text))
    changes = db.apply(insert={"link": [("a", "b")]})
    db.rows("reachable")

Every call of `apply` is one transaction: applied whole, or, on any error, not at all. A database belongs to one
thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater import pipeline
from headwater.core.errors import BudgetSpent, DataError, GuardError, ProgramError, StateError, UnknownRelation
from headwater.core.interruption import held_back
from headwater.core.memory import memory_for
from headwater.core.types import Type
from headwater.engine.best.selection import find_identity
from headwater.engine.border.changes import Changes as Changes
from headwater.engine.border.changes import RelationChange as RelationChange
from headwater.engine.border.codec import Change, Encoded, arrow_table, asked, encode_changes, in_order, read_change
from headwater.engine.border.column_names import ColumnNames
from headwater.engine.border.intake import Header, Intake, Rejected, rejection, take_in
from headwater.engine.border.learnt_types import Known, all_known, endless_plan, learn, of_file, plan_of, untyped
from headwater.engine.border.lookup import (
    first_alike,
    kept_values,
    late_rows,
    named_row,
    not_asked,
    refuse_partial,
    time_of,
    tuples,
    unknown_relation,
)
from headwater.engine.border.reload import base_rows, refill, renumber_symbols
from headwater.engine.border.snapshot import Snapshot, pack, replace_file
from headwater.engine.codes.moments import moment_of
from headwater.engine.codes.symbols import Codes, Symbols, encode, find_code
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.engine.profile import Profile
from headwater.engine.shard import Follow, Shard
from headwater.engine.store.budget import Budget
from headwater.engine.store.index import Matrix
from headwater.engine.store.states import GONE
from headwater.following import FollowedQuestion, Follower, QuestionRow, question_row
from headwater.language.syntax import Query
from headwater.pipeline import CompiledProgram
from headwater.plan.explain import explain
from headwater.plan.model import Plan, Table
from headwater.program.inputs import MissingInputs
from headwater.program.model import Program
from headwater.program.questions import refuse_unasked
from headwater.program.time.program_clock import clock_type
from headwater.program.types.inference import infer
from headwater.provenance import (
    NODES,
    Bounds,
    Chances,
    Critical,
    Fact,
    Impact,
    KeptWorlds,
    NodeBudget,
    Order,
    Proof,
    ProofReader,
    Questions,
    Variables,
    WhyNot,
    chance_of,
    first,
    valid_until,
)

_SYMBOLS_KEPT = 10_000
MODES = ("witness", "absorption", "none")


class Database:
    """A program's views over base rows that come and go."""

    def __init__(
        self,
        program: CompiledProgram,
        provenance: str = "witness",
        *,
        guard: Guard | int | None = DEFAULT_GUARD,
        nodes: int = NODES,
        order: Order = "value",
        profile: bool = False,
    ) -> None:
        """`nodes` bounds absorption provenance, kept or asked for; `order` that of its variables. With `profile`, what
        compiled loops find is counted too (see `profile`), which takes up to as long again."""
        if not isinstance(program, CompiledProgram):
            raise TypeError(
                f"Database takes a compiled program, not {type(program).__name__}; write Database(compile(text))"
            )
        if provenance not in MODES:
            raise ValueError(f"there is no provenance mode {provenance!r}; the modes are {', '.join(MODES)}")
        guard = Guard.of(guard)
        self._counts_all = profile
        self._prepare(program, provenance, guard, nodes, order, {}, Symbols())
        with held_back():
            self._shard.start()
            self._absorbed = self._absorb(None) if provenance == "absorption" else None

    def _prepare(
        self,
        program: CompiledProgram,
        provenance: str,
        guard: Guard,
        nodes: int,
        order: Order,
        known: Known,
        symbols: Symbols,
    ) -> None:
        """A database that holds nothing yet, not even the program's own facts."""
        self.program = program
        self.provenance = provenance
        self._running = program
        self._clock = clock_type(self._model)
        self._late: dict[str, int] = {}
        self._missing = MissingInputs(program.checked)
        self._following = Follower(
            self._answers, self._suppose, self.apply, lambda relation: relation in self._shard.stores
        )
        self._guard = guard
        self._symbols = symbols
        self._known = known
        self._names = ColumnNames()
        self._keys = {relation.name: relation.key for relation in self._model.relations if relation.key is not None}
        self._settled = all_known(self._model, self._known)
        self._shard = self._new_shard(self._known)
        self._nodes, self._order = NodeBudget(nodes).nodes, Variables(order).order

    # Changing

    def apply(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        strict: bool = True,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Changes:
        """Delete, then insert, as one transaction.

        Rows may be tuples, dicts, a pandas or polars frame or an Arrow table. If a row does not fit its
        relation, nothing is applied and DataError says which; with `strict=False` such rows are set aside in
        `changes.rejected` and the rest is applied. `cancelled` is asked once a round; where it says yes, and after
        Ctrl-C, nothing is applied and KeyboardInterrupt is raised.

        A row of a stream whose time is later than `now` moves the clock there, and what has ended by then expires. Rows
        that are later than the lateness of their stream allows are set aside in `changes.late`.
        """
        with held_back() as interruption:
            inserts = self._take(insert)
            deletes = self._take(delete)
            known = self._learnt(inserts)
            shard = self._shard if known == self._known else self._retyped(known)
            if shard is not self._shard:  # questions may have waited for these types
                inserts |= self._take(self._following.rows(shard.stores.keys() & self._shard.stores.keys()))
            rows = self._encode(inserts, deletes, shard, known)
            if rows.rejected and strict:
                hint = "correct the rows, declare the relation's types, or pass strict=False to set such rows aside"
                raise DataError(rejection(rows.rejected, hint))
            before = shard.clock.now
            follow = self._follow(shard, known)
            try:
                done = shard.apply(rows.inserts, rows.deletes, lambda: interruption.noted or cancelled(), follow=follow)
            except GuardError:
                self._shed_symbols()  # those that it made take memory for nothing
                raise
            late = (
                late_rows(shard.stores, rows.inserts, done.late, self._symbols, self._time(before)) if done.late else ()
            )
            if self._absorbed is not None:
                self._absorbed.keep(shard)
            self._missing.give(inserts)
            for row in late:
                self._late[row.relation] = self._late.get(row.relation, 0) + 1
            if shard is not self._shard:
                self._shard, self._known = shard, known
                self._settled = all_known(self._model, known)
            self._names.learnt.update(
                (name, intake.learnt) for name, intake in inserts.items() if intake.learnt and name in rows.inserts
            )
            found = self._following.note(self._changes(done.changes, rows.rejected, late))
            self._shed_symbols()
        return found

    def advance(self, time: Any) -> Changes:
        """Move the clock forward to a moment, given as the streams' times are; what has ended by then expires."""
        now = moment_of(time, self._clock)
        before = self._shard.clock.now
        if before is not None and now < before:
            raise DataError(f"error[HW803]: time does not go back: it is {self.now} already, not {time}")
        with held_back() as interruption:
            follow = self._follow(self._shard, self._known)
            done = self._shard.apply({}, {}, lambda: interruption.noted, now, follow)
            if self._absorbed is not None:
                self._absorbed.keep(self._shard)
            return self._following.note(self._changes(done.changes, ()))

    @property
    def now(self) -> Any:
        """The moment that the clock shows: the latest of `advance` and of the rows' times; None: none yet."""
        return self._time(self._shard.clock.now)

    @property
    def missing(self) -> tuple[str, ...]:
        """Base relations that the outputs rest on and that no `apply` was given yet, not even without rows."""
        return self._missing.names

    @property
    def late(self) -> dict[str, int]:
        """How many rows came too late, by stream."""
        return dict(self._late)

    def valid_until(self, relation: str, row: tuple[Any, ...]) -> Any:
        """The moment at which a row will be gone if nothing more comes; None: never. The row's time may be None."""
        found = self._alive(relation, row)
        with held_back():
            return self._time(valid_until(self._shard, relation, found))

    def without(self, facts: Mapping[str, Any]) -> Changes:
        """What would change if these rows were deleted; nothing is changed."""
        rows = self._encode({}, self._take(facts), self._shard, self._known)
        if rows.rejected:
            raise DataError(rejection(rows.rejected, "correct the rows: they must fit the relation"))
        with held_back():
            if self._absorbed is not None:
                changes = self._absorbed.without(rows.deletes)
            else:
                changes = self._shard.without(rows.deletes)
        return self._changes(changes, ())

    # Reading

    def rows(self, relation: str) -> set[tuple[Any, ...]]:
        """The rows of a relation or view, as a set of tuples; in columns of type `any`, 1, 1.0 and True differ."""
        self._missing.warn(relation)
        return set(tuples(self._table(relation), self._asked_for(relation), self._symbols))

    def table(self, relation: str) -> pa.Table:
        """The rows of a relation or view, as an Arrow table: of an SQL query, equal rows too, in its order."""
        self._missing.warn(relation)
        return self._arrow(self._table(relation), self._asked_for(relation), self._symbols)

    def _asked_for(self, relation: str) -> Matrix:
        """The rows that are there, as codes; of those that a query sorts and cuts, what it asks for."""
        codes, query = self._visible(relation), self._ordering(relation)
        return codes if query is None else codes[in_order(self._table(relation), codes, self._symbols, query)]

    def is_ordered(self, relation: str) -> bool:
        """Whether `table` gives the rows in an order that the program asks for."""
        query = self._ordering(relation)
        return query is not None and bool(query.order)

    def count(self, relation: str) -> int:
        """How many rows there are, each as often as it is there."""
        self._missing.warn(relation)
        found = int(self._visible(relation).shape[0])
        query = self._ordering(relation)
        if query is None:
            return found
        found = max(0, found - query.offset)
        return found if query.limit is None else min(found, query.limit)

    # Asking

    def ask(self, view: str, /, **given: Any) -> set[tuple[Any, ...]]:
        """The answers to a question: a value for each parameter of a query, as in `query fastest($From, To, P, Ms)`.

        What is missing is derived, and dropped again; nothing is changed.
        """
        self._missing.warn(view)
        return self._following.ask(question_row(self._model, self._table(view), given))

    def follow(self, view: str, /, **given: Any) -> FollowedQuestion:
        """The same, maintained from now on: `.rows`, `.changes` after each transaction, and `.close()`."""
        return self._following.follow(question_row(self._model, self._table(view), given))

    def _answers(self, query: Query) -> set[tuple[Any, ...]]:
        store = self._shard.stores[query.atom.relation]
        codes = store.data[: store.size][store.stamp[: store.size] > GONE]
        return set(tuples(store.table, asked([query], store.table, codes, self._symbols), self._symbols))

    def _suppose(self, question: QuestionRow) -> set[tuple[Any, ...]]:
        rows = self._encode(self._take({question.relation: [question.values]}), {}, self._shard, self._known)
        with held_back():
            return self._shard.supposing(rows.inserts, lambda: self._answers(question.plain))

    def why(self, relation: str, row: tuple[Any, ...]) -> Proof:
        """Why a row is there: its proof down to base facts, with the moment each of them ends."""
        found = self._alive(relation, row)
        with held_back():
            return ProofReader(self._shard, self._time).proof(relation, found)

    def why_not(self, relation: str, row: tuple[Any, ...]) -> WhyNot:
        """Why a row is not there: the rules that could have derived it, and where each of them fails."""
        self._missing.warn(relation)
        row, codes = self._row(relation, row, encode)
        store = self._shard.stores[relation]
        if find_identity(store, codes) >= 0:
            raise DataError(f"{relation}{row!r} is there; ask why({relation!r}, {row!r})")
        if store.table.base:
            return WhyNot(relation, row, [], "no such base row was inserted")
        with held_back():
            reader = ProofReader(self._shard, self._time)
            attempts = reader.attempts(relation, codes)
            instead = tuple(reader.standing(relation, codes))
        note = None if attempts or instead else "its group has no bindings: no rule's body holds for it"
        return WhyNot(relation, row, attempts, note, instead)

    def critical(self, relation: str, row: tuple[Any, ...]) -> Critical:
        """The base facts that a row cannot do without: `.facts` one by one, `.cuts()` together."""
        row, codes = self._present(relation, row)
        with held_back() as interruption:
            return Critical(relation, row, self._questions.about(relation, codes, interruption.check))

    def witnesses(self, relation: str, row: tuple[Any, ...], limit: int | None = 10) -> list[list[Fact]]:
        """The minimal sets of base facts that are enough for a row, smallest first."""
        row, codes = self._present(relation, row)
        with held_back() as interruption:
            return first(self._questions.about(relation, codes, interruption.check).witnesses(), limit)

    def probability(self, relation: str, row: tuple[Any, ...], facts: Chances) -> float | Bounds:
        """How probable a row is when base facts fail independently of each other.

        `facts` is how probable each is: one number for all, or a mapping of relations to a number or to a mapping
        of rows to numbers; facts that it does not mention are certain. The answer is exact; where that would take
        more than `nodes`, it is `Bounds`.
        """
        row, codes = self._row(relation, row, encode)  # its values may be those of another world alone
        known = partial(self._base, instead="only base facts can fail")
        chance = chance_of(facts, known, self._as_kept)
        with held_back() as interruption:
            return self._questions.probability(relation, codes, chance, interruption.check)

    def blast_radius(self, relation: str) -> list[Impact]:
        """The base facts of a relation by how many rows of the queried views are there only because of each."""
        table = self._base(relation, "only base facts can be asked about").name
        views = {view: partial(self._asked, view) for view in self.program.outputs}
        with held_back() as interruption:
            return self._questions.impact(table, views, interruption.check)

    @property
    def _questions(self) -> Questions:
        plan = partial(self._endless, self._shard, self._known)
        return Questions(self._shard, plan, self._absorbed, self._nodes, self._order)

    def _follow(self, shard: Shard, known: Known) -> Follow | None:
        """What keeps absorption provenance in step with a transaction of the engine."""
        if self._absorbed is None:
            return None
        plan = shard.plan if shard is self._shard else self._endless(shard, known)
        return partial(self._absorbed.follow, shard, plan)

    def _endless(self, shard: Shard, known: Known) -> Plan:
        """The plan of an engine without leases, for provenance."""
        return shard.plan if self._clock is None else endless_plan(self._running, known)

    def _present(self, relation: str, row: tuple[Any, ...]) -> tuple[tuple[Any, ...], Codes]:
        """A row that a user asks about, as a tuple and as codes; it must be there."""
        self._alive(relation, row)
        return self._row(relation, row, find_code)

    def profile(self) -> Profile:
        """Where the time went since the database was opened, and the rows that each rule read, made and kept.

        What compiled loops make is known only with `Database(..., profile=True)`.
        """
        return self._shard.meter.profile(self._shard.plan)

    def plan(self) -> str:
        """The plan that runs now, as text, with the join orders that the data has led to."""
        return explain(self._shard.plan, infer(self._model, self._known))

    @property
    def nbytes(self) -> int:
        """Bytes held by all stored rows, with their indexes and witnesses."""
        return self._shard.nbytes

    # Keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write the database to one file, atomically: a save that is cut off leaves the old file as it was."""
        about = {
            "program": self.program.text,
            "disabled": list(self.program.disabled),
            "provenance": self.provenance,
            "guard": [self._guard.rows, self._guard.rounds, self._guard.computed, self._guard.memory],
            "known": {name: [kind and kind.value for kind in kinds] for name, kinds in self._known.items()},
            "columns": self._names.learnt,
            "late": self._late,
            "missing": list(self._missing.names),
            "nodes": self._nodes,
            "order": "value" if callable(self._order) else self._order,
            "worlds": None if self._absorbed is None else self._absorbed.worlds.packed(),
        }
        try:
            replace_file(Path(path).resolve(), pack(self._shard, about))
        except OSError as problem:
            raise StateError(f"cannot write {path}: {problem.strerror or problem}") from problem

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Database:
        """A database that `save` wrote; raises StateError if the file is damaged or is none.

        The file may be forged: whatever is in it, it is opened or refused, and no other file is read.
        """
        try:
            snapshot = Snapshot.read(Path(path))
        except MemoryError as problem:
            raise StateError(f"{path} is larger than the memory there is") from problem
        try:
            return cls._opened(snapshot, path)
        except StateError:
            raise
        except Exception as problem:  # what else a forged program or header leads to
            raise snapshot.damaged(f"{type(problem).__name__}: {problem}") from problem

    @classmethod
    def _opened(cls, snapshot: Snapshot, path: str | PathLike[str]) -> Database:
        about = snapshot.about
        try:
            program = pipeline.compile_saved(
                about["program"], name=f"program saved in {path}", disabled=about["disabled"]
            )
        except ProgramError as problem:
            raise StateError(
                f"the program saved in {path} does not compile here; register the functions it calls first\n{problem}"
            ) from problem
        if about["provenance"] not in MODES or about["order"] not in ("value", "arrival"):
            raise ValueError("there is no such provenance")
        self = cls.__new__(cls)
        self._counts_all = False
        self._prepare(
            program,
            about["provenance"],
            Guard(*about["guard"]),
            about["nodes"],
            about["order"],
            of_file(program.rewritten, about["known"]),
            Symbols(snapshot.symbols),
        )
        self._names.restore({name: store.table for name, store in self._shard.stores.items()}, about["columns"])
        self._late = {str(name): int(count) for name, count in about["late"].items()}
        self._missing.keep(about.get("missing", ()))
        snapshot.fill(self._shard)
        self._absorbed = self._absorb(about["worlds"]) if self.provenance == "absorption" else None
        return self

    def _absorb(self, packed: Mapping[str, Any] | None) -> KeptWorlds:
        plan = self._endless(self._shard, self._known)
        return KeptWorlds(self._shard, plan, self._nodes, self._order, packed)

    # Inside

    @property
    def _model(self) -> Program:
        return self._running.rewritten

    def _new_shard(self, known: Known, symbols: Symbols | None = None) -> Shard:
        self._running = self._running.fitted(known)
        plan = plan_of(self._model, known)
        budget = Budget(self._guard.bytes_of(memory_for()))
        shard = Shard(plan, self._symbols if symbols is None else symbols, self._keys, self._guard, budget=budget)
        shard.meter.counts_all = self._counts_all
        return shard

    def _table(self, name: str) -> Table:
        store = self._shard.stores.get(name)
        if store is None or store.table.bag or store.table.asks or store.table.part:
            raise UnknownRelation(unknown_relation(name, self.program))
        refuse_partial(self._model.relation(name), self.program.outputs)
        return store.table

    def _base(self, name: str, instead: str = "change the base relations it follows from") -> Table:
        try:
            relation = self._model.relation(name)
        except KeyError:
            raise UnknownRelation(unknown_relation(name, self.program)) from None
        if relation.derived:
            names = ", ".join(f"`{base.name}`" for base in self.program.checked.relations if not base.derived)
            raise DataError(f"`{name}` is derived by rules; {instead} ({names})")
        return self._shard.stores[name].table

    def _take(self, rows: Mapping[str, Any] | None) -> dict[str, Intake]:
        if rows is not None and not isinstance(rows, Mapping):
            raise DataError(f"rows come by relation, {{'name': rows}}, not as {type(rows).__name__}")
        return {name: take_in(self._header(name), given) for name, given in (rows or {}).items()}

    def _header(self, relation: str) -> Header:
        return self._names.header(self._base(relation), self._model.relation(relation))

    def _ordering(self, relation: str) -> Query | None:
        """The query that asks for a relation's rows in an order, or for some of them only."""
        queries = (query for query in self._model.queries if query.atom.relation == relation)
        return next((query for query in queries if query.order or query.offset or query.limit is not None), None)

    def _learnt(self, inserts: Mapping[str, Intake]) -> Known:
        return self._known if self._settled else learn(self._model, self._known, inserts)

    def _retyped(self, known: Known) -> Shard:
        """A shard with these types that holds the rows there are."""
        shard = self._new_shard(known)
        refill(self._shard, shard, base_rows(self._shard))
        return shard

    def _shed_symbols(self) -> None:
        """Forget strings and lists that no row holds any more, once they are most of those that are known.

        What is left is loaded anew, which costs no more than what went.
        """
        held = sum(store.count * store.width for store in self._shard.stores.values())
        if len(self._symbols) < max(_SYMBOLS_KEPT, 8 * held):
            return
        fresh = Symbols()
        shard = self._new_shard(self._known, fresh)
        rows = base_rows(self._shard)
        renumber_symbols(self._shard, rows, fresh)
        refill(self._shard, shard, rows)
        if self._absorbed is not None:
            try:
                self._absorbed = KeptWorlds(shard, self._endless(shard, self._known), self._nodes, self._order)
            except BudgetSpent:  # in another order the same functions may need more nodes: then nothing is forgotten
                return
        self._symbols, self._shard = fresh, shard

    def _time(self, moment: int | None) -> Any:
        """A moment as users write it."""
        return time_of(moment, self._clock, self._symbols)

    def _alive(self, relation: str, row: tuple[Any, ...]) -> int:
        """The number of a row that is there."""
        row, codes = self._row(relation, row, find_code)
        found = find_identity(self._shard.stores[relation], codes)
        if found < 0:
            raise DataError(f"{relation}{row!r} is not there; ask why_not({relation!r}, {row!r})")
        return found

    def _encode(
        self, inserts: Mapping[str, Intake], deletes: Mapping[str, Intake], shard: Shard, known: Known
    ) -> Encoded:
        unknown = () if self._settled else untyped(self._model, known)
        nulls = shard.plan.holds_nulls
        return encode_changes(shard.stores, inserts, deletes, self._symbols, holds_nulls=nulls, untyped=unknown)

    def _visible(self, relation: str) -> Matrix:
        store = self._shard.stores[self._table(relation).name]
        refuse_unasked(self._model.queries, relation)
        return self._asked(relation, store.data[: store.size][store.stamp[: store.size] > GONE])

    def _asked(self, relation: str, codes: Matrix) -> Matrix:
        """Of these rows those that a query asks for, if the relation is queried."""
        return asked(self._model.queries, self._shard.stores[relation].table, codes, self._symbols)

    def _changes(
        self, changes: Mapping[str, Change], rejected: tuple[Rejected, ...], late: tuple[Rejected, ...] = ()
    ) -> Changes:
        symbols = self._symbols  # the codes are of now; the database may number its symbols anew later

        def change_of(name: str, queries: Sequence[Query] | None = None) -> RelationChange:
            table = self._table(name)
            asking = self._model.queries if queries is None else queries
            return RelationChange(*read_change(asking, table, self._names.of(table), changes.get(name), symbols))

        return Changes(self.program.outputs, change_of, rejected, late)

    def _arrow(self, table: Table, codes: Matrix, symbols: Symbols) -> pa.Table:
        return arrow_table(table, self._names.of(table), codes, symbols)

    def _row(
        self, relation: str, row: Any, code_of: Callable[[Any, Type, Symbols], int]
    ) -> tuple[tuple[Any, ...], Codes]:
        """One row a user asks about, as a tuple and as codes of what is stored; time and lease count for nothing."""
        table = self._table(relation)
        values, codes = named_row(table, self._names.of(table), row, code_of, self._symbols)
        queries = [*self._model.queries, *self._following.queries(relation)]
        if self._model.relation(relation).ways and not asked(queries, table, codes, self._symbols).size:
            raise not_asked(relation, values)
        return values, first_alike(table, codes, self._visible(relation)) if table.hidden else codes

    def _as_kept(self, relation: str, row: Any) -> tuple[Any, ...]:
        """A base fact that a user names, in the values that provenance has for it."""
        values, _ = self._row(relation, row, find_code)
        return kept_values(self._table(relation), values)
