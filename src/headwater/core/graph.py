"""Directed graphs: strongly connected components and the shortest way round a cycle.

Nothing here recurses, so a chain of a hundred thousand relations is as good as one of three; both are linear.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(successors: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """Tarjan's strongly connected components; a component comes after all it leads to.

    Only the keys of `successors` are nodes; other targets are left out. Members stand in the order of the keys.
    """
    position = {node: place for place, node in enumerate(successors)}
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    found: list[tuple[Node, ...]] = []
    for root in successors:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in position:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(successors[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    found.append(tuple(sorted(members, key=position.__getitem__)))
    return found


def way(successors: Mapping[Node, Iterable[Node]], start: Node, goal: Node) -> tuple[Node, ...]:
    """A shortest path from `start` to `goal`, both included; just `start` if they are the same; empty if none."""
    came: dict[Node, Node] = {start: start}
    waiting = deque([start])
    while waiting and goal not in came:
        node = waiting.popleft()
        for target in successors.get(node, ()):
            if target not in came:
                came[target] = node
                waiting.append(target)
    if goal not in came:
        return ()
    path = [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return tuple(reversed(path))


def reachable(start: Node, successors: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """Everything that `start` leads to, itself included."""
    return reachable_from((start,), successors)


def reachable_from(starts: Iterable[Node], successors: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """Everything that some of `starts` leads to, these included."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        for target in successors.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found
