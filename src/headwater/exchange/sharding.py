"""How a program runs on several shards: where the rows of each relation live, and why so.

The kinds, in the order of preference:

- `decomposed`: every shard holds all base rows and derives its own part of the views; nothing travels;
- `exchange`: every row lives on one shard, and shards ship each other what they derive for others;
- `single`: one shard does it all, because the program cannot be taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import DataError, UnknownRelation
from headwater.core.types import Type
from headwater.engine.border.codec import ColumnCodes
from headwater.engine.border.intake import Header, take_in
from headwater.engine.codes.symbols import Codes
from headwater.exchange.routing import Owners
from headwater.language.syntax import Aggregate, Query
from headwater.pipeline import CompiledProgram
from headwater.plan.build import build
from headwater.plan.decompose import decompose
from headwater.plan.drafts import PICKS
from headwater.plan.model import Plan, Ships, Table
from headwater.plan.placement import obstacle, travelling
from headwater.program.model import Column, Keeps, Program
from headwater.program.types.inference import infer, with_types
from headwater.rewrite.base_copies import base_copies
from headwater.rewrite.localise import location_of
from headwater.rewrite.rules import LEASE_RULES, NETWORK_RULES, RULES, TIME_RULES, rewrite

Known: TypeAlias = Mapping[str, tuple[Type | None, ...]]
KINDS = ("decomposed", "exchange", "single")


@dataclass(frozen=True, slots=True)
class ByColumn:
    """The rows of a relation live on the shard that owns the value of a column."""

    column: int


class Place(Enum):
    """Where the rows of a relation live that go by no column."""

    EVERYWHERE = "on every shard"
    FIRST = "on one shard"


Home: TypeAlias = Place | ByColumn


@dataclass(frozen=True, slots=True)
class Sharding:
    """A value: it can be pickled and sent to the process that runs a shard."""

    kind: str
    reason: str
    plan: Plan
    homes: Mapping[str, Home]  # of every relation
    keys: Mapping[str, tuple[int, ...]]
    queries: tuple[Query, ...]
    outputs: tuple[str, ...]
    travels: tuple[str, ...] = ()  # relations of which rows are derived on one shard and live on another
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # base relations that are fed with another

    def explain(self) -> str:
        """The sharding as text: kind and reason, where the rows of each relation live, and what travels."""
        lines = [f"{self.kind}: {self.reason}", ""]
        for table in self.plan.tables:
            if table.name in self.homes and not table.bag:
                home = self.homes[table.name]
                where = home.value if isinstance(home, Place) else f"by {table.columns[home.column]}"
                twin = next((f", with {name}" for name, copies in self.copies.items() if table.name in copies), "")
                origin = "base" if table.base else "view"
                lines.append(f"{origin} {table.name}({', '.join(table.columns)}): {where}{twin}")
        picks = {table.name for table in self.plan.tables if table.picks}
        for rule in self.plan.program_rules:
            if any(isinstance(arg, Aggregate) and arg.function in PICKS for arg in rule.head.args):
                picks.add(rule.head.relation)
        what = [f"{name} (improving rows only)" if name in picks else name for name in self.travels]
        return "\n".join([*lines, "", f"travels: {', '.join(what) or 'nothing'}"])

    def table(self, relation: str) -> Table:
        """The table of a base relation."""
        for table in self.plan.tables:
            if table.name == relation and table.base:
                return table
        raise UnknownRelation(f"there is no base relation `{relation}`")

    def latest(self, inserts: Mapping[str, pa.Table]) -> int | None:
        """The latest time among these rows, as the clock counts; None: none of them has a time."""
        times = (self.times(relation, rows, ColumnCodes()) for relation, rows in inserts.items())
        return max((int(found.max()) for found in times if found.size), default=None)

    def times(self, relation: str, rows: pa.Table, encoded: ColumnCodes) -> Codes:
        """The times of these base rows, as the clock counts; empty if they have none."""
        table = self.table(relation)
        if table.time is None:
            return np.zeros(0, dtype=np.int64)
        return encoded.of(table.time, rows.column(table.time), table.types[table.time], nullable=False)[0]

    def tables_of(self, relation: str) -> tuple[str, ...]:
        """The base relations that get the rows of this one: itself, and its copies that live by other columns."""
        return (relation, *self.copies.get(relation, ()))

    def route_changes(self, changes: Mapping[str, pa.Table], shards: int) -> list[dict[str, pa.Table]]:
        """What each shard gets of base rows that users give, by relation, under the names of its columns."""
        routed: list[dict[str, pa.Table]] = [{} for _ in range(shards)]
        for name, rows in changes.items():
            table = self.table(name)
            taken = take_in(Header(name, table.names, True, table.ordered), rows)
            named = pa.table(taken.columns, names=list(table.names)) if table.names else rows
            encoded = ColumnCodes()
            for relation in self.tables_of(name):
                for number, part in self.route(relation, named, shards, encoded):
                    for receiver in range(shards) if number is None else (number,):
                        routed[receiver][relation] = part
        return routed

    def route(
        self, relation: str, rows: pa.Table, shards: int, encoded: ColumnCodes
    ) -> Iterator[tuple[int | None, pa.Table]]:
        """Which shard gets which of these base rows, in their order; None: every shard gets them all.

        The relation's columns come first. Raises DataError where a row has no value, or one of another type, in the
        column by which it is routed.
        """
        home = self.homes[relation]
        if home is Place.EVERYWHERE and shards > 1:
            yield None, rows
            return
        if isinstance(home, Place) or shards == 1:
            if rows.num_rows:
                yield 0, rows
            return
        owners = self._owners(self.table(relation), home.column, rows, shards, encoded)
        counts = np.bincount(owners, minlength=shards)
        ordered = rows if (counts > 0).sum() == 1 else rows.take(pa.array(np.argsort(owners, kind="stable")))
        start = 0
        for number, count in enumerate(counts.tolist()):
            if count:
                yield number, ordered.slice(start, count)
            start += count

    @staticmethod
    def _owners(table: Table, at: int, rows: pa.Table, shards: int, encoded: ColumnCodes) -> npt.NDArray[np.int64]:
        codes, problems = encoded.of(at, rows.column(at), table.types[at], nullable=at in table.nullable)
        if problems:
            row, reason = problems[0]
            raise DataError(f"error[HW801]: {table.name}, row {row + 1}: column `{table.columns[at]}`: {reason}")
        return Owners(encoded.symbols, shards).of(codes, table.types[at])

    def shows(self, relation: str, number: int) -> bool:
        """Whether a shard shows its rows of a relation: of one that all hold only the first does, of a copy none."""
        if any(relation in copies for copies in self.copies.values()):
            return False
        return number == 0 or self.homes[relation] is not Place.EVERYWHERE


def choose(
    program: CompiledProgram,
    known: Known | None = None,
    shards: int = 1,
    *,
    columns: Mapping[str, Sequence[str]] | None = None,
    kinds: Sequence[str] = KINDS,
) -> Sharding:
    """The first of the `kinds` that the program allows.

    `known` are the types of undeclared base relations, `columns` the names that the data has for their columns. A
    relation whose types are not known has no rows.
    """
    program = program.fitted(known or {})
    model = program.rewritten
    types = infer(model, known)
    model = _with_names(with_types(model, types), columns or {})
    if shards == 1:
        return _single(program, model, known, "there is one shard")
    reason = ""
    for kind in kinds:
        found = _MAKERS[kind](program, model, known, reason)
        if isinstance(found, Sharding):
            return found
        reason = found
    raise ValueError(f"the program cannot run as {' or '.join(kinds)}: {reason}")


def _decomposed(program: CompiledProgram, model: Program, known: Known | None, reason: str) -> Sharding | str:
    types = infer(model, known)
    model = with_types(model, types)
    found = decompose(model)
    if isinstance(found, str):
        return found
    plan = build(model, types, owned=found.owned)
    homes: dict[str, Home] = {}
    for relation in model.relations:
        column = found.kept.get(relation.name)
        homes[relation.name] = Place.EVERYWHERE if column is None else ByColumn(column)
    why = "every rule hands on the column by which its relation is kept"
    return Sharding("decomposed", why, plan, homes, _keys(model), model.queries, program.outputs)


def _exchange(program: CompiledProgram, model: Program, known: Known | None, reason: str) -> Sharding | str:
    local = model
    if any(relation.shown is not None or relation.keeps is not Keeps.ALL for relation in model.relations):
        plain = program.rewritten_by(RULES + TIME_RULES)
        names = {relation.name: tuple(column.name for column in relation.visible) for relation in model.relations}
        local = _with_names(with_types(plain, infer(plain, known)), names)
    local = rewrite(local, rules=NETWORK_RULES + LEASE_RULES)
    problem = obstacle(local)
    if problem is not None:
        return problem
    local, copies = base_copies(local, program.outputs)
    if known is not None:
        known = {**known, **{copy: known[name] for name, made in copies.items() if name in known for copy in made}}
    types = infer(local, known)
    plan = build(with_types(local, types), types, ships=Ships.OTHERS)
    homes: dict[str, Home] = {}
    for relation in local.relations:
        column = location_of(relation)
        if relation.replicated:
            homes[relation.name] = Place.EVERYWHERE
        else:
            homes[relation.name] = Place.FIRST if column is None else ByColumn(column)
    why = f"{reason}; " if reason else ""
    why += "rows live by a column, and are shipped to where rules meet"
    travels = travelling(local)
    return Sharding("exchange", why, plan, homes, _keys(model), model.queries, program.outputs, travels, copies)


def _single(program: CompiledProgram, model: Program, known: Known | None, reason: str) -> Sharding:
    types = infer(model, known)
    plan = build(with_types(model, types), types)
    homes: dict[str, Home] = {relation.name: Place.FIRST for relation in model.relations}
    return Sharding("single", reason, plan, homes, _keys(model), model.queries, program.outputs)


_MAKERS: Mapping[str, Callable[[CompiledProgram, Program, Known | None, str], Sharding | str]] = {
    "decomposed": _decomposed,
    "exchange": _exchange,
    "single": _single,
}


def _keys(model: Program) -> dict[str, tuple[int, ...]]:
    return {relation.name: relation.key for relation in model.relations if relation.key is not None}


def _with_names(model: Program, columns: Mapping[str, Sequence[str]]) -> Program:
    relations = []
    for relation in model.relations:
        names = columns.get(relation.name)
        if names is not None and not relation.declared and not relation.derived and len(names) == len(relation.visible):
            named = [Column(name, old.type) for name, old in zip(names, relation.visible, strict=True)]
            relation = replace(relation, columns=(*named, *relation.columns[len(named) :]))
        relations.append(relation)
    return replace(model, relations=tuple(relations))
