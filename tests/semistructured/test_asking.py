"""Questions about objects of views: whatever a view shows can be asked for, and what it would lose is what it loses."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.language.lorel import parse_lorel
from tests.oracle.dice import Dice
from tests.semistructured.test_oracle_store import lively, oem, stored, tree

ORDERS = [
    {"id": 1, "c": "ada", "items": [{"sku": "pen", "p": 2}, {"sku": "ink", "p": 9}]},
    {"id": 2, "c": "bo", "items": [{"sku": "nib", "p": 3}]},
]
VIEWS = """
define view Cheap as P = select i from Orders.items i where i.p < 5 with i.sku;
define view Cities as P = select order: o.id, city: c.city from Orders o, Customers c where o.c = c.id;
define view Counts as P = select o from Orders o; Q = select count(o.items) from Orders o where o.id = 1;
define view Skus as P = select s from Cheap.P.sku s;
define view Small as P = select x from Orders.#.p x where not x > 5;
define view Modest as P = select o from Orders o where not exists i in o.items: i.p > 5 with o.#;
define view Newest as P = select o from Orders o with o.id order by o.id desc limit 1;
"""


def store() -> hw.Documents:
    docs = hw.Documents.from_json({"Orders": ORDERS, "Customers": [{"id": "ada", "city": "Lyon"}]}, key="id")
    docs.define_views(list(parse_lorel(VIEWS).views))
    return docs


def ask_about_all(docs: hw.Documents) -> int:
    asked = 0
    for view in docs.views:
        for oid, shown in view.objects.items():
            proof = view.why(oid)
            held = {relation: docs.database.rows(relation) for relation, _ in proof.facts}
            assert all(tuple(row) in held[relation] for relation, row in proof.facts), (view.name, shown)
            assert set(view.critical(oid).facts) <= set(proof.facts), (view.name, shown)
            assert view.valid_until(oid) is None
            asked += 1
    return asked


def test_every_object_that_a_view_shows_can_be_asked_for() -> None:
    assert ask_about_all(store()) > 20


@pytest.mark.filterwarnings("ignore::headwater.NearMissWarning")
def test_every_object_of_random_views_can_be_asked_for() -> None:
    asked = 0
    for seed in range(900, 912):
        dice = Dice(seed)
        docs = hw.Documents.from_oem(oem(dice)) if dice.chance(50) else hw.Documents.from_json({"N": tree(dice, 3)})
        docs.put_all({at: tree(dice, 3) for at in range(2)}, name="M")
        texts = [lively(dice, stored(docs), name, plain=False) for name in "UV"]
        docs.define_views([view for text in texts for view in parse_lorel(text).views])
        asked += ask_about_all(docs)
    assert asked > 40


def test_without_an_edge_a_view_loses_what_it_loses_when_the_edge_is_deleted() -> None:
    docs, lost = store(), 0
    for edge in sorted(docs.database.rows("edge")):
        again = store()
        again.update(delete=[edge[:3]])
        for view, other in zip(docs.views, again.views, strict=True):
            supposed = sorted(map(str, view.without([edge[:3]]).operations))
            assert supposed == sorted(map(str, other.changes.operations)), (edge, view.name)
            lost += bool(supposed)
    assert lost > 25


def test_why_a_computed_value_is_not_there() -> None:
    docs = store()
    counts = next(view for view in docs.views if view.name == "Counts")
    first, second = docs.oid(1, name="Orders"), docs.oid(2, name="Orders")
    assert f"&2.{first}'" in counts.documents()
    failing = str(counts.why_not(f"&2.{second}'"))
    assert f"= [2, {second}]" in failing
    with pytest.raises(hw.DataError, match=r"is in the view `Counts`; ask why\("):
        counts.why_not(f"&2.{first}'")
    for oid in (f"&1.{first}'", "&3.1'", "&0.1'"):
        with pytest.raises(hw.DataError, match="no statement of `Counts` selects objects like"):
            counts.why_not(oid)
