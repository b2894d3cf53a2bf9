"""Rows that are searched for from one end or both are those that the rules derive, whatever comes and goes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.engine.shard import Shard

PATHS = """
path(X, Y, C) :- link(X, Y, C).
path(X, Y, C) :- link(X, Z, A), path(Z, Y, B), C = A + B.
shortest(X, Y, min<C>) :- path(X, Y, C).
query shortest($From, $To, C).
"""
REACH = """
leads(Y, X) :- link(X, Y, _).
leads(Z, X) :- leads(Y, X), link(Y, Z, _).
query leads($To, $From).
"""
HOPS = """
path(X, Y, 1) :- link(X, Y, _).
path(X, Y, C) :- path(X, Z, A), link(Z, Y, _), C = A + 1.
hops(min<C>, Y, X) :- path(X, Y, C).
query hops(C, $To, $From).
"""
Link = tuple[int, int, int]
LINKS = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 4)), max_size=14)


def cheapest(links: Iterable[Link], start: int, goal: int) -> int | None:
    """The least cost of one link or more."""
    waiting, done = [(cost, there) for here, there, cost in links if here == start], set[int]()
    heapq.heapify(waiting)
    while waiting:
        cost, node = heapq.heappop(waiting)
        if node == goal:
            return cost
        if node not in done:
            done.add(node)
            for here, there, more in links:
                if here == node:
                    heapq.heappush(waiting, (cost + more, there))
    return None


@given(first=LINKS, gone=LINKS, more=LINKS, ends=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=6))
def test_what_is_found_is_the_cheapest(
    first: set[Link], gone: set[Link], more: set[Link], ends: list[tuple[int, int]]
) -> None:
    paths, reach, hops = (hw.Database(hw.compile(text)) for text in (PATHS, REACH, HOPS))
    now: set[Link] = set()
    for inserted, deleted in ((first | {(9, 9, 1)}, set[Link]()), (more, gone)):
        now = (now - deleted) | inserted
        for db in (paths, reach, hops):
            db.apply(insert={"link": inserted}, delete={"link": deleted})
        for start, goal in ends:
            cost = cheapest(now, start, goal)
            assert paths.ask("shortest", From=start, To=goal) == (set() if cost is None else {(start, goal, cost)})
            assert reach.ask("leads", From=start, To=goal) == (set() if cost is None else {(goal, start)})
            fewest = cheapest([(here, there, 1) for here, there, _ in now], start, goal)
            assert hops.ask("hops", From=start, To=goal) == (set() if fewest is None else {(fewest, goal, start)})


ONE_ENDED = [
    PATHS.replace("$To", "To"),
    PATHS.replace("$From", "_"),
    HOPS.replace("$To", "To"),
    HOPS.replace("$From", "From"),
    REACH.replace("$To", "To"),
    REACH.replace("$From", "From"),
]


@pytest.mark.parametrize("text", ONE_ENDED)
@settings(max_examples=20)
@given(first=LINKS, gone=LINKS, more=LINKS)
def test_oracle_what_is_found_from_one_end_is_what_both_ends_give(
    text: str, first: set[Link], gone: set[Link], more: set[Link]
) -> None:
    db = hw.Database(hw.compile(text))
    view, (parameter,) = db.program.outputs[0], db.program.checked.queries[0].parameters
    now: set[Link] = set()
    for inserted, deleted in ((first | {(9, 9, 1)}, set[Link]()), (more, gone)):
        now = (now - deleted) | inserted
        db.apply(insert={"link": inserted}, delete={"link": deleted})
        each = 1 if view == "hops" else None
        priced = [(here, there, each or cost) for here, there, cost in now]
        for end in (0, 3, 9):
            pairs = ((end, other) if parameter == "From" else (other, end) for other in range(10))
            ways = {pair: cost for pair in pairs if (cost := cheapest(priced, *pair)) is not None}
            rows = {
                "shortest": {(start, goal, cost) for (start, goal), cost in ways.items()},
                "hops": {(cost, goal, start) for (start, goal), cost in ways.items()},
                "leads": {(goal, start) for start, goal in ways},
            }
            assert db.ask(view, **{parameter: end}) == rows[view]


def test_agree_a_search_from_one_end_of_many_values() -> None:
    """Tables of a search grow: words as values, costs that improve, ways round in circles."""
    size = 700
    links = [(f"n{at}", f"n{(at * 7 + step) % size}", 1 + (at * step) % 9) for at in range(size) for step in (1, 2, 3)]
    links += [("n5", "n5", 0), ("far", "n1", 3)]
    for text in ONE_ENDED:
        searched, ruled = (hw.Database(hw.compile(text, disabled=off)) for off in ([], ["searched_ways"]))
        (parameter,) = searched.program.checked.queries[0].parameters
        view = searched.program.outputs[0]
        for db in (searched, ruled):
            db.apply(insert={"link": links})
            db.apply(delete={"link": links[::9]})
        assert "is searched from there" in searched.program.explain()
        assert "is searched" not in ruled.program.explain()
        for end in ("n5", "far", "nowhere"):
            given = {parameter: end}
            assert searched.ask(view, **given) == ruled.ask(view, **given)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What every search has reached from either end."""
    found: list[tuple[int, int]] = []
    search = Shard.search_between

    def noted(shard: Shard, *given: Any) -> Any:
        outcome = search(shard, *given)
        if outcome is not None:
            found.append(outcome.reached)
        return outcome

    monkeypatch.setattr(Shard, "search_between", noted)
    return found


