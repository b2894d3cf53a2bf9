"""What each protocol must compute, in plain Python: shares no code with src.

A world is the base rows by relation; a reference gives the rows of each view. Links are rows (src, dst, ...).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

Rows: TypeAlias = set[tuple[Any, ...]]
World: TypeAlias = dict[str, Rows]
Onward: TypeAlias = dict[str, list[tuple[str, Any]]]


def onward(links: Rows, value: int = 2) -> Onward:
    found: Onward = {}
    for row in links:
        found.setdefault(row[0], []).append((row[1], row[value] if len(row) > value else 1))
    return found


def nodes(links: Rows) -> set[str]:
    return {node for row in links for node in row[:2]}


def cheapest(graph: Onward, start: str) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Dijkstra over (cost, path): of equally cheap paths the smallest."""
    done: dict[str, tuple[Any, tuple[str, ...]]] = {}
    pending: list[tuple[Any, tuple[str, ...]]] = [(0, (start,))]
    while pending:
        cost, path = heapq.heappop(pending)
        if path[-1] in done:
            continue
        done[path[-1]] = cost, path
        for other, more in graph.get(path[-1], []):
            if other not in done:
                heapq.heappush(pending, (cost + more, (*path, other)))
    del done[start]
    return done


def cheapest_reversed(graph: Onward, start: str) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """The same, but of equally cheap paths the one that is smallest when read from its end."""
    done: dict[str, tuple[Any, tuple[str, ...]]] = {}
    pending: list[tuple[Any, tuple[str, ...]]] = [(0, (start,))]
    while pending:
        cost, path = heapq.heappop(pending)
        if path[0] in done:
            continue
        done[path[0]] = cost, path
        for other, more in graph.get(path[0], []):
            if other not in done:
                heapq.heappush(pending, (cost + more, (other, *path)))
    del done[start]
    return {node: (cost, path[::-1]) for node, (cost, path) in done.items()}


def simple_paths(graph: Onward, start: str, most: int) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Every path that visits no node twice, of at most so many hops."""
    pending: list[tuple[Any, tuple[str, ...]]] = [(0, (start,))]
    while pending:
        cost, path = pending.pop()
        if len(path) > 1:
            yield cost, path
        if len(path) <= most:
            pending += [(cost + more, (*path, other)) for other, more in graph.get(path[-1], []) if other not in path]


def reached(graph: Onward, start: str) -> set[str]:
    """Along at least one link: the start itself only on a cycle."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        for other, _ in graph.get(pending.pop(), []):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen


def reachability(world: World) -> World:
    graph = onward(world["link"])
    return {"reachable": {(node, other) for node in graph for other in reached(graph, node)}}


def distance_vector(world: World) -> World:
    graph = onward(world["link"])
    found: Rows = set()
    distances = {node: {other: cost for other, (cost, _) in cheapest(graph, node).items()} for node in graph}
    for node, costs in distances.items():
        for target, cost in costs.items():
            if cost < 16:
                for other, step in graph[node]:
                    if step + (0 if other == target else distances.get(other, {}).get(target, 99)) == cost:
                        found.add((node, target, other, cost))
    return {"nextHop": found}


def path_vector(world: World) -> World:
    graph = onward(world["link"])
    return {"path": {(node, to, *best) for node in graph for to, best in cheapest(graph, node).items()}}


def link_state(world: World) -> World:
    """A node knows the links that can reach it against their direction; here links have both directions."""
    graph = onward(world["link"])
    routes = ((node, to, best) for node in graph for to, best in cheapest_reversed(graph, node).items())
    return {"nextHop": {(node, to, path[1], cost) for node, to, (cost, path) in routes}}


def best_path(world: World) -> World:
    """All cheapest paths, also equally cheap ones."""
    graph = onward(world["link"])
    distances = {node: {to: cost for to, (cost, _) in cheapest(graph, node).items()} for node in nodes(world["link"])}

    def paths(start: str, to: str) -> Iterator[tuple[str, ...]]:
        if start == to:
            yield (to,)
            return
        for other, step in graph.get(start, []):
            rest = 0 if other == to else distances[other].get(to)
            if rest is not None and step + rest == distances[start][to]:
                yield from ((start, *tail) for tail in paths(other, to))

    found = {(a, b, path, cost) for a, costs in distances.items() for b, cost in costs.items() for path in paths(a, b)}
    return {"bestPath": found}


def k_best_paths(world: World) -> World:
    graph = onward(world["link"])
    found: Rows = set()
    for node in graph:
        ends: dict[str, list[tuple[Any, tuple[str, ...]]]] = {}
        for cost, path in simple_paths(graph, node, 4):
            ends.setdefault(path[-1], []).append((cost, path))
        found |= {(node, to, path, cost) for to, ranked in ends.items() for cost, path in sorted(ranked)[:3]}
    return {"kBest": found}


def widest_path(world: World) -> World:
    """By bandwidths from the widest down: a pair is as wide as the first that connects it; then fewest hops."""
    links = world["link"]
    width: dict[tuple[str, str], float] = {}
    for bandwidth in sorted({row[2] for row in links}, reverse=True):
        graph = onward({row for row in links if row[2] >= bandwidth})
        for node in graph:
            for other in reached(graph, node):
                if node != other:
                    width.setdefault((node, other), bandwidth)
    found: Rows = set()
    for to in nodes(links):
        steps: Onward = {}
        for a, b, bandwidth in links:
            beyond = bandwidth if b == to else min(bandwidth, width.get((b, to), 0.0))
            if a != to and beyond == width.get((a, to)):
                steps.setdefault(a, []).append((b, 1))
        for node in steps:
            best = cheapest(steps, node).get(to)
            if best is not None:
                found.add((node, to, best[1], width[node, to]))
    return {"widestPath": found}


