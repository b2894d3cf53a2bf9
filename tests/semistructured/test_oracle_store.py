"""Random graphs, views and updates through `Documents` itself: `update`, `put`, `patch` and `remove`.

After each of them the store holds what was asked for and no garbage, every view holds what the oracle computes, its
documents are the oracle's documents, and the patches and operations turn the old view into the new one.
"""

from __future__ import annotations

import copy
import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.core.errors import CheckProblem
from headwater.language.lorel import parse_lorel
from headwater.semistructured.output.view import DocumentView
from headwater.semistructured.output.view_changes import Chg, Del, Ins
from tests.oracle.dice import Dice
from tests.semistructured.lorel_oracle import Evaluation, ViewState, evaluate_part
from tests.semistructured.lorel_values import Moment, Store
from tests.semistructured.random_views import LABELS, VALUES, Writer, random_store, value
from tests.semistructured.test_oracle_documents import check_patches
from tests.semistructured.test_oracle_views import compare, inexact

PLAIN = [one for one in VALUES if not isinstance(one, Moment)]


def test_oracle_stores_with_views() -> None:
    seen = {"changed": 0, "patched": 0, "shared": 0}
    for seed in range(50):
        check(seed, 5, seen)
    assert seen["changed"] > 80, seen
    assert seen["patched"] > 60, seen
    assert seen["shared"] > 20, seen


@pytest.mark.parametrize("seed", [100061, 100287, 100362])
def test_oracle_stores_that_once_went_wrong(seed: int) -> None:
    """A time for its own text; a value whose object has no parts; an object that comes to an array again."""
    check(seed, 8, {"changed": 0, "patched": 0, "shared": 0})


@pytest.mark.soak
@given(st.integers(0, 2**40))
@settings(max_examples=2000)
def test_oracle_stores_with_views_at_length(seed: int) -> None:
    check(seed, 10, {"changed": 0, "patched": 0, "shared": 0})


def test_oracle_what_no_view_can_see_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views that mention two labels of five: changes below the others run no rule, and nothing is missed later."""
    monkeypatch.setattr("tests.semistructured.test_oracle_store.LABELS", (*LABELS, "c", "d"))
    seen = {"changed": 0, "patched": 0, "shared": 0}
    unseen = sum(check(seed, 8, seen, plain="UVW") for seed in range(300, 330))
    assert unseen > 25, unseen
    assert seen["changed"] > 40, seen


def test_oracle_views_that_are_computed_anew_change_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same views, documents, patches and operations where every change is dear to follow."""
    monkeypatch.setattr("headwater.semistructured.store.recomputing._START", 0)
    monkeypatch.setattr("headwater.semistructured.store.recomputing._CHANGED_ROW", 10**6)
    monkeypatch.setattr("headwater.semistructured.store.recomputing._CHANGED_VALUE", 10**6)
    seen = {"changed": 0, "patched": 0, "shared": 0}
    for seed in range(400, 412):
        check(seed, 4, seen)
    assert seen["recomputed"] > 15, seen
    assert seen["changed"] > 8, seen


def check(seed: int, steps: int, seen: dict[str, int], plain: str = "W") -> int:
    """How many of the changes no view could see. The views of these names are of the paper's subset."""
    dice = Dice(seed)
    docs = hw.Documents.from_oem(oem(dice)) if dice.chance(70) else hw.Documents.from_json({"N": tree(dice, 3)})
    docs.put_all({at: tree(dice, 3) for at in range(dice.number(1, 3))}, name="M")
    texts = [lively(dice, stored(docs), name, plain=name in plain) for name in "UVW"]
    try:
        views = docs.define_views([view for text in texts for view in parse_lorel(text).views])
    except CheckProblem as problem:
        if {each.code for each in problem.diagnostics} != {"HW253"}:
            raise
        return 0
    before = stored(docs)
    compare_all(f"seed {seed}", docs, views, before, texts)
    for step in range(steps):
        shown = [dict(view.documents()) for view in views]
        held = [view_edges(view) for view in views]
        changed = one_change(dice, docs, before)
        after = stored(docs)
        case = f"seed {seed}, step {step}: {changed}"
        assert reached(after) >= {*after.atoms, *(edge[0] for edge in after.edges)}, case
        if not compare_all(case, docs, views, after, texts):
            return docs.unseen
        for view, old, edges in zip(views, shown, held, strict=True):
            check_patches(old, view)
            check_operations(case, view, edges)
            seen["changed"] += bool(view.changes.operations)
            seen["patched"] += bool(view.changes.patches)
        seen["shared"] += len({edge[2] for edge in after.edges}) < len(after.edges)
        before = after
    seen["recomputed"] = seen.get("recomputed", 0) + docs.recomputed
    return docs.unseen


def lively(dice: Dice, store: Store, name: str, *, plain: bool) -> str:
    """A view that shows something, if one is soon found: others seldom change."""
    for _ in range(8):
        text = Writer(dice, plain=plain).view().replace("view V", f"view {name}")
        (view,) = parse_lorel(text).views
        if any(evaluate_part(Evaluation(store), part.query).objects for part in view.parts):
            break
    return text


