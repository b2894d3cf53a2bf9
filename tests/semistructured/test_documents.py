"""The handle of a document store: names and keys, updates, garbage, sharing, files, errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headwater as hw
from headwater.semistructured.reading import kernels

FIGURE_1 = """
Guide &1 {
  Restaurant &2 { Category &6 "gourmet", Name &5 "Thai City" }
  Restaurant &3 { Name &7 "Baghdad Cafe", Entree &9 { Name &14 "Stew", Ingredient &15 "Mushroom" }, Entree &10 }
  Restaurant &4 { Entree &10 { Name &16 "Salad" }, Name &11 "Wok", Rating &12 8, Entree &13 { Name &17 "Rice" } }
}
"""
FAVORITES = """
define view FavoriteEntrees as
  Entrees = select e from Guide.Restaurant r, r.Entree e
            where exists x in r.Name: x = "Baghdad Cafe" and exists y in e.Ingredient: y = "Mushroom"
            with e.Name n, e.Ingredient i;
"""


def operations(view: object) -> list[str]:
    return sorted(str(operation) for operation in view.changes.operations)  # type: ignore[attr-defined]


def test_the_view_of_the_paper_and_its_updates_with_the_ids_of_the_paper() -> None:
    docs = hw.Documents.from_oem(FIGURE_1)
    view = docs.define(FAVORITES)
    assert view.documents() == {"&9'": {"Name": "Stew", "Ingredient": "Mushroom"}}
    assert {oid: (one.primary, one.adjunct) for oid, one in view.objects.items()} == {
        "&9'": (True, False), "&14'": (False, True), "&15'": (False, True),
    }  # fmt: skip
    docs.update(insert=[(10, "Ingredient", 15)])
    assert operations(view) == [
        "Ins(&10', Ingredient, &15')", "Ins(&10', Name, &16')", "Ins(FavoriteEntrees, Entrees, &10')",
    ]  # fmt: skip
    docs.update(delete=[(3, "Entree", 9)])
    assert operations(view) == [
        "Del(&9', Ingredient, &15')", "Del(&9', Name, &14')", "Del(FavoriteEntrees, Entrees, &9')",
    ]  # fmt: skip
    docs.update(change=[(15, "Morel")])
    assert list(view.documents()) == []
    docs.update(change=[(15, "Mushroom"), (16, "Soup")])
    assert view.documents() == {"&10'": {"Name": "Soup", "Ingredient": "Mushroom"}}
    docs.update(change=[(7, "Wendy's")])
    assert view.documents() == {}


def test_what_nothing_leads_to_goes_and_what_is_shared_stays() -> None:
    docs = hw.Documents.from_oem(FIGURE_1)
    docs.update(delete=[(3, "Entree", 10)])
    assert docs.oid("Guide", "") == 1
    assert docs.database.rows("edge") >= {(4, "Entree", 10, -1), (10, "Name", 16, -1)}
    docs.update(delete=[(4, "Entree", 10), (3, "Entree", 9)])
    assert not {9, 10, 14, 15, 16} & {row[0] for row in docs.database.rows("atom")}
    with pytest.raises(hw.DataError, match="there is no object &10"):
        docs.update(insert=[(3, "Entree", 10)])


def test_cycles_are_garbage_together_and_are_written_with_references() -> None:
    docs = hw.Documents.from_oem("A &1 { next &2 { next &3 { back &2 } } } B &4 { see &3 }")
    assert docs.document("A") == {"next": {"next": {"back": {"$ref": "&2"}}}}
    docs.update(delete=[(1, "next", 2)])
    assert docs.document("B") == {"see": {"back": {"next": {"$ref": "&3"}}}}
    docs.update(delete=[(4, "see", 3)])
    assert docs.database.rows("edge") == set()


def test_the_guide_of_a_graph_ends_at_cycles() -> None:
    docs = hw.Documents.from_oem("A &1 { next &2 { next &3 { back &2, size &5 7 } } }")
    assert {str(path): (path.count, path.same_as) for path in docs.guide()} == {
        "A": (1, None),
        "A.next": (1, None),
        "A.next.next": (1, None),
        "A.next.next.back": (1, ("A", "next")),
        "A.next.next.size": (1, None),
    }


def test_an_object_may_move_in_one_update() -> None:
    docs = hw.Documents.from_oem(FIGURE_1)
    docs.update(delete=[(3, "Entree", 9)], insert=[(2, "Entree", 9)])
    assert docs.document("Guide")["Restaurant"][0]["Entree"] == {"Name": "Stew", "Ingredient": "Mushroom"}


def test_new_values_and_places_in_arrays() -> None:
    docs = hw.Documents.from_json({"D": {"list": [1], "none": [], "one": "x"}})
    root = docs.oid("D")
    docs.update(insert=[(root, "list", hw.Documents.value(2)), (root, "none", {"a": [True]}), (root, "new", "text")])
    assert docs.document("D") == {"list": [1, 2], "none": [{"a": [True]}], "one": "x", "new": "text"}
    with pytest.raises(hw.DataError, match="is an atom and cannot have members"):
        docs.update(insert=[(docs.oid("D", "/one"), "x", "y")])
    with pytest.raises(hw.DataError, match="has members and no value"):
        docs.update(change=[(root, 5)])


def test_a_shared_object_survives_the_document_that_it_came_from() -> None:
    docs = hw.Documents()
    docs.put("a", {"part": {"size": 1}}, name="D")
    docs.put("b", {}, name="D")
    docs.update(insert=[(docs.oid("b"), "shared", docs.oid("a", "/part"))])
    docs.remove("a")
    assert docs.documents() == {"b": {"shared": {"size": 1}}}
    docs.put("b", {})
    assert not docs.database.rows("atom")


def test_files_of_json_lines_parquet_and_arrow_give_the_same_store(tmp_path: Path) -> None:
    orders = [{"id": "a", "items": [{"sku": "x", "qty": 1}], "tags": []}, {"id": "b", "items": [], "tags": ["t"]}]
    (tmp_path / "orders.jsonl").write_text("\n".join(map(json.dumps, orders)))
    for order in orders:
        (tmp_path / f"{order['id']}.json").write_text(json.dumps(order))
    table = pa.Table.from_pylist(orders)
    pq.write_table(table, tmp_path / "orders.parquet")
    expected = {"a": orders[0], "b": orders[1]}
    for docs in (
        hw.Documents.from_files(tmp_path / "orders.jsonl", name="Orders", key="id"),
        hw.Documents.from_files(f"{tmp_path}/?.json", name="Orders", key="id"),
        hw.Documents.from_files(f"{tmp_path}/?.json", name="Orders"),
        hw.Documents.from_files(tmp_path / "orders.parquet", name="Orders", key="id"),
        hw.Documents.from_arrow(table, name="Orders", key="id"),
        hw.Documents.from_json({"Orders": orders}, key="id"),
    ):
        assert docs.documents("Orders") == expected


def test_a_json_file_that_is_an_array_holds_documents_with_keys(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    path.write_text('\n[{"id": 7, "n": 12345678901234567890}, {"id": "b"}]\n', encoding="utf-8")
    docs = hw.Documents.from_files(path, name="Orders", key="id")
    assert docs.documents() == {7: {"id": 7, "n": 12345678901234567890}, "b": {"id": "b"}}
    assert hw.Documents.from_files(path, name="Orders").keys() == ("orders",)
    path.write_text('[{"id": 7}, {"n": 1}]', encoding="utf-8")
    with pytest.raises(hw.DataError, match=r"orders\.json, item 1: it has no int or string `id`"):
        docs.add_files(path, name="Orders", key="id")


def test_bad_documents_are_refused_together_or_set_aside(tmp_path: Path) -> None:
    (tmp_path / "feed.jsonl").write_text('{"id": 1}\n{"id": \n{"no": 1}\n{"id": 2}\n{"id": 1, "again": true}\n')
    with pytest.raises(hw.DataError, match=r"HW820.*2 document") as problem:
        hw.Documents.from_files(tmp_path / "feed.jsonl", name="F", key="id")
    assert "feed.jsonl, line 2, column 8: the text ends inside a value" in str(problem.value)
    docs = hw.Documents.from_files(tmp_path / "feed.jsonl", name="F", key="id", strict=False)
    assert docs.documents() == {2: {"id": 2}, 1: {"id": 1, "again": True}}
    assert len(docs.rejected) == 2


def test_times_are_atoms_of_their_own_kind() -> None:
    moment = datetime(2026, 11, 17, 8, 30, tzinfo=UTC)
    docs = hw.Documents.from_json({"D": {"at": moment, "text": moment.isoformat()}})
    kinds = {(kind, text, number) for _, kind, text, number in docs.database.rows("atom")}
    assert kinds == {
        ("time", "2026-11-17T08:30:00+00:00", moment.timestamp()), ("string", "2026-11-17T08:30:00+00:00", None),
    }  # fmt: skip


def test_patches_apply_whole_or_not_at_all() -> None:
    docs = hw.Documents.from_json({"D": {"a": [1, 2], "b": {"c": 3}}})
    docs.patch("D", [{"op": "move", "from": "/b/c", "path": "/a/0"}, {"op": "test", "path": "/a/0", "value": 3}])
    assert docs.document("D") == {"a": [3, 1, 2], "b": {}}
    with pytest.raises(hw.DataError, match="HW822"):
        docs.patch("D", [{"op": "remove", "path": "/a/0"}, {"op": "remove", "path": "/nothing"}])
    assert docs.document("D") == {"a": [3, 1, 2], "b": {}}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": float("nan")}, "NaN"),
        ({"a": {1, 2}}, "type set"),
        ({"[]": 1}, "arrays inside arrays"),
        ("\ud800", "HW820"),
    ],
)
def test_python_values_that_are_no_documents_are_refused(value: object, reason: str) -> None:
    docs = hw.Documents.from_json({"D": {"a": 1}})
    with pytest.raises(hw.DataError, match=reason):
        docs.put("D", value)
    assert docs.document("D") == {"a": 1}


def test_names_and_keys_that_are_not_there_are_named() -> None:
    docs = hw.Documents.from_json({"A": {"x": 1}, "B": {"y": 2}})
    with pytest.raises(hw.DataError, match="no document 'z' of the name `A`"):
        docs.document("z", name="A")
    with pytest.raises(hw.DataError, match="several names"):
        docs.put("z", {})
    with pytest.raises(hw.DataError, match="there is no `q`"):
        docs.oid("A", "/q")
    with pytest.raises(hw.DataError, match="line 1, column 6: this brace is never closed"):
        hw.Documents.from_oem("A &1 { ")


def test_views_are_rows_of_arrow_and_questions_are_answered() -> None:
    docs = hw.Documents.from_oem(FIGURE_1)
    view = docs.define(FAVORITES)
    table = view.table()
    assert table.to_pylist() == [{"oid": "&9'", "document": {"Name": "Stew", "Ingredient": "Mushroom"}}]
    assert ("atom", (15, "string", "Mushroom", None)) in view.why("&9'").facts
    assert ("edge", (3, "Entree", 9, -1)) in view.critical(9).facts
    assert view.valid_until(9) is None
    lost = [str(one) for one in view.without(delete=[(3, "Entree", 9)]).operations]
    assert lost[0] == "Del(FavoriteEntrees, Entrees, &9')"
    assert list(view.documents()) == ["&9'"]
    assert "Ingredient" in str(view.why_not(10))
    with pytest.raises(hw.DataError, match="why_not"):
        view.why(13)


def test_what_is_shared_later_is_not_taken_for_a_tree() -> None:
    """A store of trees looks for no second way to an object, until there is one; a new value makes none."""
    docs = hw.Documents.from_json({"A": {"x": {"n": 1}}, "B": {"y": {"n": 2}}})
    a, b = docs.oid("A"), docs.oid("B")
    docs.update(insert=[(a, "z", {"n": 3})])
    assert docs._contents.is_tree
    docs.put("A", {"x": {"n": 1}, "z": {"n": 4}})
    shared = docs.oid("B", "/y")
    docs.update(insert=[(a, "y", shared)])
    assert not docs._contents.is_tree
    docs.update(delete=[(b, "y", shared)])
    assert docs.documents("A") == {"A": {"x": {"n": 1}, "y": {"n": 2}, "z": {"n": 4}}}
    docs.update(insert=[(b, "y", shared)])
    docs.remove("A")
    assert docs.documents("B") == {"B": {"y": {"n": 2}}}
    docs.remove("B")
    assert {docs.database.count(relation) for relation in ("edge", "atom", "name", "hollow")} == {0}


def test_of_equal_items_each_keeps_its_own_place() -> None:
    """An item that is still equal at its place is not taken by another that has become like it."""
    docs = hw.Documents.from_json({"A": {"i": [{"v": 1}, {"v": 2}, {"v": 3}]}})
    before = [docs.oid("A", f"/i/{at}") for at in range(3)]
    docs.put("A", {"i": [{"v": 3}, {"v": 2}, {"v": 3}]})
    assert [docs.oid("A", f"/i/{at}") for at in range(3)] == before
    docs.put("A", {"i": [{"v": 2}, {"v": 3}, {"v": 3}]})
    assert [docs.oid("A", f"/i/{at}") for at in range(3)] == [before[1], before[0], before[2]]


def test_texts_with_one_number_are_compared_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def alike(offsets: Any, data: Any, numbers: Any) -> None:
        numbers[:] = 7

    monkeypatch.setattr(kernels, "number_texts", alike)
    docs = hw.Documents.from_json({"A": {"i": ["a", "b", "", None, "é"], "n": 5}})
    for document in ({"i": ["a", "c", "", None, "é"], "n": 5}, {"i": ["", "b", "x"], "n": "5"}, {"n": None}, {"n": ""}):
        docs.put("A", document)
        assert docs.document("A") == document


def test_a_patch_leaves_times_as_they_are() -> None:
    docs = hw.Documents.from_json({"A": {"at": datetime(2026, 1, 31, 8, tzinfo=UTC), "n": 1}})
    docs.patch(
        "A", [{"op": "test", "path": "/at", "value": "2026-01-31T08:00:00+00:00"}, {"op": "remove", "path": "/n"}]
    )
    assert docs.database.rows("atom") == {(docs.oid("A", "/at"), "time", "2026-01-31T08:00:00+00:00", 1769846400.0)}


def test_an_edge_from_what_goes_does_not_stay() -> None:
    docs = hw.Documents.from_json({"A": {"x": {"n": 1}, "y": 5}})
    root, gone, kept = docs.oid("A"), docs.oid("A", "/x"), docs.oid("A", "/y")
    docs.update(insert=[(gone, "y", kept), (gone, "z", {"deep": [1, []]})], delete=[(root, "x", gone)])
    assert docs.document("A") == {"y": 5}
    assert docs.database.rows("edge") == {(root, "y", kept, -1)}
    assert [docs.database.count(relation) for relation in ("atom", "hollow")] == [1, 0]


def test_documents_join_a_graph_before_the_first_view() -> None:
    docs = hw.Documents.from_oem("A &1 { x &2 1 }")
    docs.put("B", {"y": "two"}, name="B")
    assert docs.documents("B") == {"B": {"y": "two"}}
    assert docs.documents("A") == {"A": {"x": 1}}


def test_a_graph_with_many_cycles_is_walked_once() -> None:
    """Every object leads to every other: there are more ways than memory."""
    entries = " ".join(f"x &{at} {{ {' '.join(f'y &{to}' for to in range(2, 30))} }}" for at in range(2, 30))
    docs = hw.Documents.from_oem(f"A &1 {{ {entries} }}")
    docs.put("A", {"x": 1})
    assert docs.document("A") == {"x": 1}
    assert docs.database.count("edge") == 1


def test_a_join_of_documents_reads_what_it_joins() -> None:
    """Not every pair: the names, edges and values of a path are looked up by each other."""
    orders = [{"id": at, "customer": at % 30} for at in range(300)]
    docs = hw.Documents.from_json({"Orders": orders, "Customers": [{"id": at} for at in range(30)]}, key="id")
    joined = "select o from Orders o, Customers c where o.customer = c.id with o.id"
    view = docs.define(f"define view V as A = {joined};")
    assert len(view.documents("A")) == 300
    assert sum(rule.read for rule in docs.database.profile().rules) < 20_000


def test_what_no_view_can_see_runs_no_rule() -> None:
    orders = [{"id": 1, "note": "a", "items": [{"sku": "x", "price": 5, "remark": "b"}]}, {"id": 2, "note": "c"}]
    docs = hw.Documents.from_json({"Orders": orders, "Notes": ["n", "m"]}, key=None)
    large = "A = select o from Orders o where o.items.price > 1 with o.id"
    view = docs.define(f'define view V as {large}; B = select n from Notes n where n = "n";')
    first = docs.oid(0, name="Orders")

    def rules_run() -> int:
        return sum(rule.runs for rule in docs.database.profile().rules)

    before = rules_run()
    docs.update(change=[(docs.oid(0, "/note", name="Orders"), "z")])
    docs.update(insert=[(first, "remark", docs.value(7))])
    docs.put(0, {**orders[0], "note": "y"}, name="Orders")
    docs.put(1, {"id": 2}, name="Orders")
    docs.put("k", "v", name="Other")
    assert (docs.unseen, rules_run()) == (5, before)
    docs.update(change=[(docs.oid(0, "/items/0/price", name="Orders"), 0)])
    assert view.documents("A") == {}
    docs.put(1, {"id": 2, "items": [{"price": 9}]}, name="Orders")
    assert list(view.documents("A").values()) == [{"id": 2}]
    docs.put(1, "n", name="Notes")
    assert list(view.documents("B").values()) == ["n", "n"]
    assert docs.unseen == 5
    assert rules_run() > before


def _replaced(at: int, price: int) -> dict[str, Any]:
    return {"id": at, "items": [{"sku": f"s{at}", "price": price}]}


def test_most_of_a_store_replaced_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.semistructured.store.recomputing._START", 0)
    docs = hw.Documents.from_json({"Orders": [_replaced(at, 1) for at in range(20)]}, key="id")
    view = docs.define("define view V as A = select o from Orders o where o.items.price > 1 with o.id;")
    docs.put(3, _replaced(3, 5), name="Orders")
    assert (docs.recomputed, list(view.documents().values())) == (0, [{"id": 3}])
    docs.put_all({at + 100: _replaced(at + 100, 7) for at in range(15)}, name="Orders", remove=range(20))
    assert docs.recomputed == 1
    assert sorted(one["id"] for one in view.documents().values()) == list(range(100, 115))
    assert len(view.changes.patches) == 16
    docs.put(101, _replaced(101, 0), name="Orders")
    assert (docs.recomputed, len(view.documents())) == (1, 14)
    docs.put_all({at: _replaced(at, 0) for at in range(100, 115)}, name="Orders")  # values alone are followed
    assert (docs.recomputed, len(view.documents())) == (1, 0)


def test_views_that_cannot_be_computed_anew_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.semistructured.store.recomputing._START", 0)
    orders = {at: _replaced(at, 1) for at in range(9)}
    docs = hw.Documents.from_json({"Orders": list(orders.values())}, key="id")
    view = docs.define("define view V as A = select i from Orders.items i where i.price < 5 with i.sku;")
    shown, rows = view.documents(), docs.database.rows("edge") | docs.database.rows("atom")
    with monkeypatch.context() as broken:
        broken.setattr(docs, "_built", lambda *_: (_ for _ in ()).throw(MemoryError("full")))
        with pytest.raises(MemoryError):
            docs.put_all({at + 50: _replaced(at + 50, 2) for at in orders}, name="Orders", remove=orders)
    assert (docs.recomputed, view.documents()) == (0, shown)
    assert docs.database.rows("edge") | docs.database.rows("atom") == rows
    docs.put(0, _replaced(0, 9), name="Orders")
    assert len(view.documents()) == 8


def test_an_object_made_of_nothing_is_not_taken_for_one_of_the_store() -> None:
    """The count is an object of the first statement, and `&1` is the first order."""
    docs = hw.Documents.from_json({"Orders": [{"id": 7}, {"id": 8}]}, key="id")
    view = docs.define("define view V as Number = select n: count(Orders); All = select o from Orders o with o.id;")
    assert list(view.documents().items()) == [("&1.'", {"n": 2}), ("&1'", {"id": 7}), ("&3'", {"id": 8})]
    assert [list(view.why(oid).row) for oid in ("&1.'", "&1'")] in ([[[1]], [1]], [[(1,)], [1]])
    docs.remove(8)
    assert view.changes.patches["&1.'"] == [{"op": "replace", "path": "/n", "value": 1}]


def test_items_move_up_where_some_are_taken_out() -> None:
    docs = hw.Documents.from_json({"O": [{"id": 1, "a": ["x", "y", "z"]}]}, key="id")
    first = docs.define("define view V as X = select o.a[0] from O o;")
    whole = docs.oid(1)
    docs.update(delete=[(whole, "a", docs.oid(1, "/a/0"))])
    assert (docs.document(1), list(first.documents().values())) == ({"id": 1, "a": ["y", "z"]}, ["y"])
    docs.update(delete=[(whole, "a", docs.oid(1, "/a/0"))], insert=[(whole, "a", "n"), (whole, "a", "m")])
    assert docs.document(1) == {"id": 1, "a": ["z", "n", "m"]}
    assert [docs.oid(1, f"/a/{at}") for at in range(3)] == [5, 6, 7]
    docs.execute("update o.a -= x from O o, o.a x;")
    assert docs.document(1) == {"id": 1, "a": []}
    docs.update(insert=[(whole, "a", "again")])
    assert (docs.document(1), list(first.documents().values())) == ({"id": 1, "a": ["again"]}, ["again"])


def test_documents_without_a_name_are_refused() -> None:
    with pytest.raises(hw.DataError, match="takes documents by name, not list"):
        hw.Documents.from_json([{"id": 1}])  # type: ignore[arg-type]


def test_a_patch_of_a_document_that_is_too_deep() -> None:
    docs = hw.Documents.from_json({"D": {"x": 1}})
    with pytest.raises(hw.DataError, match=r"HW82[02]"):
        docs.patch("D", [{"op": "add", "path": "/y", "value": _nested(3000)}])
    assert docs.document("D") == {"x": 1}


def _nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found
