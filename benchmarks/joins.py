"""Join orders and shared pairs: what the planner finds against what could be written by hand, and against DuckDB.

    python benchmarks/joins.py [--quick] [--only NAME]

`order`: a rule of five atoms over a hub, written in several orders. For each the time as planned by the data, and the
time of the best order said with `plan(...)`. `andersen`, `cspa`, `csda`: program analyses over generated facts, loaded
with and without `shared_prefix`, then edited; DuckDB computes the same view from scratch by a semi-naive loop of its
own statements, and FlowLog by its own planner where it was built (`cargo build --release` in benchmarks/flowlog). The
facts are those of modules that know nothing of each other, sparse enough for a variable to point to a few objects, as
in real programs. Times are CPU seconds of one thread, the best of several turns, the contenders taking turns.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import headwater as hw

FLOWLOG = Path(__file__).parent / "flowlog" / "target" / "release" / "flowlog-peer"
ATOMS = ("sent(A, B)", "sent(B, C)", "owner(A, P)", "owner(C, Q)", "flagged(P)")
RISKY = """
relation sent(a: int, b: int). relation owner(a: int, p: int). relation flagged(p: int).
risky(P, Q) :- {body}.
query risky(P, Q).
"""
ANDERSEN = """
relation address(x: int, y: int). relation assign(x: int, y: int).
relation load(x: int, y: int). relation store(x: int, y: int).
points(Y, X) :- address(Y, X).
points(Y, X) :- assign(Y, Z), points(Z, X).
points(Y, W) :- load(Y, X), points(X, Z), points(Z, W).
points(Z, W) :- store(Y, X), points(Y, Z), points(X, W).
query points(X, Y).
"""
CSPA = """
relation assign(x: int, y: int). relation deref(x: int, y: int).
flow(Y, X) :- assign(Y, X).
flow(X, Y) :- assign(X, Z), memory(Z, Y).
flow(X, Y) :- flow(X, Z), flow(Z, Y).
memory(X, W) :- deref(Y, X), alias(Y, Z), deref(Z, W).
alias(X, Y) :- flow(Z, X), flow(Z, Y).
alias(X, Y) :- flow(Z, X), memory(Z, W), flow(W, Y).
flow(X, X) :- assign(X, _).
flow(X, X) :- assign(_, X).
memory(X, X) :- assign(_, X).
memory(X, X) :- assign(X, _).
query flow(X, Y). query memory(X, Y). query alias(X, Y).
"""
CSDA = """
relation nullEdge(x: int, y: int). relation arc(x: int, y: int).
null(X, Y) :- nullEdge(X, Y).
null(X, Y) :- null(X, W), arc(W, Y).
query null(X, Y).
"""
POINTS = (
    "select x, y from {address}",
    "select a.x, p.y from {assign} a join {points} p on a.y = p.x",
    "select l.x, q.y from {load} l join {points} p on l.y = p.x join {points} q on p.y = q.x",
    "select p.y, q.y from {store} s join {points} p on s.x = p.x join {points} q on s.y = q.x",
)


def hub(size: int) -> dict[str, pa.Table]:
    """Payments: two thirds of them go through one account."""
    dice = np.random.default_rng(1)
    ends = dice.integers(1, size, (2, 2 * size))
    to, back, zero = dice.integers(1, size, size), dice.integers(1, size, size), np.zeros(size, dtype=np.int64)
    return {
        "sent": pa.table({"a": np.concatenate([ends[0], to, zero]), "b": np.concatenate([ends[1], zero, back])}),
        "owner": pa.table({"a": np.arange(size), "p": dice.integers(0, size // 4, size)}),
        "flagged": pa.table({"p": dice.integers(0, size // 4, 20)}),
    }


def cpu(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def loaded(text: str, facts: dict[str, pa.Table], **options: Any) -> tuple[float, hw.Database]:
    db = hw.Database(hw.compile(text, **options))
    return cpu(lambda: db.apply(insert=facts)), db


def order(quick: bool) -> None:
    facts = hub(10_000 if quick else 100_000)
    texts = [", ".join(ATOMS[at] for at in places) for places in list(permutations(range(5)))[::13]]
    said = ["sent(A, B), sent(B, C), owner(A, P), owner(C, Q), flagged(P) plan(5, 3, 1, 2, 4)"]
    said.append("sent(A, B), sent(B, C), owner(A, P), flagged(P), owner(C, Q) plan(4, 3, 1, 2, 5)")
    said.append("sent(B, C), owner(C, Q), sent(A, B), owner(A, P), flagged(P) plan(5, 4, 3, 1, 2)")
    loaded(RISKY.format(body=texts[0]), hub(2_000))
    times: dict[str, float] = {}
    for _ in range(2):
        for body in (*said, *texts):
            took, db = loaded(RISKY.format(body=body), facts)
            times[body] = min(times.get(body, 1e9), took)
    best = min(times[body] for body in said)
    found = [times[body] for body in texts]
    print(f"order: {db.count('risky'):,} rows; best order said {best:.2f} s; {len(texts)} texts, planned: "
          f"{min(found) / best:.2f}x to {max(found) / best:.2f}x of it")  # fmt: skip


def edits(db: hw.Database, relation: str, facts: pa.Table, count: int) -> list[float]:
    rows = list(zip(*(column.to_pylist() for column in facts.columns), strict=True))
    found = []
    for row in rows[:: max(1, len(rows) // count)][:count]:
        found.append(cpu(lambda row=row: db.apply(delete={relation: [row]})))
        found.append(cpu(lambda row=row: db.apply(insert={relation: [row]})))
    return found


def analysis(name: str, text: str, facts: dict[str, pa.Table], edited: str, peer: Callable[[], int] | None) -> None:
    ours, plain, theirs, flowlog = [], [], [], []
    rows = 0
    for _ in range(2):
        took, db = loaded(text, facts)
        ours.append(took)
        plain.append(loaded(text, facts, disabled=["shared_prefix"])[0])
        if peer is not None:
            begun = time.process_time()
            rows = peer()
            theirs.append(time.process_time() - begun)
        if FLOWLOG.exists():
            took, found = in_flowlog(name, facts)
            flowlog.append(took)
            assert found == db.count(db.program.outputs[0]), f"FlowLog finds {found:,} rows"
    view = db.program.outputs[0]
    assert peer is None or rows == db.count(view), f"DuckDB finds {rows:,} rows"
    edits(db, edited, facts[edited], 2)  # kernels are compiled
    changed = edits(db, edited, facts[edited], 20)
    total = sum(table.num_rows for table in facts.values())
    against = f"; DuckDB {min(theirs) / min(ours):.2f}x" if theirs else ""
    against += f"; FlowLog {min(flowlog) / min(ours):.2f}x" if flowlog else ""
    load, derived = min(ours), sum(db.count(each) for each in db.program.outputs)
    print(f"{name}: {total:,} facts, {derived:,} rows, load {load:.2f} s; without shared_prefix "
          f"{min(plain) / load:.2f}x{against}; an edit takes 1/{load / np.median(changed):,.0f} of the load, "
          f"the slowest of {len(changed)} 1/{load / max(changed):,.1f}", flush=True)  # fmt: skip


def in_flowlog(program: str, facts: dict[str, pa.Table]) -> tuple[float, int]:
    """CPU seconds of FlowLog on one worker, and the rows of the program's first view."""
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in facts.items():
            pc.write_csv(rows, f"{folder}/{name}.csv", pc.WriteOptions(include_header=False))
        done = subprocess.run([FLOWLOG, program, folder], capture_output=True, text=True, check=True)
    seconds, count = done.stdout.split()
    return float(seconds), int(count)


