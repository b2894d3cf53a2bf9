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
from headwater.core.alarm import Alarm
from headwater.core.errors import BudgetSpent, DataError, GuardError, StateError
from headwater.core.interruption import held_back
from headwater.core.pictures.drawing import Drawing
from headwater.core.progress import ProgressLine, rounds_told, wanted_bar
from headwater.core.python_warnings import warn_of_alarms
from headwater.core.types import Type
from headwater.depicting import database_html, draw_relation
from headwater.engine.border.changes import Changes as Changes
from headwater.engine.border.changes import RelationChange as RelationChange
from headwater.engine.border.intake import rejection
from headwater.engine.border.learning_shard import LearningShard
from headwater.engine.border.learnt_types import Known, of_file, unknown_types
from headwater.engine.border.lookup import (
    kept_values,
    late_rows,
    time_of,
)
from headwater.engine.border.reload import base_rows, refill
from headwater.engine.border.snapshot import Snapshot, pack, replace_file
from headwater.engine.codes.moments import moment_of
from headwater.engine.codes.symbols import Codes, Symbols, encode, find_code
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.engine.profile import Profile
from headwater.engine.reading import StoreReader, find_identity
from headwater.engine.shard import Follow, Shard
from headwater.following import FollowedQuestion, Follower, QuestionRow, question_row, search_rows
from headwater.pipeline import CompiledProgram
from headwater.plan.explain import explain
from headwater.plan.model import Plan
from headwater.program.inputs import MissingInputs
from headwater.program.time.program_clock import clock_type
from headwater.program.types.inference import infer
from headwater.provenance import (
    NODES,
    Bounds,
    Chances,
    Critical,
    Fact,
    Impacts,
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
            raise TypeError(f"a compiled program is needed, no {type(program).__name__}; write Database(compile(text))")
        if provenance not in MODES:
            raise ValueError(f"there is no provenance mode {provenance!r}; the modes are {', '.join(MODES)}")
        guard = Guard.of(guard)
        self._prepare(LearningShard(program, guard, {}, Symbols(), counts_all=profile), provenance, nodes, order)
        with held_back():
            self._shard.start()
            self._absorbed = self._absorb(None) if provenance == "absorption" else None

    def _prepare(self, held: LearningShard, provenance: str, nodes: int, order: Order) -> None:
        """A database that holds nothing yet, not even the program's own facts."""
        self.program = held.program
        self.provenance = provenance
        self._held = held
        self._clock = clock_type(held.model)
        self._late: dict[str, int] = {}
        self._ringing: tuple[Alarm, ...] = ()
        self._missing = MissingInputs(self.program.checked)
        self._following = Follower(
            held.answers, self._suppose, self.apply, lambda relation: relation in self._shard.stores
        )
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
        bar = wanted_bar()
        if bar is None:
            return self._transact(insert, delete, strict, cancelled, unread=False)
        with ProgressLine(quiet=False, text="taking in rows", bar=bar) as progress:
            told = rounds_told(progress, "deriving", cancelled)
            return self._transact(insert, delete, strict, told, unread=False)

    def apply_unread(self, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> Changes:
        """Store rows that no rule can match, and run no rule.

        For those who know the rules, as `Documents` does: where a rule could match, the views are wrong from then on.
        """
        return self._transact(insert, delete, True, lambda: False, unread=True)

    def _transact(
        self,
        insert: Mapping[str, Any] | None,
        delete: Mapping[str, Any] | None,
        strict: bool,
        cancelled: Callable[[], bool],
        *,
        unread: bool,
    ) -> Changes:
        with held_back() as interruption:
            held = self._held
            inserts, deletes = held.take(insert), held.take(delete)
            known = held.learnt(inserts)
            shard = held.typed(known)
            if shard is not held.shard:  # questions may have waited for these types
                inserts |= held.take(self._following.rows(shard.stores.keys() & held.shard.stores.keys()))
            rows = held.encode(inserts, deletes, shard, known)
            if rows.rejected and strict:
                hint = "correct the rows, declare the relation's types, or pass strict=False to set such rows aside"
                raise DataError(rejection(rows.rejected, hint))
            before = shard.clock.now
            follow = self._follow(shard, known)
            try:
                done = shard.apply(
                    rows.inserts, rows.deletes, lambda: interruption.noted or cancelled(), follow=follow, unread=unread
                )
            except GuardError:
                held.shed_symbols(self._absorbs)  # nothing refers to the symbols that it made
                raise
            late = (
                late_rows(shard.stores, rows.inserts, done.late, held.symbols, self._time(before)) if done.late else ()
            )
            if self._absorbed is not None:
                self._absorbed.keep(shard)
            self._missing.give(inserts)
            for row in late:
                self._late[row.relation] = self._late.get(row.relation, 0) + 1
            held.adopt(shard, known)
            held.names.learnt.update(
                (name, intake.learnt) for name, intake in inserts.items() if intake.learnt and name in rows.inserts
            )
            found = self._following.note(held.changes(done.changes, rows.rejected, late))
            held.shed_symbols(self._absorbs)
        self._tell(done.alarms)
        return found

    def advance(self, time: Any) -> Changes:
        """Move the clock forward to a moment, given as the streams' times are; what has ended by then expires."""
        now = moment_of(time, self._clock)
        before = self._shard.clock.now
        if before is not None and now < before:
            raise DataError(f"error[HW803]: time does not go back: it is {self.now} already, not {time}")
        with held_back() as interruption:
            follow = self._follow(self._shard, self._held.known)
            done = self._shard.apply({}, {}, lambda: interruption.noted, now, follow)
            if self._absorbed is not None:
                self._absorbed.keep(self._shard)
            found = self._following.note(self._held.changes(done.changes, ()))
        self._tell(done.alarms)
        return found

    def _tell(self, ringing: tuple[Alarm, ...]) -> None:
        """Warn of alarms that did not ring before."""
        came, self._ringing = [alarm for alarm in ringing if alarm not in self._ringing], ringing
        warn_of_alarms(came)

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
        return self.suppose(delete=facts)

    def suppose(self, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None) -> Changes:
        """What `apply` would change with the same rows; nothing is changed."""
        held = self._held
        inserts, deletes = held.take(insert), held.take(delete)
        known = held.learnt(inserts)
        if known != held.known:
            raise DataError(unknown_types(held.known, known))
        rows = held.encode(inserts, deletes, held.shard, known)
        if rows.rejected:
            raise DataError(rejection(rows.rejected, "correct the rows: they must fit the relation"))
        with held_back():
            if self._absorbed is not None and not rows.inserts:
                return held.changes(self._absorbed.without(rows.deletes), ())
            return held.changes(held.shard.suppose(rows.inserts, rows.deletes), ())

    # Reading

    def rows(self, relation: str) -> set[tuple[Any, ...]]:
        """The rows of a relation or view, as a set of tuples; in columns of type `any`, 1, 1.0 and True differ."""
        self._missing.warn(relation)
        return self._held.tuples(relation)

    def table(self, relation: str) -> pa.Table:
        """The rows of a relation or view, as an Arrow table: of an SQL query, equal rows too, in its order."""
        self._missing.warn(relation)
        return self._held.arrow(relation)

    def is_ordered(self, relation: str) -> bool:
        """Whether `table` gives the rows in an order that the program asks for."""
        query = self._held.ordering(relation)
        return query is not None and bool(query.order)

    def count(self, relation: str) -> int:
        """How many rows there are, each as often as it is there."""
        self._missing.warn(relation)
        found = int(self._held.visible(relation).shape[0])
        query = self._held.ordering(relation)
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
        return self._following.ask(question_row(self._held.model, self._held.table(view), given))

    def follow(self, view: str, /, **given: Any) -> FollowedQuestion:
        """The same, maintained from now on: `.rows`, `.changes` after each transaction, and `.close()`."""
        return self._following.follow(question_row(self._held.model, self._held.table(view), given))

    def _suppose(self, question: QuestionRow) -> set[tuple[Any, ...]]:
        found = search_rows(self._shard, self._held.model.relation(question.query.atom.relation), question)
        if found is not None:
            return found
        given = self._held.take({question.relation: [question.values]})
        rows = self._held.encode(given, {}, self._shard, self._held.known)
        with held_back():
            return self._shard.supposing(rows.inserts, lambda: self._held.answers(question.plain))

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
        known = partial(self._held.base, instead="only base facts can fail")
        chance = chance_of(facts, known, self._as_kept)
        with held_back() as interruption:
            return self._questions.probability(relation, codes, chance, interruption.check)

    def blast_radius(self, relation: str) -> Impacts:
        """The base facts of a relation by how many rows of the queried views are there only because of each."""
        table = self._held.base(relation, "only base facts can be asked about").name
        views = {view: partial(self._held.asked, view) for view in self.program.outputs}
        with held_back() as interruption:
            return self._questions.impact(table, views, interruption.check)

    @property
    def _questions(self) -> Questions:
        return Questions(self._shard, self._endless, self._absorbed, self._nodes, self._order)

    def _follow(self, shard: Shard, known: Known) -> Follow | None:
        """What keeps absorption provenance in step with a transaction of the engine."""
        if self._absorbed is None:
            return None
        plan = shard.plan if shard is self._shard else self._held.endless_plan(shard, known)
        return partial(self._absorbed.follow, shard, plan)

    def _endless(self) -> Plan:
        return self._held.endless_plan(self._shard, self._held.known)

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
        return explain(self._shard.plan, infer(self._held.model, self._held.known))

    @property
    def nbytes(self) -> int:
        """Bytes held by all stored rows, with their indexes and witnesses."""
        return self._shard.nbytes

    # Showing

    def draw(
        self,
        relation: str,
        over: Any = None,
        *,
        source: str | None = None,
        target: str | None = None,
        around: str | None = None,
        hops: int = 2,
        most: int = 1_000,
    ) -> Drawing:
        """The rows of a relation as edges between the values of two columns, as a drawing (SVG).

        `over` is laid over it in another colour: a proof, a row of any view (its longest list, else its first two
        values, is a path), or a list of these. `source` and `target` name the columns; by default the first two that
        can hold ids. Of a graph with more than `most` nodes, and with `around`, those within `hops` of one are drawn.
        Where a relation has columns `lat` and `lon` for all nodes, they lie as on a map.
        """
        return draw_relation(self, relation, over, source=source, target=target, around=around, hops=hops, most=most)

    def _repr_html_(self) -> str:
        """Relations with their sizes, and the memory that they take, for notebooks."""
        return database_html(self)

    # Keeping

    @property
    def reader(self) -> StoreReader:
        """The tables as they are now, for those that read rows by their codes; a new one after every change."""
        return StoreReader(self._shard.stores, self._held.symbols)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the database to one file, atomically: a save that is cut off leaves the old file as it was."""
        held, guard = self._held, self._held.guard
        about = {
            "program": self.program.text,
            "disabled": list(self.program.disabled),
            "provenance": self.provenance,
            "guard": [guard.rows, guard.rounds, guard.computed, guard.memory],
            "known": {name: [kind and kind.value for kind in kinds] for name, kinds in held.known.items()},
            "columns": held.names.learnt,
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
        program = pipeline.compile_saved(about["program"], name=f"program saved in {path}", disabled=about["disabled"])
        if about["provenance"] not in MODES or about["order"] not in ("value", "arrival"):
            raise ValueError("there is no such provenance")
        self = cls.__new__(cls)
        known, symbols = of_file(program.rewritten, about["known"]), Symbols(snapshot.symbols)
        held = LearningShard(program, Guard(*about["guard"]), known, symbols)
        self._prepare(held, about["provenance"], about["nodes"], about["order"])
        held.restore_names(about["columns"])
        self._late = {str(name): int(count) for name, count in about["late"].items()}
        self._missing.keep(about.get("missing", ()))
        snapshot.fill(self._shard)
        self._absorbed = self._absorb(about["worlds"]) if self.provenance == "absorption" else None
        return self

    @classmethod
    def holding(
        cls,
        program: CompiledProgram,
        known: Known,
        columns: Mapping[str, Sequence[str]],
        rows: Shard,
        guard: Guard,
        nodes: int = NODES,
    ) -> Database:
        """A database over the base rows, and the clock, of an engine with the same base tables; views are derived."""
        self = cls.__new__(cls)
        self._absorbed = None
        self._prepare(LearningShard(program, guard, dict(known), rows.symbols), "witness", nodes, "value")
        self._held.restore_names(columns)
        self._missing.keep(())
        with held_back():
            refill(rows, self._shard, base_rows(rows))
        return self

    # Inside

    @property
    def _shard(self) -> Shard:
        return self._held.shard

    def _absorb(self, packed: Mapping[str, Any] | None) -> KeptWorlds:
        return KeptWorlds(self._shard, self._endless(), self._nodes, self._order, packed)

    def _absorbs(self, shard: Shard) -> bool:
        """Whether absorption provenance could go on with a shard that numbers its symbols anew."""
        if self._absorbed is not None:
            try:
                plan = self._held.endless_plan(shard, self._held.known)
                self._absorbed = KeptWorlds(shard, plan, self._nodes, self._order)
            except BudgetSpent:  # in another order the same functions may need more nodes
                return False
        return True

    def _time(self, moment: int | None) -> Any:
        """A moment as users write it."""
        return time_of(moment, self._clock, self._held.symbols)

    def _row(
        self, relation: str, row: Any, code_of: Callable[[Any, Type, Symbols], int]
    ) -> tuple[tuple[Any, ...], Codes]:
        return self._held.row(relation, row, code_of, self._following.queries(relation))

    def _alive(self, relation: str, row: tuple[Any, ...]) -> int:
        return self._held.alive(relation, row, self._following.queries(relation))

    def _as_kept(self, relation: str, row: Any) -> tuple[Any, ...]:
        """A base fact that a user names, in the values that provenance has for it."""
        values, _ = self._row(relation, row, find_code)
        return kept_values(self._held.table(relation), values)