def bounded_delay(world: World) -> World:
    graph: Onward = {}
    for a, b, cost, delay in world["link"]:
        graph.setdefault(a, []).append((b, (cost, delay)))
    found: Rows = set()
    for start in graph:
        best: dict[str, tuple[Any, ...]] = {}
        pending = [(0, 0, (start,))]
        while pending:
            cost, delay, path = pending.pop()
            if len(path) > 1:
                best[path[-1]] = min(best.get(path[-1], (cost, delay, path)), (cost, delay, path))
            for other, (more, later) in graph.get(path[-1], []):
                if other not in path and delay + later <= 100:
                    pending.append((cost + more, delay + later, (*path, other)))
        found |= {(start, to, path, cost, delay) for to, (cost, delay, path) in best.items()}
    return {"boundedPath": found}


def policy_routing(world: World) -> World:
    """Per destination, Dijkstra from the destination outwards over the steps that both filters allow."""
    extra = {row[:2]: row[2] for row in world["surcharge"]}
    found: Rows = set()
    for to in nodes(world["link"]):
        allowed: Onward = {}
        for a, b, cost in world["link"]:
            if a != to and (a, b, to) not in world["noImport"] and (b, a, to) not in world["noExport"]:
                allowed.setdefault(a, []).append((b, cost + extra.get((a, b), 0)))
        for node in allowed:
            best = cheapest(allowed, node).get(to)
            if best is not None:
                found.add((node, to, *best))
    return {"path": found}


def dynamic_source_routing(world: World) -> World:
    graph = onward(world["link"])
    found: Rows = set()
    for node, to in world["request"]:
        best = cheapest_reversed(graph, node).get(to) if node != to else None
        if best is not None:
            found.add((node, to, best[1], best[0]))
    return {"route": found}


def hops(world: World) -> dict[tuple[str, str], int]:
    graph = onward({row[:2] for row in world["link"]})
    return {(node, to): cost for node in graph for to, (cost, _) in cheapest(graph, node).items()}


def disjoint(world: World, *, by_links: bool) -> World:
    found: Rows = set()
    for start, to in world["pair"]:
        links = set(world["link"])
        for number in (1, 2, 3):
            best = cheapest_reversed(onward(links), start).get(to) if start != to else None
            if best is None:
                break
            cost, path = best
            found.add((start, to, number, path, cost))
            gone = {frozenset(step) for step in pairwise(path)}
            if by_links:
                links = {row for row in links if frozenset(row[:2]) not in gone}
            else:
                inner = set(path[1:-1])
                links = {row for row in links if not inner & set(row[:2])}
                if len(path) == 2:
                    links = {row for row in links if row[:2] != (start, to)}
    return {"disjointPath": found}


def node_disjoint_paths(world: World) -> World:
    return disjoint(world, by_links=False)


def link_disjoint_paths(world: World) -> World:
    return disjoint(world, by_links=True)


def multicast_source_tree(world: World) -> World:
    graph = onward(world["link"])
    forward: Rows = set()
    delivered: Rows = set()
    for source, channel in world["source"]:
        for listener in (at for at, what in world["listener"] if what == channel):
            path = (source,) if listener == source else cheapest(graph, listener).get(source, (0, ()))[1]
            forward |= {(after, source, channel, before) for before, after in pairwise(path)}
            if path:
                delivered.add((listener, source, channel))
    return {"forward": forward, "delivered": delivered}


def multicast_shared_tree(world: World) -> World:
    graph = onward(world["link"])
    forward: Rows = set()
    delivered: Rows = set()
    for core, channel in world["core"]:

        def to_core(node: str, core: str = core) -> tuple[str, ...]:
            return (core,) if node == core else cheapest(graph, node).get(core, (0, ()))[1]

        listeners = [at for at, what in world["listener"] if what == channel and to_core(at)]
        for listener in listeners:
            forward |= {(after, channel, before) for before, after in pairwise(to_core(listener))}
        senders = [at for at, what in world["sender"] if what == channel and to_core(at)]
        delivered |= {(listener, channel, sender) for listener in listeners for sender in senders}
    return {"forward": forward, "delivered": delivered}


def epidemic_membership(world: World) -> World:
    graph = onward(world["link"])
    beats = dict(world["beat"])
    heard = {(n, m) for n in nodes(world["link"]) | set(beats) for m in {n, *reached(graph, n)} if m in beats}
    suspect = {(n, m) for n, m in heard if n in beats and beats[n] - beats[m] > 3}
    return {"alive": heard - suspect, "suspect": suspect}


RING = 65536


def owners(ids: dict[str, int], keys: Iterable[int]) -> dict[int, str]:
    """The first node at or after each key."""
    return {key: min(ids, key=lambda node: (ids[node] - key) % RING) for key in keys}


REFERENCES: dict[str, Callable[[World], World]] = {
    reference.__name__: reference
    for reference in (
        reachability,
        distance_vector,
        path_vector,
        link_state,
        best_path,
        k_best_paths,
        widest_path,
        bounded_delay,
        policy_routing,
        dynamic_source_routing,
        node_disjoint_paths,
        link_disjoint_paths,
        multicast_source_tree,
        multicast_shared_tree,
        epidemic_membership,
    )
}
