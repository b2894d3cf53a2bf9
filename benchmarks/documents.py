"""Documents: the speed table, and the six experiments of 001, section 5.

    python -m benchmarks.documents [--small] [--write]

Everything runs on one thread and is measured in CPU time, contenders in turn, the best of several runs; the report has
ratios. DuckDB stands for what a user would do today: read the JSON again, flatten it, and join.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import headwater as hw

HERE = Path(__file__).parent
FAVORITES = """
define view FavoriteEntrees as
  Entrees = select e from Guide.Restaurant r, r.Entree e
            where exists x in r.Name: x = "Baghdad Cafe" and exists y in e.Ingredient: y = "Mushroom"
            with e.Name n, e.Ingredient i;
"""


def cpu(work: Callable[[], Any], times: int = 3) -> float:
    """The least CPU seconds of some runs."""
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


# The speed table


def orders(count: int) -> list[dict[str, Any]]:
    some = random.Random(1)
    return [
        {
            "id": at,
            "customer": {"name": f"c{some.randrange(5000)}"},
            "total": some.randrange(20000) / 100,
            "items": [{"sku": f"s{some.randrange(5000)}", "qty": some.randrange(9)} for _ in range(2)],
        }
        for at in range(count)
    ]


def flatten(path: Path) -> Any:
    """Read and unnest by DuckDB."""
    con = duckdb.connect()
    con.execute("set threads = 1")
    con.execute(f"create table o as select * from read_json('{path}')")
    con.execute(
        "create table i as select id, customer.name as customer, total, unnest(items, recursive := true) from o"
    )
    return con


def store_of(path: Path, view: str | None = None) -> hw.Documents:
    docs = hw.Documents.from_files(path, name="Orders", key="id")
    if view is not None:
        docs.define(view)
    assert docs.database is not None
    return docs


def held_bytes(docs: hw.Documents) -> int:
    db = docs.database
    return sum(store.nbytes for store in db._shard.stores.values()) + db._symbols.nbytes


def speed(count: int) -> list[tuple[str, str, str]]:
    values = orders(count)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders.jsonl"
        path.write_text("\n".join(map(json.dumps, values)))
        view = "define view V as Items = select i from Orders.items i where i.qty > 7 with i.sku s;"
        store_of(path)
        pairs = [(cpu(lambda: flatten(path), 1), cpu(lambda: store_of(path), 1)) for _ in range(5)]
        theirs, ours = (min(each) for each in zip(*pairs, strict=True))
        docs = store_of(path, view)
    nodes = docs.database.count("edge") + docs.database.count("name")
    rows = [
        (f"load {nodes:,} nodes ({count:,} documents)", f"{ours / theirs:.1f}x of DuckDB ({ours:.2f} s)", "3x"),
        ("memory with a view, indexes and witnesses", f"{held_bytes(docs) / nodes:.0f} bytes a node", "150"),
    ]
    totals = [docs.oid(at, "/total") for at in range(1000)]
    turn = iter(range(1000))
    each = cpu(lambda: docs.update(change=[(oid, next(turn) + oid) for oid in totals][:1000]), 1)
    turn = iter(range(10_000_000))
    each = cpu(lambda: docs.update(change=[(oid, next(turn)) for oid in totals]), 5) / 1000
    rows.append(("Chg of an atom that no view mentions, 1,000 in a batch", f"{each * 1e6:.1f} us each", "20 us"))
    rows.append(replaced(docs, values))
    return rows


def replaced(docs: hw.Documents, values: list[dict[str, Any]]) -> tuple[str, str, str]:
    big = {"orders": values[:800]}
    docs.put("big", big, name="Big")
    parse, put = [], []
    for at in range(7):
        values[5]["total"] = at + 0.25
        text = json.dumps(big).encode()
        parse.append(cpu(lambda text=text: json.loads(text), 3))
        put.append(cpu(lambda text=text: docs.put("big", text, name="Big"), 1))
    what = f"{min(put) / min(parse):.1f}x of json.loads ({min(put) * 1e3:.1f} ms)"
    return f"replace a document of {len(text) // 1000} kB, one leaf changed", what, "2x"


# The experiments of section 5


def guide(restaurants: int, entrees: int, selectivity: float = 0.5) -> dict[str, Any]:
    """Section 5.1: one name per restaurant, two names and ten ingredients per entree."""
    some = random.Random(2)

    def entree(at: int) -> dict[str, Any]:
        first = "Mushroom" if some.random() < selectivity else "Beef"
        return {"Name": [f"e{at}", f"f{at}"], "Ingredient": [first, *(f"i{some.randrange(300)}" for _ in range(9))]}

    return {
        "Restaurant": [
            {"Name": "Baghdad Cafe" if at % 2 else f"r{at}", "Entree": [entree(one) for one in range(entrees)]}
            for at in range(restaurants)
        ]
    }


def recomputed(docs: hw.Documents) -> float:
    """To compute the views anew with the same engine, over the rows that are there."""
    rows = {relation: docs.database.table(relation) for relation in ("edge", "atom", "name", "hollow")}
    return cpu(lambda: docs._built(docs.views, rows), 2)


def refound(value: dict[str, Any]) -> float:
    """To flatten the JSON again and join, with DuckDB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "guide.json"
        path.write_text("\n".join(map(json.dumps, value["Restaurant"])))

        def work() -> None:
            con = duckdb.connect()
            con.execute("set threads = 1")
            con.execute(
                f"create table e as select unnest(Entree) as e from read_json('{path}', format = 'newline_delimited')"
                " where Name = 'Baghdad Cafe'"
            )
            con.execute(
                "create table v as select e.Name, e.Ingredient from e where list_contains(e.Ingredient, 'Mushroom')"
            )

        return cpu(work, 2)