def semi_naive(facts: dict[str, pa.Table], view: str, rules: tuple[str, ...]) -> Callable[[], int]:
    """The view in DuckDB: all rules over the new rows of each place of the view, until no row is new."""

    def run() -> int:
        db = duckdb.connect()
        db.execute("set threads = 1")
        for name, rows in facts.items():
            db.register(f"given_{name}", rows)
            db.execute(f"create table {name} as select distinct * from given_{name}")
        names = {name: name for name in facts}
        flat = [rule.format(**names, **{view: view}) for rule in rules if f"{{{view}}}" not in rule]
        db.execute(f"create table {view} as select distinct * from ({' union all '.join(flat)}) t(x, y)")
        db.execute(f"create table fresh as select * from {view}")
        steps = []
        for rule in rules:
            parts = rule.split(f"{{{view}}}")
            for at in range(1, len(parts)):
                text = parts[0]
                for place, part in enumerate(parts[1:], 1):
                    text += ("fresh" if place == at else view) + part
                steps.append(text.format(**names))
        while db.execute("select count(*) from fresh").fetchall()[0][0]:
            joined = " union all ".join(steps)
            db.execute(f"create table found as select distinct * from ({joined}) t(x, y) anti join {view} using (x, y)")
            db.execute(f"insert into {view} select * from found; drop table fresh; alter table found rename to fresh")
        return int(db.execute(f"select count(*) from {view}").fetchall()[0][0])

    return run


def modules(dice: np.random.Generator, count: int, nodes: int, sizes: dict[str, int]) -> dict[str, pa.Table]:
    """Facts of a large program: modules that know nothing of each other, with random statements in each."""
    facts = {}
    for name, size in sizes.items():
        base = np.repeat(np.arange(count) * nodes, size)
        ends = dice.integers(0, nodes, (2, count * size))
        facts[name] = pa.table({"x": base + ends[0], "y": base + ends[1]})
    return facts


def andersen(quick: bool) -> None:
    sizes = {"address": 400, "assign": 260, "load": 25, "store": 15}
    facts = modules(np.random.default_rng(2), 40 if quick else 1_430, 500, sizes)
    analysis("andersen", ANDERSEN, facts, "assign", semi_naive(facts, "points", POINTS))


def cspa(quick: bool) -> None:
    facts = modules(np.random.default_rng(3), 40 if quick else 4_300, 400, {"assign": 150, "deref": 80})
    analysis("cspa", CSPA, facts, "assign", None)


def csda(quick: bool) -> None:
    facts = modules(np.random.default_rng(4), 40 if quick else 1_000, 900, {"nullEdge": 100, "arc": 900})
    rules = ("select x, y from {nullEdge}", "select n.x, a.y from {flows} n join {arc} a on n.y = a.x")
    analysis("csda", CSDA, facts, "arc", semi_naive(facts, "flows", rules))


WORKS = {"order": order, "andersen": andersen, "cspa": cspa, "csda": csda}

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", choices=WORKS)
    chosen = options.parse_args()
    for name, work in WORKS.items():
        if chosen.only in (None, name):
            work(chosen.quick)
