"""How fast text becomes a rewritten program, and how that grows with the number of rules.

    python benchmarks/frontend.py [--sizes 500 1000 2000 4000] [--repeats 3]

The programs are made of small independent modules (declarations, recursion, an aggregate, negation,
arithmetic), chained so that every module reads the one before it and one query needs them all. The
last column is the growth of the time per rule against the smallest size: 1.0 is linear. Times are those
of the processor, so that a busy machine does not show as growth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.pipeline import uncollected
from headwater.program.check import check
from headwater.rewrite.rules import rewrite

Result = TypeVar("Result")

RULES_PER_MODULE = 5


def module(number: int) -> str:
    before = f"safe{number - 1}(X, Y)" if number else "edge(X, Y, _)"
    return f"""
relation node{number}(id: string, load: int).
M{number}a: reach{number}(X, Y, C) :- {before}, edge(X, Y, C), node{number}(X, _).
M{number}b: reach{number}(X, Y, C) :- reach{number}(X, Z, C1), edge(Z, Y, C2), C = C1 + C2, C < 100.
M{number}c: best{number}(X, Y, min<C>) :- reach{number}(X, Y, C).
M{number}d: busy{number}(X) :- node{number}(X, L), L * 2 + 1 >= 80, X != "none".
M{number}e: safe{number}(X, Y) :- best{number}(X, Y, C), !busy{number}(Y), C <= 50.
"""


def program(rules: int) -> str:
    modules = rules // RULES_PER_MODULE
    return "".join(map(module, range(modules))) + f"query safe{modules - 1}(X, Y).\n"


def timed(work: Callable[[], Result], repeats: int) -> tuple[Result, float]:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        with uncollected():  # as `compile` does
            result = work()
        best = min(best, time.process_time() - start)
    return result, best


def main() -> None:
    options = argparse.ArgumentParser(description="Text to rewritten program: rules per second.")
    options.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000, 4000])
    options.add_argument("--repeats", type=int, default=3)
    chosen = options.parse_args()

    parse(Source("<warm>", program(RULES_PER_MODULE)))  # the grammar's tables are built on first use
    table = Table(title="Front end, best of the repeats")
    for column in ("rules", "parse s", "check s", "rewrite s", "all s", "rules/s", "growth"):
        table.add_column(column, justify="right")
    first: float | None = None
    for rules in chosen.sizes:
        source = Source("<generated>", program(rules))
        tree, parsing = timed(lambda source=source: parse(source), chosen.repeats)
        checked, checking = timed(lambda tree=tree: check(tree), chosen.repeats)
        _, rewriting = timed(lambda checked=checked: rewrite(checked), chosen.repeats)
        total = parsing + checking + rewriting
        first = first or total / rules
        times = [f"{seconds:.3f}" for seconds in (parsing, checking, rewriting, total)]
        table.add_row(str(rules), *times, f"{rules / total:,.0f}", f"{total / rules / first:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
