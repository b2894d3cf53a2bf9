"""The algorithm of 001: its maintenance statements, evaluated by the oracle, give the changes of the engine, and
RelevantVars never skips an update that matters."""

from __future__ import annotations

from typing import Any

import headwater as hw
from headwater.language.lorel import parse_lorel
from headwater.language.lorel.tree import ChangeValue, DeleteEdge, ElementaryUpdate, InsertEdge
from headwater.pipeline import compile_tree
from headwater.semistructured.views import program_tree, translate_all
from headwater.semistructured.views.updates.canonical import CanonicalView, canonical
from headwater.semistructured.views.updates.maintenance import MaintenanceStatement, maintenance_statements
from headwater.semistructured.views.updates.relevance import RelevantOids, relevant_oids, relevant_variables
from tests.oracle.dice import Dice
from tests.semistructured.figure1 import shown
from tests.semistructured.lorel_oracle import Evaluation, ViewState, evaluate_part
from tests.semistructured.lorel_values import Moment, Store
from tests.semistructured.random_views import ATOMIC, VALUES, Writer, random_edge, random_store
from tests.semistructured.test_oracle_views import apply

PLAIN_VALUES = [1, 2, "x"] * 20 + [value for value in VALUES if not isinstance(value, Moment)]


class Labels:
    """What a store can tell about an object at once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def labels_to(self, oid: int) -> set[str]:
        return {edge[1] for edge in self._store.edges if edge[2] == oid}

    def names_of(self, oid: int) -> set[str]:
        return {name for name, found in self._store.names.items() if oid in found}


def plain_store(dice: Dice) -> Store:
    """Edges without places, and values without times, as in the paper."""
    store = random_store(dice)
    store.edges = {plain_edge(dice) for _ in range(dice.number(12, 28))}
    store.atoms = {oid: dice.pick(PLAIN_VALUES) for oid in ATOMIC}
    return store


def plain_edge(dice: Dice) -> tuple[int, str, int, int]:
    parent, label, child, _ = random_edge(dice)
    return parent, label[0], child, 0


def one_update(dice: Dice, store: Store) -> tuple[ElementaryUpdate, Store]:
    after = store.copy()
    match dice.number(0, 2):
        case 0:
            parent, label, child, _ = plain_edge(dice)
            after.edges.add((parent, label, child, 0))
            return InsertEdge(parent, label, child), after
        case 1:
            parent, label, child, place = dice.pick(sorted(store.edges))
            after.edges.remove((parent, label, child, place))
            return DeleteEdge(parent, label, child), after
        case _:
            oid = dice.pick(ATOMIC)
            after.atoms[oid] = dice.pick(PLAIN_VALUES)
            return ChangeValue(oid, store.atoms[oid], after.atoms[oid]), after


def evaluated(statements: tuple[MaintenanceStatement, ...], before: Store, after: Store, primary: set[int]) -> Any:
    """ADD_prim, DEL_prim, ADD_adj and DEL_adj."""
    sets: dict[str, set[int]] = {"ADD_prim": set(), "DEL_prim": set()}
    edges: dict[str, set[Any]] = {"ADD_adj": set(), "DEL_adj": set()}
    state = Evaluation(after, sets, before)
    for statement in statements:
        if statement.label is None:
            item = statement.query.items[0].operand
            for env in state.bindings(statement.query, {}, share=False):
                sets[statement.target] |= state.objects(item, env)
    sets["V_prim"] = (primary - sets["DEL_prim"]) | sets["ADD_prim"]
    for statement in statements:
        if statement.label is not None:
            for env in state.bindings(statement.query, {}, share=False):
                ends = [state.objects(item.operand, env) for item in statement.query.items]
                edges[statement.target] |= {(a, statement.label, b, 0) for a in ends[0] for b in ends[1]}
    return sets["ADD_prim"], sets["DEL_prim"], edges["ADD_adj"], edges["DEL_adj"]


def test_oracle_maintenance_statements_agree_with_the_engine() -> None:
    counts = {"views": 0, "changed": 0, "adjunct": 0}
    for seed in range(90):
        dice = Dice(seed)
        (view,) = parse_lorel(Writer(dice, plain=True).view()).views
        form = canonical(view.parts[0].query)
        assert isinstance(form, CanonicalView), (seed, form)
        (program,) = translate_all((view,))
        db = hw.Database(compile_tree(program_tree((program,))))
        store = plain_store(dice)
        db.apply(insert=store.rows())
        counts["views"] += 1
        for _ in range(5):
            was = evaluate_part(Evaluation(store), view.parts[0].query)
            for _ in range(8):  # most updates change nothing: look for one that does
                update, after = one_update(dice, store)
                now = evaluate_part(Evaluation(after), view.parts[0].query)
                if now != was:
                    break
            changes = apply(db, store, after)
            assert evaluate_part(Evaluation(store), form.query).objects == was.objects, seed  # the same view
            known: tuple[Any, ...] = (None, Labels(store), touched(form, store))
            for place, about in enumerate(known):
                primary = was.objects if place == 2 else None
                statements = maintenance_statements(form, update, about, primary)
                agree(seed, was, now, evaluated(statements, store, after, was.objects))
            added, removed = shown(changes, program.parts[0].objects)
            assert {oid for (oid,) in added} == now.objects - was.objects, seed
            assert {oid for (oid,) in removed} == was.objects - now.objects, seed
            counts["changed"] += now.objects != was.objects
            counts["adjunct"] += now.edges != was.edges
            store = after
    assert counts["changed"] > 40, counts
    assert counts["adjunct"] > 15, counts


def agree(seed: int, was: ViewState, now: ViewState, sets: Any) -> None:
    add_primary, delete_primary, add_edges, delete_edges = sets
    assert (was.objects - delete_primary) | add_primary == now.objects, seed
    assert not delete_primary & now.objects, seed
    assert (was.edges - delete_edges) | add_edges == now.edges, seed
    assert not delete_edges & now.edges, seed


def touched(form: CanonicalView, store: Store) -> RelevantOids:
    """RelevantOids by the oracle: every object that a one-step path reaches, whatever the conditions say."""
    found: dict[str, set[int]] = {name: set(store.names[name]) for name in form.names}
    found |= {variable: set(store.names[name]) for name, variable in form.aliases}
    paths = [*form.primary_paths, *form.with_paths]
    for path in paths:  # a path stands behind the one that it begins with
        reached = {edge[2] for edge in store.edges if edge[0] in found[path.parent] and edge[1] == path.label}
        found.setdefault(path.child, set()).update(reached)
    return found


def test_oracle_relevant_variables_skip_nothing_that_matters() -> None:
    """For every kind of view: wildcards, closures, negation, subqueries, aggregates."""
    skipped = mattered = 0
    for seed in range(250):
        dice = Dice(seed + 1000)
        (view,) = parse_lorel(Writer(dice).view()).views
        store = plain_store(dice)
        for _ in range(3):
            was = [evaluate_part(Evaluation(store), part.query, at) for at, part in enumerate(view.parts)]
            for _ in range(5):
                update, after = one_update(dice, store)
                now = [evaluate_part(Evaluation(after), part.query, at) for at, part in enumerate(view.parts)]
                if was != now:
                    break
            mattered += was != now
            for about in (None, Labels(store)):
                relevance = relevant_variables(view, update, about)
                if not relevance.variables:
                    skipped += 1
                    assert [members(each) for each in was] == [members(each) for each in now], (seed, update)
                if not relevance:
                    assert was == now, (seed, update)
            store = after
    assert skipped > 200
    assert mattered > 60


def members(state: ViewState) -> Any:
    """What an update can change in a view apart from values that it shows."""
    return state.objects, state.made, state.made_edges, state.edges


def test_oracle_relevant_oids_are_maintained() -> None:
    for seed in range(12):
        dice = Dice(seed)
        (view,) = parse_lorel(Writer(dice, plain=True).view()).views
        form = canonical(view.parts[0].query)
        assert isinstance(form, CanonicalView)
        rules, (relations,) = relevant_oids(view)
        tree = program_tree(translate_all((view,)))
        db = hw.Database(compile_tree(type(tree)((*tree.statements, *rules, *queries(relations)))))
        store = plain_store(dice)
        db.apply(insert=store.rows())
        for _ in range(3):
            _, after = one_update(dice, store)
            apply(db, store, after)
            store = after
            expected = touched(form, store)
            for name in set(expected) & set(relations):
                assert {oid for (oid,) in db.rows(relations[name])} == expected[name], (seed, name)


def queries(relations: Any) -> list[Any]:
    from headwater.language.syntax import Atom, Query, Variable

    return [Query(Atom(relation, (Variable("X"),))) for relation in relations.values()]


def statements_agree(text: str, before: Store, update: ElementaryUpdate, after: Store) -> tuple[ViewState, ViewState]:
    (view,) = parse_lorel(text).views
    form = canonical(view.parts[0].query)
    assert isinstance(form, CanonicalView)
    was, now = (evaluate_part(Evaluation(store), view.parts[0].query) for store in (before, after))
    for about in (None, Labels(before), touched(form, before)):
        agree(0, was, now, evaluated(maintenance_statements(form, update, about), before, after, was.objects))
    return was, now


def test_a_derivation_that_used_the_deleted_edge_twice() -> None:
    """Figure 8 simulates the edge at one place only: the other place must read the path before the update."""
    before = Store({(1, "b", 2, 0), (2, "a", 3, 0)}, {}, {"N": {1}})
    after = Store({(1, "b", 2, 0)}, {}, {"N": {1}})
    text = "select r from N.b r, N.b q, r.a s, q.a t with r.a"
    was, now = statements_agree(text, before, DeleteEdge(2, "a", 3), after)
    assert (was.objects, now.objects) == ({2}, set())


def test_a_derivation_that_used_the_old_value_twice() -> None:
    """Example 7 reads the old value at one place only: the object may be bound to a second variable."""
    edges = {(1, "b", 2, 0), (2, "a", 20, 0), (2, "c", 20, 0)}
    before, after = (Store(set(edges), {20: value}, {"N": {1}}) for value in (1, 2))
    was, now = statements_agree("select r from N.b r where r.a = 1 and r.c = 1", before, ChangeValue(20, 1, 2), after)
    assert (was.objects, now.objects) == ({2}, set())


def test_an_object_with_an_equal_value_is_another_object() -> None:
    """The paper's `e' = e` would keep an atomic object in the view because another one has its value."""
    edges = {(1, "a", 20, 0), (1, "a", 21, 0)}
    before = Store(set(edges), {20: 1, 21: 1}, {"N": {1}})
    after = Store(edges - {(1, "a", 20, 0)}, {20: 1, 21: 1}, {"N": {1}})
    was, now = statements_agree("select e from N.a e where e = 1", before, DeleteEdge(1, "a", 20), after)
    assert (was.objects, now.objects) == ({20, 21}, {21})


def test_an_edge_of_an_object_that_is_not_in_the_view() -> None:
    """Figure 7 would add an edge as soon as its parent was bound to a variable."""
    before = Store({(1, "a", 2, 0), (2, "n", 20, 0)}, {20: 1}, {"N": {1}})
    after = Store({*before.edges, (2, "m", 20, 0)}, {20: 1}, {"N": {1}})
    was, now = statements_agree("select e from N.a e where e.n = 5 with e.m", before, InsertEdge(2, "m", 20), after)
    assert now.edges == was.edges == set()
