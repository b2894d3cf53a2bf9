"""The cost model of 001 against the numbers that its formulas give."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.language.lorel import ViewDefinition, parse_lorel
from headwater.semistructured.cost import GuideStatistics, ViewCost, view_cost
from headwater.semistructured.views.updates.canonical import CanonicalView, canonical

VIEW = """
define view FavoriteEntrees as
  Entrees = select e from Guide.Restaurant r, r.Entree e
            where exists x in r.Name: x = "Baghdad Cafe" and exists y in e.Ingredient: y = "Mushroom"
            with e.Name n, e.Ingredient i;
"""
PAPER = {  # section 5.1
    ("Guide",): 1,
    ("Guide", "Restaurant"): 1_000,
    ("Guide", "Restaurant", "Name"): 1_000,
    ("Guide", "Restaurant", "Entree"): 100_000,
    ("Guide", "Restaurant", "Entree", "Ingredient"): 1_000_000,
    ("Guide", "Restaurant", "Entree", "Name"): 200_000,
}


def cost(statistics: GuideStatistics) -> ViewCost:
    (view,) = parse_lorel(VIEW).statements
    assert isinstance(view, ViewDefinition)
    found = canonical(view.parts[0].query)
    assert isinstance(found, CanonicalView)
    return view_cost(found, statistics)


def test_recomputing_costs_what_example_8_says() -> None:
    assert cost(GuideStatistics(PAPER)).recompute == 1_000 + 100_000 + 1_000 + 2 * 1_000_000 + 200_000


def test_an_inserted_ingredient_costs_what_example_9_says() -> None:
    (update,) = (one for one in cost(GuideStatistics(PAPER)).updates if one.step.child == "y")
    restaurants, names, entree, ingredient, added = 1_000, 1_000, 1, 1, 0.5 * (2 + 10)
    assert update.incremental == pytest.approx(restaurants + names + entree + ingredient + added)


def test_an_edge_is_cheaper_to_follow_than_the_view_to_recompute() -> None:
    found = cost(GuideStatistics(PAPER))
    assert all(update.incremental < found.recompute / 100 for update in found.updates)
    assert all(update.engine <= update.incremental + 2 for update in found.updates)
    assert found.cheaper_until > 1_000


def test_statistics_come_from_the_guide_of_a_store() -> None:
    entree = {"Name": "a", "Ingredient": ["x", "y"]}
    guide = {"Restaurant": [{"Name": f"R{at}", "Entree": [entree] * 3} for at in range(10)]}
    found = cost(GuideStatistics.of(hw.Documents.from_json({"Guide": guide}).guide()))
    assert found.recompute == 10 + 30 + 10 + 2 * 60 + 30
