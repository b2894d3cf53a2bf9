"""Peer-to-peer search: programs and model find the same, and the model's numbers are what counting gives."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import headwater as hw
from headwater.core.functions.builtins import ring_position
from headwater.network.protocols import protocol
from headwater.network.search import (
    Question,
    SearchCost,
    WebSearch,
    compare,
    feasibility,
    questions,
    run_programs,
    zipf_library,
)
from headwater.network.search.compare import position
from headwater.network.search.library import Library
from headwater.network.search.ring import SIZE, Ring
from headwater.network.topologies import mesh, random_graph
from tests.network.protocols.references import cheapest, onward

NETWORK = random_graph(24, 30, seed=5)
LIBRARY = zipf_library(NETWORK.nodes, files=20, copies=60, vocabulary=12, words=3, seed=1)
ASKED = questions(LIBRARY, NETWORK.nodes, 12, seed=2)


def within(origin: str, horizon: int) -> dict[str, int]:
    graph = onward({(a, b) for a, b, _ in NETWORK.channels})
    far = {node: cost for node, (cost, _) in cheapest(graph, origin).items() if cost <= horizon}
    return {origin: 0, **far}


def holding(question: Question, of: Library) -> set[tuple[str, str]]:
    """(file, holder) of all answers that exist."""
    fits = (at for at, terms in enumerate(of.terms) if question.terms <= terms)
    return {(f"f{at}", node) for at in fits for node in of.holders[at]}


def asked_rows(found: list[Question]) -> list[tuple[str, str, str, str]]:
    return [(each.origin, f"q{at}", *(sorted(each.terms) * 2)[:2]) for at, each in enumerate(found)]


def test_oracle_the_flooding_program_finds_what_is_within_four_hops() -> None:
    db = hw.Database(protocol("flooding_search"))
    files = [
        (n, f"f{at}", term) for at, terms in enumerate(LIBRARY.terms) for n in LIBRARY.holders[at] for term in terms
    ]
    links = [(a, b) for a, b, _ in NETWORK.channels]
    db.apply(insert={"link": links, "file": files, "search": asked_rows(ASKED)})
    for at, question in enumerate(ASKED):
        near = within(question.origin, 4)
        expected = {(file, node) for file, node in holding(question, LIBRARY) if node in near}
        assert {row[2:] for row in db.rows("result") if row[:2] == (question.origin, f"q{at}")} == expected
    gone = [row for row in files if row[0] == files[0][0]]
    db.apply(delete={"file": gone})
    assert all(row[3] != files[0][0] for row in db.rows("result"))


def test_oracle_the_index_program_finds_everything() -> None:
    network = mesh(7, seed=4)
    of = zipf_library(network.nodes, files=8, copies=20, vocabulary=6, words=2, seed=3)
    asked = questions(of, network.nodes, 8, seed=4)
    files = [
        (n, f"f{at}", term, ring_position(term))
        for at, terms in enumerate(of.terms)
        for n in of.holders[at]
        for term in terms
    ]
    searches = [(o, q, a, ring_position(a), b, ring_position(b)) for o, q, a, b in asked_rows(asked)]
    db = hw.Database(protocol("inverted_index_search"))
    nodes = [(node, ring_position(node)) for node in network.nodes]
    links = [(a, b) for a, b, _ in network.channels]
    db.apply(insert={"link": links, "node": nodes, "file": files, "search": searches})
    for at, question in enumerate(asked):
        found = {row[2:] for row in db.rows("result") if row[:2] == (question.origin, f"q{at}")}
        assert found == holding(question, of)
    assert any(holding(question, of) for question in asked)


def test_oracle_horizon_and_crawl() -> None:
    links = [(a, b) for a, b, _ in NETWORK.channels]
    shares = [(node, f"f{at}") for at, holders in enumerate(LIBRARY.holders) for node in holders]
    db = hw.Database(protocol("horizon"))
    db.apply(insert={"link": links, "shares": shares, "watcher": [("n3",)]})
    near = within("n3", 3)
    inside = [row for row in shares if row[0] in near]
    assert db.rows("horizonNodes") == {("n3", len(near))}
    assert db.rows("horizonFiles") == {("n3", len(inside))}
    assert db.rows("freeLoader") == {("n3", node) for node in near if node not in {at for at, _ in inside}}
    copies = {file: sum(each == file for _, each in inside) for _, file in inside}
    best = max(copies.values())
    assert db.rows("popular") == {("n3", file, best) for file, count in copies.items() if count == best}
    crawl = hw.Database(protocol("crawl"))
    crawl.apply(insert={"link": links, "seed": [("n0",)]})
    everyone = within("n0", 99)
    degree = {node: sum(a == node for a, _ in links) for node in everyone}
    assert crawl.rows("crawled") == {("n0", node, far, degree[node]) for node, far in everyone.items()}
    assert crawl.rows("diameter") == {("n0", max(everyone.values()))}


def measured() -> dict[str, SearchCost]:
    costs = compare(NETWORK, LIBRARY, ASKED, horizon=3, near=1, wanted=3, rare_copies=3, rare_terms=9)
    return {cost.method: cost for cost in costs}


def test_recall_is_counted() -> None:
    found = total = 0
    for question in ASKED:
        near = within(question.origin, 3)
        total += len(holding(question, LIBRARY))
        found += sum(node in near for _, node in holding(question, LIBRARY))
    costs = measured()
    assert costs["flooding, 3 hops"].recall == found / total < 1
    assert costs["index of all files"].recall == costs["index of all files"].satisfied == 1
    assert costs["index of all files"].published == sum(3 * len(holders) for holders in LIBRARY.holders)
    for rarity in ("result size", "terms"):
        hybrid = costs[f"hybrid, rare by {rarity}"]
        assert 0 < hybrid.published < costs["index of all files"].published
        assert hybrid.published_bytes < costs["index of all files"].published_bytes
        alone = compare(NETWORK, LIBRARY, ASKED, horizon=1, near=1, wanted=3)[0]
        assert hybrid.recall > alone.recall


def test_a_flood_sends_over_every_link_but_the_one_it_came_by() -> None:
    question = Question("n0", frozenset({"nothing"}))
    cost = compare(NETWORK, LIBRARY, [question], horizon=2, near=2)[0]
    near = within("n0", 1)
    degree = {node: sum(a == node for a, _, _ in NETWORK.channels) for node in near}
    assert cost.question_bytes == 80 * sum(degree[node] - (node != "n0") for node in near)


def test_oracle_lookups_take_about_half_a_logarithm_of_hops() -> None:
    dice = random.Random(1)
    places = {f"n{at}": dice.randrange(SIZE) for at in range(500)}
    ring = Ring(places.items())
    hops = []
    for _ in range(500):
        key, start = dice.randrange(SIZE), f"n{dice.randrange(500)}"
        assert ring.owner(key) == min(places, key=lambda node: (places[node] - key) % SIZE)
        hops.append(ring.hops(start, key))
    assert max(hops) <= 2 * math.log2(500)
    assert math.log2(500) / 2 - 1 < sum(hops) / len(hops) < math.log2(500) / 2 + 1.5
    assert ring.hops("n7", places["n7"]) == 0
    assert position("a") == position("a") != position("b")


def test_the_arithmetic_of_web_search() -> None:
    told = feasibility(WebSearch())
    assert told.budget == 100e9 * 0.1 / 8 / 1000
    assert not told.flooding_fits
    assert not told.index_fits
    assert told.flooding < told.index
    assert feasibility(WebSearch(saving=told.saving_needed)).index_fits


@pytest.mark.parametrize("wrong", [{"documents": 0}, {"saving": -1}, {"share_for_search": 2}, {"peers": float("nan")}])
def test_arithmetic_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        WebSearch(**wrong)


def test_libraries_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError):
        zipf_library(NETWORK.nodes, files=10, copies=5)
    with pytest.raises(ValueError):
        compare(NETWORK, LIBRARY, ASKED, horizon=2, near=3)


def test_few_files_are_popular() -> None:
    counts = sorted((len(holders) for holders in LIBRARY.holders), reverse=True)
    assert counts[0] > 3 * counts[10]
    assert zipf_library(NETWORK.nodes, files=20, copies=60, vocabulary=12, words=3, seed=1) == LIBRARY


def test_agree_programs_find_what_the_count_finds() -> None:
    """The programs on nodes, and the count by plain Python: the same copies, whatever the messages cost."""
    network = random_graph(14, 14, 21)
    files = zipf_library(network.nodes, files=20, copies=90, vocabulary=25)
    asked = questions(files, network.nodes, 8)
    flood, index, hybrid = run_programs(network, files, asked, wanted=4)
    counted = {cost.method: cost for cost in compare(network, files, asked, horizon=4, near=3, wanted=4)}
    assert (flood.recall, index.recall) == (counted["flooding, 4 hops"].recall, 1.0)
    for told in ("recall", "distinct_recall"):
        assert getattr(hybrid, told) == getattr(counted["hybrid, rare by result size"], told)
    assert flood.distinct_recall < hybrid.distinct_recall < index.distinct_recall == 1
    assert flood.published_bytes == flood.joining_bytes == 0 < index.published_bytes


def test_programs_search_for_two_terms_at_most() -> None:
    with pytest.raises(ValueError, match="one or two terms, not for a, b, c"):
        run_programs(NETWORK, LIBRARY, [Question("n0", frozenset("abc"))])
