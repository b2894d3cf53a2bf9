"""Functions of base facts, held against truth tables."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headwater as hw
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.minimal_sets import MinimalSets
from headwater.provenance.functions.variables import Variables

Sets = list[frozenset[int]]
_VARIABLES = (3, 7, 100, 4_000, 65_532)
_WORLDS = [
    frozenset(world) for count in range(len(_VARIABLES) + 1) for world in itertools.combinations(_VARIABLES, count)
]
sums_of_products = st.lists(st.frozensets(st.sampled_from(_VARIABLES)), max_size=6)


def built(products: Sets) -> Function:
    function = absorption.never()
    for product in products:
        term = absorption.always()
        for variable in product:
            term = absorption.conjunction(term, absorption.literal(variable))
        function = absorption.disjunction(function, term)
    return function


def true_in(products: Sets, world: frozenset[int]) -> bool:
    return any(product <= world for product in products)


def minimal(products: Sets) -> set[frozenset[int]]:
    return {one for one in products if not any(other < one for other in products)}


@given(sums_of_products)
def test_function_is_true_where_its_products_are(products: Sets) -> None:
    function = built(products)
    for world in _WORLDS:
        assert absorption.holds(function, set(_VARIABLES) - world) == true_in(products, world)


@given(sums_of_products, sums_of_products)
def test_equal_functions_are_the_same(one: Sets, other: Sets) -> None:
    equal = all(true_in(one, world) == true_in(other, world) for world in _WORLDS)
    assert absorption.same(built(one), built(other)) == equal
    assert (hash(built(one)) == hash(built(other))) == equal


@pytest.mark.parametrize("seed", range(20))
def test_equal_functions_are_the_same_however_they_were_made(seed: int) -> None:
    dice = random.Random(seed)
    products = [frozenset(dice.sample(range(30), dice.randint(1, 4))) for _ in range(12)]
    gone = frozenset({30, 31, 32})
    more = [product | {dice.choice(sorted(gone))} for product in products[:6]]
    function = built(products)
    for _ in range(3):
        dice.shuffle(products)
        dice.shuffle(more)
        assert absorption.same(built([*products, *products[:4]]), function)
        mixed = [*products, *more]
        dice.shuffle(mixed)
        assert absorption.same(absorption.restrict(built(mixed), gone), function)
        half = absorption.difference(built(mixed), built(products[:5]))
        again = absorption.restrict(absorption.disjunction(half, built(products)), gone)
        assert absorption.same(again, function)
        assert absorption.to_bytes(again) == absorption.to_bytes(function)


@given(sums_of_products, st.frozensets(st.sampled_from(_VARIABLES)))
def test_restricted_function_forgets_the_facts(products: Sets, absent: frozenset[int]) -> None:
    left = [product for product in products if not product & absent]
    assert absorption.same(absorption.restrict(built(products), absent), built(left))


@given(sums_of_products, sums_of_products)
def test_difference(one: Sets, other: Sets) -> None:
    function = absorption.difference(built(one), built(other))
    for world in _WORLDS:
        expected = true_in(one, world) and not true_in(other, world)
        assert absorption.holds(function, set(_VARIABLES) - world) == expected


@given(sums_of_products)
def test_function_survives_as_bytes(products: Sets) -> None:
    function = built(products)
    again = absorption.from_bytes(absorption.to_bytes(function))
    assert absorption.same(again, function)
    assert absorption.support(again) == sorted(set().union(*minimal(products)) if products else set())


@pytest.mark.parametrize("count", [200, 300, 70_000])
def test_big_functions_survive_as_bytes(count: int) -> None:
    dice = random.Random(count)
    function = absorption.never()
    width = 9
    while absorption.size(function) < count:
        term = absorption.always()
        for variable in dice.sample(range(4 * width), width):
            term = absorption.conjunction(term, absorption.literal(variable))
        function = absorption.disjunction(function, term)
    assert absorption.same(absorption.from_bytes(absorption.to_bytes(function)), function)


@given(st.binary(max_size=60))
def test_any_other_bytes_are_refused(content: bytes) -> None:
    try:
        function = absorption.from_bytes(content)
    except ValueError:
        return
    assert absorption.same(absorption.from_bytes(absorption.to_bytes(function)), function)


@given(sums_of_products)
def test_minimal_sets(products: Sets) -> None:
    found = list(MinimalSets(absorption.diagram(built(products)), 10_000))
    assert {frozenset(one) for one in found} == minimal(products)
    assert found == sorted(found, key=lambda one: (len(one), one))
    assert len(MinimalSets(absorption.diagram(built(products)), 10_000)) == len(found)


@given(sums_of_products)
def test_minimal_sets_of_the_dual_are_the_cuts(products: Sets) -> None:
    cuts = [world for world in _WORLDS if not true_in(products, frozenset(_VARIABLES) - world)]
    found = list(MinimalSets(absorption.diagram(built(products)).dual(), 10_000))
    assert {frozenset(one) for one in found} == minimal(cuts)


@given(sums_of_products)
def test_needed_facts(products: Sets) -> None:
    expected = [one for one in _VARIABLES if not true_in(products, frozenset(_VARIABLES) - {one})]
    assert absorption.diagram(built(products)).needed() == (expected if products else [])


@given(sums_of_products, st.lists(st.fractions(0, 1), min_size=5, max_size=5))
def test_probability_sums_over_all_worlds(products: Sets, chances: list[Fraction]) -> None:
    chance = dict(zip(_VARIABLES, chances, strict=True))
    expected = Fraction(0)
    for world in _WORLDS:
        weight = Fraction(1)
        for variable in _VARIABLES:
            weight *= chance[variable] if variable in world else 1 - chance[variable]
        expected += weight * true_in(products, world)
    assert absorption.diagram(built(products)).probability(chance.__getitem__) == expected


def test_limit_stops_an_operation() -> None:
    pairs = built([frozenset({1, 101}), frozenset({2, 102}), frozenset({3, 103})])
    more = built([frozenset({4, 104}), frozenset({5, 105})])
    assert absorption.size(absorption.disjunction(pairs, more)) > 20
    with pytest.raises(hw.BudgetSpent, match="20 nodes"):
        absorption.disjunction(pairs, more, 20)


def test_deep_functions_have_minimal_sets() -> None:
    function = absorption.always()
    for variable in range(2_000):
        function = absorption.conjunction(function, absorption.literal(variable))
    assert list(MinimalSets(absorption.diagram(function), 100_000)) == [tuple(range(2_000))]
    assert len(MinimalSets(absorption.diagram(function).dual(), 100_000)) == 2_000


def test_too_many_ways_to_look_through() -> None:
    function = absorption.never()
    for variable in range(12):
        pair = absorption.conjunction(absorption.literal(variable), absorption.literal(variable + 12))
        function = absorption.disjunction(function, pair)
    with pytest.raises(hw.BudgetSpent):
        MinimalSets(absorption.diagram(function).dual(), 20)


@pytest.mark.parametrize("order", ["arrival", "value", lambda relation, row: -row[0]])
def test_variables_are_told_apart_whatever_comes_and_goes(order: object) -> None:
    dice = random.Random(7)
    variables = Variables(order)  # type: ignore[arg-type]
    present: set[tuple[str, tuple[int]]] = set()
    for _ in range(60):
        batch = {("link", (dice.randrange(300),)) for _ in range(20)}
        variables.add(batch)
        present |= batch
        for fact in dice.sample(sorted(present), 10):
            variables.discard(fact)
            present.remove(fact)
        numbers = {variables[fact] for fact in present}
        assert len(numbers) == len(present) == len(variables)
        assert all(0 <= number < 65_533 for number in numbers)
        assert all(variables.fact(variables[fact]) == fact for fact in present)


def test_order_by_value() -> None:
    variables = Variables("value")
    variables.add([("link", (9, 1)), ("link", (2, 7))])
    variables.add([("link", (5, 5)), ("link", (1, 1)), ("link", (6, 5))])
    assert sorted(variables, key=variables.__getitem__) == sorted(variables, key=lambda fact: fact[1])


def test_variables_run_out() -> None:
    variables = Variables()
    with pytest.raises(hw.BudgetSpent, match="65,533"):
        variables.add(("link", (number,)) for number in range(70_000))
    assert len(variables) == 0


def test_numbers_are_kept_when_restored() -> None:
    variables = Variables()
    variables.add([("a", (1,)), ("b", (2,)), ("c", (3,))])
    variables.discard(("b", (2,)))
    again = Variables()
    again.restore(variables.numbered().items())
    assert again.numbered() == variables.numbered()
    again.add([("d", (4,)), ("e", (5,))])
    assert sorted(again.numbered().values()) == [0, 1, 2, 3]


def test_unknown_order() -> None:
    with pytest.raises(ValueError, match="arrival"):
        Variables("best")  # type: ignore[arg-type]
