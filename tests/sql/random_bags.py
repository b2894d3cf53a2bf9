"""Random recursions with UNION ALL, and what they give: a bag where no row leads back to itself, else a set.

What is expected comes from DuckDB. It runs UNION ALL only where the steps between the rows, which it finds as well,
have no cycle; where they have one, it runs the same query with UNION.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from tests.sql.engines import Bag, Duck, Rows
from tests.sql.random_queries import Grammar, Scope

_ANCHORS = {
    "p, q": [
        "SELECT x, y FROM w",
        "SELECT x, y FROM w WHERE x < 2",
        "SELECT a, b FROM t UNION SELECT a, c FROM u",
        "SELECT a, b FROM t UNION ALL SELECT x, y FROM w",
        "SELECT x, count(*) FROM w GROUP BY x",
        "SELECT DISTINCT y, 1 FROM w",
    ],
    "p": ["SELECT x FROM w", "SELECT x FROM w WHERE y IS NOT NULL", "SELECT a FROM t", "VALUES (0), (1), (0)"],
    "p, n": ["SELECT x, 0 FROM w", "SELECT a, 0 FROM t WHERE a IN (SELECT x FROM w)", "SELECT 0, 0"],
}
_STEPS = {
    "p, q": [
        ("w.x, r.q", "w JOIN r ON w.y = r.p"),
        ("r.p, w.y", "r JOIN w ON r.q = w.x"),
        ("w.y, r.q", "r LEFT JOIN w ON w.x = r.p WHERE r.p IS NOT NULL"),
        ("w.y, t.b", "r JOIN w ON w.x = r.p JOIN t ON t.a = w.y"),
        ("w.y, r.q", "r, w WHERE w.x = r.p AND (w.y > 2 OR EXISTS (SELECT 1 FROM t WHERE t.a = w.y))"),
    ],
    "p": [
        ("w.y", "w JOIN r ON w.x = r.p"),
        ("w.y", "r JOIN w ON w.x = r.p WHERE NOT w.y IN (SELECT c FROM u WHERE c IS NOT NULL)"),
        ("w.y", "r LEFT JOIN w ON w.x = r.p WHERE r.p IS NOT NULL"),
        ("w.y", "r JOIN w ON w.x = r.p WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.c > w.y)"),
        ("w.y", "r JOIN w ON w.x = r.p WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.c = r.p + 1 OR u.a > r.p)"),
        ("w.y", "r JOIN w ON w.x = r.p WHERE w.y NOT IN (SELECT c FROM u WHERE u.a < r.p)"),
    ],
    "p, n": [
        ("w.y, r.n + 1", "r JOIN w ON w.x = r.p WHERE r.n < 4"),
        ("w.x, r.n + 1", "w JOIN r ON w.y = r.p WHERE r.n < 3"),
    ],
}
_OUTER = (
    "SELECT * FROM r",
    "SELECT r.p FROM r",
    "SELECT r.p, count(*), sum(r.p) FROM r GROUP BY r.p",
    "SELECT count(*), max(r.p) FROM r",
    "SELECT DISTINCT r.p FROM r",
    "SELECT t.a, t.b FROM t WHERE t.a IN (SELECT r.p FROM r)",
    "SELECT r.p, t.s FROM r JOIN t ON t.a = r.p",
    "SELECT count(*) FROM r JOIN r AS other ON other.p = r.p",
    "SELECT r.p FROM r UNION ALL SELECT u.a FROM u",
    "SELECT z.p FROM (SELECT r.p, count(*) AS many FROM r GROUP BY r.p) AS z WHERE z.many > 1",
)


@dataclass(frozen=True)
class BagQuery:
    """A recursion `r`, with the parts that it starts from and goes on by, and what is asked of it."""

    columns: str
    anchor: str
    steps: tuple[tuple[str, str], ...]
    outer: str

    def recursion(self, union: str) -> str:
        parts = f" {union} ".join(f"SELECT {items} FROM {source}" for items, source in self.steps)
        return f"WITH RECURSIVE r({self.columns}) AS (({self.anchor}) {union} ({parts})) "

    def text(self, union: str = "UNION ALL") -> str:
        return self.recursion(union) + self.outer

    def is_cyclic(self, duck: Duck) -> bool:
        """Whether a row of the set leads back to itself, by the steps that DuckDB finds."""
        names = [f"r.{name}" for name in self.columns.split(", ")]
        pairs = set()
        for items, source in self.steps:
            found = duck.run(f"{self.recursion('UNION')} SELECT {', '.join(names)}, {items} FROM {source}")
            pairs |= {(row[: len(names)], row[len(names) :]) for row in found}
        return has_cycle(pairs)

    def expected(self, duck: Duck, rows: Rows) -> tuple[Bag, bool]:
        """What it gives over these rows, and whether they have a cycle."""
        duck.load(rows)
        cyclic = self.is_cyclic(duck)
        return duck.run(self.text("UNION" if cyclic else "UNION ALL")), cyclic


def random_bag_query(dice: random.Random) -> BagQuery:
    columns = dice.choice(list(_STEPS))
    steps = tuple(dice.choice(_STEPS[columns]) for _ in range(1 if dice.random() < 0.75 else 2))
    if dice.random() < 0.3:
        kinds = [(f"r.{name}", "int") for name in columns.split(", ")]
        extra = Grammar(dice).comparison(Scope(kinds)).replace("nullif", "coalesce")
        items, source = steps[0]
        steps = ((items, f"{source} {'AND' if 'WHERE' in source else 'WHERE'} {extra}"), *steps[1:])
    return BagQuery(columns, dice.choice(_ANCHORS[columns]), steps, dice.choice(_OUTER))


def upwards(dice: random.Random, rows: Rows) -> dict[str, list[tuple[object, ...]]]:
    """The rows, perhaps with every edge of `w` leading upwards."""
    found = {name: list(given) for name, given in rows.items()}
    if dice.random() < 0.6:
        found["w"] = [
            (x, x + 1 + abs(y) if y is not None else None) if x is not None else (x, y) for x, y in found["w"]
        ]  # type: ignore[operator, arg-type]
    return found


def has_cycle(pairs: Iterable[tuple[object, object]]) -> bool:
    after: dict[object, set[object]] = {}
    for one, other in pairs:
        after.setdefault(one, set()).add(other)
    open_, done = set(), set()

    def leads_back(node: object) -> bool:
        if node in done:
            return False
        if node in open_:
            return True
        open_.add(node)
        found = any(leads_back(each) for each in after.get(node, ()))
        open_.discard(node)
        done.add(node)
        return found

    return any(leads_back(node) for node in after)
