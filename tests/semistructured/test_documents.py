"""The handle of a document store: names and keys, updates, garbage, sharing, files, errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headwater as hw

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
