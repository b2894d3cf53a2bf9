"""Reachability, shortest paths and components on real graphs, while their links fail.

    python benchmarks/real.py --data DIR [--failures 50] [--networks N]

DIR holds `p2p-gnutella04.csv` (src, dst: the Gnutella network) and `topology-zoo.csv` (network, a, b, km: 276
networks); a file that is not there is skipped. Each view is loaded, then links fail one transaction at a time. After
the load and after every tenth failure the view is held against independent code: breadth-first search and Dijkstra
in plain Python. The cost of a failure is given as a fraction of our own load.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import headwater as hw
from programs import COMPONENTS, REACH, SHORTEST

Link = tuple[Any, ...]  # from, to, and a weight for shortest paths
Rows = set[tuple[Any, ...]]

CHECK_EVERY = 10


@dataclass(frozen=True, slots=True)
class Job:
    """One view over one graph: the program, its fixed rows, and code of its own that knows the answer."""

    graph: str
    title: str
    program: str
    view: str
    links: list[Link]
    fixed: dict[str, list[tuple[Any, ...]]]
    answer: Callable[[Iterable[Link]], Rows]


def neighbours(links: Iterable[Link]) -> dict[Any, list[tuple[Any, int]]]:
    found: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
    for link in links:
        found[link[0]].append((link[1], link[2] if len(link) > 2 else 0))
    return found


def reached(source: Any) -> Callable[[Iterable[Link]], Rows]:
    def answer(links: Iterable[Link]) -> Rows:
        near = neighbours(links)
        seen, todo = {source}, [source]
        while todo:
            for other, _ in near[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return {(node,) for node in seen}

    return answer


def distances(source: Any) -> Callable[[Iterable[Link]], Rows]:
    def answer(links: Iterable[Link]) -> Rows:
        near = neighbours(links)
        best: dict[Any, int] = {}
        todo: list[tuple[int, Any]] = [(0, source)]
        while todo:
            cost, node = heapq.heappop(todo)
            if node in best:
                continue
            best[node] = cost
            for other, weight in near[node]:
                if other not in best:
                    heapq.heappush(todo, (cost + weight, other))
        return set(best.items())

    return answer


def labels(nodes: list[Any]) -> Callable[[Iterable[Link]], Rows]:
    def answer(links: Iterable[Link]) -> Rows:
        near: dict[Any, list[Any]] = defaultdict(list)
        for link in links:
            near[link[0]].append(link[1])
            near[link[1]].append(link[0])
        label: dict[Any, Any] = {}
        for least in sorted(nodes):
            todo = [] if least in label else [least]
            while todo:
                node = todo.pop()
                if node not in label:
                    label[node] = least
                    todo.extend(near[node])
        return set(label.items())

    return answer


def jobs_of(graph: str, links: list[Link], weighted: list[Link]) -> list[Job]:
    nodes = sorted({node for link in links for node in link[:2]})
    degree: dict[Any, int] = defaultdict(int)
    for link in links:
        degree[link[0]] += 1
    source = max(nodes, key=lambda node: (degree[node], node))
    start = {"source": [(source,)]}
    every = {"node": [(node,) for node in nodes]}
    return [
        Job(graph, "reachability", REACH, "reach", links, start, reached(source)),
        Job(graph, "shortest path", SHORTEST, "dist", weighted, start, distances(source)),
        Job(graph, "components", COMPONENTS, "label", links, every, labels(nodes)),
    ]


def gnutella(file: Path) -> list[Job]:
    with file.open(newline="") as lines:
        links: list[Link] = [(int(row["src"]), int(row["dst"])) for row in csv.DictReader(lines)]
    pick = random.Random(4)  # the network has no weights of its own
    return jobs_of("Gnutella", links, [(*link, pick.randint(1, 100)) for link in links])


def zoo(file: Path, networks: int | None) -> list[Job]:
    """All networks as one graph of many islands; shortest paths within the network that has the most links.

    Links without kilometres weigh 1. They are two-way, so each becomes two rows, but fails as one.
    """
    by_network: dict[str, set[Link]] = defaultdict(set)
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            ends = (f"{row['network']}/{row['a']}", f"{row['network']}/{row['b']}")
            km = int(float(row["km"])) if row["km"] else 1
            if ends[0] != ends[1]:
                by_network[row["network"]] |= {(*ends, km), (*ends[::-1], km)}
    chosen = dict(sorted(by_network.items())[:networks])
    weighted = sorted(link for links in chosen.values() for link in links)
    largest = max(chosen, key=lambda name: (len(chosen[name]), name))
    title = f"Topology Zoo ({len(chosen)})"
    everywhere = jobs_of(title, sorted({link[:2] for link in weighted}), weighted)
    within = sorted(chosen[largest])
    inside = jobs_of(largest, sorted({link[:2] for link in within}), within)
    return [*inside[:2], everywhere[2]]


def run(job: Job, failures: int) -> list[str]:
    """Load, let links fail, check; the cells of one line."""
    pick = random.Random(len(job.links))
    database = hw.Database(hw.compile(job.program))
    database.apply(insert={"link": job.links, **job.fixed})  # kernels are in memory before the clock starts
    database.apply(delete={"link": job.links[:1]})
    database = hw.Database(hw.compile(job.program))
    started = time.perf_counter()
    database.apply(insert={"link": job.links, **job.fixed})
    loading = time.perf_counter() - started
    alive = set(job.links)
    problems = check(job, database, alive)
    loaded = database.count(job.view)
    pairs = sorted({tuple(sorted(link[:2])) for link in job.links})
    weights: dict[tuple[Any, ...], list[Link]] = defaultdict(list)
    for link in job.links:
        weights[tuple(sorted(link[:2]))].append(link)
    times, changed = [], 0
    for number, pair in enumerate(pick.sample(pairs, min(failures, len(pairs))), 1):
        started = time.perf_counter()
        changes = database.apply(delete={"link": weights[pair]})
        times.append(time.perf_counter() - started)
        changed += changes[job.view].deleted.num_rows + changes[job.view].inserted.num_rows
        alive -= set(weights[pair])
        if number % CHECK_EVERY == 0:
            problems += check(job, database, alive)
    middle, worst = loading / statistics.median(times), loading / max(times)
    return [
        job.graph,
        job.title,
        f"{len(job.links):,}",
        f"{loaded:,}",
        f"1/{middle:,.0f}",
        f"1/{worst:,.1f}",
        f"{changed:,}",
        "right" if not problems else f"WRONG {problems} times",
    ]


def check(job: Job, database: hw.Database, alive: set[Link]) -> int:
    return int(database.rows(job.view) != job.answer(alive))


def main() -> None:
    options = argparse.ArgumentParser(description="Real graphs with failing links.")
    options.add_argument("--data", type=Path, required=True, metavar="DIR")
    options.add_argument("--failures", type=int, default=50)
    options.add_argument("--networks", type=int, help="only the first networks of the zoo")
    chosen = options.parse_args()

    console = Console(width=160 if not sys.stdout.isatty() else None)
    jobs: list[Job] = []
    for name, read in (
        ("p2p-gnutella04.csv", gnutella),
        ("topology-zoo.csv", lambda file: zoo(file, chosen.networks)),
    ):
        if (chosen.data / name).exists():
            jobs += read(chosen.data / name)
        else:
            console.print(f"{name} is not in {chosen.data}: skipped")
    table = Table(title=f"Real graphs, {chosen.failures} links failing one at a time")
    for column in ("graph", "view", "links", "rows", "failure, median", "worst", "rows changed", "answers"):
        table.add_column(column)
    lines = [run(job, chosen.failures) for job in jobs]
    for line in lines:
        table.add_row(*line)
    console.print(table)
    if any(line[-1] != "right" for line in lines):
        sys.exit(1)


if __name__ == "__main__":
    main()