def paired(docs: hw.Documents, there: Callable[[], Any], back: Callable[[], Any], times: int = 12) -> float:
    """The least CPU time of one update, done and undone in turn."""
    best = float("inf")
    for _ in range(times):
        best = min(best, cpu(there, 1), cpu(back, 1))
    return best


def edges_of(docs: hw.Documents, restaurant: int) -> dict[str, tuple[int, str, int]]:
    at = f"/Restaurant/{restaurant}"
    entree = docs.oid("Guide", f"{at}/Entree/0")
    return {
        "Entree": (docs.oid("Guide", at), "Entree", entree),
        "Name": (docs.oid("Guide", at), "Name", docs.oid("Guide", f"{at}/Name")),
        "Ingredient": (entree, "Ingredient", docs.oid("Guide", f"{at}/Entree/0/Ingredient/0")),
    }


def base_costs(restaurants: int, entrees: int, selectivity: float = 0.5) -> dict[str, float]:
    """Experiments 1, 4 and 5: seconds of each kind of update, of recomputing, and of flattening again."""
    value = guide(restaurants, entrees, selectivity)
    docs = hw.Documents.from_json({"Guide": value})
    docs.define(FAVORITES)
    spare = docs.oid("Guide", "/Restaurant/0")
    found: dict[str, float] = {}
    for name, (parent, label, child) in edges_of(docs, 1).items():
        docs.update(insert=[(spare, "kept", child)])  # what is deleted must not be garbage
        inserts, deletes = [], []
        for _ in range(10):
            deletes.append(cpu(lambda p=parent, n=label, c=child: docs.update(delete=[(p, n, c)]), 1))
            inserts.append(cpu(lambda p=parent, n=label, c=child: docs.update(insert=[(p, n, c)]), 1))
        found[f"Ins {name}"], found[f"Del {name}"] = min(inserts), min(deletes)
    name, ingredient = docs.oid("Guide", "/Restaurant/3/Name"), docs.oid("Guide", "/Restaurant/3/Entree/1/Ingredient/0")
    for what, oid, on, off in (
        ("Chg Name", name, "Baghdad Cafe", "Wendy's"), ("Chg Ingredient", ingredient, "Mushroom", "Beef"),
    ):  # fmt: skip
        found[what] = paired(
            docs,
            lambda o=oid, v=off: docs.update(change=[(o, v)]),
            lambda o=oid, v=on: docs.update(change=[(o, v)]),
        )
    found["recompute"] = recomputed(docs)
    found["DuckDB"] = refound(value)
    return found


def chain(length: int, fans: list[int]) -> tuple[hw.Documents, list[tuple[int, str, int]]]:
    """Experiments 2 and 3: a path of several labels; an edge of each level."""

    def below(level: int) -> Any:
        return level if level == length else {f"L{level + 1}": [below(level + 1) for _ in range(fans[level])]}

    docs = hw.Documents.from_json({"A": below(0)})
    steps = ", ".join(f"{'A' if at == 1 else f'z{at - 1}'}.L{at} z{at}" for at in range(1, length + 1))
    docs.define(f"define view VaryingFrom as VF = select z2 from {steps};")
    pointers = ["".join(f"/L{at}/0" for at in range(1, level + 1)) for level in range(length + 1)]
    oids = [docs.oid("A", pointer) for pointer in pointers]
    return docs, [(oids[at - 1], f"L{at}", oids[at]) for at in range(1, length + 1)]


def edge_cost(docs: hw.Documents, edge: tuple[int, str, int]) -> float:
    docs.update(insert=[(docs.oid("A"), "kept", edge[2])])
    return paired(docs, lambda: docs.update(delete=[edge]), lambda: docs.update(insert=[edge]), 8)


