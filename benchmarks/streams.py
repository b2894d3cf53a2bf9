"""Queries of 004 over sliding windows, beside computing every window anew with the same engine (Simple).

    python benchmarks/streams.py [--only Q4 ...] [--measured N] [--scale 1.0] [--tuples] [--json FILE] [--plot FILE]

A window is filled, then slides come one after the other, each with its rows: ours is one transaction per slide, Simple
a new database over the rows of the window, whose program has been compiled before. Both get Arrow tables; with
`--tuples` both get Python's rows, and most of Simple's time is reading them. Throughput is rows per second over all
slides, latency the 99th percentile of a slide. The first and a later answer are held against Simple's. Memory is what
the database says it holds, beside Simple's right after loading, and beside an engine that keeps the same view without
windows: rows that leave are deleted. The limit is Simple's rows over those that come or go in a slide: one would be so
much faster for whom such a row costs what a row costs Simple. The last slide has no rows: what leaves is dropped, and
the joins that ran are counted. `--plot` measures Q4 over growing windows, as Table III of the paper.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.engine.rules import delta_rule
from headwater.engine.rules.fused_best import FusedBest
from headwater.engine.rules.fused_frontier import FusedFrontier
from headwater.engine.rules.fused_set import FusedCopy, FusedJoin, FusedPull, FusedTail
from stream_works import WORKS, Work

TimedRow = tuple[int, ...]
_MINUTE = 20.8  # rides
_QUICK = 0.2  # seconds that Simple takes, where deletes from a window are not too slow to wait for


@dataclass(frozen=True, slots=True)
class Setup:
    """How one work is measured: rows per slide, and whether rows are given as tuples."""

    work: Work
    length: int
    tuples: bool

    def slides(self) -> Iterator[list[TimedRow]]:
        """The rows of one slide after the other; times begin behind a step: a slide has its last row on the next."""
        made = self.work.rows(Random(7))
        at = 1
        while True:
            yield [(at + place, *row) for place, row in enumerate(islice(made, self.length))]
            at += self.length

    def given(self, rows: list[TimedRow], *, plain: bool = False) -> Any:
        """Rows as a database gets them, with or without their times."""
        columns = self.work.columns[1:] if plain else self.work.columns
        if self.tuples:
            return [row[1:] for row in rows] if plain else rows
        matrix = np.array(rows, dtype=np.int64).reshape(len(rows), -1)[:, 1 if plain else 0 :]
        return pa.table({name: np.ascontiguousarray(matrix[:, at]) for at, name in enumerate(columns)})

    def windowed(self) -> hw.Database:
        return hw.Database(hw.compile(self.work.timed.format(size=self.length * self.work.slides, slide=self.length)))

    def simple(self, program: Any, rows: list[TimedRow]) -> tuple[hw.Database, float]:
        table = self.given(rows, plain=True)
        start = time.perf_counter()
        db = hw.Database(program)
        db.apply(insert={self.work.stream: table})
        return db, time.perf_counter() - start


def measure(setup: Setup, measured: int) -> dict[str, Any]:
    work = setup.work
    db, program, coming = setup.windowed(), hw.compile(work.plain), setup.slides()
    window: list[list[TimedRow]] = []
    for _ in range(work.slides):
        window.append(next(coming))
        db.apply(insert={work.stream: setup.given(window[-1])})
    setup.simple(program, window[0])  # compiles what is compiled once
    ours: list[float] = []
    theirs: list[float] = []
    grown: list[float] = []
    limits: list[float] = []
    for number in range(measured):
        window = [*window[1:], next(coming)]
        table = setup.given(window[-1])
        turnover = Turnover(db)
        start = time.perf_counter()
        db.apply(insert={work.stream: table})
        ours.append(time.perf_counter() - start)
        if number % max(1, measured // 6) == 0:  # Simple costs the same every time
            other, seconds = setup.simple(program, [row for slide in window for row in slide])
            theirs.append(seconds)
            grown.append(db.nbytes / other.nbytes)
            limits.append(sum(store.count for store in other._shard.stores.values()) / turnover.rows(db))
            if len(theirs) in (1, 6):
                check(work, db, other)
    rows = len(window[-1])
    latency = float(np.percentile(ours, 99) / np.percentile(theirs, 99))
    held = db.nbytes
    without = deleting(setup, program, window, coming) if np.mean(theirs) < _QUICK else None
    return {
        "work": work.name,
        "window": rows * work.slides,
        "view": db.count(work.view),
        "slides": measured,
        "rows per second": rows * len(ours) / sum(ours),
        "throughput": float(np.mean(theirs) / np.mean(ours)),
        "latency": latency,
        "limit": float(np.median(limits)),
        "memory": float(np.median(grown)),
        "memory beside deletes": None if without is None else held / without,
        **expiry(work, db, rows),
    }


def deleting(setup: Setup, program: Any, window: list[list[TimedRow]], coming: Iterator[list[TimedRow]]) -> int:
    """Bytes of an engine without windows that has been kept up to date for some slides."""
    work = setup.work
    db = hw.Database(program)
    db.apply(insert={work.stream: setup.given([row for slide in window for row in slide], plain=True)})
    for _ in range(2):
        left, window = window[0], [*window[1:], next(coming)]
        there = {row[1:] for slide in window for row in slide}
        gone = [row for row in left if row[1:] not in there]
        db.apply(
            insert={work.stream: setup.given(window[-1], plain=True)},
            delete={work.stream: setup.given(gone, plain=True)} if gone else {},
        )
    return db.nbytes


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


class Turnover:
    """How many rows come and go in one slide: those that the view and the expiry of what it rests on ask for."""

    def __init__(self, db: hw.Database) -> None:
        self._tick = db._shard.tick
        self._counts = {name: store.count for name, store in db._shard.stores.items()}

    def rows(self, db: hw.Database) -> int:
        found = 0
        for name, store in db._shard.stores.items():
            came = int(np.count_nonzero(store.stamp[: store.size] > self._tick))
            found += 2 * came + self._counts[name] - store.count
        return found


class Joins:
    """Counts the joins that rules run."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Joins:
        loops = (delta_rule._Join, FusedBest, FusedCopy, FusedJoin, FusedPull, FusedTail, FusedFrontier)
        self._own: dict[Any, Any] = {loop: loop.run for loop in loops}
        for loop, own in self._own.items():
            loop.run = self._counting(own)
        return self

    def _counting(self, own: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return own(*args, **kwargs)

        return run

    def __exit__(self, *_: object) -> None:
        for loop, own in self._own.items():
            loop.run = own


def growth(work: Work, scale: float) -> list[dict[str, float]]:
    """Rows per second of one query over growing windows, with slides of three lengths, in minutes as in the paper."""
    points = []
    for slide in (1000, 1500, 2000):
        for size in (4000, 6000, 8000, 10000):
            setup = Setup(replace(work, slides=round(size / slide)), round(_MINUTE * slide * scale), tuples=False)
            db, coming = setup.windowed(), setup.slides()
            for _ in range(setup.work.slides + 1):
                db.apply(insert={work.stream: setup.given(next(coming))})
            tables = [setup.given(next(coming)) for _ in range(4)]
            start = time.perf_counter()
            for table in tables:
                db.apply(insert={work.stream: table})
            rate = len(tables) * setup.length / (time.perf_counter() - start)
            points.append({"slide": slide, "size": size, "rate": rate})
    return points


def draw(points: list[dict[str, float]], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for slide in sorted({point["slide"] for point in points}):
        own = [point for point in points if point["slide"] == slide]
        axes.plot([p["size"] for p in own], [p["rate"] for p in own], "-o", label=f"slide of {slide:.0f} minutes")
    axes.set(
        xlabel="minutes in the window", ylabel="rows per second, one core", title="Cheapest ride (Q4): sustained rate"
    )
    axes.set_ylim(bottom=0)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="*", help="names of queries")
    options.add_argument("--measured", type=int, help="slides to measure")
    options.add_argument("--scale", type=float, default=1.0, help="rows per slide, as a factor")
    options.add_argument("--tuples", action="store_true", help="give rows as tuples, not as Arrow tables")
    options.add_argument("--json", type=Path)
    options.add_argument("--plot", type=Path)
    given = options.parse_args()
    found = []
    table = Table(
        "query", "window", "rows/s", "Simple takes", "limit", "p99 of a slide", "memory", "with deletes",
        "empty slide", "left", "joins",
    )  # fmt: skip
    for work in WORKS:
        if given.only is None or work.name in given.only:
            setup = Setup(work, max(1, round(work.slide * given.scale)), given.tuples)
            one = measure(setup, given.measured or work.measured)
            found.append(one)
            table.add_row(
                work.name,
                f"{one['window']:,}",
                f"{one['rows per second']:,.0f}",
                f"{one['throughput']:.1f}x",
                f"{one['limit']:.1f}x",
                f"1/{1 / one['latency']:.1f}",
                f"{one['memory'] - 1:+.0%}",
                "" if one["memory beside deletes"] is None else f"{one['memory beside deletes'] - 1:+.0%}",
                f"{one['expiry'] * 1000:.1f} ms",
                f"{one['left']:,}",
                str(one["joins"]),
            )
    Console(width=130).print(table)
    points = growth(next(work for work in WORKS if work.name == "Q4"), given.scale) if given.plot else []
    if given.plot:
        draw(points, given.plot)
        for point in points:
            print(f"slide {point['slide']:.0f}, window {point['size']:.0f}: {point['rate']:,.0f} rows/s")
    if given.json:
        given.json.write_text(json.dumps({"works": found, "growth": points}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
