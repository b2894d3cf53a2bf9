"""Documents on shards of one process, random documents for random views, and what the oracle says of them."""

from __future__ import annotations

import json
from typing import Any

from headwater.engine.driver import drive_together
from headwater.exchange import Member, choose, hash_values, owners, ship
from headwater.language.lorel import parse_lorel
from headwater.semistructured.sharded import GivenDocument, base_changes, compile_for_shards, key_text
from tests.oracle.dice import Dice
from tests.semistructured.lorel_oracle import Evaluation, ViewState, evaluate_part
from tests.semistructured.lorel_values import Store

LABELS = ("a", "b", "ab")
ATOMS: tuple[Any, ...] = (1, 2, 3, "x", "y", "xy", 2.5, "1", "2.0", True, False, None, "", -7, 10)


class ShardedStore:
    """Shards in lockstep, and the documents that their feeds add up to."""

    def __init__(self, text: str, shards: int) -> None:
        compiled = compile_for_shards(text)
        self.views = compiled.views
        sharding = choose(compiled.program, {}, shards, kinds=("exchange", "single"))
        count = 1 if sharding.kind == "single" else shards
        self.members = [Member(sharding, number, count) for number in range(count)]
        self.shown: dict[str, dict[str, str]] = {name: {} for name in self.views.names}
        self.first = True

    def apply(self, put: dict[tuple[str, Any], Any], removed: list[tuple[str, Any]] = ()) -> int:
        """One transaction; how many documents of views came and went."""
        given: list[list[GivenDocument]] = [[] for _ in self.members]
        texts = {key: json.dumps(document).encode() for key, document in put.items()}
        for name, key in (*texts, *removed):
            home = owners(hash_values([f"{name}\0{key_text(key)}"]), len(self.members))[0]
            given[home].append(GivenDocument(name, key_text(key), texts.get((name, key))))
        changes = [base_changes(member, own) for member, own in zip(self.members, given, strict=True)]
        runs = [
            member.transaction(change.inserts, change.deletes, first=self.first, hold=True)
            for member, change in zip(self.members, changes, strict=True)
        ]
        outcomes = drive_together(runs, ship)
        count = 0
        for member, outcome, change in zip(self.members, outcomes, changes, strict=True):
            found = self.views.changes(member, outcome, change, first=self.first)
            for view, (came, went) in found.items():
                count += came.num_rows + went.num_rows
                for oid, text in zip(*went.to_pydict().values(), strict=True):
                    assert self.shown[view].pop(oid) == text, f"{view}: {oid} went, as it was not"
        for member, outcome, change in zip(self.members, outcomes, changes, strict=True):
            for view, (came, _) in self.views.changes(member, outcome, change, first=self.first).items():
                for oid, text in zip(*came.to_pydict().values(), strict=True):
                    assert oid not in self.shown[view], f"{view}: {oid} came twice"
                    self.shown[view][oid] = text
        self.first = False
        return count

    def documents(self, view: str) -> dict[str, str]:
        """What the shards show, read anew."""
        found: dict[str, str] = {}
        for member in self.members:
            rows = self.views.rows(member, view).to_pydict()
            for oid, text in zip(*rows.values(), strict=True):
                assert oid not in found, "two shards show one document"
                found[oid] = text
        return found


def random_document(dice: Dice) -> dict[str, Any]:
    return {label: _value(dice, 3) for label in LABELS if dice.chance(70)}


def _value(dice: Dice, depth: int) -> Any:
    if not depth or dice.chance(45):
        return dice.pick(ATOMS)
    if dice.chance(40):
        return [_item(dice, depth - 1) for _ in range(dice.number(0, 3))]
    return {label: _value(dice, depth - 1) for label in LABELS if dice.chance(60)}


def _item(dice: Dice, depth: int) -> Any:
    found = _value(dice, depth)
    if isinstance(found, dict) and dice.chance(50):
        found["id"] = dice.number(0, 3)
    return found


