"""The engine beside its peers in one run, as ratios.

    python benchmarks/engine.py [--only NAME ...] [--quick] [--repeats 3] [--passes 2] [--json FILE] [--plots DIR]

Arrow tables in, view computed, loading counted for everyone, each measurement in a process of its own. From-scratch
times are the best of all repeats; the contenders take turns over several passes, so that a busy moment hits them
alike. A ratio `DuckDB 2x` says that DuckDB takes twice our time; `1/60` is a fraction of our own time from scratch,
taken in the same process. Every answer is held against ours: its rows, and a sum over the view where that is cheap.
A peer that is not installed is reported as missing.
NAME is a work (closure-1k) or a work and a measurement ("closure-1k singles").
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from goals import GENERAL, lines

HERE = Path(__file__).parent
PATIENCE = 300  # seconds for one measurement
CONTENDERS = ("scratch", *GENERAL, "limit")

# (work, measurement): ours first, because the others are compared with it.
MEASUREMENTS: tuple[tuple[str, str], ...] = (
    *(
        (work, measure)
        for work in ("closure-1k", "closure-2k", "reach", "shortest", "components", "generation", "points-to")
        for measure in CONTENDERS
    ),
    ("closure-1k-far", "scratch"),
    ("closure-1k-far", "DuckDB"),
    ("closure-1k", "singles"),
    ("closure-1k", "hundred"),
    ("components", "hundred"),
    ("points-to", "script"),
    ("closure-1k", "bytes"),
    ("closure-1k", "emptied"),
    ("closure-1k", "start"),
    ("closure-1k", "growth"),
)


def measure(work: str, name: str, flags: list[str]) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "worker.py"), work, name, *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"over": PATIENCE}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def disagreement(found: dict[str, Any], work: str, name: str) -> str | None:
    ours, theirs = found.get(f"{work} scratch"), found[f"{work} {name}"]
    if name == "scratch" or ours is None or "seconds" not in theirs or "rows" not in theirs or "rows" not in ours:
        return None
    same_sum = theirs.get("sum", -1) in (-1, ours["sum"])
    if theirs["rows"] == ours["rows"] and same_sum:
        return None
    return f"{work}: {name} has {theirs['rows']} rows, sum {theirs.get('sum')}; ours {ours['rows']}, {ours['sum']}"


def wanted(work: str, name: str, only: list[str]) -> bool:
    return not only or work in only or f"{work} {name}" in only


def turns(jobs: list[tuple[str, str]], passes: int) -> Iterator[tuple[str, str, int]]:
    """Every job with the number of its turn: the contenders of one work alternate, other jobs run once."""
    for work in dict.fromkeys(work for work, _ in jobs):
        for turn in range(passes):
            yield from ((work, name, turn) for one, name in jobs if one == work and name in CONTENDERS)
    yield from ((work, name, 0) for work, name in jobs if name not in CONTENDERS)


def faster(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return other if other.get("seconds", float("inf")) < one.get("seconds", float("inf")) else one


def report(found: dict[str, Any], console: Console) -> None:
    table = Table(title="Headwater and its peers")
    for column in ("work", "must reach", "aim", "measured", "verdict"):
        table.add_column(column, overflow="fold")
    for line in lines(found):
        table.add_row(line.work, line.must, line.aim, line.measured, line.verdict)
    console.print(table)
    for key, value in found.items():
        if "failed" in value:
            console.print(f"{key}: failed: {value['failed']}", style="red")
        elif "over" in value:
            console.print(f"{key}: stopped after {value['over']} s")
    missing = {key.split()[1]: value["missing"] for key, value in found.items() if "missing" in value}
    for name, reason in missing.items():
        if reason not in ("cannot express it", "no kernel"):
            console.print(f"{name} is missing: {reason}")


def main() -> None:
    options = argparse.ArgumentParser(description="The engine beside its peers, as ratios.")
    options.add_argument("--only", nargs="+", default=[], metavar="NAME")
    options.add_argument("--quick", action="store_true", help="small inputs of the same shapes")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--passes", type=int, default=2, help="turns that the contenders take")
    options.add_argument("--json", type=Path, metavar="FILE", help="keep all numbers; earlier ones in FILE stay")
    options.add_argument("--plots", type=Path, metavar="DIR", help="write growth.png and ratios.png")
    chosen = options.parse_args()

    console = Console(width=160 if not sys.stdout.isatty() else None)
    flags = ["--repeats", str(chosen.repeats), *(["--quick"] if chosen.quick else [])]
    found: dict[str, Any] = {}
    if chosen.json and chosen.json.exists():
        found = json.loads(chosen.json.read_text())
    jobs = [one for one in MEASUREMENTS if wanted(*one, chosen.only)]
    problems = []
    console.print(f"{len(jobs)} measurements, load of the machine {os.getloadavg()[0]:.1f}")
    for work, name, turn in turns(jobs, chosen.passes):
        key = f"{work} {name}"
        now = measure(work, name, flags)
        found[key] = now if turn == 0 else faster(found[key], now)
        console.print(f"  {key}: {json.dumps(found[key])}", soft_wrap=True, highlight=False)
        problem = disagreement(found, work, name)
        if problem:
            problems.append(problem)
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=1) + "\n")
    report(found, console)
    if chosen.plots:
        from plots import draw

        draw(found, chosen.plots)
    if problems:
        console.print("\n".join(["answers differ:", *problems]), style="red")
        sys.exit(1)


if __name__ == "__main__":
    main()
