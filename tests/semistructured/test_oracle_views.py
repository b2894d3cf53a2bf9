"""Random graphs (with sharing and cycles), views and updates: maintained relations hold what the oracle computes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.core.errors import CheckProblem
from headwater.language.lorel import parse_lorel, print_lorel
from headwater.pipeline import compile_tree
from headwater.semistructured.views import ViewPart, ViewProgram, program_tree, translate_all
from tests.oracle.dice import Dice
from tests.semistructured.lorel_oracle import Evaluation, ViewState, evaluate_part
from tests.semistructured.lorel_values import Store
from tests.semistructured.random_views import EXACT, Writer, random_store, random_update


def test_oracle_views_are_maintained() -> None:
    for seed in range(150):
        check(seed, 3)


def test_oracle_views_with_many_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alternatives beyond the limit become relations: here, from the second on."""
    monkeypatch.setattr("headwater.semistructured.views.queries.MOST_BODIES", 1)
    monkeypatch.setattr("headwater.semistructured.views.walk.MOST_BODIES", 1)
    for seed in range(500, 550):
        check(seed, 2)


@pytest.mark.soak
@given(st.integers(0, 2**40))
@settings(max_examples=3000)
def test_oracle_views_are_maintained_at_length(seed: int) -> None:
    check(seed, 6)


def check(seed: int, updates: int) -> None:
    dice = Dice(seed)
    text = Writer(dice).view()
    tree = parse_lorel(text)
    assert parse_lorel(print_lorel(tree)) == tree
    try:
        (view,) = translate_all(tree.views)
    except CheckProblem as problem:
        if {each.code for each in problem.diagnostics} != {"HW253"}:
            raise
        return
    store = random_store(dice)
    if inexact(text, store):
        return
    db = hw.Database(compile_tree(program_tree((view,))))
    db.apply(insert=store.rows())
    compare(seed, text, db, view, store)
    for _ in range(updates):
        after = random_update(dice, store)
        if inexact(text, after):
            return
        apply(db, store, after)
        store = after
        compare(seed, text, db, view, store)


def inexact(text: str, store: Store) -> bool:
    """Sums of large ints depend on the order in which they are taken."""
    return ("sum(" in text or "avg(" in text or " + " in text) and any(v in EXACT for v in store.atoms.values())


def apply(db: hw.Database, before: Store, after: Store) -> Any:
    old, new = before.rows(), after.rows()
    inserts = {name: [row for row in rows if row not in old[name]] for name, rows in new.items()}
    deletes = {name: [row for row in rows if row not in new[name]] for name, rows in old.items() if name != "atom"}
    return db.apply(insert=inserts, delete=deletes)


def compare(seed: int, text: str, db: hw.Database, view: ViewProgram, store: Store) -> None:
    state = Evaluation(store)
    edges: set[Any] = set()
    for place, (part, named) in enumerate(zip(view.parts, view.definition.parts, strict=True), 1):
        found = evaluate_part(state, named.query, place)
        edges |= found.edges
        same_part(f"seed {seed}: {text}", db, part, found)
    assert (db.rows(view.edges) if view.edges else set()) == edges, (seed, text)
    assert (db.rows(view.adjuncts) if view.adjuncts else set()) == {(edge[2],) for edge in edges}, (seed, text)


def same_part(case: str, db: hw.Database, part: ViewPart, found: ViewState) -> None:
    pairs: list[tuple[str | None, set[Any]]] = [
        (part.objects, {(oid,) for oid in found.objects}),
        (part.made, {(key,) for key in found.made}),
        (part.made_edges, found.made_edges),
        (part.made_values, found.made_values),
        (part.values, found.values),
        *((order.relation, keys) for order, keys in zip(part.order, found.order, strict=True)),
    ]
    for relation, expected in pairs:
        actual = db.rows(relation) if relation is not None else set()
        assert actual == expected, f"{case}\n{relation}: {actual ^ expected} differ"


def test_the_random_views_use_the_whole_language() -> None:
    """A generator that never writes a closure tests none."""
    seen = Counter()
    for seed in range(150):
        text = Writer(Dice(seed)).view()
        seen.update(word for word in WORDS if word in text)
    assert {word for word in WORDS if seen[word] < 2} == set()


WORDS = (".#", ")*", ")+", ")?", "%", "[0-1]", "not ", "for all", "exists", " in ", "(select", "count(", "sum(", "min(")
WORDS += ("max(", "avg(", "like", " or ", "with", "order by", "k: ", " * ", " / ", "@L", "limit")
