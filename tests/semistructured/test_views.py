"""Single views that once went wrong, or that random views seldom write."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.core.errors import CheckProblem
from headwater.language.lorel import ChangeValue, DeleteEdge, InsertEdge, parse_lorel
from headwater.pipeline import compile_tree
from headwater.semistructured.views import compile_views, ground_update, program_tree, translate_all
from headwater.semistructured.views.writer import relation_prefix
from tests.semistructured.figure1 import ATOMS, EDGES, NAMES, objects, view_of

ROWS = {"edge": EDGES, "atom": ATOMS, "name": NAMES}


def test_the_left_side_is_remembered_while_the_right_side_aggregates() -> None:
    assert objects("select r from Guide.Restaurant r where r.Rating > avg(Guide.Restaurant.Rating)") == {2}


def test_a_computed_number_may_be_too_large_for_an_int() -> None:
    db, view = view_of('select n: r.Rating * 1e300 from Guide.Restaurant r where r.Name = "Thai City"')
    assert db.rows(view.parts[0].made_values) == {((1, 2), "n", "real", "4e+300", 4e300)}


def test_a_label_is_that_of_the_path_as_written() -> None:
    db, view = view_of("select Guide.Restaurant.(Rating|Name), Guide.Restaurant.Name where Guide.Restaurant.Rating = 4")
    assert db.rows(view.parts[0].made_edges) == {
        ((1, 2), "Restaurant", 5, 0),
        ((1, 2), "Restaurant", 6, 0),
        ((1, 2), "Name", 5, 0),
    }


def test_several_views_in_one_program_do_not_meet() -> None:
    names = ("V", "V_", "V__A", "V_u", "v", "é", "a b", "a-b", "V__A__objects")
    text = "".join(f"define view `{name}` as `A` = select x from Guide.Restaurant x with x.Name;" for name in names)
    compiled = compile_views(text)
    db = hw.Database(compiled.program)
    db.apply(insert=ROWS)
    assert len({relation for view in compiled.views for relation in view.relations}) == 3 * len(names)
    for view in compiled.views:
        assert db.rows(view.parts[0].objects) == {(2,), (3,), (4,)}
    assert relation_prefix("a_b") != relation_prefix("a__b") != relation_prefix("a b")


def test_a_join_across_documents_follows_both() -> None:
    text = 'select o from Orders.order o, Customers.customer c where o.customer = c.id and c.city = "Lisbon"'
    compiled = compile_views(text)
    db = hw.Database(compiled.program)
    edges = [
        (1, "order", 10, 0),
        (10, "customer", 11, 0),
        (2, "customer", 20, 0),
        (20, "id", 21, 0),
        (20, "city", 22, 0),
    ]
    atoms = [(11, "string", "7", 7.0), (21, "int", "7", 7.0), (22, "string", "Lisbon", None)]
    db.apply(insert={"name": [("Orders", 1), ("Customers", 2)], "edge": edges, "atom": atoms})
    (relation,) = compiled.program.outputs
    assert db.rows(relation) == {(10,)}
    db.apply(insert={"atom": [(21, "int", "8", 8.0)]})
    assert db.rows(relation) == set()
    db.apply(insert={"atom": [(11, "real", "8.0", 8.0)]})
    assert db.rows(relation) == {(10,)}


def test_a_cycle_is_walked_once() -> None:
    (view,) = translate_all(parse_lorel("select x from N.(next)* x with x.next").views)
    db = hw.Database(compile_tree(program_tree((view,))))
    ring = [(at, "next", at % 5 + 1, 0) for at in range(1, 6)]
    db.apply(insert={"name": [("N", 1)], "edge": ring})
    assert db.rows(view.parts[0].objects) == {(at,) for at in range(1, 6)}
    db.apply(delete={"edge": [(2, "next", 3, 0)]})
    assert db.rows(view.parts[0].objects) == {(1,), (2,)}
    assert db.rows(view.edges) == {(1, "next", 2, 0)}


def test_many_alternatives_stay_few_rules() -> None:
    choices = ".".join(["(a|b|c|d)"] * 8)
    conditions = " and ".join(f"(x.a = {at} or x.b = {at})" for at in range(12))
    (view,) = translate_all(parse_lorel(f"select x from N.{choices} x where {conditions}").views)
    assert len(view.rules) < 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('update r.Rating := 5 from Guide.Restaurant r where r.Name = "Thai City"', (ChangeValue(6, 4, 5),)),
        (
            "update Guide.Restaurant.Rating := null",
            (ChangeValue(6, 4, None), ChangeValue(8, "8/10", None), ChangeValue(12, 2.5, None)),
        ),
        ("update r.Rating := r.Rating + 1 from Guide.Restaurant r", (ChangeValue(6, 4, 5), ChangeValue(12, 2.5, 3.5))),
        ("update r.Rating := r.Rating from Guide.Restaurant r", ()),
        (
            'update e.Ingredient += &15 from Guide.Restaurant.Entree e where e.Name like "%Burger"',
            (InsertEdge(10, "Ingredient", 15), InsertEdge(13, "Ingredient", 15)),
        ),
        (
            'update r.Entree -= e from Guide.Restaurant r, r.Entree e where e.Ingredient = "Mushroom"',
            (DeleteEdge(3, "Entree", 9), DeleteEdge(4, "Entree", 13)),
        ),
        ("update Guide.Restaurant -= &9", ()),
    ],
)
def test_update_statements_become_elementary_updates(text: str, expected: tuple[object, ...]) -> None:
    (update,) = parse_lorel(text).updates
    assert ground_update(update, ROWS) == expected


@pytest.mark.parametrize(
    "text", ["update Guide.Restaurant += 5", "update Guide.Restaurant.Rating := r.Rating from Guide.Restaurant r"]
)
def test_an_update_without_one_meaning_is_refused(text: str) -> None:
    (update,) = parse_lorel(text).updates
    with pytest.raises(CheckProblem, match=r"error\[HW261\]"):
        ground_update(update, ROWS)


def test_documents_take_update_statements() -> None:
    orders = [{"id": 1, "status": "open", "due": "2026-01-01"}, {"id": 2, "status": "open", "due": "2026-12-01"}]
    docs = hw.Documents.from_json({"Orders": orders}, key="id")
    view = docs.define('select o from Orders o where o.status = "late" with o.id;')
    docs.execute('update o.status := "late" from Orders o where o.due < "2026-06-01";')
    assert [each["id"] for each in view.documents().values()] == [1]
    docs.execute(f'Chg(&{docs.oid(2, "/status")}, "open", "late"); update o.due -= d from Orders o, o.due d;')
    assert docs.document(2) == {"id": 2, "status": "late"}
    assert sorted(each["id"] for each in view.documents().values()) == [1, 2]
    with pytest.raises(CheckProblem, match=r"error\[HW261\]"):
        docs.execute("select o from Orders o")
