"""Stages: rules that run together; all nodes finish one stage before any starts the next.

Rules that only add rows run together, recursive or not: tables of one stage exchange rows in any order, at any speed,
and end at the same fixpoint. Three things need a complete relation: a negation, an aggregate over bindings, and, from
outside its own recursion, a relation of which only the best rows count. A rule that reads a table in one of these ways
belongs to a later stage.

Guarantees: within a stage every rule is monotone. A table of an earlier stage is read through its *upper copy*, which
changes only between stages and holds only what is visible (of a table with picks, the best rows). Aggregates are
computed when their stage begins and do not change in it: like base tables they need no copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.graph import components
from headwater.plan.model import Plan, Table


@dataclass(frozen=True, slots=True)
class Edge:
    """A table that is read, or shipped, to make rows of another."""

    source: str
    target: str
    complete: bool  # the target needs all rows of the source


@dataclass(frozen=True, slots=True)
class Stages:
    """The stage of every derived table, and the tables that are read from above."""

    of: dict[str, int]
    count: int
    upper: frozenset[str]

    def read_as(self, table: str, stage: int) -> str:
        """The name under which a rule of `stage` reads a table."""
        return upper_copy(table) if table in self.upper and self.of[table] < stage else table


def upper_copy(table: str) -> str:
    return f"{table}'up"


def stages(plan: Plan) -> Stages:
    tables = {table.name: table for table in plan.tables}
    edges = list(_edges(plan, tables))
    derived = {table.name for table in plan.tables if not table.base}
    onward: dict[str, list[str]] = {name: [] for name in derived}
    for edge in edges:
        if edge.source in derived:
            onward[edge.source].append(edge.target)
    parts = components(onward)
    part_of = {name: at for at, part in enumerate(parts) for name in part}
    into: dict[int, list[Edge]] = {}
    for edge in edges:
        if edge.source in derived:
            into.setdefault(part_of[edge.target], []).append(edge)
    found: dict[str, int] = {}
    for at in range(len(parts) - 1, -1, -1):  # a component comes after all it leads to: sources are last
        stage = 0
        for edge in into.get(at, ()):
            picked = bool(tables[edge.source].picks) and not tables[edge.source].outbox
            if part_of[edge.source] != at:
                stage = max(stage, found[edge.source] + (edge.complete or picked))
            elif edge.complete:
                raise _never_complete(edge, tables)
        found.update(dict.fromkeys(parts[at], stage))
    settled = {aggregation.table for aggregation in plan.aggregations}
    upper = {
        edge.source for edge in edges if edge.source in derived - settled and found[edge.source] < found[edge.target]
    }
    return Stages(found, max(found.values(), default=0) + 1, frozenset(upper))


def _edges(plan: Plan, tables: dict[str, Table]) -> Iterator[Edge]:
    for rule in plan.rules:
        if not tables[rule.table].base:
            yield from (Edge(name, rule.table, complete=False) for name in rule.atoms)
            yield from (Edge(name, rule.table, complete=True) for name in rule.negated)
    for aggregation in plan.aggregations:
        for bag in aggregation.contributions:
            yield Edge(bag.table, aggregation.table, complete=True)
    for shipment in plan.shipments:
        yield Edge(shipment.outbox, shipment.inbox, complete=False)


def _never_complete(edge: Edge, tables: dict[str, Table]) -> CheckProblem:
    names = [name.partition("'")[0] for name in (edge.source, edge.target)]
    message = f"`{names[1]}` sums over its own recursion, which nodes that do not wait for each other cannot compute"
    hint = "run it on one database, or on shards that work in rounds"
    return CheckProblem((Diagnostic("HW911", message, None, note=f"it reads `{names[0]}`", hint=hint),))
