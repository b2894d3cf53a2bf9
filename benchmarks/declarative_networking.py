"""The experiments of 002, section 6, on simulated links: `make experiments`, or some figures with `--figures 7 12`.

100 nodes on a transit-stub network, four link rows for each node. What is measured goes to
declarative_networking.json, and from there to declarative_networking.md and its plots.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import headwater as hw
from headwater.network import Periodic, Simulation, Topology
from headwater.network.topologies.made import Overlay, overlay

FOLDER = Path(__file__).parent
BEST = """
relation link(src: address, dst: address, cost: float).
path(@S, @D, min<(C, P)>) :- #link(@S, @D, C), S != D, P = [S, D].
path(@S, @D, min<(C, P)>) :- #link(@S, @Z, C1), path(@Z, @D, C2, P2), S != D, C = C1 + C2, P = [S | P2].
query path(@S, @D, C, P).
"""
ONE_OF_THREE = """
path{n}(@S, @D, P, C) :- #link(@S, @D, C1, C2, C3), S != D, P = [S, D], C = C{n}.
path{n}(@S, @D, P, C) :- #link(@S, @Z, C1, C2, C3), path{n}(@Z, @D, P0, C0), S != D, C = C{n} + C0, P = [S | P0].
cost{n}(@S, @D, min<C>) :- path{n}(@S, @D, P, C).
query cost{n}(@S, @D, C).
"""
THREE = "relation link(src: address, dst: address, one: float, two: float, three: float).\n"
MAGIC = """
relation link(src: address, dst: address).
relation ask(src: address, dst: address, number: int).
relation cached(at: address, dst: address, cost: int, path: list<address>) optional.
way(@S, Q, @T, min<(C, R)>) :- ask(@S, @T, Q), C = 0, R = [S].
way(@D, Q, @T, min<(C, R)>) :- #link(@Z, @D), way(@Z, Q, @T, C1, R1), Z != T, !known(@Z, @T), C = C1 + 1, R = [D | R1].
known(@Z, @T) :- cached(@Z, @T, _, _).
back(@T, Q, @T, C, R, F) :- way(@T, Q, @T, C, R), F = [T].
back(@Z, Q, @T, C, R, F) :- way(@Z, Q, @T, C1, R), cached(@Z, @T, C2, F), C = C1 + C2.
back(@Y, Q, @T, C, R2, F2) :- #link(@Z, @Y), back(@Z, Q, @T, C, R, F), R = [_ | R2], nth(R2, 0) = Y, F2 = [Y | F].
found(@S, Q, @T, min<(C, F)>) :- ask(@S, @T, Q), back(@S, Q, @T, C, R, F), length(R) = 1.
query found(@S, Q, @T, C, F).
"""  # forwards from the source, as 002 does; `cached` is what earlier queries left on their way back
ASKED = BEST.replace("query path(@S, @D, C, P).", "query path($S, $D, C, P).")
COSTS = """
relation link(src: address, dst: address, cost: float).
cost(@S, @D, min<C>) :- #link(@S, @D, C), S != D.
cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), S != D, C = C1 + C2.
query cost(@S, @D, C).
"""
METRICS = ("hops", "latency", "reliability", "random")
PERIOD = 0.2
COMPUTING = 0.2  # seconds that a node of the paper may need for a message: they took 4.4 s for some ten hops
QUERIES = {"MS": 100, "MSC": 300, "MSC-30%": 300, "MSC-10%": 300, "Reverse path, 10%": 300}
Result = dict[str, Any]


def ground(seed: int) -> Topology:
    """Two picks for each node, both ways: four link rows for each node."""
    return overlay(Overlay(neighbours=2, seed=seed))


def cost_rows(topology: Topology, metric: str) -> list[tuple[Any, ...]]:
    return [(src, dst, float(cost)) for src, dst, cost in topology.rows(metric)]


def numbers(sim: Simulation, view: str, seconds: float, since: float = 0.0, bucket: float = 0.05) -> Result:
    times, rates = sim.report.rate(bucket, since=since)
    settled = sim.settled(view, since)
    kilobytes = [rate / 1000 / len(sim.topology.nodes) for rate in rates.tolist()]
    share = [float((settled <= moment + bucket).mean()) for moment in times] if settled.size else []
    return {
        "mb": sim.report.bytes / 1e6,
        "messages": sim.report.messages,
        "rows": sim.report.rows,
        "converged": sim.converged(view, since) - since,
        "peak_kbps": max(kilobytes),
        "cpu": seconds,
        "times": [moment - since for moment in times.tolist()],
        "kbps": kilobytes,
        "share": share,
    }


def all_pairs(metric: str, seed: int, **options: Any) -> Result:
    topology = ground(seed)
    program, rows = hw.compile(BEST), cost_rows(topology, metric)
    sim = Simulation(program, topology, maintenance="count", **options)
    sim.at(0.0, insert={"link": rows})
    started = time.process_time()
    sim.run()
    seconds = time.process_time() - started
    database = hw.Database(program)
    started = time.process_time()
    database.apply(insert={"link": rows})
    embedded = time.process_time() - started
    assert sim.rows("path") == database.rows("path")
    return {**numbers(sim, "path", seconds), "embedded_cpu": embedded, "paths": len(database.rows("path"))}


def figures_7_to_10(seed: int) -> Result:
    """All pairs by four metrics, with eager and with periodic aggregate selections."""
    return {
        metric: {
            "eager": all_pairs(metric, seed),
            "periodic": all_pairs(metric, seed, selections=Periodic(PERIOD)),
            "slow": sent(BEST, metric, seed, COMPUTING),
            "costs": sent(COSTS, metric, seed, 0.0),
        }
        for metric in METRICS
    }


def sent(text: str, metric: str, seed: int, computing: float) -> Result:
    """What is sent where every hop takes some time more."""
    topology = ground(seed)
    rows = cost_rows(topology, metric)
    links = [replace(link, latency=link.latency + computing) for link in topology.links]
    sim = Simulation(hw.compile(text), Topology(links, topology.nodes), maintenance="count")
    sim.at(0.0, insert={"link": rows})
    sim.run()
    return {"mb": sim.report.bytes / 1e6, "rows": sim.report.rows, "converged": sim.converged(sim.program.outputs[0])}


def figure_11(seed: int) -> Result:
    """Queries for single pairs, one after the other: all pairs once, each by itself, with caches."""
    topology = ground(seed)
    base = all_pairs("hops", seed)["mb"]
    found: Result = {"No-MS": [base] * max(QUERIES.values()), "CPU": {}}
    for line, asked, share in (
        ("MS", _searched, 1.0),
        ("MSC", _followed, 1.0),
        ("MSC-30%", _followed, 0.3),
        ("MSC-10%", _followed, 0.1),
        ("Reverse path, 10%", _searched, 0.1),
    ):
        dice = random.Random(seed)
        ends = dice.sample(topology.nodes, round(100 * share))
        pairs = [_pair(topology, dice, ends) for _ in range(QUERIES[line])]
        started = time.process_time()
        found[line] = asked(topology, pairs, caching=line != "MS")
        found["CPU"][line] = time.process_time() - started
        print(f"  {line}: {found[line][-1]:.2f} MB, {found['CPU'][line]:.0f} s of CPU", flush=True)
    return found


def _pair(topology: Topology, dice: random.Random, ends: list[Any]) -> tuple[Any, Any]:
    src = dice.choice(topology.nodes)
    return src, dice.choice([end for end in ends if end != src])


def _followed(topology: Topology, pairs: list[tuple[Any, Any]], *, caching: bool) -> list[float]:
    """Questions that travel along links, answers that stay at every node that was asked."""
    assert caching
    sim = Simulation(hw.compile(ASKED), topology, maintenance="count", caching=math.inf, tick=0.002)
    sim.at(0.0, insert={"link": cost_rows(topology, "hops")})
    sim.run()
    line = []
    for src, dst in pairs:
        question = sim.follow("path", S=src, D=dst)
        sim.run()
        assert len(question.rows) == 1
        question.close()
        line.append(sim.report.bytes / 1e6)
    return line


def _searched(topology: Topology, pairs: list[tuple[Any, Any]], *, caching: bool) -> list[float]:
    """A search from the source for every query; with caches at the nodes of the best path alone."""
    program = hw.compile(MAGIC)
    cache: dict[tuple[Any, Any], tuple[Any, ...]] = {}
    total, line = 0.0, []
    for number, (src, dst) in enumerate(pairs):
        if (src, dst) not in cache:
            sim = Simulation(program, topology, maintenance="count", tick=0.002)
            given = {"link": topology.rows(), "ask": [(src, dst, number)]}
            sim.at(0.0, insert={**given, "cached": list(cache.values())} if cache else given)
            sim.run()
            ((_, _, _, cost, path),) = sim.rows("found")
            total += sim.report.bytes / 1e6
            if caching:
                for at in range(len(path) - 1):  # the nodes on the way back, each with its part of the path
                    cache[path[at], dst] = (path[at], dst, cost - at, path[at:])
        line.append(total)
    return line


def figure_12(seed: int) -> Result:
    """Three metrics at once: each by itself, together, and together with rows that wait 300 ms and are joined."""
    topology = ground(seed)
    rows = [(src, dst, *map(float, costs)) for src, dst, *costs in topology.rows("latency", "reliability", "random")]
    parts = [ONE_OF_THREE.replace("{n}", str(number)) for number in (1, 2, 3)]
    found: Result = {}
    for name, text, options in (
        ("Latency", parts[0], {}),
        ("Reliability", parts[1], {}),
        ("Random", parts[2], {}),
        ("No-Share", "".join(parts), {}),
        ("Wait", "".join(parts), {"selections": Periodic(0.3)}),
        ("Share", "".join(parts), {"sharing": 0.3}),
    ):
        sim = Simulation(hw.compile(THREE + text), topology, maintenance="count", **options)
        sim.at(0.0, insert={"link": rows})
        started = time.process_time()
        sim.run()
        found[name] = numbers(sim, sim.program.outputs[0], time.process_time() - started)
    return found


def bursts(seed: int, gaps: tuple[float, ...]) -> Result:
    """A tenth of the links change their cost by up to a tenth, again and again."""
    topology = ground(seed)
    dice = random.Random(seed)
    costs = {(src, dst): cost for src, dst, cost in cost_rows(topology, "random")}
    program = hw.compile(BEST)
    sim = Simulation(program, topology, maintenance="count")
    sim.at(0.0, insert={"link": [(*ends, cost) for ends, cost in costs.items()]})
    started = time.process_time()
    sim.run(until=10.0)
    first = sim.report.bytes
    now, ends = 10.0, []
    for gap in gaps:
        before, after = [], []
        for link in dice.sample(topology.links, len(topology.links) // 10):
            for pair in ((link.src, link.dst), (link.dst, link.src)):
                before.append((*pair, costs[pair]))
                costs[pair] = costs[pair] * dice.uniform(0.9, 1.1)
                after.append((*pair, costs[pair]))
        sim.at(now, insert={"link": after}, delete={"link": before})
        ends.append((now, now + gap))
        now += gap
    sim.run(until=now)
    seconds = time.process_time() - started
    database = hw.Database(program)
    database.apply(insert={"link": [(*pair, cost) for pair, cost in costs.items()]})
    assert sim.is_quiet and sim.rows("path") == database.rows("path")  # noqa: PT018
    _, rates = sim.report.rate(0.05, until=10.0)
    bucketed = [sim.report.rate(0.05, since=start, until=end)[1] for start, end in ends]
    last = max((float(i) for i in range(len(bucketed[-1])) if bucketed[-1][i]), default=0.0) * 0.05
    return {
        **numbers(sim, "path", seconds),
        "first_mb": first / 1e6,
        "burst_mb": mean(float(rates_.sum()) * 0.05 for rates_ in bucketed) / 1e6,
        "first_peak": float(rates.max()) / 1e5,
        "burst_peak": mean(float(rates_.max()) for rates_ in bucketed) / 1e5,
        "last_settles": last,
    }


def memory(seed: int) -> Result:
    """Memory per stored row; processes of their own measure it."""
    import network_memory

    return network_memory.memory(seed)


FIGURES: dict[str, Callable[[int], Result]] = {
    "7-10": figures_7_to_10,
    "memory": memory,
    "11": figure_11,
    "12": figure_12,
    "13": lambda seed: bursts(seed, (10.0,) * 4),
    "14": lambda seed: bursts(seed, (2.0, 8.0) * 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", nargs="*", default=list(FIGURES), choices=list(FIGURES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only write the report anew")
    asked = parser.parse_args()
    store = FOLDER / "declarative_networking.json"
    measured: Result = json.loads(store.read_text()) if store.exists() else {}
    for figure in [] if asked.report else asked.figures:
        for seed in range(1 if figure == "11" else asked.seeds):
            started = time.process_time()
            measured.setdefault(figure, {})[str(seed)] = FIGURES[figure](seed)
            print(f"figure {figure}, seed {seed}: {time.process_time() - started:.1f} s of CPU", flush=True)
            store.write_text(json.dumps(measured, default=float))
    import declarative_networking_report

    declarative_networking_report.write(measured, FOLDER, plt)


if __name__ == "__main__":
    main()
