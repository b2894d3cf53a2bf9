"""A program over several shards, as the oracle's harness sees it: rows in and out as tuples."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import headwater as hw
from headwater.core.types import Type
from headwater.engine.columns import ARROW
from headwater.exchange.cluster import Cluster
from headwater.language.tree import Atom, Constant, Variable
from headwater.plan.build import build
from headwater.plan.model import Table
from headwater.plan.placement import can_be_placed
from headwater.program.types import infer
from headwater.rewrite.localise import location_of
from headwater.rewrite.rules import NETWORK_RULES, RULES, rewrite
from tests.oracle.harness import Changes, Fact
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows


class NotPlaced(Exception):
    """The program runs on one shard only, or its types are only known from data."""


class Sharded:
    def __init__(self, program: Program, shards: int) -> None:
        self._open(to_text(program), tuple(program.outputs), shards)

    @classmethod
    def of_text(cls, text: str, outputs: tuple[str, ...], shards: int) -> Sharded:
        self = cls.__new__(cls)
        self._open(text, outputs, shards)
        return self

    def _open(self, text: str, outputs: tuple[str, ...], shards: int) -> None:
        compiled = hw.compile(text)
        self.outputs = outputs
        self._queries = compiled.checked.queries
        model = rewrite(compiled.checked, rules=RULES + NETWORK_RULES)
        types = infer(model)
        base = [one for one in model.relations if not one.derived]
        keyed = {one.name: one.key for one in base if one.key is not None}
        stray = any(location_of(model.relation(name)) not in key for name, key in keyed.items())
        if not can_be_placed(model) or stray or any(None in types.columns[one.name] for one in base):
            raise NotPlaced
        locations = {one.name: location_of(one) for one in model.relations}
        self.cluster = Cluster(build(model, types, shards=True), shards, keyed, locations)
        self._tables = {table.name: table for table in self.cluster.plan.tables}

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        before = {name: self.rows(name) for name in self.outputs}
        self.cluster.apply(self._arrow(insert), self._arrow(delete))
        after = {name: self.rows(name) for name in self.outputs}
        return {
            name: (sorted_rows(after[name] - before[name]), sorted_rows(before[name] - after[name])) for name in after
        }

    def rows(self, relation: str) -> set[Row]:
        found: list[Row] = []
        for part in self.cluster.parts(relation):
            columns = [[_frozen(value) for value in column.to_pylist()] for column in part.columns]
            found += zip(*columns, strict=True) if self._tables[relation].types else [()] * part.num_rows
        assert len(found) == len(set(found)), "a row lives on one shard"
        asked = [query.atom for query in self._queries if query.atom.relation == relation]
        return {row for row in found if not asked or any(_matches(atom, row) for atom in asked)}

    def why(self, relation: str, row: Row) -> list[Fact]:
        raise NotPlaced

    def without(self, delete: Rows) -> Changes:
        raise NotPlaced

    def _arrow(self, rows: Rows) -> dict[str, pa.Table]:
        return {name: to_table(self._tables[name], list(many)) for name, many in rows.items()}


def to_table(table: Table, rows: list[Row]) -> pa.Table:
    if not table.types:
        return pa.table({"": pa.nulls(len(rows))})
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.types)
    arrays = [_array(list(column), kind) for column, kind in zip(columns, table.types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(table.columns))


def _array(values: list[Any], kind: Type) -> pa.Array:
    if kind is Type.LIST:
        return pa.array([list(value) for value in values])
    return pa.array(values, type=ARROW[kind])


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _matches(atom: Atom, row: Row) -> bool:
    bound: dict[str, Any] = {}
    for arg, value in zip(atom.args, row, strict=True):
        if isinstance(arg, Constant) and arg.value != value:
            return False
        if isinstance(arg, Variable) and bound.setdefault(arg.name, value) != value:
            return False
    return True


def sorted_rows(rows: set[Row]) -> list[Row]:
    return sorted(rows, key=repr)
