"""The tables of all nodes, side by side in one shard of the engine: base rows and arrivals in, rows to send out.

No rule of a boxed program reads rows of two locations, so one transaction over the arrivals of many nodes does exactly
what each of them would do alone; and what it costs does not depend on how many nodes there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headwater.core.errors import DataError, UnknownRelation
from headwater.core.memory import memory_for
from headwater.core.types import Type
from headwater.engine.border.codec import Change, asked, encode_changes
from headwater.engine.border.intake import Header, Intake, rejection, take_in
from headwater.engine.border.learnt_types import Known, learn
from headwater.engine.border.lookup import tuples
from headwater.engine.codes.columns import to_values
from headwater.engine.codes.symbols import Codes, Symbols, encode
from headwater.engine.guard import Guard
from headwater.engine.reading import GONE, Matrix
from headwater.engine.shard import Shard
from headwater.engine.store.budget import Budget
from headwater.language.syntax import Query
from headwater.network.nodes.boxes import BoxedProgram, boxed
from headwater.network.nodes.support import carrying, recursive
from headwater.plan.build import build
from headwater.program.model import Program
from headwater.program.nearest import nearest
from headwater.program.types.inference import infer


def take(model: Program, rows: Mapping[str, Any], what: str) -> dict[str, Intake]:
    """Base rows as a user gives them, before their types are known; DataError where they name no base relation."""
    found = {}
    for name, given in rows.items():
        base = {relation.name: relation for relation in model.relations if not relation.derived}
        if name not in base:
            close = nearest(str(name), base)
            hint = f"; did you mean `{close}`?" if close else f"; they are {', '.join(sorted(base))}"
            raise UnknownRelation(f"{what}: there is no base relation `{name}`{hint}")
        relation = base[name]
        names = tuple(column.name for column in relation.visible)
        intake = take_in(Header(name, names, relation.named, relation.ordered), given)
        if intake.rejected:
            raise DataError(rejection(intake.rejected, "correct the rows: nothing of the event takes place"))
        found[name] = intake
    return found


def known_types(model: Program, known: Known, inserts: Mapping[str, Intake]) -> Known:
    """The types of base columns, once these rows have shown theirs."""
    return learn(model, known, inserts)


def _with_places(model: Program, known: Known, nodes: tuple[Any, ...]) -> Known:
    """The types that are known, with those of locations: they are the nodes' own."""
    kind = Type.STRING if isinstance(nodes[0], str) else Type.INT
    found = dict(known)
    for relation in model.relations:
        if not relation.derived and not relation.declared and relation.name not in known and relation.columns:
            marked = relation.location or 0
            found[relation.name] = tuple(kind if at == marked else None for at in range(relation.arity))
    return found


