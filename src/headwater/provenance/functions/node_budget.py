"""A bound on the nodes of functions, and operations that stop at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from headwater.core.errors import BudgetSpent
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function

NODES = 2_000_000  # about 40 MB
_MOST = 2**32  # what the diagrams can hold
Key = TypeVar("Key")


class NodeBudget:
    """`held` counts the nodes of the functions that the owner keeps; an operation may use the rest."""

    __slots__ = ("held", "nodes")

    def __init__(self, nodes: int = NODES) -> None:
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            raise ValueError(f"the budget for provenance is a number of nodes from 1 on, not {nodes!r}")
        self.nodes = min(nodes, _MOST)
        self.held = 0

    def conjunction(self, left: Function, right: Function) -> Function:
        return self._bounded(absorption.conjunction, left, right)

    def disjunction(self, left: Function, right: Function) -> Function:
        return self._bounded(absorption.disjunction, left, right)

    def difference(self, left: Function, right: Function) -> Function:
        return self._bounded(absorption.difference, left, right)

    def _bounded(
        self, operation: Callable[[Function, Function, int], Function], left: Function, right: Function
    ) -> Function:
        try:
            return operation(left, right, self.nodes - self.held)
        except (BudgetSpent, OverflowError):
            raise self.spent() from None

    def any_of(self, functions: Iterable[Function]) -> Function:
        found = absorption.never()
        for function in functions:
            found = self.disjunction(found, function)
        return found

    def add(self, found: dict[Key, Function], key: Key, function: Function) -> None:
        """Let an entry also be true where this function is."""
        found[key] = self.disjunction(found[key], function) if key in found else function

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
            "  hint: allow more nodes (nodes=..., --nodes) or another order of variables (order=...); a database "
            "without provenance='absorption' keeps none and can still be asked about single rows"
        )
