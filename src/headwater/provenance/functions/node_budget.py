"""Room for functions: how many nodes may be held, and operations that stop where it ends."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.core.errors import BudgetSpent
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function

NODES = 2_000_000  # about 40 MB
_MOST = 2**32  # what the diagrams can hold


class Room:
    """`held` counts the nodes of the functions that their owner keeps; an operation may use what is left."""

    __slots__ = ("held", "nodes")

    def __init__(self, nodes: int = NODES) -> None:
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            raise ValueError(f"room for provenance is a number of nodes from 1 on, not {nodes!r}")
        self.nodes = min(nodes, _MOST)
        self.held = 0

    def conjunction(self, one: Function, other: Function) -> Function:
        try:
            return absorption.conjunction(one, other, self.nodes - self.held)
        except (BudgetSpent, OverflowError):
            raise self.spent() from None

    def disjunction(self, one: Function, other: Function) -> Function:
        try:
            return absorption.disjunction(one, other, self.nodes - self.held)
        except (BudgetSpent, OverflowError):
            raise self.spent() from None

    def difference(self, one: Function, other: Function) -> Function:
        try:
            return absorption.difference(one, other, self.nodes - self.held)
        except (BudgetSpent, OverflowError):
            raise self.spent() from None

    def any_of(self, functions: Iterable[Function]) -> Function:
        found = absorption.never()
        for function in functions:
            found = self.disjunction(found, function)
        return found

    def hold(self, function: Function) -> None:
        """Count a function that is kept from now on."""
        self.held += absorption.size(function)
        if self.held > self.nodes:
            raise self.spent()

    def release(self, function: Function) -> None:
        self.held -= absorption.size(function)

    def spent(self) -> BudgetSpent:
        return BudgetSpent(
            f"error[HW903]: provenance needs more than {self.nodes:,} nodes; nothing was changed\n"
            "  hint: give more room (nodes=..., --nodes) or another order of variables (order=...); where "
            "provenance='absorption' keeps that of all rows, a database without it can still be asked about single ones"
        )
