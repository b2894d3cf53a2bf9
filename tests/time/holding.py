"""Runs checks of timed cases on Headwater; a failing script comes out short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from hypothesis import assume

import headwater as hw
from tests.engine.holding import QUICK
from tests.engine.opened import change_of
from tests.oracle.evaluate import Diverges
from tests.oracle.program import Row, State, reads
from tests.oracle.timed import Clock, Step, TimedCase, timed_text, views

Check = Callable[[TimedCase], None]
Changes = dict[str, tuple[set[Row], set[Row]]]


class TimedEngine(Protocol):
    def apply(self, step: Step) -> Changes: ...

    def rows(self) -> State: ...


def steps(case: TimedCase, engine: TimedEngine) -> Iterator[Clock]:
    """Take an engine through the script: after every step its rows and changes are the oracle's."""
    clock = Clock(case)
    before = expected(case, clock)
    for number, step in enumerate(case.script):
        clock.apply(step)
        after = expected(case, clock)
        changes = engine.apply(step)
        found = engine.rows()
        assert found == after, f"after step {number}, at {clock.now}: {found} instead of {after}"
        net = {name: (after[name] - before[name], before[name] - after[name]) for name in after}
        assert changes == net, f"changes of step {number}: {changes} instead of {net}"
        yield clock
        before = after


def hold(check: Check, case: TimedCase) -> None:
    try:
        check(case)
    except Diverges:
        assume(False)  # too large for the oracle
    except Exception as problem:
        if QUICK:
            raise
        small = _shorter(check, case, type(problem))
        raise AssertionError(f"{timed_text(small)}\n{_shown(check, small)}\nscript:\n{_listed(small)}") from problem


def _fails(check: Check, case: TimedCase, kind: type[Exception]) -> bool:
    try:
        check(case)
    except Exception as problem:
        return isinstance(problem, kind)
    return False


def _shorter(check: Check, case: TimedCase, kind: type[Exception]) -> TimedCase:
    """The case with as few steps and rows as still fail the same way."""
    progress = True
    while progress:
        progress = False
        for other in _cuts(case):
            if _fails(check, other, kind):
                case, progress = other, True
                break
    return case


def _cuts(case: TimedCase) -> list[TimedCase]:
    found = [replace(case, script=case.script[:at] + case.script[at + 1 :]) for at in range(len(case.script))]
    for at, step in enumerate(case.script):
        for field in ("insert", "delete"):
            rows_of: dict[str, tuple[Row, ...]] = getattr(step, field)
            for name, rows in rows_of.items():
                for place in range(len(rows)):
                    left = {**rows_of, name: rows[:place] + rows[place + 1 :]}
                    script = (*case.script[:at], replace(step, **{field: left}), *case.script[at + 1 :])
                    found.append(replace(case, script=script))
    for at in range(len(case.program.rules)):
        left = replace(case.program, rules=case.program.rules[:at] + case.program.rules[at + 1 :])
        needed = {query.relation for query in left.queries} | reads(left)
        if needed <= set(left.derived) | set(case.lives) and left.derived:
            found.append(replace(case, program=left))
    return found


def _shown(check: Check, case: TimedCase) -> str:
    try:
        check(case)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""


def _listed(case: TimedCase) -> str:
    return "\n".join(f"  {step}" for step in case.script)


class Timed:
    """Headwater over a timed case."""

    def __init__(self, case: TimedCase, provenance: str = "witness", nodes: int = 100_000) -> None:
        self.case = case
        self.db = hw.Database(hw.compile(timed_text(case)), provenance=provenance, nodes=nodes)

    def apply(self, step: Step) -> Changes:
        """One step; an advance that comes with rows is a transaction of its own, before them."""
        parts = []
        if step.advance is not None and (self.db.now is None or step.advance > self.db.now):
            parts.append(self.db.advance(step.advance))
        if step.insert or step.delete:
            parts.append(self.db.apply(insert=_lists(step.insert), delete=_lists(step.delete)))
        found: Changes = {}
        for name in self.case.program.outputs:
            came: set[Row] = set()
            went: set[Row] = set()
            for changes in parts:
                inserted, deleted = (set(rows) for rows in change_of(changes[name]))
                assert not inserted & deleted, f"{name}: {inserted & deleted} came and went"
                came, went = (came - deleted) | (inserted - went), (went - inserted) | (deleted - came)
            found[name] = came, went
        return found

    def rows(self) -> State:
        return {name: set(self.db.rows(name)) for name in self.case.program.outputs}

    def reopen(self) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "views.headwater"
            self.db.save(path)
            self.db = hw.Database.open(path)


def _lists(rows: object) -> dict[str, list[Row]]:
    assert isinstance(rows, dict)
    return {name: list(many) for name, many in rows.items()}


def expected(case: TimedCase, clock: Clock, moment: int | None = None) -> State:
    found = views(case, clock.alive(moment))
    return {name: found[name] for name in case.program.outputs}
