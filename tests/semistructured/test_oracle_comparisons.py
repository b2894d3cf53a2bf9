"""Every pair of values under every comparison, as objects and as literals, against the table of docs/lorel.md."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.language.lorel import parse_lorel
from headwater.language.lorel.printer import print_value
from headwater.pipeline import compile_tree
from headwater.semistructured.views import program_tree, translate_all
from tests.semistructured.lorel_values import Moment, Store, holds, literal_holds
from tests.semistructured.random_views import EXACT, VALUES

KNOWN: tuple[Any, ...] = tuple({(type(value), repr(value)): value for value in (*VALUES, *EXACT, -7, "abc")}.values())
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def pairs(db: hw.Database, relation: str | None) -> set[Any]:
    assert relation is not None
    return {row[0] for row in db.rows(relation)}


@pytest.mark.parametrize("op", OPERATORS)
def test_oracle_objects_and_literals_compare(op: str) -> None:
    store = Store(names={"A": {1}, "B": {2}})
    for place, value in enumerate(KNOWN):
        for parent, oid in ((1, 100 + place), (2, 300 + place)):
            store.edges.add((parent, "v", oid, 0))
            store.atoms[oid] = value
    store.edges |= {(1, "v", 5, 0), (2, "v", 5, 0), (5, "w", 100, 0)}  # an object without a value is equal to itself
    literals = [value for value in KNOWN if not isinstance(value, Moment)]
    parts = [f"Both = select x, y from A.v x, B.v y where x {op} y"]
    parts += [f"L{at} = select x from A.v x where x {op} {print_value(v)}" for at, v in enumerate(literals)]
    parts += [f"R{at} = select x from A.v x where {print_value(v)} {op} x" for at, v in enumerate(literals)]
    (view,) = translate_all(parse_lorel(f"define view V as {'; '.join(parts)}").views)
    db = hw.Database(compile_tree(program_tree((view,))))
    db.apply(insert=store.rows())

    both = {(left, right) for left in range(len(KNOWN)) for right in range(len(KNOWN))}
    expected = {(1, 100 + left, 300 + right) for left, right in both if holds(op, KNOWN[left], KNOWN[right])}
    assert pairs(db, view.parts[0].made) == expected | ({(1, 5, 5)} if op == "=" else set())
    turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    for at, literal in enumerate(literals):
        for mark, sign in (("L", op), ("R", turned.get(op, op))):
            relation = f"v_V__{mark}{at}__objects"
            found = {100 + place for place, value in enumerate(KNOWN) if literal_holds(sign, value, literal)}
            assert pairs(db, relation) == found, (mark, op, literal)
