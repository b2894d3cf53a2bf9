"""Small random data for the base relations of a checked program."""

from __future__ import annotations

from random import Random
from typing import Any

from headwater.core.types import Type
from headwater.program.model import Program, Relation
from tests.rewrite.naive import State

NODES = ("a", "b", "c", "d")


def random_rows(program: Program, random: Random, *, ordered: bool, least: int = 0) -> State:
    """Up to six rows each. With `ordered`, a row's first two columns rise if they are of one kind: no cycles.

    `least` is the smallest number in columns that are not declared.
    """
    costs = _number_columns(program)
    return {
        relation.name: {_row(relation, random, costs, ordered, least) for _ in range(random.randint(0, 6))}
        for relation in program.relations
        if not relation.derived
    }


def _row(relation: Relation, random: Random, costs: set[tuple[str, int]], ordered: bool, least: int) -> tuple[Any, ...]:
    row = [
        _value(column.type, (relation.name, at) in costs, random, least) for at, column in enumerate(relation.columns)
    ]
    if ordered and len(row) > 1 and type(row[0]) is type(row[1]):
        row[:2] = sorted(row[:2])
        if row[0] == row[1] and isinstance(row[0], str):
            row[0] = "0"
    return tuple(row)


def _value(type_: Type | None, is_number: bool, random: Random, least: int) -> Any:
    match type_:
        case Type.INT | Type.TIMESTAMP:
            return random.randint(0, 4)
        case Type.FLOAT:
            return float(random.randint(0, 3)) / 2
        case None if is_number:
            return random.randint(least, 3)
        case _:
            return random.choice(NODES)


def _number_columns(program: Program) -> set[tuple[str, int]]:
    """Columns that hold numbers, by the names that the specs give them; without a declaration nothing else tells."""
    return {
        (relation.name, at)
        for relation in program.relations
        for at, column in enumerate(relation.columns)
        if column.name in {"c", "w", "val", "n", "k"}
    }
