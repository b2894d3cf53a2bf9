"""Groups in all worlds at once: the best rows of each, and the rows of an aggregate.

Which row is best, and what a count comes to, differs from world to world. So a group has as many possible rows as there
are values it takes in some world, and each row's function says in which. An aggregate goes through its bindings and
keeps, for every value reached so far, the worlds that reach it; each binding splits them in two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from headwater.core.types import Type
from headwater.engine.best.versions import best_first
from headwater.engine.codes.expressions import order_keys
from headwater.engine.codes.symbols import NULL, Symbols, code_floats, code_of_float, null_code
from headwater.plan.model import Aggregation, Measure, Pick, Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import Room

Row = tuple[int, ...]
Candidates = Mapping[Row, Function]


def best_rows(table: Table, candidates: Candidates, symbols: Symbols, room: Room) -> dict[Row, Function]:
    """Each candidate with the worlds in which it has a place for at least one pick."""
    placed: dict[Row, Function] = {}
    for pick in table.picks:
        groups: dict[Row, list[Row]] = {}
        for row in candidates:
            groups.setdefault(tuple(row[column] for column in pick.group), []).append(row)
        for rows in groups.values():
            for row, function in _placed(pick, table, rows, candidates, symbols, room):
                placed[row] = room.disjunction(placed[row], function) if row in placed else function
    return {row: function for row, function in placed.items() if not absorption.is_never(function)}


def _placed(
    pick: Pick, table: Table, rows: list[Row], candidates: Candidates, symbols: Symbols, room: Room
) -> Iterable[tuple[Row, Function]]:
    ranked = np.array([[row[column] for column in pick.ranked] for row in rows], dtype=np.int64)
    keys = best_first(table, pick, ranked, symbols)
    by_value: dict[int, list[Row]] = {}
    for key, row in sorted(zip(keys.tolist(), rows, strict=True)):
        by_value.setdefault(key, []).append(row)
    ahead = [absorption.always()]  # the worlds with exactly so many better values, fewer than there are places
    for equals in by_value.values():
        free = room.any_of(ahead)
        if absorption.is_never(free):
            return
        for row in equals:
            yield row, room.conjunction(candidates[row], free)
        taken = room.any_of(candidates[row] for row in equals)
        more = [room.difference(ahead[0], taken)]
        for fewer, exactly in pairwise(ahead):
            more.append(room.disjunction(room.conjunction(fewer, taken), room.difference(exactly, taken)))
        if len(ahead) < pick.limit:
            more.append(room.conjunction(ahead[-1], taken))
        ahead = more


Binding = tuple[tuple[int, ...], Function]  # one code per measure, as the engine adds them up
States = dict[tuple[Any, ...], Function]


def aggregated(
    plan: Aggregation, bindings: Mapping[Row, list[Binding]], width: int, symbols: Symbols, room: Room
) -> dict[Row, Function]:
    """The possible rows of an aggregate head, from the bindings of each group."""
    found: dict[Row, Function] = {}
    for group, members in bindings.items():
        ranks = [_ranks([codes[at] for codes, _ in members], one, symbols) for at, one in enumerate(plan.measures)]
        states: States = {(): absorption.always()}
        for codes, function in members:
            states = _with_binding(
                plan,
                states,
                codes,
                [rank.get(code, 0) for rank, code in zip(ranks, codes, strict=True)],
                function,
                room,
            )
        for state, function in states.items():
            if state:
                row = _finished(plan, group, state, width)
                found[row] = room.disjunction(found[row], function) if row in found else function
    return found


def _ranks(codes: list[int], measure: Measure, symbols: Symbols) -> dict[int, int]:
    """Each value's place in the order of values, where that matters."""
    values = [code for code in codes if code != NULL] if measure.function in ("min", "max") else []
    return dict(zip(values, order_keys(np.array(values, dtype=np.int64), measure.type, symbols).tolist(), strict=True))


def _with_binding(
    plan: Aggregation, states: States, codes: tuple[int, ...], ranks: list[int], function: Function, room: Room
) -> States:
    """The values that a group may have reached after one more binding, each with its worlds."""
    after: States = {}
    held = 0
    for state, worlds in states.items():
        moved = tuple(
            _moved(measure, state[at] if state else None, codes[at], ranks[at])
            for at, measure in enumerate(plan.measures)
        )
        parts = ((state, room.difference(worlds, function)), (moved, room.conjunction(worlds, function)))
        for key, part in parts:
            if not absorption.is_never(part):
                after[key] = room.disjunction(after[key], part) if key in after else part
                held += absorption.size(part)
        if room.held + held > room.nodes:
            raise room.spent()
    return after


def _moved(measure: Measure, state: Any, code: int, rank: int) -> Any:
    """What is known of a group after one more binding: the least that tells its value in the end."""
    if measure.nullable and code == NULL:
        return state
    match measure.function:
        case "count":
            return (state or 0) + 1
        case "min":
            return (rank, code) if state is None else min(state, (rank, code))
        case "max":
            return (rank, code) if state is None else max(state, (rank, code))
        case _ if _is_whole(measure):
            total, count = state or (0, 0)
            return total + code, count + 1
        case _:  # floats are added in ascending order: all of them must be known
            return tuple(sorted((*(state or ()), code)))


def _is_whole(measure: Measure) -> bool:
    return measure.type is not Type.FLOAT and (measure.function == "avg" or measure.result is not Type.FLOAT)


def _finished(plan: Aggregation, group: Row, state: tuple[Any, ...], width: int) -> Row:
    row = [0] * width
    for column, code in zip(plan.group, group, strict=True):
        row[column] = code
    for column, measure, one in zip(plan.positions, plan.measures, state, strict=True):
        row[column] = _value(measure, one)
    return tuple(row)


def _value(measure: Measure, state: Any) -> int:
    match measure.function:
        case "count":
            return int(state or 0)
        case _ if state is None:
            return null_code(measure.result)
        case "min" | "max":
            return int(state[1])
        case _ if _is_whole(measure):
            total, count = state
            return code_of_float(total / count) if measure.function == "avg" else int(total)
        case _:
            total = 0.0
            for one in code_floats(np.array(state, dtype=np.int64)).tolist():
                total += one
            return code_of_float(total / len(state) if measure.function == "avg" else total)
