"""Views over views: a second view over the objects of a first one holds what the oracle computes over its delegates.

To the oracle a view is more of the store: objects with ids of their own, the edges of the view between them, and a name
for those that a statement selects. Nothing leads from there to the objects that they stand for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.core.errors import CheckProblem
from headwater.language.lorel import parse_lorel
from headwater.pipeline import compile_tree
from headwater.semistructured.views import ViewProgram, program_tree, translate_all
from tests.oracle.dice import Dice
from tests.semistructured.lorel_oracle import Evaluation, ViewState, evaluate_part
from tests.semistructured.lorel_values import Store
from tests.semistructured.random_views import Writer, random_store, random_update
from tests.semistructured.test_oracle_views import apply, inexact, same_part

AWAY = 1000  # added to the id of an object for its delegate
ENTRY = re.compile(r"\bN(?=\.)|\bM\b")


def test_oracle_views_over_views_are_maintained() -> None:
    assert sum(check(seed, 2) for seed in range(40)) > 10


@pytest.mark.soak
@given(st.integers(0, 2**40))
@settings(max_examples=2000)
def test_oracle_views_over_views_are_maintained_at_length(seed: int) -> None:
    check(seed, 4)


def check(seed: int, updates: int) -> bool:
    """Whether a random view over a random view could be compared."""
    dice = Dice(seed)
    first, second = Writer(dice).view(), Writer(dice).view().replace("view V as", "view W as")
    text = f"{first} {ENTRY.sub('V.P0', second)}"
    try:
        views = translate_all(parse_lorel(text).views)
    except CheckProblem as problem:
        if not {each.code for each in problem.diagnostics} <= {"HW253", "HW263"}:
            raise
        return False
    store = random_store(dice)
    db = hw.Database(compile_tree(program_tree(views)))
    db.apply(insert=store.rows())
    compared = False
    for _ in range(updates):
        if inexact(text, store):
            return compared
        compare(f"seed {seed}: {text}", db, views[0], views[1], ENTRY.sub("P0", second), store)
        compared = True
        after = random_update(dice, store)
        apply(db, store, after)
        store = after
    return compared


def compare(case: str, db: hw.Database, first: ViewProgram, second: ViewProgram, text: str, store: Store) -> None:
    state = Evaluation(with_delegates(store, first))
    (definition,) = parse_lorel(text).views
    edges: set[Any] = set()
    for place, (part, named) in enumerate(zip(second.parts, definition.parts, strict=True), 1):
        found = at_home(evaluate_part(state, named.query, place))
        edges |= found.edges
        same_part(case, db, part, found)
    assert (db.rows(second.edges) if second.edges else set()) == edges, case


def with_delegates(store: Store, view: ViewProgram) -> Store:
    """The store with the delegates of a view beside it."""
    state, after = Evaluation(store), store.copy()
    for place, named in enumerate(view.definition.parts, 1):
        found = evaluate_part(state, named.query, place)
        after.edges |= {(parent + AWAY, label, child + AWAY, at) for parent, label, child, at in found.edges}
        if named.name == "P0":
            after.names["P0"] = {oid + AWAY for oid in found.objects}
    after.atoms |= {oid + AWAY: value for oid, value in store.atoms.items()}
    return after


def at_home(found: ViewState) -> ViewState:
    """The same with the objects in the place of their delegates."""

    def home(value: Any) -> Any:
        if type(value) is int and value > AWAY:
            return value - AWAY
        return type(value)(map(home, value)) if isinstance(value, list | tuple | set) else value

    return replace(found, **{name: home(getattr(found, name)) for name in found.__dataclass_fields__})


ORDERS = [
    {"id": 1, "items": [{"id": "a", "price": 2}, {"id": "b", "price": 9}]},
    {"id": 2, "items": [{"id": "c", "price": 3}]},
]
CHEAP = "define view Cheap as Items = select i from Orders.items i where i.price < 5 with i.price p;"


def test_a_view_shows_of_another_what_that_shows() -> None:
    docs = hw.Documents.from_json({"Orders": ORDERS}, key="id")
    docs.define(CHEAP)
    all_of_it = docs.define("define view All as Items = select i from Cheap.Items i with i.#;")
    by_id = docs.define("define view ById as Items = select i from Cheap.Items i where exists i.id;")
    assert list(all_of_it.documents().values()) == [{"price": 2}, {"price": 3}]
    assert by_id.documents() == {}
    docs.put(1, {"id": 1, "items": [{"id": "a", "price": 7}, {"id": "b", "price": 4}]})
    assert list(all_of_it.documents().values()) == [{"price": 4}, {"price": 3}]
    assert len(all_of_it.changes.patches) == 2


def test_a_value_matters_to_a_view_over_the_view_that_selects_it() -> None:
    """No label of the second view leads to the price."""
    docs = hw.Documents.from_json({"Orders": ORDERS}, key="id")
    docs.define("define view Prices as All = select p from Orders.items.price p;")
    high = docs.define("define view High as Prices = select p from Prices.All p where p > 5;")
    assert list(high.documents().values()) == [9]
    docs.update(change=[(docs.oid(2, "/items/0/price"), 50)])
    assert (list(high.documents().values()), docs.unseen) == ([9, 50], 0)


def test_a_view_and_a_name_of_the_store_may_be_called_the_same() -> None:
    docs = hw.Documents.from_json({"Orders": ORDERS}, key="id")
    docs.define("define view Orders as Large = select o from Orders o where o.items.price > 5 with o.id;")
    of_store = docs.define("define view A as Items = select i from Orders.items i;")
    of_view = docs.define("define view B as Ids = select o.id from Orders.Large o;")
    assert (len(of_store.documents()), list(of_view.documents().values())) == (3, [1])


def test_a_statement_that_a_view_does_not_have_is_warned_of() -> None:
    docs = hw.Documents.from_json({"Orders": ORDERS}, key="id")
    docs.define(CHEAP)
    with pytest.warns(hw.NearMissWarning, match=r"HW259.*`Cheap` is a view(?s:.*)`Cheap.Items`"):
        docs.define("define view A as Items = select i from Cheap.Itmes i;")
