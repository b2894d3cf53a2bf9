"""Groups in all worlds at once: the best rows of each, and the rows of an aggregate.

Which row is best, and what a count comes to, differs from world to world. A group has one possible row for each value
that it takes in some world, and the row's function says in which worlds. An aggregate goes through its bindings and
keeps, for every value reached so far, the worlds that reach it; each binding splits them in two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from headwater.core.types import Type
from headwater.engine.codes.symbols import NULL, Symbols, code_floats, code_of_float, decode, null_code
from headwater.engine.reading import best_first, order_keys
from headwater.plan.model import Aggregation, Measure, Pick, Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import NodeBudget

Row = tuple[int, ...]
Candidates = Mapping[Row, Function]


def best_rows(table: Table, candidates: Candidates, symbols: Symbols, budget: NodeBudget) -> dict[Row, Function]:
    """Each candidate with the worlds in which it has a place for at least one pick."""
    placed: dict[Row, Function] = {}
    for pick in table.picks:
        groups: dict[Row, list[Row]] = {}
        for row in candidates:
            groups.setdefault(tuple(row[column] for column in pick.group), []).append(row)
        for rows in groups.values():
            for row, function in _placed(pick, table, rows, candidates, symbols, budget):
                budget.add(placed, row, function)
    return {row: function for row, function in placed.items() if not absorption.is_never(function)}


def _placed(
    pick: Pick, table: Table, rows: list[Row], candidates: Candidates, symbols: Symbols, budget: NodeBudget
) -> Iterable[tuple[Row, Function]]:
    ranked = np.array([[row[column] for column in pick.ranked] for row in rows], dtype=np.int64)
    keys = best_first(table, pick, ranked, symbols, np.zeros(len(rows), dtype=np.int64))
    by_value: dict[int, list[Row]] = {}
    for key, row in sorted(zip(keys.tolist(), rows, strict=True)):
        by_value.setdefault(key, []).append(row)
    ahead = [absorption.always()]  # the worlds with exactly so many better values, fewer than there are places
    for equals in by_value.values():
        free = budget.any_of(ahead)
        if absorption.is_never(free):
            return
        for row in equals:
            yield row, budget.conjunction(candidates[row], free)
        taken = budget.any_of(candidates[row] for row in equals)
        more = [budget.difference(ahead[0], taken)]
        for fewer, exactly in pairwise(ahead):
            more.append(budget.disjunction(budget.conjunction(fewer, taken), budget.difference(exactly, taken)))
        if len(ahead) < pick.limit:
            more.append(budget.conjunction(ahead[-1], taken))
        ahead = more


Binding = tuple[tuple[int, ...], Function]  # one code per measure, as the engine adds them up
States = dict[tuple[Any, ...], Function]


def aggregated(
    plan: Aggregation, bindings: Mapping[Row, list[Binding]], width: int, symbols: Symbols, budget: NodeBudget
) -> dict[Row, Function]:
    """The possible rows of an aggregate head, from the bindings of each group."""
    found: dict[Row, Function] = {}
    for group, members in bindings.items():
        ranks = [_ranks([codes[at] for codes, _ in members], by, symbols) for at, by in enumerate(plan.measures)]
        states: States = {(): absorption.always()}
        for codes, function in members:
            places = [rank.get(code, 0) for rank, code in zip(ranks, codes, strict=True)]
            states = _with_binding(plan, states, codes, places, function, budget)
        for state, function in states.items():
            if state:
                budget.add(found, _finished(plan, group, state, width, symbols), function)
    return found


def _ranks(codes: list[int], measure: Measure, symbols: Symbols) -> dict[int, int]:
    """Each value's place in the order of values, where that matters."""
    values = [code for code in codes if code != NULL] if measure.function in ("min", "max", "collect") else []
    return dict(zip(values, order_keys(np.array(values, dtype=np.int64), measure.type, symbols).tolist(), strict=True))


def _with_binding(
    plan: Aggregation, states: States, codes: tuple[int, ...], ranks: list[int], function: Function, budget: NodeBudget
) -> States:
    """The values that a group may have reached after one more binding, each with its worlds."""
    after: States = {}
    held = 0
    for state, worlds in states.items():
        moved = tuple(
            _moved(measure, state[at] if state else None, codes[at], ranks[at])
            for at, measure in enumerate(plan.measures)
        )
        parts = ((state, budget.difference(worlds, function)), (moved, budget.conjunction(worlds, function)))
        for key, part in parts:
            if not absorption.is_never(part):
                budget.add(after, key, part)
                held += absorption.size(part)
        if budget.held + held > budget.nodes:
            raise budget.spent()
    return after


def _moved(measure: Measure, state: Any, code: int, rank: int) -> Any:
    """The state of a measure after one more binding: as little as its value in the end needs."""
    if measure.nullable and code == NULL:
        return state
    match measure.function:
        case "count":
            return (state or 0) + 1
        case "min":
            return (rank, code) if state is None else min(state, (rank, code))
        case "max":
            return (rank, code) if state is None else max(state, (rank, code))
        case "collect":
            return tuple(sorted((*(state or ()), (rank, code))))
        case _ if _is_whole(measure):
            total, count = state or (0, 0)
            return total + code, count + 1
        case _:  # floats are added in ascending order: all of them must be known
            return tuple(sorted((*(state or ()), code)))


def _is_whole(measure: Measure) -> bool:
    return measure.type is not Type.FLOAT and (measure.function == "avg" or measure.result is not Type.FLOAT)


def _finished(plan: Aggregation, group: Row, state: tuple[Any, ...], width: int, symbols: Symbols) -> Row:
    row = [0] * width
    for column, code in zip(plan.group, group, strict=True):
        row[column] = code
    for column, measure, reached in zip(plan.positions, plan.measures, state, strict=True):
        row[column] = _value(measure, reached, symbols)
    return tuple(row)


def _value(measure: Measure, state: Any, symbols: Symbols) -> int:
    match measure.function:
        case "count":
            return int(state or 0)
        case _ if state is None:
            return null_code(measure.result)
        case "min" | "max":
            return int(state[1])
        case "collect":
            codes = np.array([code for _, code in state], dtype=np.int64)
            return symbols.number(tuple(decode(codes, measure.type, symbols, nullable=False)))
        case _ if _is_whole(measure):
            total, count = state
            return code_of_float(total / count) if measure.function == "avg" else int(total)
        case _:
            total = 0.0
            for value in code_floats(np.array(state, dtype=np.int64)).tolist():
                total += value
            return code_of_float(total / len(state) if measure.function == "avg" else total)
