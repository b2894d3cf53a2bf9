"""Queries of 004 over sliding windows, beside computing every window anew with the same engine (Simple).

    python benchmarks/streams.py [--only Q4 ...] [--measured 12] [--scale 1.0] [--json FILE] [--plot FILE]

A window is filled, then slides come one after the other, each with its rows: ours is one transaction per slide, Simple
a new database over the rows of the window. Throughput is rows per second over all slides, the latency that of the
slowest slide (the 99th percentile of so few). Every answer is held against Simple's. The last slide has no rows: what
leaves is dropped, and the joins that ran are counted (looking up the next best of a group counts as one). `--plot`
measures Q4 over growing windows, as Table III of the paper.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.engine import fused, strand
from stream_works import WORKS, Work

TimedRow = tuple[int, ...]


def slides(work: Work, scale: float) -> Iterator[list[TimedRow]]:
    """The rows of one slide after the other; times begin behind a step, so that a slide's last row is on the next."""
    made = work.rows(Random(7))
    length = max(1, int(work.slide * scale))
    at = 1
    while True:
        yield [(at + place, *row) for place, row in enumerate(islice(made, length))]
        at += length


def windowed(work: Work, scale: float) -> hw.Database:
    length = max(1, int(work.slide * scale))
    return hw.Database(hw.compile(work.timed.format(size=length * work.slides, slide=length)))


def simple(work: Work, rows: list[TimedRow]) -> tuple[hw.Database, float]:
    program = hw.compile(work.plain)
    start = time.perf_counter()
    db = hw.Database(program)
    db.apply(insert={work.stream: [row[1:] for row in rows]})
    return db, time.perf_counter() - start


def measure(work: Work, measured: int, scale: float) -> dict[str, Any]:
    db = windowed(work, scale)
    coming = slides(work, scale)
    window: list[list[TimedRow]] = []
    for _ in range(work.slides):
        window.append(next(coming))
        db.apply(insert={work.stream: window[-1]})
    ours: list[float] = []
    theirs: list[float] = []
    grown: list[float] = []
    for number in range(measured):
        window = [*window[1:], next(coming)]
        start = time.perf_counter()
        db.apply(insert={work.stream: window[-1]})
        ours.append(time.perf_counter() - start)
        if number % max(1, measured // 4) == 0:  # Simple costs the same every time
            other, seconds = simple(work, [row for slide in window for row in slide])
            theirs.append(seconds)
            grown.append(db.nbytes / other.nbytes)
            check(work, db, other)
    rows = len(window[-1])
    return {
        "work": work.name,
        "window": rows * work.slides,
        "view": db.count(work.view),
        "rows per second": rows * len(ours) / sum(ours),
        "throughput": (sum(theirs) / len(theirs)) / (sum(ours) / len(ours)),
        "latency": max(ours) / max(theirs),
        "memory": sorted(grown)[len(grown) // 2],
        **expiry(work, db, rows),
    }


def check(work: Work, db: hw.Database, other: hw.Database) -> None:
    found = {row[1:] for row in db.rows(work.view)}
    expected = other.rows(work.view)
    if found != expected:
        raise SystemExit(f"{work.name}: {len(found ^ expected)} rows differ from those of the window computed anew")


def expiry(work: Work, db: hw.Database, rows: int) -> dict[str, Any]:
    """A slide in which nothing comes: its cost, the rows that leave, and how often a rule was joined."""
    before = sum(store.count for store in db._shard.stores.values())
    with Joins() as joins:
        start = time.perf_counter()
        db.advance(db.now + rows)
        seconds = time.perf_counter() - start
    left = before - sum(store.count for store in db._shard.stores.values())
    return {"expiry": seconds, "left": left, "joins": joins.count}


class Joins:
    """Counts the joins that rules run."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Joins:
        self._was = [(strand._Join, "run"), (fused.FusedBest, "run"), (fused.FusedSet, "run"), (fused.FusedPull, "run")]
        self._own = [getattr(place, name) for place, name in self._was]
        for (place, name), own in zip(self._was, self._own, strict=True):
            setattr(place, name, self._counting(own))
        return self

    def _counting(self, own: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return own(*args, **kwargs)

        return run

    def __exit__(self, *_: object) -> None:
        for (place, name), own in zip(self._was, self._own, strict=True):
            setattr(place, name, own)


def growth(work: Work, measured: int) -> list[dict[str, float]]:
    """Rows per second of one query over growing windows, with slides of three lengths."""
    points = []
    for slide in (40, 60, 80):
        for size in (240, 480, 600, 720):
            part = Work(
                work.name, work.stream, work.view, work.timed, work.plain, work.rows, slide, max(1, size // slide)
            )
            db, coming = windowed(part, 1.0), slides(part, 1.0)
            for _ in range(part.slides):
                db.apply(insert={part.stream: next(coming)})
            start = time.perf_counter()
            for _ in range(measured):
                db.apply(insert={part.stream: next(coming)})
            points.append({"slide": slide, "size": size, "rate": measured * slide / (time.perf_counter() - start)})
    return points


def draw(points: list[dict[str, float]], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for slide in sorted({point["slide"] for point in points}):
        own = [point for point in points if point["slide"] == slide]
        axes.plot([p["size"] for p in own], [p["rate"] for p in own], "-o", label=f"slide of {slide:.0f}")
    axes.set(
        xlabel="rows in the window", ylabel="rows per second, one core", title="Cheapest ride (Q4): sustained rate"
    )
    axes.set_ylim(bottom=0)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="*", help="names of queries")
    options.add_argument("--measured", type=int, default=12, help="slides to measure")
    options.add_argument("--scale", type=float, default=1.0, help="rows per slide, as a factor")
    options.add_argument("--json", type=Path)
    options.add_argument("--plot", type=Path)
    given = options.parse_args()
    found = []
    table = Table(
        "query", "window", "rows/s", "Simple takes", "slowest slide", "memory", "empty slide", "rows left", "joins"
    )
    for work in WORKS:
        if given.only is None or work.name in given.only:
            one = measure(work, given.measured, given.scale)
            found.append(one)
            table.add_row(
                work.name,
                f"{one['window']:,}",
                f"{one['rows per second']:,.0f}",
                f"{one['throughput']:.1f}x",
                f"1/{1 / one['latency']:.1f}",
                f"{one['memory'] - 1:+.0%}",
                f"{one['expiry'] * 1000:.1f} ms",
                f"{one['left']:,}",
                str(one["joins"]),
            )
    Console(width=120).print(table)
    points = growth(next(work for work in WORKS if work.name == "Q4"), given.measured) if given.plot else []
    if given.plot:
        draw(points, given.plot)
        for point in points:
            print(f"slide {point['slide']:.0f}, window {point['size']:.0f}: {point['rate']:,.0f} rows/s")
    if given.json:
        given.json.write_text(json.dumps({"works": found, "growth": points}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
