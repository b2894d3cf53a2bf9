"""Rides that come and end, by the thousand: `python -m tests.scale.timed SEED [SIZE]`.

A ride is alive for a window from its time on. After every step of time the cheapest fares, and who can reach whom, must
be those of the evaluator over the rides alive; on a database, on one that was saved and opened, and on shards. As
`tests.scale.run`, this says each step before it takes it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from random import Random

import headwater as hw
from tests.exchange.sharded import Sharded
from tests.oracle.program import Row, State
from tests.scale.reading import rules_of
from tests.scale.run import Differs, ended, say
from tests.scale.seminaive import evaluate

WINDOW = 30
STEPS = 8
_NODES = 30  # of each of many graphs beside each other
_STRIDE = 12  # how far time moves in a step
TEXT = f"""
stream ride(ts: int, p: int, d: int, f: int).
best(Ts, P, D, mmin<F>) :- ride(Ts, P, D, F).
best(Ts, P, D, mmin<F>) :- ride(T1, P, X, F1), best(T2, X, D, F2), F = F1 + F2, larger(Ts, T1, T2).
joined(Ts, P, D) :- ride(Ts, P, D, _).
joined(Ts, P, D) :- joined(T1, P, X), joined(T2, X, D), larger(Ts, T1, T2).
query best(_, P, D, F), WINDOW({WINDOW}).
query joined(_, P, D), WINDOW({WINDOW}).
"""
PLAIN = """
best(P, D, min<F>) :- ride(P, D, F).
best(P, D, min<F>) :- ride(P, X, A), best(X, D, B), F = A + B.
joined(P, D) :- ride(P, D, _).
joined(P, D) :- joined(P, X), joined(X, D).
"""
Step = tuple[list[Row], list[Row]]  # rides that come, and rides that are taken back


def script(dice: Random, size: float) -> list[Step]:
    """Per step the rides that come, at moments since the last, and some earlier ones that are deleted."""
    graphs = int(16 * size) + 1
    known: list[Row] = []
    found: list[Step] = []
    for step in range(1, STEPS + 1):
        coming = []
        for graph in range(graphs):
            for _ in range(24):
                start, end = (graph * _NODES + dice.randrange(_NODES) for _ in range(2))
                coming.append((step * _STRIDE - dice.randrange(_STRIDE), start, end, dice.randrange(1, 50)))
        taken = dice.sample(known, min(len(known), 10)) if step % 2 else []
        known = coming
        found.append((coming, taken))
    return found


def meaning(steps: list[Step]) -> list[State]:
    """The views after each step. A ride that is there already lives on by the later of its times."""
    times: dict[Row, int] = {}
    found = []
    for step, (coming, taken) in enumerate(steps, start=1):
        for _, *ride in taken:
            times.pop(tuple(ride), None)
        for moment, *ride in coming:
            times[tuple(ride)] = max(moment, times.get(tuple(ride), moment))
        now = max(moment for moment, *_ in coming)
        assert now <= step * _STRIDE
        found.append(evaluate(rules_of(PLAIN), {"ride": [ride for ride, at in times.items() if now < at + WINDOW]}))
    return found


def check(where: str, views: hw.Database | Sharded, expected: State) -> None:
    for relation, rows in expected.items():
        found = {row[1:] for row in views.rows(relation)}
        if found != rows:
            more, less = sorted(found - rows), sorted(rows - found)
            raise Differs(f"{where}: {relation} has {len(found)} rows, not {len(rows)}: +{more[:3]} -{less[:3]}")


def run(seed: int, size: float) -> None:
    steps = script(Random(seed), size)
    say("expected")
    expected = meaning(steps)
    say(" ".join(f"{name}={[len(one[name]) for one in expected]}" for name in expected[0]))
    db, opened = hw.Database(hw.compile(TEXT)), None
    for number, ((coming, taken), after) in enumerate(zip(steps, expected, strict=True), start=1):
        for view in [db] if opened is None else [db, opened]:
            say(f"step {number}" if view is db else f"step {number} after opening")
            view.apply({"ride": coming}, {"ride": taken})
            check(f"step {number}", view, after)
        if number == STEPS // 2:
            with tempfile.TemporaryDirectory() as folder:
                db.save(Path(folder) / "state")
                opened = hw.Database.open(Path(folder) / "state")
    say("the end")
    db.advance((STEPS + 1) * _STRIDE + WINDOW)
    check("the end", db, {"best": set(), "joined": set()})
    cluster = Sharded.of_text(TEXT, ("best", "joined"), 2)
    for number, ((coming, taken), after) in enumerate(zip(steps, expected, strict=True), start=1):
        say(f"2 shards, step {number}")
        cluster.apply({"ride": coming}, {"ride": taken})
        check(f"2 shards, step {number}", cluster, after)


if __name__ == "__main__":
    sys.exit(ended(run, *sys.argv[1:]))
