"""The experiments of 000, section 7, on Headwater's nodes: `make experiments`, or one figure with `--figures 8`.

Every strategy runs the same plan over the same links; bytes are those of the messages as sent; seconds are CPU
seconds of all nodes together, on one core. What is measured goes to regions.json, point by point, from which regions.md
and the plots are made: points that are not measured anew are those of an earlier run.

`--seeds 10` draws ten networks for every point that allows it, as the paper has ten runs; the report then has the mean
and its 95% interval. `--full` gives eager shipping the paper's five minutes for one transaction, and runs what takes
minutes with every seed.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import headwater as hw
import regions_report
from headwater.core.errors import BudgetSpent, GuardError
from headwater.network.sensors import Grid, field
from headwater.network.simulator import (
    BufferedEager,
    BufferedLazy,
    Eager,
    Lazy,
    Network,
    NetworkOutcome,
    Shipping,
    TransactionBudget,
)
from headwater.network.simulator.wire.message import put_rows
from headwater.network.topology import Density, TransitStub, links, with_about

REACHABLE = """
relation link(src: string, dst: string).
reachable(X, Y) :- link(X, Y).
reachable(X, Y) :- link(X, Z), reachable(Z, Y).
"""
REGIONS = """
relation sensor(x: string, position: list).
relation main(x: string, region: string).
relation triggered(x: string).
active(X, R) :- sensor(X, P), main(X, R), triggered(X).
active(Y, R) :- sensor(X, P), sensor(Y, Q), triggered(X), active(X, R), distance(P, Q) < 20.
"""
PATHS = """
relation link(src: string, dst: string, cost: int).
path(X, Y, C, L) :- link(X, Y, C), L = 1.
path(X, Y, C, L) :- link(X, Z, C0), path(Z, Y, C1, L1), C = C0 + C1, L = 1 + L1.
minCost(X, Y, min<C>) :- path(X, Y, C, L).
"""
HOPS = "minHops(X, Y, min<L>) :- path(X, Y, C, L).\nquery minHops(X, Y, L).\n"

WAYS: dict[str, tuple[str, Shipping]] = {
    "DRed": ("dred", Lazy()),
    "Relative Eager": ("relative", Eager(1000)),
    "Relative Lazy": ("relative", Lazy()),
    "Absorption Eager": ("absorption", Eager(1000)),
    "Absorption Lazy": ("absorption", Lazy()),
    "Absorption Lazy Batched": ("absorption", Lazy(notices=1000)),
    "Absorption Eager Buffered": ("absorption", BufferedEager(1000)),
    "Absorption Lazy Buffered": ("absorption", BufferedLazy()),
    "Witness": ("witness", Lazy()),
}
NODES = 12
FIVE_MINUTES = 300.0
Result = dict[str, Any]


class Stopped(Exception):
    """A transaction was stopped, because its budget was spent."""


def network(text: str, way: str, seconds: float, nodes: int = NODES, disabled: Sequence[str] = ()) -> Network:
    strategy, shipping = WAYS[way]
    program = hw.compile(text, disabled=disabled)
    return Network(
        program, nodes, strategy, shipping=shipping, budget=TransactionBudget(seconds=seconds, messages=None)
    )


def applied(made: Network, **rows: Any) -> NetworkOutcome:
    try:
        return made.apply(**rows)
    except (GuardError, BudgetSpent) as problem:
        raise Stopped(str(problem)) from problem


def provenance_bytes(made: Network, view: str, most: int = 500) -> float:
    """Of one row's annotation, on average over some rows of the view."""
    rows = sorted(made.rows(view))
    chosen = rows[:: max(1, len(rows) // most)]
    if not chosen:
        return 0.0
    if made.algebra is not None:
        return sum(len(made.algebra.encode(made.annotations(view, row))) for row in chosen) / len(chosen)
    owners = [node.kept[view].held for node in made.nodes]  # type: ignore[attr-defined]
    kept = [witness for row in chosen for held in owners if (witness := held.get(row)) is not None]
    return sum(_witness_bytes([one]) for one in kept) / len(chosen)


def _witness_bytes(witnesses: list[Any]) -> int:
    out = bytearray()
    for rule, *body in witnesses:
        put_rows(out, [(rule, *row) for row in body])
    return len(out)


def state_bytes(made: Network, most: int = 20_000) -> float:
    """What a node keeps, as bytes, on average: rows and what stands beside them; of many rows, some are measured."""
    total = 0.0
    for node in made.nodes:
        stored = list(node.stored())
        step = max(1, len(stored) // most)
        chosen = stored[::step]
        by_width: dict[int, list[Any]] = {}
        for row, _ in chosen:
            by_width.setdefault(len(row), []).append(row)
        out = bytearray()
        for rows in by_width.values():
            put_rows(out, rows)
        kept = [value for _, value in chosen if value is not None]
        if made.algebra is not None:
            out += made.algebra.encode(kept)
        total += step * (len(out) + (0 if made.algebra is not None else _witness_bytes(kept)))
    return total / len(made.nodes)


def row(way: str, x: Any, outcomes: Sequence[NetworkOutcome], made: Network, view: str) -> Result:
    traffic = [one.traffic for one in outcomes]
    return {
        "way": way,
        "x": x,
        "provenance": provenance_bytes(made, view),
        "megabytes": sum(one.bytes for one in traffic) / 1e6,
        "rows": sum(one.rows for one in traffic),
        "messages": sum(one.messages for one in traffic),
        "state": state_bytes(made) / 1e6,
        "seconds": sum(one.seconds for one in outcomes),
        "clock": sum(one.clock for one in traffic),
    }


def shuffled_links(shape: TransitStub) -> list[tuple[str, str]]:
    rows = [(source, target) for source, target, _ in links(shape)]
    random.Random(shape.seed).shuffle(rows)
    return rows


Results = Iterator[tuple[str, Result]]
"""Results one by one, each with its figure."""


@dataclass(frozen=True, slots=True)
class Job:
    """Some points of a figure that are measured together. `line` names the line: once it is stopped, it stays so."""

    line: str
    run: Callable[[], Results]
    needs: float = 1.0  # how long it takes, roughly, against others: for the progress bar
    dear: bool = False  # takes minutes with ten seeds


@dataclass(frozen=True, slots=True)
class Asked:
    """What to run: which strategies, the CPU seconds after which a transaction is stopped, how far to go, on which
    network."""

    ways: tuple[str, ...]
    seconds: float
    full: bool
    seed: int = 0

    def allowed(self, way: str) -> float:
        """The CPU seconds of one transaction: for eager shipping those of the paper, once, if there is all the time."""
        return FIVE_MINUTES if self.full and "Eager" in way and self.seed == 0 else self.seconds


# Figures 7 to 10: inserts, then deletes one by one


def stepwise(
    way: str,
    seconds: float,
    figures: tuple[str, str],
    text: str,
    base: dict[str, list[Any]],
    moving: str,
    rows: list[Any],
    seed: int,
) -> Results:
    """Inserts in quarters; then 5 and 10 deletes, each by itself."""
    view = hw.compile(text).outputs[0]
    order = random.Random(1 + seed).sample(rows, len(rows))
    made = network(text, way, seconds)
    figure, x, at = figures[0], 0.0, 0
    try:
        done = [applied(made, insert=base)]
        for x in (0.25, 0.5, 0.75, 1.0):
            upto = round(x * len(rows))
            done.append(applied(made, insert={moving: rows[at:upto]}))
            at = upto
            yield figure, row(way, x, done, made, view)
        figure, done, at = figures[1], [], 0
        for x in (5, 10):
            done += [applied(made, delete={moving: [one]}) for one in order[at:x]]
            at = x
            yield figure, row(way, x, done, made, view)
    except Stopped as problem:
        yield figure, {"way": way, "x": x, "stopped": str(problem)}


def figures_7_and_8(asked: Asked) -> Iterator[Job]:
    rows = shuffled_links(TransitStub(seed=asked.seed))
    for way in asked.ways:
        run = partial(stepwise, way, asked.allowed(way), ("7", "8"), REACHABLE, {}, "link", rows, asked.seed)
        yield Job(way, run, 10.0)


def figures_9_and_10(asked: Asked) -> Iterator[Job]:
    for figures, spacing in ((("9", "10"), 5), (("9 sparse", "10 sparse"), 10)):
        made = field(Grid(spacing=spacing, seed=asked.seed))
        base: dict[str, list[Any]] = {
            "sensor": made.sensors,
            "main": [(sensor, region) for region, sensor in made.main],
        }
        for way in asked.ways:
            run = partial(stepwise, way, asked.seconds, figures, REGIONS, base, "triggered", made.triggered, asked.seed)
            yield Job(f"{way}, {spacing} m", run, 10.0 if spacing == 5 else 2.0, dear=spacing == 5)


# Figures 11 and 12: more links


SMALL = {36: TransitStub(1, 1, 1), 68: TransitStub(1, 1, 2)}
"""For eager shipping on dense networks, which does not get as far as the paper's smallest."""


def figures_11_and_12(asked: Asked) -> Iterator[Job]:
    for density in Density:
        for way in ("Absorption Eager", "Absorption Lazy", "Absorption Lazy Batched", "Witness"):
            small = SMALL if (way, density) == ("Absorption Eager", Density.DENSE) else {}
            shapes = {**small, **{size: with_about(size, density) for size in (100, 200, 400, 800)}}
            for size, shape in shapes.items() if way in asked.ways else ():
                name, drawn = f"{way}, {density.name.lower()}", replace(shape, seed=asked.seed)
                run = partial(grown, ("11", "12"), way, name, size, drawn, asked.allowed(way))
                yield Job(name, run, size / 100, dear=size > 400)


def grown(
    figures: tuple[str, str], way: str, name: str, size: int, shape: TransitStub, seconds: float, share: float = 0.2
) -> Results:
    """All links at once; then a share of them fails at once."""
    rows = shuffled_links(shape)
    made = network(REACHABLE, way, seconds)
    figure = figures[0]
    try:
        yield figure, row(name, size, [applied(made, insert={"link": rows})], made, "reachable")
        figure = figures[1]
        gone = rows[: round(share * len(rows))]
        yield figure, row(name, size, [applied(made, delete={"link": gone})], made, "reachable")
    except Stopped as problem:
        yield figure, {"way": name, "x": size, "stopped": str(problem)}


def large(asked: Asked) -> Iterator[Job]:
    """Beyond the paper: 1,600 and 4,000 dense links; then one link in a hundred fails."""
    for way in ("Absorption Lazy", "Witness"):
        for size in ((1600, 4000) if asked.full else (1600,)) if way in asked.ways else ():
            figures = ("large inserts", "large deletes")
            run = partial(grown, figures, way, way, size, with_about(size), 50 * asked.seconds, share=0.01)
            yield Job(way, run, 15.0 if size == 1600 else 90.0, dear=True)


# Figure 13: more nodes


def figure_13(asked: Asked) -> Iterator[Job]:
    for way in ("DRed", "Absorption Lazy", "Witness"):
        for nodes in (1, 4, 8, 12, 16, 24) if way in asked.ways else ():
            run = partial(spread, way, nodes, asked.seconds, asked.seed)
            yield Job(way, run, 4.0 if way == "DRed" else 1.0)


def spread(way: str, nodes: int, seconds: float, seed: int) -> Results:
    rows = shuffled_links(TransitStub(seed=seed))
    made = network(REACHABLE, way, seconds, nodes)
    try:
        done = [applied(made, insert={"link": rows})]
        done += [applied(made, delete={"link": [one]}) for one in rows[:3]]
    except Stopped as problem:
        yield "13", {"way": way, "x": nodes, "stopped": str(problem)}
        return
    one = row(way, nodes, done, made, "reachable")
    busiest = sum(outcome.busiest for outcome in done)
    yield "13", {**one, "megabytes": one["megabytes"] / nodes, "seconds": busiest}


# Figure 14: aggregate selections


def figure_14(asked: Asked) -> Iterator[Job]:
    for density in Density:
        for name, text, disabled in (
            ("none", PATHS, ("aggregate_selection",)),
            ("single", PATHS + "query minCost(X, Y, C).\n", ()),
            ("multi", PATHS + "query minCost(X, Y, C).\n" + HOPS, ()),
        ):
            way = f"{name}, {density.name.lower()}"
            shape = TransitStub(density=density, seed=asked.seed)
            yield Job(way, partial(selecting, way, text, disabled, shape, asked.seconds), 3.0)


def selecting(way: str, text: str, disabled: Sequence[str], shape: TransitStub, seconds: float) -> Results:
    rows = links(shape)
    made = network(text, "Absorption Lazy", seconds, disabled=disabled)
    try:
        done = [applied(made, insert={"link": rows})]
        yield "14", row(way, "inserts", done, made, "minCost")
        done = [applied(made, delete={"link": [one]}) for one in rows[:20:4]]
        yield "14", row(way, "5 deletes", done, made, "minCost")
    except Stopped as problem:
        yield "14", {"way": way, "x": "inserts", "stopped": str(problem)}


PARTS: dict[str, Callable[[Asked], Iterator[Job]]] = {
    "7": figures_7_and_8,
    "9": figures_9_and_10,
    "11": figures_11_and_12,
    "13": figure_13,
    "14": figure_14,
    "large": large,
}
SAME = {"8": "7", "10": "9", "12": "11"}


def keep(measured: dict[str, list[Result]], figure: str, one: Result) -> None:
    """Put a result in the place of an older one of the same network."""
    here = measured.setdefault(figure, [])
    for at, old in enumerate(here):
        if (old["way"], old["x"], old.get("seed", 0)) == (one["way"], one["x"], one["seed"]):
            here[at] = one
            return
    here.append(one)


def jobs_of(parts: Sequence[str], asked: Asked, seeds: int) -> list[tuple[str, int, Job]]:
    """Seed by seed: the dear ones with one seed, unless there is all the time."""
    return [
        (part, seed, job)
        for seed in range(seeds)
        for part in parts
        for job in PARTS[part](replace(asked, seed=seed))
        if seed == 0 or asked.full or not job.dear
    ]


def work(jobs: list[tuple[str, int, Job]], minutes: float, measured: dict[str, list[Result]], store: Path) -> None:
    """Do the jobs, keeping every point as soon as it is measured; what the time does not allow is left as it was."""
    end = time.monotonic() + 60 * minutes
    stopped: set[tuple[str, str]] = set()
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=sum(job.needs for _, _, job in jobs))
        for part, seed, job in jobs:
            progress.update(task, description=f"figure {part}, {job.line}, seed {seed}")
            if time.monotonic() > end:
                progress.console.print(f"figure {part}, {job.line}: left out, the {minutes:g} minutes are over")
            elif (part, job.line) not in stopped:
                for figure, one in job.run():
                    keep(measured, figure, {**one, "seed": seed})
                    store.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
                    result = one.get("stopped") or f"{one['megabytes']:.3f} MB, {one['seconds']:.2f} s"
                    progress.console.print(f"figure {figure}, {one['way']}, {one['x']}: {result}")
                    if "stopped" in one:
                        stopped.add((part, job.line))
            progress.advance(task, job.needs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", default=",".join(PARTS), help="which: 7 to 14, large (default: all)")
    parser.add_argument("--ways", default=",".join(WAYS), help="which strategies (default: all)")
    parser.add_argument("--budget", type=float, default=10.0, help="CPU seconds after which a transaction is stopped")
    parser.add_argument("--minutes", type=float, default=15.0, help="after which no more points are begun")
    parser.add_argument("--seeds", type=int, default=1, help="how many networks are drawn for a point (default: 1)")
    parser.add_argument(
        "--full",
        action="store_true",
        help="with 4,000 links, which take minutes and 3 GB, and five minutes for a transaction of eager shipping",
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="the folder for regions.*")
    options = parser.parse_args()
    parts = list(dict.fromkeys(SAME.get(one, one) for one in options.figures.split(",")))
    ways = tuple(options.ways.split(","))
    if options.seeds < 1:
        parser.error(f"one seed or more, not {options.seeds}")
    for given, known in ((parts, PARTS), (ways, WAYS)):
        for one in given:
            if one not in known:
                parser.error(f"there is no {one!r}; there are {', '.join(known)}")
    store = options.output / "regions.json"
    measured: dict[str, list[Result]] = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    asked = Asked(ways, options.budget, options.full)
    try:
        work(jobs_of(parts, asked, options.seeds), options.minutes, measured, store)
    except KeyboardInterrupt:
        print("interrupted; what was measured is kept")
    regions_report.write(measured, options.output)


if __name__ == "__main__":
    main()
