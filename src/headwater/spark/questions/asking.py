"""Questions about rows of a running or stopped query: why they are there, and what they depend on.

`why` reads the proof that the shards keep. `critical`, `witnesses` and `probability` gather the base rows that the row
can depend on, and ask a database of these. The others ask a database of all base rows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from headwater.core.errors import DataError, StateError, UnknownRelation
from headwater.core.memory import memory_for
from headwater.database import Changes, Database
from headwater.engine.border.codec import asked
from headwater.engine.border.lookup import named_row, not_asked, refuse_partial, time_of, unknown_relation
from headwater.engine.codes.symbols import Codes, Symbols, encode
from headwater.engine.guard import Guard
from headwater.exchange import GatheredBase, GatheredProof
from headwater.language.terms import positive_atoms
from headwater.program.questions import is_questions, query_for
from headwater.program.time.program_clock import clock_type
from headwater.provenance import NODES, Bounds, Chances, Critical, Fact, Impact, Proof, WhyNot
from headwater.spark.questions.state_reader import StateReader, asked_of
from headwater.spark.state.checkpoint import Checkpoint

LOG = logging.getLogger("headwater")
MOST = 200_000
_KEPT: dict[tuple[str, ...], Database] = {}  # the last one that was loaded, by the files it is made of


def why(
    checkpoint: str, view: str, row: Any, *, batch: int | None = None, most: int = MOST, spark: Any = None
) -> Proof:
    """Why a row is there: its proof down to base rows, as the shards keep it.

    Each shard gives the part of the proof that it holds; `most` bounds the stored rows that are read for it. `batch`
    asks about an earlier batch whose state is still kept.
    """

    def asked(reader: StateReader) -> Proof:
        symbols = Symbols()
        values, codes = _row(reader, view, row, symbols)
        clock = clock_type(reader.program.rewritten)
        gathered = GatheredProof(reader.sharding, reader.shards, symbols, reader.ask, most)
        known = (table.name for table in reader.plan.tables)
        found = gathered.of(view, codes, known, lambda moment: time_of(moment, clock, symbols))
        if found is None:
            raise DataError(f"{view}{values!r} is not there; ask why_not(checkpoint, {view!r}, {values!r})")
        return found

    return asked_of(checkpoint, batch, spark, asked)


def critical(
    checkpoint: str, view: str, row: Any, *, batch: int | None = None, most: int = MOST, nodes: int = NODES,
    spark: Any = None,
) -> Critical:  # fmt: skip
    """The base rows that a row cannot do without: `.facts` one by one, `.cuts()` together."""
    return _about(checkpoint, view, row, batch, most, nodes, spark).critical(view, row)


def witnesses(
    checkpoint: str, view: str, row: Any, limit: int | None = 10, *, batch: int | None = None, most: int = MOST,
    nodes: int = NODES, spark: Any = None,
) -> list[list[Fact]]:  # fmt: skip
    """The minimal sets of base rows that are enough for a row, smallest first; all of them with `limit=None`."""
    return _about(checkpoint, view, row, batch, most, nodes, spark).witnesses(view, row, limit)


def probability(
    checkpoint: str, view: str, row: Any, facts: Chances, *, batch: int | None = None, most: int = MOST,
    nodes: int = NODES, spark: Any = None,
) -> float | Bounds:  # fmt: skip
    """How probable a row is when base rows fail independently of each other; see `Database.probability`."""
    return _about(checkpoint, view, row, batch, most, nodes, spark).probability(view, row, facts)


def why_not(
    checkpoint: str, view: str, row: Any, *, batch: int | None = None, memory: int | float = 0.5, spark: Any = None
) -> WhyNot:
    """Why a row is not there: the rules that could have derived it, and where each of them fails."""
    return _loaded(checkpoint, batch, memory, spark).why_not(view, row)


def without(
    checkpoint: str, facts: Mapping[str, Any], *, batch: int | None = None, memory: int | float = 0.5, spark: Any = None
) -> Changes:
    """What would change in the views if these base rows were deleted; nothing is changed."""
    return _loaded(checkpoint, batch, memory, spark).without(facts)


def blast_radius(
    checkpoint: str, relation: str, *, batch: int | None = None, memory: int | float = 0.5, spark: Any = None
) -> list[Impact]:
    """The base rows of a relation by how many rows of the views are there only because of each."""
    return _loaded(checkpoint, batch, memory, spark).blast_radius(relation)


def ask(
    checkpoint: str, view: str, /, *, batch: int | None = None, memory: int | float = 0.5, spark: Any = None,
    **given: Any,
) -> set[tuple[Any, ...]]:  # fmt: skip
    """The answers to a question: a value for each parameter of a query, as in `query fastest($From, To, P, Ms)`.

    The question need not be among those that the query was given. What is missing is derived; nothing is changed.
    """
    db = _loaded(checkpoint, batch, memory, spark)
    relation, values, columns = _question(db, view, given)
    asked_before = values in db.rows(relation)
    if not asked_before:
        db.apply(insert={relation: [values]})
    try:
        rows = db.rows(view)
    finally:
        if not asked_before:
            db.apply(delete={relation: [values]})
    return {row for row in rows if all(row[at] == value for at, value in zip(columns, values, strict=True))}


def database(checkpoint: str, *, batch: int | None = None, memory: int | float = 0.5, spark: Any = None) -> Database:
    """An embedded database with the base rows and the clock of a query; its views are derived anew.

    `memory` bounds what it may take, in bytes or as a share of the memory there is. What it takes is estimated from the
    checkpoint first, and logged; StateError if that is too much.
    """

    def loaded(reader: StateReader) -> Database:
        guard = Guard(memory=memory)
        bound = guard.bytes_of(memory_for())
        rows, size = reader.stored
        about = f"up to {rows:,} rows, about {_shown(_PER_BYTE * size)}"
        LOG.info("loading the state of %s, batch %s: %s", reader.path, reader.manifest.batch, about)
        if bound is not None and _PER_BYTE * size > bound:
            raise StateError(
                f"error[HW937]: the state of {reader.path} does not fit: {about}, and {_shown(bound)} may be used\n"
                "  hint: allow more (memory=...), take a larger machine, or ask single rows with hws.why, which reads "
                "only what it needs"
            )
        gathered = _base(reader, None)
        gathered.take_all()
        return gathered.database(_columns(reader), reader.manifest.clock, guard, NODES)

    return asked_of(checkpoint, batch, spark, loaded)


def last_batch(checkpoint: str) -> int:
    """The number of the last batch that is committed."""
    return Checkpoint(str(checkpoint)).as_of(None).batch


def schema(checkpoint: str, *, batch: int | None = None) -> Database:
    """A database without rows, with the program of a query and the types of its columns."""
    reader = StateReader(checkpoint, batch)
    return _base(reader, None).database(_columns(reader), reader.manifest.clock, Guard(), NODES)


_PER_BYTE = 2  # bytes in memory, with indexes, for each in the checkpoint


def _loaded(checkpoint: str, batch: int | None, memory: int | float, spark: Any) -> Database:
    """A database of the state; the last one is kept for the next question."""
    manifest = StateReader(checkpoint, batch, spark).manifest
    key = (str(checkpoint), *sorted(manifest.files))
    if key not in _KEPT:
        found = database(checkpoint, batch=batch, memory=memory, spark=spark)
        _KEPT.clear()
        _KEPT[key] = found
    return _KEPT[key]


def _question(db: Database, view: str, given: Mapping[str, Any]) -> tuple[str, tuple[Any, ...], tuple[int, ...]]:
    """The relation of a question, its row there, and the columns of the view that hold its values."""
    for rule in db.program.checked.rules:
        for atom in positive_atoms(rule):
            for names in permutations(given) if rule.head.relation == view and is_questions(atom.relation) else ():
                if atom.relation == f"{view}'questions_{'_'.join(names)}":
                    columns = tuple(rule.head.args.index(arg) for arg in atom.args)
                    return atom.relation, tuple(given[name] for name in names), columns
    query_for((), view, given)
    raise AssertionError("a question without a query is refused")


def _about(checkpoint: str, view: str, row: Any, batch: int | None, most: int, nodes: int, spark: Any) -> Database:
    """A database of the base rows that a row can depend on."""

    def gathered(reader: StateReader) -> Database:
        found = _base(reader, most)
        _, codes = _row(reader, view, row, found.shard.symbols)
        found.take_below(view, codes)
        return found.database(_columns(reader), reader.manifest.clock, Guard(), nodes)

    return asked_of(checkpoint, batch, spark, gathered)


def _base(reader: StateReader, most: int | None) -> GatheredBase:
    return GatheredBase(reader.program, reader.definition.known, reader.shards, reader.ask, most)


def _columns(reader: StateReader) -> dict[str, tuple[str, ...]]:
    """The names that data brought for columns of relations that the program does not declare."""
    declared = {relation.name for relation in reader.program.checked.relations if relation.declared}
    there = {table.name: len(table.written) for table in reader.plan.tables}
    names = reader.definition.columns.items()
    return {name: columns for name, columns in names if name not in declared and there.get(name) == len(columns)}


def _row(reader: StateReader, view: str, row: Any, symbols: Symbols) -> tuple[tuple[Any, ...], Codes]:
    """A row that a user names, as a tuple and as codes of what is stored."""
    table = next((table for table in reader.plan.tables if table.name == view), None)
    if table is None or (table.bag or table.asks or table.part):
        raise UnknownRelation(unknown_relation(view, reader.program))
    model = reader.program.fitted(reader.definition.known).rewritten
    refuse_partial(model.relation(view), reader.program.outputs)
    values, codes = named_row(table, _columns(reader).get(view, table.names), row, encode, symbols)
    if model.relation(view).ways and not asked(model.queries, table, codes, symbols).size:
        raise not_asked(view, values)
    return values, codes


def _shown(size: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"