# A store and its changes


def oem(dice: Dice) -> str:
    """A graph as text: every object where it is first met. It has few edges, because documents have every path."""
    store = random_store(dice)
    store.edges = set(dice.picks(sorted(store.edges), 8, 14))
    met: set[int] = set()

    def entry(label: str, oid: int) -> str:
        if oid in met:
            return f"{label} &{oid}"
        met.add(oid)
        if oid in store.atoms:
            value = store.atoms[oid]
            return f"{label} &{oid} {f'@{value.text}' if isinstance(value, Moment) else json.dumps(value)}"
        below = dict.fromkeys(edge[1:3] for edge in sorted(store.edges) if edge[0] == oid)
        return f"{label} &{oid} {{ {', '.join(entry(*each) for each in below)} }}"

    return entry("N", 1)


def tree(dice: Dice, depth: int) -> dict[str, Any]:
    """A document: members, arrays with and without items, items with and without ids."""

    def inner(depth: int) -> Any:
        if depth == 0 or dice.chance(40):
            return dice.pick(PLAIN)
        if dice.chance(35):
            return [inner(depth - 1) for _ in range(dice.number(0, 3))]
        return tree(dice, depth - 1)

    found = {label: inner(depth) for label in LABELS if dice.chance(65)}
    return {**found, "id": dice.number(1, 3)} if dice.chance(30) else found


def stored(docs: hw.Documents) -> Store:
    """What the store holds, as the oracle takes it."""
    db = docs.database
    names: dict[str, set[int]] = {}
    for name, oid in db.rows("name"):
        names.setdefault(name, set()).add(oid)
    return Store(db.rows("edge"), {oid: read(kind, text) for oid, kind, text, _ in db.rows("atom")}, names)


def read(kind: str, text: str | None) -> Any:
    if text is None:
        return None
    readers: dict[str, Any] = {"int": int, "real": float, "bool": "true".__eq__, "time": Moment, "string": str}
    return readers[kind](text)


def named(store: Store) -> set[int]:
    return set().union(*store.names.values())


def reached(store: Store) -> set[int]:
    """What names lead to."""
    found, level = named(store), named(store)
    while level:
        level = {edge[2] for edge in store.edges if edge[0] in level} - found
        found |= level
    return found


def one_change(dice: Dice, docs: hw.Documents, before: Store) -> str:
    """Change the store, and see that it holds what it should."""
    keys = docs.keys("M")
    match dice.number(0, 9):
        case 0 | 1 | 2:
            key, document = dice.number(0, 3), tree(dice, 3)
            docs.put(key, document, name="M")
            assert same(docs.document(key, name="M"), document)
            return f"put({key}, {document})"
        case 3 if len(keys) > 1:
            key = dice.pick(keys)
            docs.remove(key, name="M")
            assert key not in docs.keys("M")
            return f"remove({key})"
        case 4 | 5 if keys:
            key = dice.pick(keys)
            document = docs.document(key, name="M")
            if "$ref" not in json.dumps(document):
                patch, expected = random_patch(dice, document)
                docs.patch(key, patch, name="M")
                assert same(docs.document(key, name="M"), expected)
                return f"patch({key}, {patch})"
    return one_update(dice, docs, before)