def test_a_search_sees_little_of_a_wide_graph(searched: list[tuple[int, int]]) -> None:
    size = 20_000
    links = [(at, (at * 7 + step) % size, 1 + (at + step) % 5) for at in range(size) for step in (1, 2, 3)]
    db = hw.Database(hw.compile(PATHS))
    db.apply(insert={"link": links})
    ((start, goal, cost),) = db.ask("shortest", From=3, To=17_771)
    assert (start, goal) == (3, 17_771)
    assert cost > 0
    ((here, there),) = searched
    assert here + there < size // 4
    rules = hw.Database(hw.compile(PATHS.replace("$From", "3")))
    rules.apply(insert={"link": links})
    assert rules.ask("shortest", To=17_771) == {(3, 17_771, cost)}


def test_rules_answer_where_a_cost_is_negative_or_no_int(searched: list[tuple[int, int]]) -> None:
    for cost in (-1, 1.5):
        db = hw.Database(hw.compile(PATHS))
        db.apply(insert={"link": [("a", "b", cost), ("b", "c", cost)]})
        assert db.ask("shortest", From="a", To="c") == {("a", "c", 2 * cost)}
        one_ended = hw.Database(hw.compile(PATHS.replace("$To", "To")))
        one_ended.apply(insert={"link": [("a", "b", cost), ("b", "c", cost)]})
        assert one_ended.ask("shortest", From="a") == {("a", "b", cost), ("a", "c", 2 * cost)}
    assert searched == []


@pytest.mark.parametrize("given", [{"From": "a"}, {"From": "a", "To": "c"}, {"From": "a", "To": "d"}])
def test_rules_answer_where_a_sum_does_not_fit(given: dict[str, str], searched: list[tuple[int, int]]) -> None:
    db = hw.Database(hw.compile(PATHS if "To" in given else PATHS.replace("$To", "To")))
    db.apply(insert={"link": [("a", "b", 2**62), ("b", "c", 2**62), ("c", "d", 5)]})
    with pytest.raises(hw.HeadwaterError, match="does not fit into 64 bits"):
        db.ask("shortest", **given)
    assert searched == []


def test_what_is_followed_is_kept_by_rules(searched: list[tuple[int, int]]) -> None:
    db = hw.Database(hw.compile(PATHS))
    db.apply(insert={"link": [("a", "b", 1), ("b", "c", 2)]})
    with db.follow("shortest", From="a", To="c") as live:
        assert live.rows == db.ask("shortest", From="a", To="c") == {("a", "c", 3)}
        db.apply(delete={"link": [("b", "c", 2)]})
        assert live.rows == set()
    assert searched == []
    assert db.ask("shortest", From="a", To="b") == {("a", "b", 1)}
    assert db.ask("shortest", From="nowhere", To="b") == set()
    assert len(searched) == 2
