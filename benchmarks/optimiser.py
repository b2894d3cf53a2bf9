"""What a question costs: as written for everything and asked for one thing, against the program written for that thing.

    python benchmarks/optimiser.py [--nodes 200000] [--edges 1000000] [--repeats 3] [--only reach ...]

Both programs run in turn in one process on one thread; the time is the processor's, the best of the repeats, with the
loading of base rows. Memory is `db.nbytes` of everything but the base rows. The ratio is ours to hand-written: 1.0 is
as good as by hand. DuckDB answers what it can in the same run.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import headwater as hw

Rows = dict[str, Any]

REACH = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- edge(X, Z), reach(Z, Y). query reach(17, Y)."
REACH_HAND = "from17(Y) :- edge(17, Y). from17(Y) :- from17(X), edge(X, Y). query from17(Y)."
DOUBLED = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y). query reach(17, Y)."
PATHS = """
path(X, Y, C) :- link(X, Y, C). path(X, Y, C) :- link(X, Z, A), path(Z, Y, B), C = A + B.
best(X, Y, min<C>) :- path(X, Y, C). query best(17, Y, C).
"""
PATHS_HAND = """
best(Y, min<C>) :- link(17, Y, C). best(Y, min<C>) :- best(X, A), link(X, Y, B), C = A + B. query best(Y, C).
"""
COUSINS = "sg(X, Y) :- flat(X, Y). sg(X, Y) :- up(X, A), sg(A, B), down(B, Y). query sg(17, Y)."
COUSINS_HAND = """
above(17). above(A) :- above(X), up(X, A).
sg(X, Y) :- above(X), flat(X, Y). sg(X, Y) :- above(X), up(X, A), sg(A, B), down(B, Y). query sg(17, Y).
"""
CHAIN_FIELDS = "points(V, H) :- new(V, H). points(V, H) :- assign(V, W), points(W, H). query points(17, H)."
CHAIN_FIELDS_HAND = """
goes(17). goes(W) :- goes(V), assign(V, W).
points(H) :- goes(V), new(V, H). query points(H).
"""


def random_edges(nodes: int, edges: int, seed: int = 1) -> pa.Table:
    dice = np.random.default_rng(seed)
    return pa.table({"x": dice.integers(0, nodes, edges), "y": dice.integers(0, nodes, edges)})


def timed(text: str, rows: Rows, disabled: list[str] | None = None) -> tuple[float, int, int]:
    """Seconds to load and derive, bytes of what was derived, and the number of answers."""
    program = hw.compile(text, disabled=disabled or [])
    db = hw.Database(program, guard=None)
    gc.collect()
    start = time.process_time()
    db.apply(insert=rows)
    spent = time.process_time() - start
    base = sum(store.nbytes for store in db._shard.stores.values() if store.table.base)
    return spent, db.nbytes - base, db.count(program.outputs[0])


def compared(name: str, ours: str, hand: str, rows: Rows, repeats: int) -> None:
    best: dict[str, tuple[float, int, int]] = {}
    for _ in range(repeats):
        for which, text in (("hand", hand), ("ours", ours)):
            found = timed(text, rows)
            best[which] = min(best.get(which, found), found)
    assert best["ours"][2] == best["hand"][2], "both answer the same"
    seconds = best["ours"][0] / best["hand"][0]
    memory = best["ours"][1] / max(1, best["hand"][1])
    print(
        f"{name:<34} {best['ours'][2]:>9,} answers  ours {best['ours'][0]:7.3f} s  hand {best['hand'][0]:7.3f} s  "
        f"time {seconds:5.2f}x  memory {memory:5.2f}x",
        flush=True,
    )


def duckdb_reach(edges: pa.Table) -> None:
    try:
        import duckdb
    except ImportError:
        return
    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", edges)
    connection.execute("CREATE TABLE edge AS SELECT * FROM given")
    start = time.process_time()
    (count,) = connection.execute(
        "WITH RECURSIVE r(y) AS (SELECT y FROM edge WHERE x = 17 UNION SELECT e.y FROM r JOIN edge e ON e.x = r.y) "
        "SELECT count(*) FROM r"
    ).fetchone()  # type: ignore[misc]
    print(
        f"{'  DuckDB, one source by hand':<34} {count:>9,} answers       {time.process_time() - start:7.3f} s",
        flush=True,
    )


def reach(options: argparse.Namespace) -> None:
    edges = random_edges(options.nodes, options.edges)
    compared("reach(17, Y), right-linear", REACH, REACH_HAND, {"edge": edges}, options.repeats)
    compared("reach(17, Y), doubled", DOUBLED, REACH_HAND, {"edge": edges}, options.repeats)
    duckdb_reach(edges)


def paths(options: argparse.Namespace) -> None:
    links = random_edges(options.nodes // 4, options.edges // 4, 2)
    costs = np.random.default_rng(3).integers(1, 100, links.num_rows)
    compared(
        "shortest paths from 17",
        PATHS,
        PATHS_HAND,
        {"link": links.append_column("c", pa.array(costs))},
        options.repeats,
    )


def cousins(options: argparse.Namespace) -> None:
    nodes = options.nodes // 10
    parent = np.random.default_rng(4).integers(0, np.maximum(1, np.arange(1, nodes + 1) // 3))
    up = pa.table({"x": np.arange(1, nodes + 1), "a": parent})
    down = pa.table({"b": parent, "y": np.arange(1, nodes + 1)})
    compared(
        "same generation, sg(17, Y)", COUSINS, COUSINS_HAND, {"up": up, "down": down, "flat": [(0, 0)]}, options.repeats
    )


def points(options: argparse.Namespace) -> None:
    dice = np.random.default_rng(5)
    count = options.nodes // 2
    rows = {
        "new": pa.table({"v": dice.integers(0, count, count // 2), "h": np.arange(count // 2)}),
        "assign": pa.table({"v": dice.integers(0, count, count * 2), "w": dice.integers(0, count, count * 2)}),
    }
    compared("points-to of one variable", CHAIN_FIELDS, CHAIN_FIELDS_HAND, rows, options.repeats)


def asked(options: argparse.Namespace) -> None:
    """A second source next to the first one shares nearly all of its region, where recursion shares rows at all."""
    nodes = 1_500
    reach = "reach(X, Y) :- edge(X, Y, _). reach(X, Y) :- edge(X, Z, _), reach(Z, Y). query reach($From, To)."
    cheap = PAIR.replace("link", "edge").replace("$To", "To")
    chain = [(at, at + 1, 1) for at in range(nodes)] + [(nodes + 5, nodes // 10, 1)]
    for view, text in (("reach", reach), ("best", cheap)):
        for disabled in ([], ["leading_side", "steps_apart", "searched_ways"]):
            spent = dict.fromkeys(("followed", "asked", "second", "handed over"), float("inf"))
            for _ in range(options.repeats):
                db = hw.Database(hw.compile(text, disabled=disabled), guard=None)
                db.apply(insert={"edge": chain})
                columns = list(zip(*db.ask(view, From=nodes + 5), strict=True))  # makes the indexes of `edge`, too
                for name, work in (
                    ("asked", lambda db=db, view=view: db.ask(view, From=0)),
                    ("followed", lambda db=db, view=view: db.follow(view, From=0)),
                    ("second", lambda db=db, view=view: db.ask(view, From=nodes + 5)),
                    ("handed over", lambda columns=columns: set(zip(*columns, strict=True))),
                ):
                    start = time.process_time()
                    work()
                    spent[name] = min(spent[name], time.process_time() - start)
            how = "as written, rows shared" if disabled else "by default"
            print(
                f"{'second source, 90% in common':<34} {view:<5} first asked {1e3 * spent['asked']:8.2f} ms, followed "
                f"{1e3 * spent['followed']:8.2f} ms  second asked {1e3 * spent['second']:6.2f} ms  "
                f"its answers as a set alone {1e3 * spent['handed over']:5.2f} ms  "
                f"{spent['second'] / spent['asked']:5.2f}x, {spent['second'] / spent['followed']:5.2f}x  ({how})",
                flush=True,
            )


PAIR = """
path(X, Y, C) :- link(X, Y, C). path(X, Y, C) :- link(X, Z, A), path(Z, Y, B), C = A + B.
best(X, Y, min<C>) :- path(X, Y, C). query best($From, $To, C).
"""


def pairs(options: argparse.Namespace) -> None:
    """The cheapest way between two nodes: searched from both ends, and by rules, from one source and from both ends."""
    links = random_edges(options.nodes // 4, options.edges // 4, 2)
    rows = {"link": links.append_column("c", pa.array(np.random.default_rng(3).integers(1, 100, links.num_rows)))}
    searched = hw.Database(hw.compile(PAIR), guard=None)
    one_sided = hw.Database(hw.compile(PAIR.replace("$To", "To")), guard=None)
    ruled = hw.Database(hw.compile(PAIR, disabled=["searched_ways"]), guard=None)
    for db in (searched, one_sided, ruled):
        db.apply(insert=rows)
        db.ask("best", **({"From": 5} if db is one_sided else {"From": 5, "To": 6}))
    spent = dict.fromkeys(("searched", "one source", "both by rules"), 0.0)
    for start, goal in ((17, 40), (18, 90), (100, 330)):
        began = time.process_time()
        found = searched.ask("best", From=start, To=goal)
        spent["searched"] += time.process_time() - began
        began = time.process_time()
        every = one_sided.ask("best", From=start)
        spent["one source"] += time.process_time() - began
        began = time.process_time()
        assert ruled.ask("best", From=start, To=goal) == found == {row for row in every if row[1] == goal}
        spent["both by rules"] += time.process_time() - began
    times = "  ".join(f"{name} {1e3 * seconds / 3:9.2f} ms" for name, seconds in spent.items())
    print(f"{'shortest between two nodes':<34} {times}", flush=True)


def skewed(options: argparse.Namespace) -> None:
    """Between two nodes of a graph with hubs: nodes reached from both ends, beside the best split and one end alone.

    The best split is 002 section 5.3's: radii that add up to the distance, for which N(From, r) + N(To, r') is least.
    What is counted is every node that a search looks at: N, and the nodes that a step leads to from there.
    """
    nodes, dice = options.nodes // 4, np.random.default_rng(7)
    hubs = (nodes * dice.random(4 * nodes) ** 3).astype(np.int64)  # a node's links in number fall with its number
    ends = np.column_stack([dice.integers(0, nodes, 4 * nodes), hubs])
    plain = dice.integers(0, nodes, ends.shape)
    for name, links in (("into hubs", ends), ("out of hubs", ends[:, ::-1]), ("no hubs", plain)):
        both = hw.Database(hw.compile(PAIR), guard=None)
        ahead = hw.Database(hw.compile(PAIR.replace("$To", "To")), guard=None)
        back = hw.Database(hw.compile(PAIR.replace("$From", "From")), guard=None)
        rows = {"link": np.column_stack([links, dice.integers(1, 100, links.shape[0])]).tolist()}
        for db in (both, ahead, back):
            db.apply(insert=rows)
        seen: list[tuple[int, int]] = []
        search = both._shard.search_between
        both._shard.search_between = lambda *given, find=search, seen=seen: _noted(find(*given), seen)
        counts = np.zeros(4)
        for start, goal in dice.integers(0, nodes, (30, 2)).tolist():
            found = both.ask("best", From=start, To=goal)
            if start == goal or not found:
                continue
            ((_, _, far),) = found
            here = _first_seen(links, start, [(y, cost) for _, y, cost in ahead.ask("best", From=start)])
            there = _first_seen(links[:, ::-1], goal, [(x, cost) for x, _, cost in back.ask("best", To=goal)])
            radii = np.arange(far + 1)
            within = [np.searchsorted(costs, at, "right") for costs, at in ((here, radii), (there, far - radii))]
            counts += (sum(seen[-1]), (within[0] + within[1]).min(), within[0][-1], within[1][0])
        shown = zip(("reached from both", "best split", "From alone", "To alone"), counts / counts[0], strict=True)
        ways = "  ".join(f"{what} {share:.2f}x" for what, share in shown)
        print(f"{'shortest between two, ' + name:<34} {ways}", flush=True)


def _first_seen(links: Any, start: int, reached: list[tuple[int, int]]) -> Any:
    """For every node that a search from one sees, in order, how far the search has come when it does."""
    never = np.iinfo(np.int64).max
    far, seen = (np.full(links.max() + 1, never) for _ in range(2))
    far[[node for node, _ in reached]] = [cost for _, cost in reached]
    far[start] = 0
    np.minimum.at(seen, links[:, 1], far[links[:, 0]])
    return np.sort(seen[seen < never])


def _noted(found: Any, seen: list[tuple[int, int]]) -> Any:
    seen.append(found.reached)
    return found


def correlated(options: argparse.Namespace) -> None:
    """Cheapest and fewest steps from one source: over one recursion that keeps what either can see, and over two."""
    nodes = options.nodes // 10
    links = random_edges(nodes, 4 * nodes, 8)
    rows = {"link": links.append_column("c", pa.array(np.random.default_rng(9).integers(1, 100, links.num_rows)))}
    one = """
    path(X, Y, C, 1) :- link(X, Y, C).
    path(X, Y, C, H) :- path(X, Z, A, G), link(Z, Y, B), C = A + B, H = G + 1.
    cheap(X, Y, min<C>) :- path(X, Y, C, _). query cheap(1, Y, C).
    few(X, Y, min<H>) :- path(X, Y, _, H). query few(1, Y, H).
    """
    two = """
    path(X, Y, C) :- link(X, Y, C). path(X, Y, C) :- path(X, Z, A), link(Z, Y, B), C = A + B.
    way(X, Y, 1) :- link(X, Y, _). way(X, Y, H) :- way(X, Z, G), link(Z, Y, _), H = G + 1.
    cheap(X, Y, min<C>) :- path(X, Y, C). query cheap(1, Y, C).
    few(X, Y, min<H>) :- way(X, Y, H). query few(1, Y, H).
    """
    spent: dict[str, tuple[float, int]] = {}
    for _ in range(options.repeats):
        for name, text in (("one", one), ("two", two)):
            db = hw.Database(hw.compile(text), guard=None)
            start = time.process_time()
            db.apply(insert=rows)
            seconds = time.process_time() - start
            kept = sum(store.count for store in db._shard.stores.values() if not store.table.base)
            spent[name] = min(spent.get(name, (seconds, kept)), (seconds, kept))
    print(
        f"{'cheapest and fewest together':<34} one recursion {1e3 * spent['one'][0]:.0f} ms, {spent['one'][1]:,} rows  "
        f"two recursions {1e3 * spent['two'][0]:.0f} ms, {spent['two'][1]:,} rows",
        flush=True,
    )


def sources(options: argparse.Namespace) -> None:
    """Rows that are derived for some sources: from the source, with rows shared between sources, and for all pairs.

    As in 003 Figure 3 and 002 Figure 11, asking pays for few sources, and for all of them costs the questions on top.
    """
    nodes = 120
    edges = [(at, (at * step + 1) % nodes) for at in range(nodes) for step in (3, 7)][: nodes + 40]
    rules = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- edge(X, Z), reach(Z, Y). "
    for count in (1, 4, 16, 64, nodes):
        asked = "".join(f"query reach({at}, Y). " for at in range(count))
        rows = {}
        for name, disabled in (("source", []), ("shared", ["leading_side", "steps_apart"]), ("all", ["magic_sets"])):
            db = hw.Database(hw.compile(rules + asked, disabled=disabled))
            db.apply(insert={"edge": edges})
            rows[name] = sum(store.count for store in db._shard.stores.values() if not store.table.base)
        print(
            f"{'rows for sources':<34} {count:>4} sources  from the source {rows['source']:>7,}  "
            f"shared {rows['shared']:>7,}  all pairs {rows['all']:>7,}",
            flush=True,
        )


def followed(options: argparse.Namespace) -> None:
    """One edge changes: the work follows the answers that change, not the number of questions."""
    text = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- edge(X, Z), reach(Z, Y). query reach($From, To)."
    groups, size = 1_000, 30
    edges = [(group * size + at, group * size + at + 1) for group in range(groups) for at in range(size - 1)]
    spent = {}
    for count in (1, 1_000):
        db = hw.Database(hw.compile(text), guard=None)
        db.apply(insert={"edge": edges})
        live = [db.follow("reach", From=group * size) for group in range(count)]
        best = float("inf")
        for _ in range(20):
            start = time.process_time()
            db.apply(delete={"edge": [(10, 11)]})
            db.apply(insert={"edge": [(10, 11)]})
            best = min(best, time.process_time() - start)
        spent[count] = best
        assert len(live[0].rows) == size - 1
    print(
        f"{'one edge changes twice':<34} 1 followed {1e3 * spent[1]:6.2f} ms  "
        f"1,000 followed {1e3 * spent[1000]:6.2f} ms  {spent[1000] / spent[1]:5.2f}x",
        flush=True,
    )


def doubled(options: argparse.Namespace) -> None:
    """All pairs of a recursion that is written doubled, with and without `linear_recursion`: the load, and edits."""
    text = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y)."
    dice = np.random.default_rng(6)
    graphs = {
        "random, 400 nodes, 1,000 edges": [tuple(row) for row in dice.integers(0, 400, (1_000, 2)).tolist()],
        "chain of 400": [(at, at + 1) for at in range(400)],
        "tree of 4,000": [(at // 2, at) for at in range(1, 4_000)],
    }
    for graph, edges in graphs.items():
        load, edits = dict.fromkeys(("on", "off"), float("inf")), dict.fromkeys(("on", "off"), float("inf"))
        for _ in range(options.repeats):
            for name, disabled in (("on", []), ("off", ["linear_recursion"])):
                db = hw.Database(hw.compile(text, disabled=disabled), guard=None)
                start = time.process_time()
                db.apply(insert={"edge": edges})
                load[name] = min(load[name], time.process_time() - start)
                start = time.process_time()
                for edge in edges[:20]:
                    db.apply(delete={"edge": [edge]})
                    db.apply(insert={"edge": [edge]})
                edits[name] = min(edits[name], time.process_time() - start)
        print(
            f"{'doubled, all pairs':<34} {graph:<32} made linear {load['on']:6.3f} s  as written {load['off']:6.3f} s  "
            f"{load['off'] / load['on']:5.1f}x  edits {edits['off'] / edits['on']:5.1f}x",
            flush=True,
        )


def planning(options: argparse.Namespace) -> None:
    from frontend import program

    text = program(2_000).rsplit("query", 1)[0] + 'query safe399("a", Y).\n'
    best: dict[str, float] = {}
    for _ in range(2):
        for name, disabled in (("on", []), ("off", ["leading_side", "magic_sets"])):
            start = time.process_time()
            hw.compile(text, disabled=disabled)
            best[name] = min(best.get(name, 1e9), time.process_time() - start)
    print(
        f"{'compiling 2,000 rules':<34} with {best['on']:6.2f} s  without {best['off']:6.2f} s  "
        f"{best['on'] / best['off']:5.2f}x"
    )


WORKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "reach": reach,
    "paths": paths,
    "cousins": cousins,
    "points": points,
    "asked": asked,
    "pairs": pairs,
    "skewed": skewed,
    "correlated": correlated,
    "sources": sources,
    "followed": followed,
    "doubled": doubled,
    "planning": planning,
}


def main() -> None:
    options = argparse.ArgumentParser(description="What a question costs, against a program written for it.")
    options.add_argument("--nodes", type=int, default=200_000)
    options.add_argument("--edges", type=int, default=1_000_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--only", nargs="*", choices=sorted(WORKS))
    given = options.parse_args()
    for name in given.only or WORKS:
        WORKS[name](given)


if __name__ == "__main__":
    main()