def random_patch(dice: Dice, document: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    label = dice.pick(LABELS)
    expected = copy.deepcopy(document)
    if label in expected and dice.chance(40):
        del expected[label]
        return [{"op": "remove", "path": f"/{label}"}], expected
    if isinstance(expected.get(label), list) and dice.chance(70):
        expected[label].insert(0, 7)
        return [{"op": "add", "path": f"/{label}/0", "value": 7}], expected
    expected[label] = tree(dice, 1)
    return [{"op": "add", "path": f"/{label}", "value": copy.deepcopy(expected[label])}], expected


def one_update(dice: Dice, docs: hw.Documents, before: Store) -> str:
    complexes = sorted(reached(before) - set(before.atoms))
    shares = len(before.edges) < 2 * len(reached(before))  # else the documents grow beyond all bounds
    every = [*complexes, *sorted(before.atoms)]
    insert: list[Any] = []
    for _ in range(dice.number(0, 2)):
        child = dice.pick(every) if shares and dice.chance(70) else docs.value(dice.pick(PLAIN))
        insert.append((dice.pick(complexes), dice.pick(LABELS), child))
    own = sorted(edge[:3] for edge in before.edges if edge[1] != "[]")
    delete = dice.picks(own, 0, 2) if own else []
    change = {oid: value(dice) for oid in dice.picks(sorted(before.atoms), 0, 2)} if before.atoms else {}
    given = [(oid, datetime.fromisoformat(new.text) if isinstance(new, Moment) else new) for oid, new in change.items()]
    docs.update(insert, delete, given)
    after = Store({edge for edge in before.edges if edge[:3] not in delete}, {**before.atoms, **change}, before.names)
    fresh = 0
    for parent, label, child in insert:
        fresh += not isinstance(child, int)
        after.edges.add((parent, label, child if isinstance(child, int) else -fresh, -1))
    alive, now = reached(after), stored(docs)
    assert {edge[:3] for edge in after.edges if edge[0] in alive and edge[2] >= 0} == {
        edge[:3] for edge in now.edges if edge[2] in every
    }
    assert {oid: one for oid, one in after.atoms.items() if oid in alive} == {
        oid: one for oid, one in now.atoms.items() if oid in before.atoms
    }
    made = [child.value for _, _, child in insert if not isinstance(child, int)]
    kept = [made[-1 - oid] for oid in sorted((oid for oid in alive if oid < 0), reverse=True)]
    assert sorted(map(repr, kept)) == sorted(repr(now.atoms[oid]) for oid in set(now.atoms) - set(before.atoms))
    return f"update({insert}, {delete}, {change})"


# Views


def compare_all(case: str, docs: hw.Documents, views: list[DocumentView], store: Store, texts: list[str]) -> bool:
    """False where a sum of large numbers depends on the order in which it is taken."""
    if any(inexact(text, store) for text in texts):
        return False
    for view, text in zip(views, texts, strict=True):
        compare(0, f"{case}\n{text}", docs.database, view.program, store)
        parts = [
            evaluate_part(Evaluation(store), part.query, at) for at, part in enumerate(view.program.definition.parts, 1)
        ]
        expected = oracle_documents(parts, store)
        found = {oid: loose(document) for oid, document in view.documents().items()}
        assert found == {oid: loose(document) for oid, document in expected.items()}, f"{case}\n{text}"
    return True


def loose(document: Any) -> str:
    """A document as text, whatever the order of members and of items."""
    if isinstance(document, dict):
        return "{" + ",".join(f"{label!r}:{loose(inner)}" for label, inner in sorted(document.items())) + "}"
    if isinstance(document, list):
        return "[" + ",".join(sorted(map(loose, document))) + "]"
    return repr(document)


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def oracle_documents(parts: list[ViewState], store: Store) -> dict[str, Any]:
    """The selected objects as docs/documents.md says that they are written."""
    edges: dict[Any, list[tuple[str, Any, int]]] = {}
    computed: dict[Any, list[tuple[str, Any]]] = {}
    found: dict[str, Any] = {}
    for part in parts:
        for parent, label, child, place in {*part.edges, *part.made_edges}:
            edges.setdefault(parent, []).append((label, child, place))
        for key, label, kind, text, number in part.made_values:
            computed.setdefault(key, []).append((label, shown_value(kind, text, number)))
    edges = {parent: list(dict.fromkeys(own)) for parent, own in edges.items()}

    def document(oid: Any, above: tuple[Any, ...]) -> Any:
        if oid in store.atoms:
            value = store.atoms[oid]
            return value.text if isinstance(value, Moment) else value
        if oid in above:
            return {"$ref": name_of(oid)}
        members: dict[str, list[tuple[int, Any]]] = {}
        for label, child, place in edges.get(oid, ()):
            members.setdefault(label, []).append((place, document(child, (*above, oid))))
        for label, value in computed.get(oid, ()):
            members.setdefault(label, []).append((-1, value))
        written = {
            label: own[0][1] if len(own) == 1 and own[0][0] < 0 else [value for _, value in own]
            for label, own in members.items()
        }
        return written.get("[]", written)

    for part in parts:
        found |= {name_of(oid): document(oid, ()) for oid in {*part.objects, *part.made}}
        found |= {name_of(key): shown_value(*value) for key, *value in part.values}
    return found


def name_of(oid: Any) -> str:
    if not isinstance(oid, tuple):
        return f"&{oid}'"
    return f"&{'.'.join(map(str, oid))}{'.' * (len(oid) == 1)}'"


def shown_value(kind: str, text: str | None, number: float | None) -> Any:
    value = read(kind, text)
    return value.text if isinstance(value, Moment) else value


def view_edges(view: DocumentView) -> set[tuple[str, str, str]]:
    """The edges of delegates that stand for objects of the store, and those from the view to what it selects."""
    found = {
        (each.oid, label, child)
        for each in view.objects.values()
        if isinstance(each.of, int)
        for label, child in each.edges
    }
    for part in view.program.parts:
        if part.objects is not None:
            found |= {(view.name, part.name, f"&{row[0]}'") for row in view._docs.database.rows(part.objects)}
    return found


def check_operations(case: str, view: DocumentView, before: set[tuple[str, str, str]]) -> None:
    """Ins and Del turn the old edges into the new ones, and each says something new."""
    after = view_edges(view)
    parts = {part.name for part in view.program.parts if part.objects is not None}

    def edges(kind: type[Ins] | type[Del]) -> set[tuple[str, str, str]]:
        return {
            (each.parent, each.label, each.child)
            for each in view.changes.operations
            if isinstance(each, kind)
            and (each.label in parts if each.parent == view.name else "." not in each.parent)
        }  # fmt: skip

    assert edges(Del) == before - after, case
    assert edges(Ins) == after - before, case
    assert all(repr(each.old) != repr(each.new) for each in view.changes.operations if isinstance(each, Chg)), case
