"""What Spark computes and maintains is what the oracle says, for any number of shards and by every exchange."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headwater import spark as hws
from headwater.spark.shards.run_plan import EXCHANGES
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import expectations
from tests.oracle.program import State
from tests.oracle.strategies import Case, list_case, random_case, template_case
from tests.oracle.templates import TEMPLATES
from tests.spark.cases import compiled, found, frames, streams, told, write_script
from tests.spark.test_maintain import finish

MOST = 400  # rows of a view; larger ones tell no more, and take their time


Kept = tuple[str, Case, State, State]  # a case by its name, the base rows after its script, and the views


@cache
def cases(kind: str) -> list[Kept]:
    """Of one kind, without those that take the oracle too long."""
    if kind == "templates":
        found = [(name, template_case(name, 7)) for name in sorted(TEMPLATES)]
    elif kind == "some templates":
        found = [(name, template_case(name, 9)) for name in ("closure", "components", "shortest")]
    elif kind == "lists":
        found = [(f"lists {seed}", list_case(seed)) for seed in range(4)]
    else:
        found = [(f"random {seed}", random_case(seed)) for seed in range(6)]
    return [(name, case, *state) for name, case in found if (state := last_state(case)) is not None]


def last_state(case: Case) -> tuple[State, State] | None:
    """The base rows after the script, and the views; None where the oracle would take too long."""
    try:
        steps = list(expectations(case))
    except Diverges:
        return None
    if not steps or any(len(rows) > MOST for rows in steps[-1][3].values()):
        return None
    return steps[-1][1], steps[-1][3]


@pytest.mark.parametrize(
    ("kind", "shards", "exchange"),
    [
        *((kind, 2, exchange) for kind in ("templates", "random") for exchange in EXCHANGES),
        *(("random", 3, exchange) for exchange in EXCHANGES),
        *(pytest.param("templates", 3, exchange, marks=pytest.mark.soak) for exchange in EXCHANGES),
        ("templates", 1, "gang"),
        ("random", 1, "gang"),
        ("lists", 2, "gang"),
        ("some templates", 8, "shuffle"),
    ],
)
def test_oracle_evaluate(spark: Any, kind: str, shards: int, exchange: str) -> None:
    """Cases whose shards exchange nothing are compared once: their jobs are the same for every exchange.

    Shuffles take long: of all cases, two shards run one half by them, three shards the other.
    """
    compared = 0
    half = slice(shards % 2, None, 2) if exchange == "shuffle" and shards < 8 else slice(None)
    for name, case, base, expected in cases(kind)[half]:
        program = compiled(case)
        if exchange != "gang" and shards < 8 and not exchanges(program, case, shards):
            continue
        views = hws.evaluate(program, frames(spark, case, base), shards=shards, exchange=exchange)
        for view in case.program.outputs:
            rows = found(views[view].collect())
            assert len(rows) == len(set(rows)), (name, view)
            assert set(rows) == told(views[view], expected[view]), (name, view)
        compared += 1
    assert compared


def exchanges(program: Any, case: Case, shards: int) -> bool:
    from headwater.core.types import Type
    from headwater.exchange.sharding import choose

    known = {one.name: tuple(Type(kind) for kind in one.types) for one in case.program.bases}
    names = {relation.name for relation in program.checked.relations}
    return choose(program, {name: kinds for name, kinds in known.items() if name in names}, shards).kind == "exchange"


@pytest.mark.parametrize(
    ("name", "seed", "shards", "exchange"),
    [
        ("closure", 3, 2, None),
        ("components", 2, 2, "gang"),
        ("components", 4, 2, "shuffle"),
        ("shortest", 5, 3, "gang"),
        ("company_control", 1, 1, None),
        ("lists", 5, 2, None),
    ],
)
def test_oracle_maintain(spark: Any, tmp_path: Path, name: str, seed: int, shards: int, exchange: str | None) -> None:
    """After every batch the change feed, applied to what was there before, gives the oracle's views."""
    case = list_case(seed) if name == "lists" else template_case(name, seed)
    steps = list(expectations(case))
    held: dict[str, set[Any]] = {view: set() for view in case.program.outputs}
    after: list[dict[str, set[Any]]] = []

    def keep(changes: dict[str, Any], batch: int) -> None:
        assert batch == len(after)
        for view, frame in changes.items():
            rows = frame.collect()
            gone = found(tuple(row)[:-2] for row in rows if row["_change_type"] == "delete")
            came = found(tuple(row)[:-2] for row in rows if row["_change_type"] == "insert")
            assert held[view].issuperset(gone)
            assert held[view].isdisjoint(came)
            held[view] = (held[view] - set(gone)) | set(came)
        after.append({view: set(rows) for view, rows in held.items()})

    write_script(case, tmp_path / "in")
    query = hws.maintain(
        compiled(case), streams(spark, case, tmp_path / "in"), checkpoint=str(tmp_path / "check"),
        foreach_changes=keep, shards=shards, exchange=exchange, trigger={"availableNow": True},
    )  # fmt: skip
    finish(query)
    views = {view: hws.view(str(tmp_path / "check"), view) for view in case.program.outputs}
    assert [{view: told(views[view], rows[view]) for view in views} for _, _, _, rows in steps] == after
    assert {view: set(found(frame.collect())) for view, frame in views.items()} == after[-1]
