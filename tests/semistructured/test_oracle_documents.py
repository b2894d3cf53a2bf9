"""Documents against plain Python: they come out as they went in, views show what the values say, patches patch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.semistructured.output.patches import apply_patch, is_equal
from tests.semistructured.json_trees import ORDERS, VALUES, VIEWS, edits


def strict(value: Any) -> str:
    """A value as text in which 1, 1.0 and true differ and the order of members does not."""
    return json.dumps(value, sort_keys=True)


def sorted_documents(found: list[Any]) -> list[str]:
    return sorted(map(strict, found))


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=3), VALUES, min_size=1, max_size=3))
def test_oracle_documents_come_out_as_they_went_in(documents: dict[str, Any]) -> None:
    docs = hw.Documents()
    for name, document in documents.items():
        docs.put(name, document, name=name)
    assert {name: strict(docs.document(name, name=name)) for name in documents} == {
        name: strict(document) for name, document in documents.items()
    }


@settings(max_examples=30, deadline=None)
@given(st.lists(ORDERS, max_size=3), edits())
def test_oracle_views_patches_and_rows_follow_every_edit(first: list[Any], steps: list[tuple[str, int, Any]]) -> None:
    held: dict[int, Any] = dict(enumerate(first))
    docs = hw.Documents()
    docs.put_all(held, name="Orders") if held else docs.put(0, {"items": []}, name="Orders")
    held = held or {0: {"items": []}}
    views = [docs.define(text) for text, _ in VIEWS]
    docs.guide()
    for kind, key, document in steps:
        shown = [dict(view.documents()) for view in views]
        if kind == "remove" and key not in held:
            continue
        if kind == "put":
            docs.put(key, document, name="Orders")
            held[key] = document
        else:
            docs.remove(key, name="Orders")
            del held[key]
        assert {key: strict(found) for key, found in docs.documents("Orders").items()} == {
            key: strict(found) for key, found in held.items()
        }
        for view, (_, expected), before in zip(views, VIEWS, shown, strict=True):
            assert sorted_documents(list(view.documents().values())) == sorted_documents(expected(list(held.values())))
            check_patches(before, view)
    assert rows_of(docs) == rows_of_fresh(docs)
    assert {str(path): path.kinds for path in docs.guide()} == guide_of(list(held.values()))


def guide_of(documents: list[Any]) -> dict[str, dict[str, int]]:
    """Label paths with the kinds of values that they lead to."""
    found: dict[str, dict[str, int]] = {}

    def note(path: str, value: Any, *, item: bool = True) -> None:
        if isinstance(value, list) and not item:
            for one in value:
                note(path, one)
            return
        kind = KINDS[type(value)]
        found.setdefault(path, {}).setdefault(kind, 0)
        found[path][kind] += 1
        for name, inner in value.items() if isinstance(value, dict) else ():
            note(f"{path}.{name}", inner, item=False)
        for inner in value if isinstance(value, list) else ():
            note(f"{path}.[]", inner)

    for document in documents:
        note("Orders", document)
    return found


KINDS = {
    dict: "object", list: "object", str: "string", int: "int", float: "real", bool: "bool", type(None): "null",
}  # fmt: skip


def check_patches(before: dict[str, Any], view: Any) -> None:
    after = dict(before)
    for oid, patch in view.changes.patches.items():
        if patch == [{"op": "remove", "path": ""}]:
            del after[oid]
        elif oid not in before:
            assert [operation["op"] for operation in patch] == ["add"]
            after[oid] = patch[0]["value"]
        else:
            after[oid] = apply_patch(before[oid], patch)
    now = view.documents()
    assert after.keys() == now.keys()
    assert all(is_equal(after[oid], now[oid]) for oid in now)


def rows_of(docs: hw.Documents) -> dict[str, int]:
    return {relation: docs.database.count(relation) for relation in ("edge", "atom", "name", "hollow")}


def rows_of_fresh(docs: hw.Documents) -> dict[str, int]:
    """As many rows as a store has that was given these documents at once: nothing is left behind."""
    fresh = hw.Documents()
    fresh.put_all(docs.documents("Orders"), name="Orders")
    return rows_of(fresh)


@settings(max_examples=30, deadline=None)
@given(ORDERS, ORDERS)
def test_replacing_a_document_by_itself_changes_nothing(one: Any, other: Any) -> None:
    docs = hw.Documents()
    docs.put_all({"a": one, "b": other}, name="Orders")
    _ = docs.database
    changes = docs.put("a", json.loads(json.dumps(one)), name="Orders")
    assert changes is not None
    assert not any(changes[relation] for relation in ("edge", "atom", "name", "hollow"))


def test_a_changed_leaf_is_one_changed_atom() -> None:
    order = {"id": 1, "items": [{"id": 7, "qty": 1}, {"id": 8, "qty": 2}], "tags": ["x", "y"]}
    docs = hw.Documents.from_json({"Order": order})
    changes = docs.put("Order", {**order, "items": [{"id": 7, "qty": 1}, {"id": 8, "qty": 3}]})
    assert changes is None or not changes["edge"]
    _ = docs.database
    changes = docs.put("Order", {**order, "items": [{"id": 7, "qty": 1}, {"id": 8, "qty": 4}]})
    assert changes is not None
    assert changes["atom"].inserted.num_rows == changes["atom"].deleted.num_rows == 1
    assert not changes["edge"]


def test_items_are_matched_by_id_wherever_they_stand() -> None:
    docs = hw.Documents.from_json({"Order": {"items": [{"id": 7, "qty": 1}, {"id": 8, "qty": 2}]}})
    first = docs.oid("Order", "/items/0")
    docs.put("Order", {"items": [{"id": 9, "qty": 5}, {"id": 8, "qty": 2}, {"id": 7, "qty": 6}]})
    assert docs.oid("Order", "/items/2") == first


def test_items_without_id_that_are_equal_keep_their_ids_when_one_is_put_before_them() -> None:
    docs = hw.Documents.from_json({"Order": {"items": [{"sku": "a"}, {"sku": "b"}]}})
    oids = [docs.oid("Order", f"/items/{at}") for at in range(2)]
    docs.put("Order", {"items": [{"sku": "new"}, {"sku": "a"}, {"sku": "b"}]})
    assert [docs.oid("Order", f"/items/{at}") for at in (1, 2)] == oids


@pytest.mark.parametrize("text", ["1", "1.0", "true", '"1"', "null"])
@pytest.mark.parametrize("after", ["1", "1.0", "true", '"1"', "null"])
def test_a_change_of_type_alone_is_a_change(text: str, after: str) -> None:
    docs = hw.Documents.from_json({"D": {"a": json.loads(text)}})
    _ = docs.database
    changes = docs.put("D", {"a": json.loads(after)})
    assert changes is not None
    assert bool(changes["atom"]) == (text != after)
    assert strict(docs.document("D")) == strict({"a": json.loads(after)})
