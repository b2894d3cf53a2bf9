"""A program over several shards, as the oracle's harness sees it: rows in and out as tuples."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import headwater as hw
from headwater.core.types import Type
from headwater.engine.border.soundness import refuse_unsound
from headwater.engine.codes.columns import arrow_type
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import KINDS, Known, choose
from headwater.plan.model import Table
from tests.oracle.harness import Changes, Fact
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows


class NotPlaced(Exception):
    """The program does not run by the kind of sharding asked for, or the question is not for several shards."""


class NoQuestions:
    """Of what the harness asks, several shards answer no questions about rows."""

    def why(self, relation: str, row: Row) -> list[Fact]:
        raise NotPlaced

    def without(self, delete: Rows) -> Changes:
        raise NotPlaced


class Sharded(NoQuestions):
    def __init__(self, program: Program, shards: int, kinds: tuple[str, ...] = KINDS) -> None:
        known = {base.name: tuple(map(Type, base.types)) for base in program.bases}
        self._open(to_text(program), tuple(program.outputs), shards, known, kinds)

    @classmethod
    def of_text(cls, text: str, outputs: tuple[str, ...], shards: int, kinds: tuple[str, ...] = KINDS) -> Sharded:
        self = cls.__new__(cls)
        self._open(text, outputs, shards, {}, kinds)
        return self

    def _open(self, text: str, outputs: tuple[str, ...], shards: int, known: Known, kinds: tuple[str, ...]) -> None:
        self.outputs = outputs
        try:
            sharding = choose(hw.compile(text), known, max(shards, 2), kinds=kinds)
        except ValueError:
            raise NotPlaced from None
        self.cluster = Cluster(sharding, shards)

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        outcomes = self.cluster.apply(self.arrow(insert), self.arrow(delete))
        for member in self.cluster.members:
            refuse_unsound(member.shard)  # a snapshot of it could be opened
        return {
            view: tuple(
                [row for outcome in outcomes for row in to_rows(outcome.changes[view][side])] for side in (0, 1)
            )
            for view in self.outputs
        }

    def rows(self, relation: str) -> set[Row]:
        found = [row for member in self.cluster.members for row in to_rows(member.rows(relation))]
        assert len(found) == len(set(found)), "a row lives on one shard"
        return set(found)

    def arrow(self, rows: Rows) -> dict[str, pa.Table]:
        return {name: to_table(self.cluster.sharding.table(name), list(many)) for name, many in rows.items()}


def to_rows(table: pa.Table) -> list[Row]:
    columns = [[_frozen(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def to_table(table: Table, rows: list[Row]) -> pa.Table:
    if not table.written:
        return pa.table({"": pa.nulls(len(rows))}).select([])
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.written)
    arrays = [_array(list(column), one.type) for column, one in zip(columns, table.written, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(table.names))


def _array(values: list[Any], kind: Type) -> pa.Array:
    if kind.holds_any or not kind.is_known:
        return pa.array([None if value is None else list(value) for value in values])
    return pa.array(values, type=arrow_type(kind))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
