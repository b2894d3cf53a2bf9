"""Runs a check of the harness on Headwater; a failure comes out small and as a test to paste."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import Phase, assume, settings

from tests.engine.opened import Opened
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import Disagreement, Opener
from tests.oracle.minimise import minimise, regression_test, sensible
from tests.oracle.strategies import Case

Check: TypeAlias = Callable[[Case, Opener], None]

SOAK = settings().max_examples > 1_000
QUICK = settings().max_examples < 100
"""Whether it matters only that something fails: a tenth of the cases, and none is made small."""
LONGER = 40
"""How many times the cases of `make test` make an hour on two cores."""


def pairs(count: int) -> settings:
    """So many cases under `make test`, always the same ones; new ones, and many more, under `make soak`.

    A case is a function of its seed, and seeds do not shrink: `hold` makes the failing case small.
    """
    return settings(
        max_examples=count * LONGER if SOAK else max(3, count // 10) if QUICK else count,
        derandomize=not SOAK,
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
    )


def hold(check: Check, case: Case, open_: Opener = Opened) -> None:
    try:
        check(case, open_)
    except Diverges:
        assume(False)  # too large for the oracle
    except Exception as problem:
        if QUICK:
            raise
        small = minimise(case, lambda other: _failure(check, other, open_)) if sensible(case) else case
        kind = _kind(problem)
        raise AssertionError(f"{_message(check, small, open_)}\n\n{regression_test(small, kind)}") from problem


def _failure(check: Check, case: Case, open_: Opener) -> str | None:
    if not sensible(case):
        return None
    try:
        check(case, open_)
    except Exception as problem:
        return _kind(problem)
    return None


def _kind(problem: Exception) -> str:
    """Disagreements by their kind, refusals by their codes, crashes by their type."""
    if isinstance(problem, Disagreement):
        return problem.kind
    codes = sorted({diagnostic.code for diagnostic in getattr(problem, "diagnostics", ())})
    return "_".join([type(problem).__name__, *codes])


def _message(check: Check, case: Case, open_: Opener) -> str:
    try:
        check(case, open_)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "fails only together with the cases before it"