class NodeTables:
    """All rows of all nodes, as codes."""

    def __init__(
        self, model: Program, known: Known, nodes: tuple[Any, ...], guard: Guard, maintenance: str | None
    ) -> None:
        known = _with_places(model, known, nodes)
        types = infer(model, known).columns
        unknown = [name for name, kinds in types.items() if None in kinds and not model.relation(name).derived]
        if unknown:
            raise DataError(
                f"error[HW912]: the types of `{unknown[0]}` are not known; "
                f"declare it: relation {unknown[0]}(column: type, ...), or insert rows of it before the first run"
            )
        plain = boxed(model, known)
        proving = (
            carrying(plain) if maintenance is None else frozenset[str]() if maintenance == "count" else recursive(plain)
        )
        self.program: BoxedProgram = boxed(model, known, proving) if proving else plain
        self.symbols = Symbols()
        self.plan = build(self.program.model, infer(self.program.model, known))
        keys = {each.name: each.key for each in self.program.model.relations if each.key is not None}
        budget = Budget(guard.bytes_of(memory_for()))
        self.shard = Shard(self.plan, self.symbols, keys, guard, budget=budget)
        self.shard.start()
        self._name_nodes(nodes)

    def _name_nodes(self, nodes: tuple[Any, ...]) -> None:
        kinds = {self._column_type(name, at) for name, at in self.program.locations.items()}
        if len(kinds) > 1:
            raise DataError(f"locations are of one type, not of {', '.join(sorted(map(str, kinds)))}")
        kind = kinds.pop()
        if kind.is_symbolic is not isinstance(nodes[0], str):
            raise DataError(f"the program's locations are of type {kind}, but node {nodes[0]!r} is not")
        codes = np.array([encode(node, kind, self.symbols) for node in nodes], dtype=np.int64)
        order = np.argsort(codes)
        self._codes, self._order = codes[order], order
        self.node_codes = codes

    def _column_type(self, name: str, at: int) -> Any:
        return self.shard.stores[name].table.types[at]

    def nodes_of(self, codes: Matrix) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The numbers of the nodes that these codes name; -1 for a value that names none."""
        place = np.minimum(np.searchsorted(self._codes, codes), self._codes.size - 1)
        return np.where(self._codes[place] == codes, self._order[place], -1)

    def encoded(
        self, inserts: Mapping[str, Intake], deletes: Mapping[str, Intake]
    ) -> tuple[dict[str, Codes], dict[str, Codes]]:
        """Base rows as codes; DataError if one does not fit, or lives at no node."""
        rows = encode_changes(self.shard.stores, inserts, deletes, self.symbols, holds_nulls=self.plan.holds_nulls)
        if rows.rejected:
            raise DataError(rejection(rows.rejected, "correct the rows: nothing of the event takes place"))
        for given in (rows.inserts, rows.deletes):
            for name, codes in given.items():
                lost = np.flatnonzero(self.nodes_of(codes[:, self.program.locations[name]]) < 0)
                if lost.size:
                    row = next(iter(tuples(self.shard.stores[name].table, codes[lost[:1]], self.symbols)))
                    raise DataError(
                        f"{name}{row!r} lives at {row[self.program.locations[name]]!r}, which is not a node "
                        "of the topology; add the node, or correct the row"
                    )
        return rows.inserts, rows.deletes

    def transact(self, inserts: Mapping[str, Codes], deletes: Mapping[str, Codes]) -> dict[str, Change]:
        """One transaction of every node that has something to do; what changed, by table."""
        return self.shard.apply(inserts, deletes).changes

    def everything(self) -> dict[str, Change]:
        """All rows there are, as a change from nothing."""
        found = {name: self.present(name) for name in self.shard.stores}
        return {name: Change(rows, rows[:0]) for name, rows in found.items() if rows.shape[0]}

    def values(self, table: str, codes: Matrix) -> list[tuple[Any, ...]]:
        """Rows of a table as tuples of values."""
        return list(tuples(self.shard.stores[table].table, codes, self.symbols))

    def value(self, table: str, column: int, code: int) -> Any:
        """The value of one code of a column."""
        kind = self.shard.stores[table].table.types[column]
        return to_values(np.array([code], dtype=np.int64), kind, self.symbols, nullable=True)[0]

    @property
    def inferences(self) -> int:
        """Derivations that rules have found; taking a row from an inbox is none."""
        inboxes = tuple(f" {box.inbox}(" for box in self.program.boxes)
        works = self.shard.meter.profile(self.plan).rules
        return sum(work.made or 0 for work in works if not any(inbox in work.rule for inbox in inboxes))

    def present(self, table: str) -> Matrix:
        """The rows of a table that are there, as codes."""
        store = self.shard.stores[table]
        return store.data[: store.size][store.stamp[: store.size] > GONE]

    def rows(self, relation: str, node: int | None, queries: Sequence[Query]) -> set[tuple[Any, ...]]:
        """The rows of a relation at one node or at all, those that queries of it ask for if there are any."""
        store = self.shard.stores.get(relation)
        if store is None or store.table.bag:
            close = nearest(relation, [each for each in self.shard.stores if "'" not in each])
            raise UnknownRelation(
                f"there is no relation `{relation}`" + (f"; did you mean `{close}`?" if close else "")
            )
        codes = self.present(relation)
        if node is not None:
            codes = codes[codes[:, self.program.locations[relation]] == self.node_codes[node]]
        return set(self.asked(relation, codes, queries))

    def asked(self, relation: str, codes: Matrix, queries: Sequence[Query]) -> list[tuple[Any, ...]]:
        """Of these rows of a relation those that queries of it ask for, all if there are none, as values."""
        table = self.shard.stores[relation].table
        return list(tuples(table, asked(queries, table, codes, self.symbols), self.symbols))
