"""Check a program: syntax tree in, program in normal form out, or everything that is wrong with it.

The checks run in stages, because each builds on what the one before has made sure of: names, then bindings,
then everything that needs both: types, and the tuple `CHECKS`. A stage reports all its findings at once.
Warnings never stop a program; they stay on it. Whether a recursion ends is asked later, when it is known which rows the
rewrites keep (see `headwater.pipeline`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.errors import CheckProblem
from headwater.core.functions.function import Registry
from headwater.core.functions.registry import FUNCTIONS
from headwater.language.syntax import Constant, Query, Rule, Tree, Variable, Wildcard
from headwater.program.grouping import grouping_warnings
from headwater.program.model import Program
from headwater.program.names import Names, survey
from headwater.program.network import network_problems, with_locations
from headwater.program.normal import normalise
from headwater.program.recursion.aggregates import spread
from headwater.program.recursion.stratified import strata_problems
from headwater.program.relations import relations, with_times, with_windows
from headwater.program.time.program_clock import time_problems
from headwater.program.time.sequential import sequence_problems
from headwater.program.time.time_uses import time_use_problems
from headwater.program.types.inference import inferred, with_types
from headwater.program.types.nullability import null_problems
from headwater.program.types.spelling import spelling_problems

Check = Callable[[Program], Iterable[Diagnostic]]

CHECKS: tuple[Check, ...] = (
    time_problems,
    sequence_problems,
    strata_problems,
    network_problems,
    time_use_problems,  # last: it takes strata as they are
)


def check(tree: Tree, registry: Registry = FUNCTIONS) -> Program:
    """The checked program. Raises CheckProblem with all findings of the first stage that has errors."""
    findings = _Findings()
    findings.add(tree.notes)
    tree = spread(tree)
    known, diagnostics = survey(tree, registry)
    findings.add(diagnostics)
    findings.add(spelling_problems(tree))
    findings.stop()

    rules, queries = _normal(tree, known, findings)
    findings.stop()

    found, diagnostics = relations(known)
    findings.add(diagnostics)
    found, diagnostics = with_windows(with_locations(with_times(found, rules), rules), rules, queries)
    findings.add(diagnostics)
    program = Program(found, rules, queries)
    types, diagnostics = inferred(program, {}, registry)
    findings.add(diagnostics)
    findings.add(null_problems(program, types.nulls.columns, registry))
    if tree.text is None:
        findings.add(grouping_warnings(program))
    for run in CHECKS:
        findings.add(run(program))
    findings.stop()
    return with_warnings(with_types(program, types), findings.warnings)


class _Findings:
    """What the checks have found so far."""

    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def add(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            found = self.errors if diagnostic.severity is Severity.ERROR else self.warnings
            found.append(diagnostic)

    def stop(self) -> None:
        """Raise if there are errors, in the order of the text."""
        if self.errors:
            raise CheckProblem(tuple(sorted(self.errors, key=_position)))


def with_warnings(program: Program, more: Iterable[Diagnostic]) -> Program:
    """The program with more warnings, in the order of the text."""
    return replace(program, warnings=tuple(sorted((*program.warnings, *more), key=_position)))


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    return (diagnostic.line or 0, diagnostic.column or 0)


def _normal(tree: Tree, known: Names, findings: _Findings) -> tuple[tuple[Rule, ...], tuple[Query, ...]]:
    rules: list[Rule] = []
    queries: list[Query] = []
    for statement in tree.statements:
        if isinstance(statement, Rule):
            rule, diagnostics = normalise(statement, known)
            rules.append(rule)
            findings.add(diagnostics)
        elif isinstance(statement, Query):
            queries.append(statement)
            findings.add(_query_terms(statement))
    return tuple(rules), tuple(queries)


def _query_terms(query: Query) -> Iterable[Diagnostic]:
    for arg in query.atom.args:
        if not isinstance(arg, Variable | Wildcard | Constant):
            message = "a query asks with variables, constants and `_` only"
            yield Diagnostic("HW307", message, arg.span or query.span, hint="derive a relation for it and query that")
