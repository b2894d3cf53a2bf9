"""Absorption provenance held against the oracle: rows, what-if, and every world of small databases."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given

import headwater as hw
from tests.engine.holding import hold, pairs
from tests.oracle.harness import Disagreement, Opener, check_maintenance, check_what_if, expectations
from tests.oracle.program import Row
from tests.oracle.scripts import Transaction
from tests.oracle.strategies import Case, cases, random_cases, seeds, template_case
from tests.oracle.templates import TEMPLATES
from tests.provenance.absorbing import Absorbing, facts_of, minimal, worlds_with

_FACTS = 6


def within_room(check, case: Case, open_: Opener = Absorbing) -> None:  # type: ignore[no-untyped-def]
    """Hold a check as far as there is room for all the values that aggregates may have."""

    def tried(case: Case, opener: Opener) -> None:
        try:
            check(case, opener)
        except hw.BudgetSpent:
            return

    hold(tried, case, open_)


def check_worlds(case: Case, open_: Opener, order: str = "arrival") -> None:
    """In the end, each row's provenance is true in exactly the worlds that have the row; so are all answers."""
    engine = open_(case.program)
    assert isinstance(engine, Absorbing)
    witness = hw.Database(engine.db.program)
    steps = list(expectations(case))
    for transaction, *_ in steps:
        for db in (engine.db, witness):
            db.apply(
                insert={name: list(rows) for name, rows in transaction.insert.items()},
                delete={name: list(rows) for name, rows in transaction.delete.items()},
            )
    alive = steps[-1][1]
    facts = facts_of(alive)
    if len(facts) > _FACTS:
        return
    found = worlds_with(case.reference, alive)
    for db in (engine.db, witness):
        for relation in case.program.outputs:
            for (name, row), having in found.items():
                if name == relation:
                    compare_row(db, relation, row, facts, having)


def compare_row(db, relation, row, facts, having) -> None:  # type: ignore[no-untyped-def]
    where = f"{relation}{row} with {db.provenance}"
    chance = {fact: (3 + at % 5) / 10 for at, fact in enumerate(sorted(facts, key=repr))}
    expected = sum(_weight(world, facts, chance) for world in having)
    by_relation: dict = {}  # type: ignore[type-arg]
    for (name, values), one in chance.items():
        by_relation.setdefault(name, {})[values] = one
    probability = db.probability(relation, row, by_relation)
    if abs(probability - expected) > 1e-9:
        raise Disagreement("probability", f"{where}: {probability} instead of {expected}")
    if facts not in having:
        return
    critical = db.critical(relation, row)
    lost = {fact for fact in facts if facts - {fact} not in having}
    if set(critical.facts) != lost or len(critical.facts) != len(lost):
        raise Disagreement("critical", f"{where}: {critical.facts} instead of {lost}")
    witnesses = db.witnesses(relation, row, None)
    if {frozenset(one) for one in witnesses} != minimal(having) or len(witnesses) != len(minimal(having)):
        raise Disagreement("witnesses", f"{where}: {witnesses} instead of {minimal(having)}")
    if [len(one) for one in witnesses] != sorted(map(len, witnesses)):
        raise Disagreement("order", f"{where}: {witnesses}")
    every = {frozenset(part) for part in _subsets(facts)}
    cuts = minimal({cut for cut in every if facts - cut not in having})
    if {frozenset(one) for one in critical.cuts(10_000)} != cuts:
        raise Disagreement("cuts", f"{where}: {critical.cuts(10_000)} instead of {cuts}")


def _weight(world, facts, chance) -> float:  # type: ignore[no-untyped-def]
    weight = 1.0
    for fact in facts:
        weight *= chance[fact] if fact in world else 1 - chance[fact]
    return weight


def _subsets(facts):  # type: ignore[no-untyped-def]
    ordered = list(facts)
    for number in range(1 << len(ordered)):
        yield [fact for at, fact in enumerate(ordered) if number >> at & 1]


@pairs(50)
@given(random_cases)
def test_oracle_rows_and_changes_of_random_programs(case: Case) -> None:
    within_room(check_maintenance, case)


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - {"lloyd"}))  # its averages differ in every single world
@pairs(3)
@given(seed=seeds)
def test_oracle_rows_and_changes_of_templates(name: str, seed: int) -> None:
    within_room(check_maintenance, template_case(name, seed))


@pairs(40)
@given(cases, seeds)
def test_oracle_what_if_is_read_off(case: Case, seed: int) -> None:
    within_room(partial(check_what_if, seed=seed), case)


@pairs(30)
@given(random_cases)
def test_oracle_provenance_is_true_in_the_worlds_that_have_the_row(case: Case) -> None:
    within_room(check_worlds, cut_down(case))


def cut_down(case: Case) -> Case:
    """The first few facts of a case, with one of them deleted and put back."""
    facts = [(name, row) for step in case.script for name, rows in step.insert.items() for row in rows]
    facts = list(dict.fromkeys(facts))[:_FACTS]
    if not facts:
        return case
    insert: dict[str, tuple[Row, ...]] = {}
    for name, row in facts:
        insert[name] = (*insert.get(name, ()), row)
    name, row = facts[-1]
    script = (Transaction(insert=insert), Transaction(delete={name: (row,)}), Transaction(insert={name: (row,)}))
    return replace(case, script=script)


def test_probability_over_all_worlds_of_twelve_links() -> None:
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("b", "d"), ("d", "e"), ("c", "e"), ("e", "a")]
    links += [("a", "e"), ("d", "a"), ("b", "a"), ("e", "b")]
    chance = {link: (1 + at) / 14 for at, link in enumerate(links)}
    expected: dict[Row, float] = {}
    for number in range(1 << len(links)):
        world = [link for at, link in enumerate(links) if number >> at & 1]
        weight = 1.0
        for link in links:
            weight *= chance[link] if link in world else 1 - chance[link]
        for pair in closure(world):
            expected[pair] = expected.get(pair, 0.0) + weight
    for mode in ("absorption", "witness"):
        db = hw.Database(hw.compile("r(X, Y) :- link(X, Y). r(X, Z) :- link(X, Y), r(Y, Z)."), provenance=mode)
        db.apply(insert={"link": links})
        assert db.rows("r") == expected.keys()
        for row, probability in expected.items():
            assert db.probability("r", row, {"link": chance}) == pytest.approx(probability)


def closure(links: list[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(links)
    while more := {(a, d) for a, b in links for c, d in found if b == c} - found:
        found |= more
    return found
