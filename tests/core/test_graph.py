"""Components and ways round, against brute force on random graphs."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.graph import components, way

graphs = st.integers(1, 7).flatmap(
    lambda size: st.fixed_dictionaries({node: st.lists(st.integers(0, size), max_size=4) for node in range(size)})
)


def reachable(graph: dict[int, list[int]], start: int) -> set[int]:
    seen, more = set[int](), {start}
    while more - seen:
        seen |= more
        more = {target for node in seen for target in graph.get(node, ())}
    return seen


@given(graphs)
def test_oracle_components(graph: dict[int, list[int]]) -> None:
    found = components(graph)
    assert sorted(node for members in found for node in members) == sorted(graph)
    done: set[int] = set()
    for members in found:
        for node in members:
            mutual = {other for other in reachable(graph, node) & graph.keys() if node in reachable(graph, other)}
            assert mutual == set(members)
            assert reachable(graph, node) & graph.keys() <= done | set(members)
        done.update(members)


@given(graphs, st.integers(0, 7), st.integers(0, 7))
def test_ways(graph: dict[int, list[int]], start: int, goal: int) -> None:
    path = way(graph, start, goal)
    assert bool(path) is (goal in reachable(graph, start))
    if path:
        assert (path[0], path[-1]) == (start, goal)
        assert all(there in graph[here] for here, there in pairwise(path))


def test_a_long_chain_needs_no_stack() -> None:
    size = 50_000
    chain = {node: [(node + 1) % size] for node in range(size)}
    assert len(components(chain)) == 1
    assert len(way(chain, 0, size - 1)) == size
