"""Absorption provenance: for each row a boolean function of base facts, true in exactly the worlds that have the row.

A function is a reduced ordered binary decision diagram: equal functions have equal diagrams, so that absorption
(a or (a and b) = a) needs no extra step (000, section 4.1). This is the only file that knows the library behind them.

Functions are values: they hold their own nodes, can be compared and hashed, and travel as bytes. Variables are numbers;
`Variables` (variables.py) says which base fact each one stands for. An operation with a limit raises `BudgetSpent`
instead of building a function with more nodes.

The library is biodivine_aeon. Measured on closures of transit-stub graphs (100 nodes, 226 to 318 links, 10,000 rows)
with shipping and snapshots: oxidd builds dense ones in half the time and shares nodes between functions, but takes 2
to 5 times the memory at a fixed capacity, ships a function only through a file, and ends the process on misuse; CUDD
under dd needs seconds to read functions back where the others need milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import biodivine_aeon

from headwater.core.errors import BudgetSpent
from headwater.provenance.functions.diagram import Diagram
from headwater.provenance.functions.variables import MOST_VARIABLES

Function: TypeAlias = biodivine_aeon.Bdd  # opaque outside this file


@cache
def _library() -> tuple[biodivine_aeon.BddVariableSet, list[biodivine_aeon.BddVariable]]:
    """All variables that there can ever be: functions over any of them can then be combined."""
    variables = biodivine_aeon.BddVariableSet(MOST_VARIABLES)
    return variables, variables.variable_ids()


@cache
def always() -> Function:
    return _library()[0].mk_true()


@cache
def never() -> Function:
    return _library()[0].mk_false()


def literal(variable: int) -> Function:
    """The function that is true where this variable is."""
    library, identifiers = _library()
    return library.mk_literal(identifiers[variable], True)


def conjunction(left: Function, right: Function, limit: int | None = None) -> Function:
    try:
        return left.l_and(right, limit)
    except InterruptedError:
        raise _spent(limit) from None


def disjunction(left: Function, right: Function, limit: int | None = None) -> Function:
    try:
        return left.l_or(right, limit)
    except InterruptedError:
        raise _spent(limit) from None


def difference(left: Function, right: Function, limit: int | None = None) -> Function:
    """True where the left one is and the right one is not."""
    try:
        return left.l_and_not(right, limit)
    except InterruptedError:
        raise _spent(limit) from None


def restrict(function: Function, absent: Iterable[int]) -> Function:
    """The function once these variables are false for good; it does not depend on them any more."""
    identifiers = _library()[1]
    return _ordered(function.r_restrict({identifiers[variable]: False for variable in absent}))


def depends(function: Function, variables: Iterable[int]) -> bool:
    """Whether the function depends on any of these variables."""
    identifiers = _library()[1]
    return any(function.support_set_contains(identifiers[variable]) for variable in variables)


def same(left: Function, right: Function) -> bool:
    return left.structural_eq(right)


def is_never(function: Function) -> bool:
    return function.is_false()


def size(function: Function) -> int:
    """Its nodes, the two constants included."""
    return function.node_count()


def smaller(left: Function, right: Function) -> Function:
    """The function with fewer nodes."""
    return right if right.node_count() < left.node_count() else left


def diagram(function: Function) -> Diagram:
    """The nodes of a function, to be read."""
    return Diagram.of(function.data_bytes())


def support(function: Function) -> list[int]:
    """The variables that the function depends on, in order."""
    return diagram(function).support()


def holds(function: Function, absent: Iterable[int] = ()) -> bool:
    """Whether the function is true where all variables are true but these."""
    return diagram(function).holds(frozenset(absent))


def closed_upwards(nodes: Diagram, limit: int | None = None) -> Function:
    """The closest monotone function above: true wherever some of the true variables alone make the function true."""
    found = [never(), always()]
    for at in range(2, nodes.root + 1):
        high = conjunction(literal(nodes.variable[at]), found[nodes.high[at]], limit)
        found.append(disjunction(found[nodes.low[at]], high, limit))
    return found[nodes.root]


def to_bytes(function: Function) -> bytes:
    """The function as it travels: 4 bytes a node while it is small; variables go by their numbers."""
    return diagram(function).packed()


def from_bytes(content: bytes) -> Function:
    """A function that `to_bytes` wrote; anything else is a ValueError."""
    raw = Diagram.unpacked(content, MOST_VARIABLES).raw(MOST_VARIABLES)
    return _ordered(biodivine_aeon.Bdd(_library()[0], raw))


def _ordered(function: Function) -> Function:
    """The form that equal functions share: binary operations write nodes in the order of a walk from the top, while
    restricting leaves them in the order they had, and bytes may have any."""
    return function.l_and(always())


def _spent(limit: int | None) -> BudgetSpent:
    return BudgetSpent(f"error[HW903]: a row's provenance needs more than {limit:,} nodes")
