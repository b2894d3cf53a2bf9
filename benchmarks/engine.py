"""The engine beside its peers in one run, as ratios.

    python benchmarks/engine.py [--only NAME ...] [--quick] [--repeats 3] [--json FILE] [--plots DIR] [--pathway PYTHON]

Arrow tables in, view computed, loading counted for everyone, best of the repeats, each measurement in a process of
its own. A ratio `DuckDB 2x` says that DuckDB takes twice our time; `1/60` is a fraction of our own time from scratch.
Every answer is held against ours: rows and a sum over the view. A peer that is not installed is reported as missing.
Pathway wants other versions of our packages, so it runs in an environment of its own: `--pathway` takes its Python.
NAME is a work (closure-1k) or a work and a measurement ("closure-1k singles").
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from goals import GENERAL, lines

HERE = Path(__file__).parent
PATIENCE = 300  # seconds for one measurement

# (work, measurement): ours first, because the others are compared with it.
MEASUREMENTS: tuple[tuple[str, str], ...] = (
    *(
        (work, measure)
        for work in ("closure-1k", "closure-2k", "reach", "shortest", "components", "generation", "points-to")
        for measure in ("scratch", *GENERAL, "limit")
    ),
    ("closure-1k", "singles"),
    ("closure-1k", "hundred"),
    ("components", "hundred"),
    ("points-to", "script"),
    ("closure-1k", "bytes"),
    ("closure-1k", "emptied"),
    ("closure-1k", "start"),
    ("closure-1k", "growth"),
)
PATHWAY = ("closure-1k", "reach")


def measure(python: str, script: str, work: str, name: str, flags: list[str]) -> dict[str, Any]:
    command = [python, str(HERE / script), work, name, *flags]
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


def report(found: dict[str, Any], console: Console) -> None:
    table = Table(title="Headwater and its peers")
    for column in ("work", "must reach", "aim", "measured", "verdict"):
        table.add_column(column, overflow="fold")
    for line in lines(found):
        table.add_row(line.work, line.must, line.aim, line.measured, line.verdict)
    console.print(table)
    for key, value in found.items():
        if key.endswith(" pathway") and "load" in value:
            console.print(f"{key}: " + ", ".join(f"{name} {seconds:.4g} s" for name, seconds in value.items()))
        elif "failed" in value:
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
    options.add_argument("--json", type=Path, metavar="FILE", help="keep all numbers; earlier ones in FILE stay")
    options.add_argument("--plots", type=Path, metavar="DIR", help="write growth.png and ratios.png")
    options.add_argument("--pathway", metavar="PYTHON", help="a Python that has pathway installed")
    chosen = options.parse_args()

    console = Console(width=160 if not sys.stdout.isatty() else None)
    flags = ["--repeats", str(chosen.repeats), *(["--quick"] if chosen.quick else [])]
    found: dict[str, Any] = {}
    if chosen.json and chosen.json.exists():
        found = json.loads(chosen.json.read_text())
    jobs = [(sys.executable, "worker.py", *one) for one in MEASUREMENTS if wanted(*one, chosen.only)]
    if chosen.pathway:
        jobs += [
            (chosen.pathway, "pathway_peer.py", work, "pathway")
            for work in PATHWAY
            if wanted(work, "pathway", chosen.only)
        ]
    problems = []
    console.print(f"{len(jobs)} measurements, load of the machine {os.getloadavg()[0]:.1f}")
    for job in jobs:
        key = f"{job[2]} {job[3]}"
        found[key] = measure(*job, flags)
        console.print(f"  {key}: {json.dumps(found[key])}", soft_wrap=True, highlight=False)
        problem = disagreement(found, job[2], job[3])
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
