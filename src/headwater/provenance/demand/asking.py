"""Questions about rows of an engine: provenance is read where it is kept, or built for the row asked about.

Where only witnesses are kept, a row's provenance comes from its cone if rules only add, else from the worlds of what
it can depend on. A budget bounds both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.core.errors import BudgetSpent
from headwater.engine.reading import Codes, Matrix, TableReader
from headwater.engine.shard import Change, Shard
from headwater.plan.model import Plan
from headwater.provenance.demand.magic_sets import Demand
from headwater.provenance.demand.questions import Bounds, Impacts, RowProvenance, ranked
from headwater.provenance.demand.search import Search
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.functions.variables import MOST_VARIABLES, Fact, Order
from headwater.provenance.witness.reader import ProofReader
from headwater.provenance.worlds.cone import Cone, Node, only_adds
from headwater.provenance.worlds.kept_worlds import KeptWorlds, LeaseTranslation, without_lease
from headwater.provenance.worlds.row_functions import values_of
from headwater.provenance.worlds.worlds import Worlds


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions about rows of one engine as it stands."""

    shard: Shard
    plan: Callable[[], Plan]  # gives the engine's plan without leases, for provenance that is built on demand
    kept: KeptWorlds | None  # the engine's worlds, if they are kept
    nodes: int
    order: Order

    def about(self, table: str, codes: Codes, check: Callable[[], None]) -> RowProvenance:
        """The provenance of one row; `BudgetSpent` where it needs too many nodes."""
        if self.kept is not None:
            return RowProvenance(self.kept.function(table, codes), self.kept.worlds.fact, self.nodes)
        return self._on_demand(table, codes, check)

    def probability(
        self, table: str, codes: Codes, chance: Callable[[Fact], Any], check: Callable[[], None]
    ) -> float | Bounds:
        """Exact, or bounds where that needs too many nodes."""
        try:
            found = self.about(table, codes, check).probability(chance)
        except BudgetSpent:
            return self._bounds(table, codes, chance, check)
        return float(found) if isinstance(found, int) else found

    def impact(self, table: str, views: Mapping[str, Callable[[Matrix], Matrix]], check: Callable[[], None]) -> Impacts:
        """The facts of a table by the rows of the views, of those asked for, that are there only because of each."""
        if self.kept is not None:
            return ranked(self.kept.impact(table, views))
        reader = TableReader(self.shard.stores[table])
        rows = reader.alive()
        found: dict[Fact, dict[str, int]] = {}
        for row in rows[reader.inserted(rows)].tolist():
            check()
            changes = self.shard.suppose({}, {table: reader.codes([row])})
            found[_fact(self.shard, (table, row))] = {
                view: self._lost(view, asked, changes[view]) if view in changes else 0 for view, asked in views.items()
            }
        return ranked(found)

    def _lost(self, view: str, asked: Callable[[Matrix], Matrix], change: Change) -> int:
        """How many rows are gone; one that only ends sooner, or has another time, is not."""
        identity = list(self.shard.stores[view].table.identity)
        left = {tuple(row) for row in change.inserted[:, identity].tolist()}
        return sum(tuple(row) not in left for row in asked(change.deleted)[:, identity].tolist())

    def _on_demand(self, table: str, codes: Codes, check: Callable[[], None]) -> RowProvenance:
        shard, plan, nodes, order = self.shard, self.plan(), self.nodes, self.order
        if plan is not shard.plan or not only_adds(plan, table):
            engine = shard.stores[table].table
            demand = Demand(plan, table, engine.time)
            here = next(planned for planned in plan.tables if planned.name == table)
            asked = without_lease(here, engine, codes)
            search = Search(shard, demand, asked, NodeBudget(nodes), check)
            worlds = Worlds(plan, shard.symbols, NodeBudget(nodes), order, search.wanted())
            worlds.load(search.facts(), search.stated(), check)
            return RowProvenance(LeaseTranslation(worlds, shard).function(table, codes), worlds.fact, nodes)
        row = int(TableReader(shard.stores[table]).find(codes)[0])
        if row < 0:
            return RowProvenance(absorption.never(), lambda number: ("", ()), nodes)
        cone = Cone(shard, table, row, NodeBudget(nodes), check)
        if len(cone.facts) > MOST_VARIABLES:
            raise NodeBudget(nodes).spent()
        facts = cone.in_depth()
        if callable(order):
            facts.sort(key=lambda fact: order(*_fact(shard, fact)))
        literals = {fact: absorption.literal(number) for number, fact in enumerate(facts)}
        function = cone.function(literals, NodeBudget(nodes))
        return RowProvenance(function, lambda number: _fact(shard, facts[number]), nodes)

    def _bounds(self, table: str, codes: Codes, chance: Callable[[Fact], Any], check: Callable[[], None]) -> Bounds:
        """Bounds of a row's probability for when its provenance needs too many nodes.

        More facts never make such a row less probable. So the lower bound takes all but some facts to be gone, the
        upper one takes them to be certain. The facts that stay uncertain are those of the row's proof first, or those
        closest to the row, as many as the budget allows.
        """
        shard, nodes = self.shard, self.nodes
        if not only_adds(shard.plan, table):
            return Bounds(0.0, 1.0)
        row = int(TableReader(shard.stores[table]).find(codes)[0])
        if row < 0:
            return Bounds(0.0, 0.0)
        proved = set(ProofReader(shard).proof(table, row).facts)
        low, high = math.prod(float(chance(fact)) for fact in proved), 1.0
        try:
            cone = Cone(shard, table, row, NodeBudget(nodes), check)
        except BudgetSpent:
            return Bounds(low, high)
        by_proof = sorted(cone.facts, key=lambda fact: _fact(shard, fact) not in proved)
        for found in _approached(cone, by_proof, absorption.never(), shard, chance, nodes):
            low = max(low, found)
        for found in _approached(cone, cone.facts, absorption.always(), shard, chance, nodes):
            high = min(high, found)
        return Bounds(low, high)


def _approached(
    cone: Cone, facts: list[Node], rest: Function, shard: Shard, chance: Callable[[Fact], Any], nodes: int
) -> Iterator[float]:
    """A row's probability while more and more facts are uncertain, the first ones first, and the rest is as given."""
    walk = cone.in_depth()
    count = 1
    while count < 2 * len(facts):
        chosen = set(facts[: min(count, MOST_VARIABLES)])
        uncertain = [fact for fact in walk if fact in chosen]
        literals = {fact: absorption.literal(number) for number, fact in enumerate(uncertain)}
        chances = [chance(_fact(shard, fact)) for fact in uncertain]
        try:
            function = cone.function({**dict.fromkeys(facts, rest), **literals}, NodeBudget(nodes))
        except BudgetSpent:
            return
        yield float(absorption.diagram(function).probability(chances.__getitem__))
        count *= 2


def _fact(shard: Shard, node: Node) -> Fact:
    reader = TableReader(shard.stores[node[0]])
    return node[0], values_of(reader.table, reader.row(node[1]), shard.symbols)
