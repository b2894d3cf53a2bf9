"""One shape with one seed, in a process of its own: `python -m tests.scale.run SHAPE SEED [SIZE]`.

Rows are loaded whole and in pieces, edited in batches, saved and opened, and spread over shards. At every point that
all of these share, their views must be those of the evaluator over plain sets. Each step is said before it is taken, so
that after a crash the last line tells where it was.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Protocol

import headwater as hw
from tests.exchange.sharded import NotPlaced, Sharded
from tests.oracle.program import Program, Row, State
from tests.scale.reading import rules_of
from tests.scale.seminaive import evaluate
from tests.scale.shapes import SHAPES, Shape

AS_WRITTEN = ["linear_recursion"]
"""Doubled recursions stay doubled in one process, where their tables join themselves; shards get them made linear."""
_PIECES = 5
_SAMPLE = 3
Rows = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Batch:
    insert: Rows
    delete: Rows


class Engine(Protocol):
    def apply(self, insert: Rows, delete: Rows) -> object: ...

    def rows(self, relation: str) -> set[Row]: ...


class Differs(Exception):
    """An engine's views are not the evaluator's."""


def batches(dice: Random, base: Rows, spare: Rows) -> list[Batch]:
    """Edits that add up: few deletes, then their return together with new rows, then many deletes and the rest."""
    some = {name: dice.sample(rows, len(rows) // 50 + 1) for name, rows in base.items()}
    half = {name: rows[: len(rows) // 2] for name, rows in spare.items()}
    rest = {name: rows[len(rows) // 2 :] for name, rows in spare.items()}
    many = {name: dice.sample(rows, len(rows) // 5) for name, rows in base.items()}
    back = {name: rows[::2] for name, rows in some.items()}
    return [
        Batch({}, some),
        Batch({name: [*half[name], *back[name]] for name in base}, {}),
        Batch(rest, many),
    ]


def states(base: Rows, edits: list[Batch]) -> list[Rows]:
    now = {name: set(rows) for name, rows in base.items()}
    found = [{name: list(rows) for name, rows in now.items()}]
    for batch in edits:
        for name in now:
            now[name] -= set(batch.delete.get(name, ()))
            now[name] |= set(batch.insert.get(name, ()))
        found.append({name: list(rows) for name, rows in now.items()})
    return found


def say(text: str) -> None:
    print(text, flush=True)


def check(where: str, engine: Engine, expected: State) -> None:
    for relation, rows in expected.items():
        found = engine.rows(relation)
        if found != rows:
            more, less = found - rows, rows - found
            raise Differs(
                f"{where}: {relation} has {len(found)} rows, not {len(rows)}; {len(more)} do not follow, such as "
                f"{sorted(more)[:_SAMPLE]}; {len(less)} are missing, such as {sorted(less)[:_SAMPLE]}"
            )


def run(shape: Shape, seed: int, size: float, shards: tuple[int, ...] = (1, 2, 3)) -> None:
    dice = Random(seed)
    whole = {name: list(dict.fromkeys(rows)) for name, rows in shape.base(dice, size).items()}
    for rows in whole.values():
        dice.shuffle(rows)
    base = {name: rows[len(rows) // 20 :] for name, rows in whole.items()}
    edits = batches(dice, base, {name: rows[: len(rows) // 20] for name, rows in whole.items()})
    rules = rules_of(shape.text)
    say("expected")
    expected = [evaluate(rules, rows) for rows in states(base, edits)]
    say(" ".join(f"{name}={[len(one[name]) for one in expected]}" for name in expected[0]))

    say("whole")
    db = hw.Database(hw.compile(shape.text, disabled=AS_WRITTEN))
    db.apply(base)
    check("loaded whole", db, expected[0])

    say("pieces")
    pieces = hw.Database(hw.compile(shape.text, disabled=AS_WRITTEN))
    for at in range(_PIECES):
        pieces.apply({name: rows[at::_PIECES] for name, rows in base.items()})
    check("loaded in pieces", pieces, expected[0])
    del pieces

    opened = None
    for number, (batch, after) in enumerate(zip(edits, expected[1:], strict=True), start=1):
        say(f"batch {number}")
        db.apply(batch.insert, batch.delete)
        check(f"batch {number}", db, after)
        if opened is not None:
            opened.apply(batch.insert, batch.delete)
            check(f"batch {number} after opening", opened, after)
        if number == 1:
            say("saved and opened")
            with tempfile.TemporaryDirectory() as folder:
                db.save(Path(folder) / "state")
                opened = hw.Database.open(Path(folder) / "state")
            check("opened", opened, after)

    derived = Program((), rules).derived
    for count in shards:
        try:
            cluster = Sharded.of_text(shape.text, derived, count)
        except NotPlaced:
            say(f"not for {count} shards")
            continue
        say(f"{count} shards")
        cluster.apply(base, {})
        check(f"{count} shards", cluster, expected[0])
        for number, (batch, after) in enumerate(zip(edits, expected[1:], strict=True), start=1):
            say(f"{count} shards, batch {number}")
            cluster.apply(batch.insert, batch.delete)
            check(f"{count} shards, batch {number}", cluster, after)


def ended(work: Callable[[int, float], None], seed: str, size: str = "1") -> int:
    """The exit code of a run: 1 where something differs, which is printed."""
    try:
        work(int(seed), float(size))
    except Differs as problem:
        say(f"seed {seed}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(ended(partial(run, SHAPES[sys.argv[1]]), *sys.argv[2:]))
