"""The experiments of 000, section 7, on Headwater's nodes: `make experiments`, or one figure with `--figures 8`.

Every strategy runs the same plan over the same links; bytes are those of the messages as sent; seconds are CPU
seconds of all nodes together, on one core. What is measured goes to regions.json, from which regions.md and the
plots are made.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headwater as hw
import regions_report
from headwater.core.errors import BudgetSpent, GuardError
from headwater.exchange.nodes.message import put_rows
from headwater.exchange.nodes.minship import Eager, Lazy, Shipping
from headwater.exchange.nodes.network import Budget, Network, Outcome
from headwater.network.sensors import Grid, field
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
    "Witness": ("witness", Lazy()),
}
NODES = 12
Result = dict[str, Any]


class Stopped(Exception):
    """A transaction was stopped, because its budget was spent."""


def network(text: str, way: str, seconds: float, nodes: int = NODES, disabled: Sequence[str] = ()) -> Network:
    strategy, shipping = WAYS[way]
    program = hw.compile(text, disabled=disabled)
    return Network(program, nodes, strategy, shipping=shipping, budget=Budget(seconds=seconds, messages=None))


def applied(made: Network, **rows: Any) -> Outcome:
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
        return sum(len(made.algebra.encode([made.provenance(view, row)])) for row in chosen) / len(chosen)
    owners = [node.kept[view].held for node in made.nodes]  # type: ignore[attr-defined]
    kept = [witness for row in chosen for held in owners if (witness := held.get(row)) is not None]
    return sum(_witness_bytes([one]) for one in kept) / len(chosen)


def _witness_bytes(witnesses: list[Any]) -> int:
    out = bytearray()
    for rule, body in witnesses:
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


def row(way: str, x: Any, outcomes: Sequence[Outcome], made: Network, view: str) -> Result:
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What to run: which strategies, and the CPU seconds after which a transaction is stopped."""

    ways: tuple[str, ...]
    seconds: float


Results = Iterator[tuple[str, Result]]
"""Results one by one, each with its figure."""


# Figures 7 to 10: inserts, then deletes one by one


def stepwise(
    asked: Asked, figures: tuple[str, str], text: str, base: dict[str, list[Any]], moving: str, rows: list[Any]
) -> Results:
    """Inserts in quarters; then 5 and 10 deletes, each by itself."""
    view = hw.compile(text).outputs[0]
    order = random.Random(1).sample(rows, len(rows))
    for way in asked.ways:
        made = network(text, way, asked.seconds)
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


def figures_7_and_8(asked: Asked) -> Results:
    yield from stepwise(asked, ("7", "8"), REACHABLE, {}, "link", shuffled_links(TransitStub()))


def figures_9_and_10(asked: Asked) -> Results:
    made = field(Grid())
    base: dict[str, list[Any]] = {"sensor": made.sensors, "main": [(sensor, region) for region, sensor in made.main]}
    yield from stepwise(asked, ("9", "10"), REGIONS, base, "triggered", made.triggered)


# Figures 11 and 12: more links


def figures_11_and_12(asked: Asked) -> Results:
    for density in Density:
        for way in ("Absorption Eager", "Absorption Lazy", "Witness"):
            for size in (100, 200, 400, 800) if way in asked.ways else ():
                name = f"{way}, {density.name.lower()}"
                try:
                    for figure, one in grown(way, with_about(size, density), asked.seconds):
                        yield figure, {**one, "way": name, "x": size}
                except Stopped as problem:
                    yield "11", {"way": name, "x": size, "stopped": str(problem)}
                    break


def grown(way: str, shape: TransitStub, seconds: float, share: float = 0.2) -> Results:
    """All links at once; then a share of them fails at once."""
    rows = shuffled_links(shape)
    made = network(REACHABLE, way, seconds)
    yield "11", row(way, len(rows), [applied(made, insert={"link": rows})], made, "reachable")
    gone = rows[: round(share * len(rows))]
    yield "12", row(way, len(rows), [applied(made, delete={"link": gone})], made, "reachable")


def large(asked: Asked) -> Results:
    """Beyond the paper: 1,600 and 4,000 dense links; then one link in a hundred fails."""
    for way in ("Absorption Lazy", "Witness"):
        for size in (1600, 4000) if way in asked.ways else ():
            try:
                for figure, one in grown(way, with_about(size), 100 * asked.seconds, share=0.01):
                    yield "large inserts" if figure == "11" else "large deletes", {**one, "x": size}
            except Stopped as problem:
                yield "large inserts", {"way": way, "x": size, "stopped": str(problem)}


# Figure 13: more nodes


def figure_13(asked: Asked) -> Results:
    rows = shuffled_links(TransitStub())
    for way in ("DRed", "Absorption Lazy", "Witness"):
        for nodes in (1, 4, 8, 12, 16, 24) if way in asked.ways else ():
            made = network(REACHABLE, way, asked.seconds, nodes)
            done = [applied(made, insert={"link": rows})]
            done += [applied(made, delete={"link": [one]}) for one in rows[:3]]
            one = row(way, nodes, done, made, "reachable")
            yield "13", {**one, "megabytes": one["megabytes"] / nodes}


# Figure 14: aggregate selections


def figure_14(asked: Asked) -> Results:
    for density in Density:
        rows = links(TransitStub(density=density))
        for name, text, disabled in (
            ("none", PATHS, ("aggregate_selection",)),
            ("single", PATHS + "query minCost(X, Y, C).\n", ()),
            ("multi", PATHS + "query minCost(X, Y, C).\n" + HOPS, ()),
        ):
            way = f"{name}, {density.name.lower()}"
            made = network(text, "Absorption Lazy", asked.seconds, disabled=disabled)
            try:
                done = [applied(made, insert={"link": rows})]
                yield "14", row(way, "inserts", done, made, "minCost")
                done = [applied(made, delete={"link": [one]}) for one in rows[:20:4]]
                yield "14", row(way, "5 deletes", done, made, "minCost")
            except Stopped as problem:
                yield "14", {"way": way, "x": "inserts", "stopped": str(problem)}


PARTS = {
    "7": figures_7_and_8,
    "9": figures_9_and_10,
    "11": figures_11_and_12,
    "13": figure_13,
    "14": figure_14,
    "large": large,
}
SAME = {"8": "7", "10": "9", "12": "11"}


def keep(measured: dict[str, list[Result]], figure: str, one: Result) -> None:
    """Put a result in the place of an older one."""
    kept = [old for old in measured.get(figure, []) if (old["way"], old["x"]) != (one["way"], one["x"])]
    measured[figure] = [*kept, one]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", default=",".join(PARTS), help="which: 7 to 14, large (default: all)")
    parser.add_argument("--ways", default=",".join(WAYS), help="which strategies (default: all)")
    parser.add_argument("--budget", type=float, default=5.0, help="CPU seconds after which a transaction is stopped")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="the folder for regions.*")
    options = parser.parse_args()
    store = options.output / "regions.json"
    measured: dict[str, list[Result]] = json.loads(store.read_text()) if store.exists() else {}
    asked = Asked(tuple(options.ways.split(",")), options.budget)
    for part in dict.fromkeys(SAME.get(one, one) for one in options.figures.split(",")):
        for figure, one in PARTS[part](asked):
            keep(measured, figure, one)
            store.write_text(json.dumps(measured, indent=1) + "\n")
            told = one.get("stopped") or f"{one['megabytes']:.3f} MB, {one['seconds']:.2f} s"
            print(f"figure {figure}, {one['way']}, {one['x']}: {told}", flush=True)
    regions_report.write(measured, options.output)


if __name__ == "__main__":
    main()