def labels(times: int, fan: int) -> tuple[float, float]:
    """Experiment 6: the label L stands so many times in the view."""
    names = [f"L{at}" if at > times else "L" for at in range(1, 7)]
    one, two, three, four, five, six = names
    leaf = {four: [at % 20 for at in range(fan)]}

    def member(into: dict[str, Any], label: str, items: list[Any]) -> dict[str, Any]:
        into[label] = [*into.get(label, []), *items]
        return into

    inner = [member({}, five, [at % 20 for at in range(fan)]) for _ in range(fan)]
    middle = [member(json.loads(json.dumps(leaf)), three, inner[: max(2, fan // 10)])]
    top = [member(member({}, two, middle), six, ["x"]) for _ in range(fan)]
    docs = hw.Documents.from_json({"A": {one: top}})
    docs.define(
        f"define view VarLabel as VL = select x from A.{one} x, x.{two} y, y.{three} z "
        f"where y.{four} < 10 and z.{five} > 7 with x.{six} w;"
    )
    item = docs.oid("A", f"/{one}/0")
    return edge_cost(docs, (docs.oid("A"), one, item)), recomputed(docs)


def experiments(small: bool) -> dict[str, Any]:
    entrees = 10 if small else 20
    sizes = (200, 400) if small else (1000, 2000, 5000)
    fans = [20, 10, 3, 3, 3, 3, 3, 3] if small else [50, 20, 4, 3, 3, 3, 3, 3]
    found: dict[str, Any] = {"entrees": entrees}
    found["size"] = {size: base_costs(size, entrees) for size in sizes}
    found["selectivity"] = {share: base_costs(sizes[0], entrees, share) for share in (0.1, 0.5, 0.9)}
    length = 6
    docs, edges = chain(length, fans)
    again = recomputed(docs)
    found["position"] = {at: (edge_cost(docs, edges[at - 1]), again) for at in range(3, length + 1)}
    found["length"] = {}
    for steps in range(3, length + 1):
        docs, edges = chain(steps, fans)
        found["length"][steps] = (edge_cost(docs, edges[steps // 2]), recomputed(docs))
    found["labels"] = {times: labels(times, 20 if small else 60) for times in (1, 2, 3)}
    return found


# The report


def report(table: list[tuple[str, str, str]], found: dict[str, Any]) -> str:
    lines = [
        "# Documents",
        "",
        "Written by `python -m benchmarks.documents --write`. CPU time of one thread, best of several runs.",
        "",
    ]
    lines += ["## Speed", "", "| work | measured | must |", "|---|---|---|"]
    lines += [f"| {work} | {measured} | {must} |" for work, measured, must in table]
    lines += ["", "## The experiments of 001, section 5", ""]
    lines += [
        f"Restaurants have {found['entrees']} entrees each (100 in the paper), with two names and ten ingredients.",
        "The cells say how many times dearer it is to recompute the view with the same engine, and to flatten the JSON",
        "again with DuckDB, than to follow one update.",
        "",
    ]
    for title, key, head in (
        ("1 and 4: kinds of updates and the size of the database", "size", "restaurants"),
        ("5: selectivity of the where clause", "selectivity", "selectivity"),
    ):
        lines += [f"### {title}", ""]
        kinds = [kind for kind in next(iter(found[key].values())) if kind not in ("recompute", "DuckDB")]
        lines += [f"| {head} | recompute | DuckDB | {' | '.join(kinds)} |", "|---" * (len(kinds) + 3) + "|"]
        for at, costs in found[key].items():
            cells = [
                f"{costs['recompute'] / costs[kind]:,.0f}x, {costs['DuckDB'] / costs[kind]:,.0f}x" for kind in kinds
            ]
            lines.append(f"| {at:,} | {costs['recompute']:.2f} s | {costs['DuckDB']:.2f} s | {' | '.join(cells)} |")
        lines.append("")
    for title, key, head in (
        ("2: position of the edge in the path", "position", "edge at step"),
        ("3: length of the path", "length", "steps"),
        ("6: occurrences of the label in the view", "labels", "occurrences"),
    ):
        lines += [f"### {title}", "", f"| {head} | one update | recompute | ratio |", "|---|---|---|---|"]
        for at, (one, again) in found[key].items():
            lines.append(f"| {at} | {one * 1e3:.2f} ms | {again:.3f} s | {again / one:,.0f}x |")
        lines.append("")
    lines += ["![Recomputing and DuckDB against one update](documents.png)", ""]
    return "\n".join(lines)


def plot(found: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    sizes = list(found["size"])
    for kind in next(iter(found["size"].values())):
        axes[0].plot(sizes, [found["size"][size][kind] * 1e3 for size in sizes], marker="o", label=kind)
    axes[0].set(xlabel="restaurants", ylabel="ms of CPU time", yscale="log", title="By size of the database")
    axes[0].legend(fontsize=7)
    steps = list(found["length"])
    for at, name in ((0, "one update"), (1, "recompute")):
        axes[1].plot(steps, [found["length"][step][at] * 1e3 for step in steps], marker="o", label=name)
    axes[1].set(xlabel="steps of the path", yscale="log", title="By length of the from clause")
    axes[1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--small", action="store_true")
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    table = speed(10_000 if given.small else 100_000)
    found = experiments(given.small)
    text = report(table, found)
    print(text)
    if given.write:
        (HERE / "documents.md").write_text(text)
        plot(found, HERE / "documents.png")


if __name__ == "__main__":
    main()
