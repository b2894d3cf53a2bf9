"""examples/disjoint_paths.dl: its paths share no node in between and no link, and each is the best that is left."""

from __future__ import annotations

import heapq
import random
from itertools import pairwise
from pathlib import Path

import headwater as hw

EXAMPLE = Path(__file__).parents[1] / "examples" / "disjoint_paths.dl"
NODES = "abcdefgh"
Link = tuple[str, str, int]


def test_oracle_paths_are_disjoint_and_the_best_of_their_round() -> None:
    program = hw.compile_file(EXAMPLE)
    found = [0, 0, 0, 0]
    for seed in range(25):
        dice = random.Random(seed)
        db = hw.Database(program)
        links: set[Link] = set()
        for _ in range(6):
            come = {(*dice.sample(NODES, 2), dice.randint(1, 4)) for _ in range(dice.choice((1, 2, 14)))}
            go = set(dice.sample(sorted(links), len(links) // 4)) - come
            db.apply(insert={"link": sorted(come)}, delete={"link": sorted(go)})
            links = links - go | come
            paths = {number: (path, cost) for number, path, cost in db.rows("disjointPath")}
            assert paths == greedy(links)
            hold(paths, links)
            found[len(paths)] += 1
    assert all(count > 5 for count in found), "each number of paths comes up"


def hold(paths: dict[int, tuple[tuple[str, ...], int]], links: set[Link]) -> None:
    cheapest: dict[tuple[str, str], int] = {}
    for source, target, cost in links:
        cheapest[source, target] = min(cost, cheapest.get((source, target), cost))
    between = [node for path, _ in paths.values() for node in path[1:-1]]
    used = [step for path, _ in paths.values() for step in pairwise(path)]
    assert len(between) == len(set(between)), "no node stands on two paths"
    assert len(used) == len(set(used)), "nor does a link"
    assert not {"a", "b"} & set(between)
    for path, cost in paths.values():
        assert (path[0], path[-1]) == ("a", "b")
        assert sum(cheapest[step] for step in pairwise(path)) == cost


def greedy(links: set[Link]) -> dict[int, tuple[tuple[str, ...], int]]:
    """Round after round the least path by Dijkstra, without what the rounds before have used."""
    found: dict[int, tuple[tuple[str, ...], int]] = {}
    left = set(links)
    for number in (1, 2, 3):
        best = least(left)
        if best is None:
            break
        cost, path = best
        found[number] = path, cost
        gone = set(path[1:-1])
        direct = path == ("a", "b")
        left = {one for one in left if not gone & {*one[:2]} and not (direct and one[:2] == ("a", "b"))}
    return found


def least(links: set[Link]) -> tuple[int, tuple[str, ...]] | None:
    queue: list[tuple[int, tuple[str, ...]]] = [(0, ("a",))]
    done: set[str] = set()
    while queue:
        cost, path = heapq.heappop(queue)
        if path[-1] == "b":
            return cost, path
        if path[-1] not in done:
            done.add(path[-1])
            for source, target, more in links:
                if source == path[-1] and target not in path:
                    heapq.heappush(queue, (cost + more, (*path, target)))
    return None
