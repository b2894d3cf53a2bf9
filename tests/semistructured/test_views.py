"""Single views that once went wrong, or that random views seldom write."""

from __future__ import annotations

import warnings

import pytest

import headwater as hw
from headwater.core.errors import CheckProblem
from headwater.language.lorel import ChangeValue, DeleteEdge, InsertEdge, parse_lorel
from headwater.pipeline import compile_tree
from headwater.semistructured.output.patches import apply_patch
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


def test_a_change_of_another_value_is_refused() -> None:
    docs = hw.Documents.from_json({"N": {"a": 1, "b": True, "t": "x"}})
    a, b, t = (docs.oid("N", pointer) for pointer in ("/a", "/b", "/t"))
    for text in (
        f"Chg(&{a}, 2, 3)",
        f'Chg(&{a}, "1", 3)',
        f"Chg(&{a}, true, 3)",
        f"Chg(&{b}, 1, 3)",
        f'Chg(&{t}, "y", 3)',
    ):
        with pytest.raises(hw.DataError, match=r"HW821.*has the value"):
            docs.execute(text)
    docs.execute(f'Chg(&{a}, 1, 3); Chg(&{a}, 3.0, 4); Chg(&{b}, true, null); Chg(&{t}, "x", "y")')
    assert docs.document("N") == {"a": 4, "b": None, "t": "y"}


def test_names_and_labels_of_updates_that_the_store_does_not_have_are_told() -> None:
    docs = hw.Documents.from_json({"Orders": [{"id": 1, "status": "open"}]}, key="id")
    for text, told in (
        ('update o.status := "late"', "HW259.*`o` is neither a variable nor a name"),
        ('update o.statsu := "late" from Orders o', "HW258.*`statsu`.*did you mean `status`"),
        ('update o.status := "late" from Order o', "HW259.*did you mean `Orders`"),
        ("update o.tags += p from Orders o, Order p", "HW259.*did you mean `Orders`"),
    ):
        with pytest.warns(hw.NearMissWarning, match=f"(?s){told}"):
            docs.execute(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        docs.execute('update o.status := "late" from Orders o; update o.statuses += o from Orders o where o.id = 2;')
    assert docs.document(1) == {"id": 1, "status": "late"}


def test_near_misses_are_told_where_the_view_is_defined() -> None:
    docs = hw.Documents.from_json({"Guide": {"Restaurant": [{"Name": "Wok"}]}})
    with pytest.warns(hw.NearMissWarning, match=r"(?s)HW258.*`Restaurnt`.*did you mean `Restaurant`") as found:
        docs.define("define view V as R = select r from Guide.Restaurnt r;")
    assert [each.filename for each in found] == [__file__]
    with pytest.warns(hw.NearMissWarning, match=r"(?s)HW259.*`Giude`.*did you mean `Guide`"):
        docs.define("define view W as R = select r from Giude.Restaurant r;")
    with pytest.warns(hw.NearMissWarning, match=r"(?s)HW259.*`V` is a view"):
        docs.define("define view X as R = select r from V.S r;")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        docs.define("define view Y as R = select V from Guide.Restaurant V where V.Chef = 1;")


def test_a_label_is_a_text_and_no_number() -> None:
    docs = hw.Documents.from_json({"D": {"5": 5, "x": "x", "6": "6", "7": 7.5, "n": None}})
    equal = docs.define("define view E as A = select y from D.%@L y where L = y;")
    other = docs.define("define view O as A = select y from D.%@L y where L != y;")
    literal = docs.define("define view I as A = select y from D.%@L y where L = 5;")
    assert sorted(equal.documents().values()) == ["6", "x"]
    assert sorted(map(str, other.documents().values())) == ["5", "7.5", "None"]
    assert literal.documents() == {}


def test_an_object_that_is_made_of_a_label_has_a_proof() -> None:
    docs = hw.Documents.from_json({"D": {"a b": 1, "c": 2}})
    view = docs.define("define view V as A = select field: L, value: x from D.%@L x order by L limit 1;")
    (oid,) = view.documents()
    assert oid == "&1.a b.2'"
    assert ("edge", (1, "a b", 2, -1)) in view.why(oid).facts
    assert view.why((1, "a b", 2)).facts == view.why(oid).facts


def test_objects_made_of_labels_have_patches() -> None:
    docs = hw.Documents.from_json({"O": [{"id": 1, "a": 1}]}, key="id")
    view = docs.define('define view V as X = select l: L, v: x from O o, o.%@L x where L != "id";')
    assert view.documents() == {"&1.a.3'": {"l": "a", "v": 1}}
    docs.put(2, {"id": 2, "b": 7, "7": [8]})
    came = {"&1.b.6'": {"l": "b", "v": 7}, "&1.7.7'": {"l": "7", "v": 8}}
    assert view.changes.patches == {oid: [{"op": "add", "path": "", "value": value}] for oid, value in came.items()}
    assert {oid: view.why(oid).facts[-1] for oid in came} == {
        "&1.b.6'": ("edge", (4, "b", 6, -1)),
        "&1.7.7'": ("edge", (4, "7", 7, 0)),
    }
    docs.remove(2)
    assert view.changes.patches == {oid: [{"op": "remove", "path": ""}] for oid in came}


def test_items_that_change_places_are_a_patch() -> None:
    docs = hw.Documents.from_json({"O": [{"id": 1, "a": [{"p": 1}, {"p": 2}]}]}, key="id")
    view = docs.define("define view V as X = select o from O o with o.#;")
    before = view.documents()["&1'"]
    docs.put(1, {"id": 1, "a": [{"p": 2}, {"p": 1}]})
    assert not view.changes.operations
    assert view.changes
    assert apply_patch(before, view.changes.patches["&1'"]) == {"id": 1, "a": [{"p": 2}, {"p": 1}]}


def test_edges_that_are_taken_away_are_edges() -> None:
    docs = hw.Documents.from_json({"O": [{"id": 1, "a": 5}]}, key="id")
    view = docs.define("define view V as X = select o.a from O o;")
    assert view.without([("&1", "a", "&3")]).operations == view.without([(1, "a", 3)]).operations
    assert view.without([("&1", "a", "&3")])
    for wrong in ({"edge": [(1, "a", 3)]}, ["abc"], [(1, "a")], [("x", "a", 3)]):
        with pytest.raises(hw.DataError, match="HW821"):
            view.without(wrong)  # type: ignore[arg-type]
