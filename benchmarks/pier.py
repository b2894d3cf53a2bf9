"""The simulations of 003, section 5.4: left and right recursion, and work shared by caches. `make experiments`.

1,000 nodes and 3,000 random links; messages are counted as rows sent, as the paper counts facts. Nodes work in rounds
(`sn`), because the paper's simulation does. The program of Figure 3 is right-recursive; where a source is asked for,
`asker_leads` makes it left-recursive. Writes pier.md and pier.json. `python benchmarks/pier.py 3` runs one figure: the
first takes two minutes of CPU, the second some fifteen.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

import headwater as hw
from declarative_networking import MAGIC
from headwater.network import Simulation, Topology
from headwater.network.topologies.made import random_graph

FOLDER = Path(__file__).parent
RIGHT = """
relation link(src: address, dst: address).
cost(@S, @D, min<C>) :- #link(@S, @D), S != D, C = 1.
cost(@S, @D, min<C>) :- #link(@S, @Z), cost(@Z, @D, C2), S != D, C = C2 + 1.
"""
ALL_PAIRS, ONE_SOURCE = f"{RIGHT}query cost(@S, @D, C).", f"{RIGHT}query cost($S, @D, C)."
SENT_BACK = "cost'back"
PAIR = f"{RIGHT}query cost($S, $D, C)."
SOURCES = (1, 20, 100, 300, 600, 900, 1000)
SIZE = (1000, 3000)  # nodes and links
STEPS = (100, 300, 600, 1000)  # queries after which rows are counted
ENDS = {"50% Dst": 0.5, "1% Dst": 0.01}  # the share of the nodes that are destinations
REVERSE = {"NoShare": 60, "Share, 50% Dst": 1000, "Share, 1% Dst": 1000}  # queries; without caches, all cost the same


def run(text: str, topology: Topology, rows: dict[str, Any], sources: list[Any]) -> tuple[Simulation, float]:
    """The network at rest, after these sources have asked for the way to all others."""
    sim = Simulation(hw.compile(text), topology, evaluation="sn", maintenance="count", tick=0.005)
    sim.at(0.0, insert={"link": topology.rows(), **rows})
    for source in sources:
        sim.follow("cost", S=source, at=0.0)
    started = time.process_time()
    sim.run()
    return sim, time.process_time() - started


def figure_3(topology: Topology) -> dict[str, Any]:
    many = len(topology.nodes)
    sim, seconds = run(ALL_PAIRS, topology, {}, [])
    found: dict[str, Any] = {"Right-Full": sim.report.rows / many, "Right-Full CPU": seconds}
    dice = random.Random(0)
    for count in SOURCES:
        sim, seconds = run(ONE_SOURCE, topology, {}, dice.sample(topology.nodes, count))
        assert len(sim.rows("cost")) == count * (many - 1)
        back = sim.report.rows_by_relation()[SENT_BACK]
        found.setdefault("Left-NoResults", {})[str(count)] = (sim.report.rows - back) / many
        found.setdefault("Left-AllResults", {})[str(count)] = sim.report.rows / many
        found.setdefault("Left CPU", {})[str(count)] = seconds
        print(f"  {count} sources: {sim.report.rows / many:.1f} rows, {seconds:.0f} s of CPU", flush=True)
    return found


def figure_4(topology: Topology) -> dict[str, Any]:
    """Rows per node and query after some queries, and the seconds of CPU of all of them, by line."""
    found: dict[str, dict[str, float]] = {}
    seconds: dict[str, float] = {}
    lines = {name: (searched, count) for name, count in REVERSE.items()}
    lines |= {f"Kept where asked, {share}": (followed, STEPS[-1]) for share in ENDS}
    for name, (ask, count) in lines.items():
        dice = random.Random(1)
        share = ENDS[name.split(", ")[-1]] if ", " in name else 0.5
        ends = dice.sample(topology.nodes, max(1, round(share * len(topology.nodes))))
        pairs = [_pair(topology, dice, ends) for _ in range(count)]
        started = time.process_time()
        rows = ask(topology, pairs, caching=name != "NoShare")
        seconds[name] = time.process_time() - started
        steps = [step for step in STEPS if step <= count] or [count]
        found[name] = {str(step): rows[step - 1] / len(topology.nodes) / step for step in steps}
        print(f"  {name}: {found[name]}, {seconds[name]:.0f} s of CPU", flush=True)
    return {"nodes": len(topology.nodes), "rows": found, "CPU": seconds}


def _pair(topology: Topology, dice: random.Random, ends: list[Any]) -> tuple[Any, Any]:
    src = dice.choice(topology.nodes)
    return src, dice.choice([end for end in ends if end != src])


def searched(topology: Topology, pairs: list[tuple[Any, Any]], *, caching: bool) -> list[int]:
    """A search from the source for every query; nodes of the best path keep their part of it (003, section 4.5.5)."""
    cache: dict[tuple[Any, Any], tuple[Any, ...]] = {}
    total, line = 0, []
    for number, (src, dst) in enumerate(pairs):
        if (src, dst) not in cache:
            given: dict[str, Any] = {"ask": [(src, dst, number)]}
            if cache:
                given["cached"] = list(cache.values())
            sim, _ = run(MAGIC, topology, given, [])
            total += sim.report.rows
            ((_, _, _, cost, path),) = sim.rows("found")
            if caching:
                for at in range(len(path) - 1):
                    cache[path[at], dst] = (path[at], dst, cost - at, path[at:])
        line.append(total)
    return line


def followed(topology: Topology, pairs: list[tuple[Any, Any]], *, caching: bool) -> list[int]:
    """Questions that travel along links; every node that was asked keeps its own answer."""
    kept = math.inf if caching else 0.0
    sim = Simulation(hw.compile(PAIR), topology, evaluation="sn", maintenance="count", tick=0.005, caching=kept)
    sim.at(0.0, insert={"link": topology.rows()})
    line = []
    for src, dst in pairs:
        question = sim.follow("cost", S=src, D=dst)
        sim.run()
        assert len(question.rows) == 1
        question.close()
        line.append(sim.report.rows)
    return line


def crossing(line: dict[str, float], level: float) -> float:
    """Where a line of measured points reaches a level, between two of them; past the last, by its last slope."""
    points = sorted((int(sources), rows) for sources, rows in line.items())
    for (before, low), (after, high) in itertools.pairwise(points):
        if high >= level or after == points[-1][0]:
            return before + (level - low) * (after - before) / (high - low)
    raise AssertionError("a line has two points")


def report(measured: dict[str, Any]) -> str:
    lines = ["# 003, section 5.4: left and right recursion, shared work", "", *_figure_3(measured["3"])]
    return "\n".join([*lines, *_figure_4(measured["4"])])


def _figure_3(three: dict[str, Any]) -> list[str]:
    right = three["Right-Full"]
    meet = {name: crossing(three[name], right) for name in ("Left-NoResults", "Left-AllResults")}
    return [
        "1,000 nodes, 3,000 random links, hop counts; rows sent per node. Nodes work in rounds, as the paper's do.",
        "",
        "## Figure 3",
        "",
        "One program, written right-recursive. Asked for all pairs, nodes run it as it is written. Asked for some",
        "sources, they run what `asker_leads` makes of it: ways are followed from the sources on, and each node sends",
        "its answer back to the neighbour from which it heard. Left-NoResults leaves these answers out.",
        "",
        f"Right-Full, all pairs: {right:,.0f} rows per node, {three['Right-Full CPU']:.0f} s of CPU (paper: 1,800).",
        "",
        "| sources | Left-NoResults | Left-AllResults | CPU s |",
        "|---|---|---|---|",
        *(
            f"| {count} | {three['Left-NoResults'][count]:,.1f} | {three['Left-AllResults'][count]:,.1f} "
            f"| {three['Left CPU'][count]:.0f} |"
            for count in map(str, SOURCES)
        ),
        "",
        f"Left recursion sends as much as Right-Full with {meet['Left-NoResults']:.0f} sources without results and",
        f"{meet['Left-AllResults']:.0f} with all of them (paper: 900 and 600). All points of the table are measured.",
        "The order and the straight lines are the paper's. Our counts are higher: every node tells each of its six",
        "neighbours on average, also the one that it heard from, and every row that is sent counts. The paper's 1,800",
        "for 1,000 destinations means fewer than two facts per destination and node.",
        "",
    ]


def _figure_4(four: dict[str, Any]) -> list[str]:
    rows, alone = four["rows"], next(iter(four["rows"]["NoShare"].values()))

    def cell(line: str, step: int) -> str:
        found = rows[line].get(str(step))
        return "" if found is None else f"{found:.2f}"

    few, many = rows["Share, 1% Dst"], rows["Share, 50% Dst"]
    kept_few, kept_many = rows["Kept where asked, 1% Dst"], rows["Kept where asked, 50% Dst"]
    last = str(STEPS[-1])
    return [
        "## Figure 4",
        "",
        f"Queries for single pairs, one after the other, on {four['nodes']:,} nodes; rows per node and query.",
        "",
        f"| line | {' | '.join(f'after {step}' for step in STEPS)} | CPU s |",
        "|---|" + "---|" * (len(STEPS) + 1),
        f"| Left-NoShare | {' | '.join(f'{alone:.2f}' for _ in STEPS)} | {four['CPU']['NoShare']:.0f} |",
        *(
            f"| {line if line.startswith('Kept') else f'Left-{line}'} | "
            f"{' | '.join(cell(line, step) for step in STEPS)} | {four['CPU'][line]:.0f} |"
            for line in rows
            if line != "NoShare"
        ),
        "",
        f"Without caches all queries cost the same: {REVERSE['NoShare']} were run. *Share* caches as the paper says",
        "it: the search goes from the source, and the nodes of the best path keep their part of it. With 1% of the",
        f"nodes as destinations that saves {100 * (1 - few[last] / alone):.0f}% of the rows of {STEPS[-1]:,}",
        f"queries, and {100 * (1 - few['300'] / alone):.0f}% of those of 300; with 50%,",
        f"{100 * (1 - many[last] / alone):.1f}% of {STEPS[-1]:,}. The order is the paper's; its text gives no numbers.",
        "A node with a cached path does not pass a query on, but all others still do: a query dies out only where",
        "many nodes have caches.",
        "",
        "*Kept where asked* are questions that travel along links (`query cost($S, $D, C)`), answered from the",
        "destination back: every node that was asked keeps its answer, not only those on the best path. The first",
        f"question for a destination goes to all nodes and costs {kept_few['100'] * 100 / 10:.0f} rows per node, three",
        "searches; later ones for the same destination cost next to nothing. With ten destinations that makes",
        f"{kept_few[last]:.2f} rows per node and query of {STEPS[-1]:,}. With 500 it is dearer than no caches at all:",
        f"{kept_many[last]:.1f} after {STEPS[-1]:,} queries, when most destinations were asked for but once or twice.",
        "",
    ]


def main() -> None:
    store = FOLDER / "pier.json"
    measured = json.loads(store.read_text()) if store.exists() else {}
    for name, figure in (("3", figure_3), ("4", figure_4)):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        measured[name] = figure(random_graph(*SIZE, 0))
        store.write_text(json.dumps(measured))
        print(f"figure {name}: {measured[name]}", flush=True)
    (FOLDER / "pier.md").write_text(report(json.loads(store.read_text())))


if __name__ == "__main__":
    main()
