"""Headwater's side of the benchmarks: each function measures one thing in a process of its own and returns numbers.

Times are wall-clock seconds. From-scratch times count everything from program text and Arrow tables to the stored view.
"""

from __future__ import annotations

import gc
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import graphs
import headwater as hw
from graphs import Input
from headwater.engine.store.store import Store
from programs import CLOSURE, PROGRAMS

Row = tuple[int, ...]
Numbers = dict[str, Any]

EDITS = 100
NO_GUARD = None  # the guard is for programs that may not end; these do


def load(work: str, tables: Input) -> hw.Database:
    database = hw.Database(hw.compile(PROGRAMS[work][0]), guard=NO_GUARD)
    database.apply(insert=tables)
    return database


def clock(action: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def rows_of(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def scratch(work: str, *, quick: bool, repeats: int) -> Numbers:
    tables = graphs.make(work, quick=quick)
    times = [clock(lambda: load(work, tables)) for _ in range(repeats)]
    database = load(work, tables)
    view = database.table(PROGRAMS[work][1])
    total = pc.sum(view[view.column_names[-1]]).as_py()
    return {"seconds": min(times), "rows": view.num_rows, "sum": total, "nbytes": database.nbytes}


def _spare_links(tables: Input, count: int, pick: random.Random) -> list[Row]:
    """Links that are not there, between nodes that are."""
    present = set(rows_of(tables["link"]))
    nodes = sorted({node for row in present for node in row[:2]})
    spare: set[Row] = set()
    while len(spare) < count:
        row = (pick.choice(nodes), pick.choice(nodes))
        if row[0] != row[1] and row not in present:
            spare.add(row)
    return sorted(spare, key=lambda _: pick.random())


def singles(work: str, *, quick: bool, repeats: int) -> Numbers:
    """One link deleted, one inserted, many times: medians. Every edit is taken back before the next, unmeasured.

    The time from scratch that they are fractions of is taken in the same process, so that both see the same machine.
    """
    tables = graphs.make(work, quick=quick)
    pick = random.Random(graphs.SEED)
    loading = [clock(lambda: load(work, tables)) for _ in range(repeats)]
    database = load(work, tables)
    links = pick.sample(rows_of(tables["link"]), EDITS + 1)
    first = clock(lambda: database.apply(delete={"link": links[:1]}))
    database.apply(insert={"link": links[:1]})
    deletes, removed = [], []
    for link in links[1:]:
        start = time.perf_counter()
        changes = database.apply(delete={"link": [link]})
        deletes.append(time.perf_counter() - start)
        removed.append(changes[PROGRAMS[work][1]].deleted.num_rows)
        database.apply(insert={"link": [link]})
    inserts = []
    for link in _spare_links(tables, EDITS, pick):
        start = time.perf_counter()
        database.apply(insert={"link": [link]})
        inserts.append(time.perf_counter() - start)
        database.apply(delete={"link": [link]})
    loading += [clock(lambda: load(work, tables)) for _ in range(repeats)]
    return {
        "load": min(loading),
        "delete": statistics.median(deletes),
        "delete_worst": max(deletes),
        "delete_first": first,
        "removed": statistics.mean(removed),
        "insert": statistics.median(inserts),
        "insert_worst": max(inserts),
    }


def hundred(work: str, *, quick: bool, repeats: int) -> Numbers:
    """A hundred links deleted in one transaction, from a database just loaded."""
    tables = graphs.make(work, quick=quick)
    links = random.Random(graphs.SEED).sample(rows_of(tables["link"]), EDITS)
    gone = pa.table(dict(zip(tables["link"].column_names, zip(*links, strict=True), strict=True)))
    loads, deletes = [], []
    removed = 0
    for _ in range(repeats):
        loads.append(clock(lambda: load(work, tables)))
        database = load(work, tables)
        before = database.count(PROGRAMS[work][1])
        deletes.append(clock(partial(database.apply, delete={"link": gone})))
        removed = before - database.count(PROGRAMS[work][1])
    return {"load": min(loads), "delete": min(deletes), "removed": removed}


def script(work: str, *, quick: bool, repeats: int) -> Numbers:
    """An edit script: single statements deleted and put back, then a hundred at once, out and in."""
    tables = graphs.make(work, quick=quick)
    pick = random.Random(graphs.SEED)
    loading = [clock(lambda: load(work, tables)) for _ in range(repeats)]
    database = load(work, tables)
    statements = [(name, row) for name, rows in tables.items() for row in rows_of(rows)]
    chosen = pick.sample(statements, EDITS)
    deletes, inserts = [], []
    for name, row in chosen:
        deletes.append(clock(partial(database.apply, delete={name: [row]})))
        inserts.append(clock(partial(database.apply, insert={name: [row]})))
    batch = _by_name(pick.sample(statements, EDITS))
    out = clock(lambda: database.apply(delete=batch))
    back = clock(lambda: database.apply(insert=batch))
    return {
        "load": min(loading),
        "delete": statistics.median(deletes),
        "delete_worst": max(deletes),
        "insert": statistics.median(inserts),
        "insert_worst": max(inserts),
        "delete_batch": out,
        "insert_batch": back,
        "rows": database.count(PROGRAMS[work][1]),
    }


def _by_name(statements: Iterable[tuple[str, Row]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, row in statements:
        found.setdefault(name, []).append(row)
    return found


def bytes_per_row(work: str, *, quick: bool, repeats: int) -> Numbers:
    """Bytes of the whole database per row of the view, after a delete, so that every index and list exists."""
    tables = graphs.make(work, quick=quick)
    database = load(work, tables)
    database.apply(delete={"link": rows_of(tables["link"])[:1]})
    rows = database.count(PROGRAMS[work][1])
    return {"bytes": database.nbytes / rows, "rows": rows}


def resident() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def emptied(work: str, *, quick: bool, repeats: int) -> Numbers:
    """Memory of the process and of the database: empty, loaded, and after every base row was deleted."""
    tables = graphs.make(work, quick=quick)
    warm = load(work, {"link": tables["link"].slice(0, 3)})  # every kernel is in memory before the first reading
    warm.apply(delete={"link": tables["link"].slice(0, 2)})
    del warm
    database = hw.Database(hw.compile(PROGRAMS[work][0]), guard=NO_GUARD)
    gc.collect()
    empty, empty_bytes = resident(), database.nbytes
    database.apply(insert=tables)
    gc.collect()
    loaded, loaded_bytes = resident(), database.nbytes
    database.apply(delete=tables)
    gc.collect()
    return {
        "empty": empty,
        "loaded": loaded,
        "after": resident(),
        "empty_bytes": empty_bytes,
        "loaded_bytes": loaded_bytes,
        "after_bytes": database.nbytes,
    }


FIRST_ANSWER = f"""
import headwater as hw
database = hw.Database(hw.compile({CLOSURE!r}))
database.apply(insert={{"link": [(1, 2), (2, 3), (3, 1)]}})
assert len(database.rows("reach")) == 9
"""


def start(work: str, *, quick: bool, repeats: int) -> Numbers:
    """A new process: import, compile, first answer, the cache of compiled kernels warm."""
    command = [sys.executable, "-c", FIRST_ANSWER]
    bare = [sys.executable, "-c", "pass"]
    subprocess.run(command, check=True)
    times = [clock(lambda: subprocess.run(command, check=True)) for _ in range(repeats)]
    return {"seconds": min(times), "python": min(clock(lambda: subprocess.run(bare, check=True)) for _ in range(3))}


def growth(work: str, *, quick: bool, repeats: int) -> Numbers:
    """One-link updates of the closure while the graph grows tenfold at three links a node.

    Rows touched (marked, then derived again or buried) are counted in a second pass over the same links.
    """
    sizes = (50, 100, 200, 500) if quick else (200, 400, 800, 1_200, 2_000)
    points = []
    warm = graphs.closure(50, 150)
    load("closure-1k", warm).apply(delete={"link": warm["link"].slice(0, 1)})
    for nodes in sizes:
        tables = graphs.closure(nodes, 3 * nodes)
        database = hw.Database(hw.compile(CLOSURE), guard=NO_GUARD)
        loading = min(clock(partial(load, "closure-1k", tables)) for _ in range(repeats))
        database.apply(insert=tables)
        pick = random.Random(nodes)
        links = pick.sample(rows_of(tables["link"]), EDITS + 1)
        deletes, inserts = [], []
        for link in links:
            started = time.perf_counter()
            database.apply(delete={"link": [link]})
            between = time.perf_counter()
            database.apply(insert={"link": [link]})
            deletes.append(between - started)
            inserts.append(time.perf_counter() - between)
        touched = _touched(database, links)
        points.append({
            "nodes": nodes,
            "rows": database.count("reach"),
            "load": loading,
            "delete": statistics.mean(deletes[1:]),
            "insert": statistics.mean(inserts[1:]),
            "touched": statistics.mean(touched[1:]),
        })  # fmt: skip
    return {"points": points}


def _touched(database: hw.Database, links: list[Row]) -> list[int]:
    counts: list[int] = []
    plain = Store.mark

    def counting(self: Store, *given: Any) -> Any:
        found = plain(self, *given)
        counts[-1] += found.size
        return found

    Store.mark = counting  # type: ignore[assignment, method-assign]
    try:
        for link in links:
            counts.append(0)
            database.apply(delete={"link": [link]})
            database.apply(insert={"link": [link]})
    finally:
        Store.mark = plain  # type: ignore[method-assign]
    return counts


MEASURES: dict[str, Callable[..., Numbers]] = {
    "scratch": scratch,
    "singles": singles,
    "hundred": hundred,
    "script": script,
    "bytes": bytes_per_row,
    "emptied": emptied,
    "start": start,
    "growth": growth,
}
