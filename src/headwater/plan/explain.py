"""A plan as text: strata, tables and, for every rule, the delta rules through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from headwater.language.datalog.printer import print_goal, print_rule, print_term
from headwater.language.syntax import Atom
from headwater.plan.model import (
    Absent,
    Aggregation,
    DeltaRule,
    FlatRule,
    Join,
    Let,
    Owned,
    Plan,
    PlannedStratum,
    Reads,
    Step,
    Table,
    Test,
    Var,
)
from headwater.program.types.inference import Types


def explain(plan: Plan, types: Types) -> str:
    """The plan as text; a column whose type only data will tell shows as `?`."""
    shapes = {table.name: _shape(table, types) for table in plan.tables}
    lines = [f"base {shapes[table.name]}" for table in plan.tables if table.base]
    for number, stratum in enumerate(plan.strata, 1):
        lines += ["", _title(number, stratum)]
        lines += [f"  table {shapes[name]}" for name in stratum.tables]
        lines += [f"  {_aggregation(plan.aggregations[at])}" for at in stratum.aggregations]
        for rule in stratum.rules:
            lines += _rule(plan, plan.rules[rule])
    return "\n".join(lines)


def _title(number: int, stratum: PlannedStratum) -> str:
    kind = f"recursive, {stratum.mode.value}" if stratum.recursive else "not recursive"
    return f"stratum {number} ({kind}):"


def _shape(table: Table, types: Types) -> str:
    known = types.columns.get(table.name, table.types)
    columns = ", ".join(
        f"{name}: {kind.value if kind else '?'}" for name, kind in zip(table.columns, known, strict=True)
    )
    picks = ""
    for pick in table.picks:
        group = ", ".join(table.columns[at] for at in pick.group)
        best = f"the {pick.limit} best" if pick.limit > 1 else "the best"
        value = ", then ".join(table.columns[at] for at in pick.ranked)
        picks += f" keeps {best} ({pick.best.value}) {value} per ({group})"
    return f"{table.name}({columns}){picks}"


def _aggregation(one: Aggregation) -> str:
    measures = ", ".join(measure.function for measure in one.measures)
    return f"aggregate {one.table} <- {measures} over {', '.join(part.table for part in one.contributions)}"


def _rule(plan: Plan, rule: FlatRule) -> Iterator[str]:
    yield f"  rule {print_rule(plan.program_rules[rule.origin])}"
    atoms = [goal for goal in rule.body if isinstance(goal, Atom)]
    for atom, delta_rule in zip(atoms, rule.arrive, strict=True):
        yield f"    when {print_goal(atom)} comes: {_steps(delta_rule, atoms)}"
    for table, delta_rule in zip(rule.negated, rule.forbid, strict=True):
        yield f"    when {table} comes, forbid: {_steps(delta_rule, atoms)}"
    for table, delta_rule in zip(rule.negated, rule.allow, strict=True):
        yield f"    when {table} goes, allow: {_steps(delta_rule, atoms)}"
    for pull in rule.pulls:
        sources = [rule.head[column] for column in pull.columns]
        names = ", ".join(source.name if isinstance(source, Var) else repr(source.value) for source in sources)
        yield f"    to derive again by ({names}): {_steps(pull.delta_rule, atoms)}"


def _steps(delta_rule: DeltaRule, atoms: list[Atom]) -> str:
    return ", ".join(_step(step, atoms) for step in delta_rule.steps) or "store"


def _step(step: Step, atoms: list[Atom]) -> str:
    match step:
        case Join(atom=atom, pattern=pattern, reads=reads, any=any_):
            key = ", ".join(str(column) for column, _ in pattern.key)
            how = "find one" if any_ else "join"
            old = " before this round" if reads is Reads.OLD else ""
            return f"{how} {print_goal(atoms[atom])} by columns ({key}){old}"
        case Absent(pattern=pattern):
            return f"check that no {pattern.table} matches"
        case Let(variable=variable, term=term):
            return f"let {variable} = {print_term(term)}"
        case Test(goal=goal):
            return f"test {print_goal(goal)}"
        case Owned(source=source, mine=mine):
            who = "this shard" if mine else "another shard"
            return f"go on if {who} owns {source.name if isinstance(source, Var) else repr(source.value)}"
        case other:
            assert_never(other)