def random_changes(
    dice: Dice, there: dict[tuple[str, Any], Any], count: int = 3
) -> tuple[dict[tuple[str, Any], Any], list[tuple[str, Any]]]:
    """Documents to put, new ones and edited ones, and keys to remove."""
    put: dict[tuple[str, Any], Any] = {}
    removed = []
    for _ in range(dice.number(1, count)):
        key = (dice.pick("NM"), dice.number(1, 5))
        if key in put or key in removed:
            continue
        if key in there and dice.chance(30):
            removed.append(key)
        elif key in there and dice.chance(60):
            put[key] = {**there[key], dice.pick(LABELS): _value(dice, 2)}
        else:
            put[key] = random_document(dice)
    return put, removed


# The oracle's documents


def graph(documents: dict[tuple[str, Any], Any]) -> Store:
    """Documents as a graph, with ids of its own."""
    store = Store()
    count = 0

    def add(value: Any) -> int:
        nonlocal count
        count += 1
        oid = count
        if isinstance(value, dict):
            for label, member in value.items():
                if isinstance(member, list):
                    store.edges.update((oid, label, add(item), at) for at, item in enumerate(member))
                else:
                    store.edges.add((oid, label, add(member), -1))
        elif isinstance(value, list):
            store.edges.update((oid, "[]", add(item), at) for at, item in enumerate(value))
        else:
            store.atoms[oid] = value
        return oid

    for (name, _), document in documents.items():
        store.names.setdefault(name, set()).add(add(document))
    return store


def expected(text: str, documents: dict[tuple[str, Any], Any]) -> list[Any]:
    """The documents of the only view, in canonical form, sorted."""
    store = graph(documents)
    (view,) = parse_lorel(text).views
    states = [evaluate_part(Evaluation(store), named.query, place) for place, named in enumerate(view.parts, 1)]
    edges = set().union(*(state.edges for state in states))
    roots: dict[Any, Any] = {}
    for state in states:
        _add_roots(roots, state, store, edges)
    return sorted((canonical(one) for one in roots.values()), key=repr)


def _add_roots(roots: dict[Any, Any], state: ViewState, store: Store, edges: set[Any]) -> None:
    for oid in state.objects:
        roots[oid] = rendered(oid, store, edges)
    for made in state.made:
        members: dict[str, list[Any]] = {}
        arrays = set()
        for _, label, child, place in (row for row in state.made_edges if row[0] == made):
            members.setdefault(label, []).append(rendered(child, store, edges))
            arrays |= {label} if place >= 0 else set()
        for _, label, kind, words, number in (row for row in state.made_values if row[0] == made):
            members.setdefault(label, []).append(plain(kind, words, number))
        roots[made] = {
            label: found if len(found) > 1 or label in arrays else found[0] for label, found in members.items()
        }
    for oid, kind, words, number in state.values:
        roots[oid] = plain(kind, words, number)


def rendered(oid: int, store: Store, edges: set[Any], above: tuple[int, ...] = ()) -> Any:
    if oid in store.atoms:
        return store.atoms[oid]
    members: dict[str, list[Any]] = {}
    arrays = set()
    for _, label, child, place in sorted(edge for edge in edges if edge[0] == oid):
        members.setdefault(label, []).append(rendered(child, store, edges, (*above, oid)))
        arrays |= {label} if place >= 0 else set()
    found = {label: each if len(each) > 1 or label in arrays else each[0] for label, each in members.items()}
    return found.get("[]", found)


def plain(kind: str, words: str | None, number: float | None) -> Any:
    match kind:
        case "null":
            return None
        case "int":
            return int(words) if words is not None else int(number or 0)
        case "real":
            return float(words) if words is not None else number
        case "bool":
            return words == "true"
    return words


def canonical(value: Any) -> Any:
    """A value in which neither the order of members nor that of items counts; 1, 1.0 and true differ."""
    if isinstance(value, dict):
        return tuple(sorted(((name, canonical(item)) for name, item in value.items()), key=repr))
    if isinstance(value, list):
        return ("list", *sorted(map(canonical, value), key=repr))
    return type(value).__name__, value
