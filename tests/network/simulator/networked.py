"""A network of nodes as the oracle's harness sees it: rows in and out as tuples."""

from __future__ import annotations

from dataclasses import dataclass

import headwater as hw
from headwater.core.errors import CheckProblem
from headwater.network.simulator.network import Network
from headwater.network.simulator.operators.minship import BufferedEager, BufferedLazy, Eager, Lazy, Shipping
from headwater.network.simulator.wire.links import Delays
from tests.oracle.harness import Changes, Fact
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows


class NotTogether(Exception):
    """Nodes cannot run the program together, or its types are only known from data."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a program is run: by which strategy, shipping how."""

    strategy: str
    shipping: Shipping = Lazy()


WAYS = {
    "dred": Way("dred"),
    "witness": Way("witness"),
    "relative": Way("relative"),
    "relative, eager": Way("relative", Eager()),
    "absorption": Way("absorption"),
    "absorption, W = 7": Way("absorption", Lazy(7)),
    "absorption, eager": Way("absorption", Eager()),
    "absorption, eager, W = 5": Way("absorption", Eager(5)),
    "absorption, notices of 4": Way("absorption", Lazy(1, notices=4)),
    "relative, buffered, W = 3": Way("relative", BufferedLazy(3)),
    "absorption, buffered": Way("absorption", BufferedLazy()),
    "absorption, buffered, W = 6": Way("absorption", BufferedLazy(6)),
    "absorption, buffered eager, W = 4": Way("absorption", BufferedEager(4)),
}


class Networked:
    def __init__(self, program: Program, way: Way, nodes: int, delays: Delays) -> None:
        try:
            compiled = hw.compile(to_text(program))
            self.network = Network(compiled, nodes, way.strategy, shipping=way.shipping, delays=delays)
        except CheckProblem as problem:
            if {one.code for one in problem.diagnostics} <= {"HW911", "HW912"}:
                raise NotTogether from problem
            raise

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        return self.network.apply(insert, delete).changes

    def rows(self, relation: str) -> set[Row]:
        found = [row for node in self.network.nodes for row in node.visible(relation)]
        homes = set(found)
        shared = any(one.table == relation and one.everywhere for one in self.network.layout.plan.shipments)
        assert shared or len(found) == len(homes), "a row lives on one node"
        return self.network.rows(relation)

    def why(self, relation: str, row: Row) -> list[Fact]:
        raise NotTogether

    def without(self, delete: Rows) -> Changes:
        raise NotTogether
