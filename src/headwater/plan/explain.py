"""A plan as text: strata, tables and, for every rule, its delta rules: join order, indexes and compiled loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from headwater.language.datalog.printer import print_goal, print_rule, print_term
from headwater.language.syntax import Atom
from headwater.plan import model
from headwater.plan.model import FlatRule, Loop, Plan, Table
from headwater.program.types.inference import Types

_SHORT = "short form: only where keys and head values lie close together, else the general form of the same loop"
_STEPS = "step by step where groups lie far apart"
WHILE_RUNNING: Mapping[type[Loop], str] = {
    model.CopyLoop: "copy: into an empty table rows are appended, else each is looked up first",
    model.BestLoop: f"best row: {_STEPS}, and while few rows come to a large table",
    model.FrontierLoop: f"frontier: {_STEPS} or rows have lost their witnesses; "
    "from the head where most of its rows are met",
}
"""What a loop leaves to the engine, because only the data can tell."""


def explain(plan: Plan, types: Types) -> str:
    """The plan as text; a column whose type only data will show is printed as `?`."""
    tables = {table.name: table for table in plan.tables}
    shapes = {table.name: _shape(table, types) for table in plan.tables}
    lines = [f"base {shapes[table.name]}" for table in plan.tables if table.base]
    for number, stratum in enumerate(plan.strata, 1):
        lines += ["", _title(number, stratum)]
        lines += [f"  table {shapes[name]}" for name in stratum.tables]
        lines += [f"  {_aggregation(plan.aggregations[at])}" for at in stratum.aggregations]
        for rule in stratum.rules:
            lines += _rule(plan, plan.rules[rule], tables)
    planned = {plan.program_rules[rule.origin].head.relation for rule in plan.rules}
    planned.update(aggregation.table for aggregation in plan.aggregations)
    waiting = [rule for rule in plan.program_rules if rule.head.relation not in planned]
    if waiting:
        lines += ["", "planned when rows show the types of the columns that they read:"]
        lines += [f"  rule {print_rule(rule)}" for rule in waiting]
    notes = list(_while_running(_loops(plan.rules)))
    if notes:
        lines += ["", "decided while running, by the data:", *(f"  {note}" for note in notes)]
    return "\n".join(lines)


def _title(number: int, stratum: model.PlannedStratum) -> str:
    kind = f"recursive, {stratum.mode.value}" if stratum.recursive else "not recursive"
    return f"stratum {number} ({kind}):"


def _shape(table: Table, types: Types) -> str:
    known = types.columns.get(table.name, table.types)
    columns = ", ".join(
        f"{name}: {kind.value if kind else '?'}" for name, kind in zip(table.columns, known, strict=True)
    )
    picks = ""
    for pick in table.picks:
        best = f"the {pick.limit} best" if pick.limit > 1 else "the best"
        value = ", then ".join(table.columns[at] for at in pick.ranked)
        picks += f" keeps {best} ({pick.best.value}) {value} per {_columns(table, pick.group)}"
    return f"{table.name}({columns}){picks}"


def _columns(table: Table, columns: Iterable[int]) -> str:
    return f"({', '.join(table.columns[at] for at in columns)})"


def _aggregation(aggregation: model.Aggregation) -> str:
    measures = ", ".join(measure.function for measure in aggregation.measures)
    sources = ", ".join(contribution.table for contribution in aggregation.contributions)
    return f"aggregate {aggregation.table} <- {measures} over {sources}"


def ways(rule: FlatRule) -> list[str]:
    """What starts each of the delta rules of a rule."""
    atoms = [goal for goal in rule.body if isinstance(goal, Atom)]
    named = {id(delta_rule): when for when, delta_rule in _delta_rules(rule, atoms)}
    return [named[id(delta_rule)] for delta_rule in rule.delta_rules]


def _rule(plan: Plan, rule: FlatRule, tables: Mapping[str, Table]) -> Iterator[str]:
    yield f"  rule {print_rule(plan.program_rules[rule.origin])}"
    atoms = [goal for goal in rule.body if isinstance(goal, Atom)]
    for when, delta_rule in _delta_rules(rule, atoms):
        chosen = "" if delta_rule.expected is None else f" (by the data: {delta_rule.expected:,.3g} per row)"
        steps = ", ".join(_step(step, atoms, tables) for step in delta_rule.steps) or "store"
        yield f"    {when}{chosen}: {steps}"
        yield f"      {_loop(delta_rule, tables[rule.table], tables)}"


def _delta_rules(rule: FlatRule, atoms: list[Atom]) -> Iterator[tuple[str, model.DeltaRule]]:
    if rule.spontaneous is not None:
        yield "at the start", rule.spontaneous
    for atom, delta_rule in zip(atoms, rule.arrive, strict=True):
        yield f"when {print_goal(atom)} comes", delta_rule
    for table, delta_rule in zip(rule.negated, rule.forbid, strict=True):
        yield f"when {table} comes, forbid", delta_rule
    for table, delta_rule in zip(rule.negated, rule.allow, strict=True):
        yield f"when {table} goes, allow", delta_rule
    for pull in rule.pulls:
        by = ", ".join(_source(rule.head[column]) for column in pull.columns)
        yield f"to derive again by ({by})", pull.delta_rule


def _source(source: model.Source) -> str:
    return source.name if isinstance(source, model.Var) else repr(source.value)


def _step(step: model.Step, atoms: list[Atom], tables: Mapping[str, Table]) -> str:
    match step:
        case model.Join(atom=atom, pattern=pattern, reads=reads, any=any_):
            old = " before this round" if reads is model.Reads.OLD else ""
            return f"{'find one' if any_ else 'join'} {print_goal(atoms[atom])} {_by(pattern, tables)}{old}"
        case model.Filter(atom=atom, pattern=pattern, reads=reads):
            old = " before this round" if reads is model.Reads.OLD else ""
            return f"go on if some {print_goal(atoms[atom])} matches {_by(pattern, tables)}{old}"
        case model.Absent(pattern=pattern):
            return f"check that no {pattern.table} matches {_by(pattern, tables)}"
        case model.Let(variable=variable, term=term):
            return f"let {variable} = {print_term(term)}"
        case model.Test(goal=goal):
            return f"test {print_goal(goal)}"
        case model.Owned(source=source, mine=mine):
            return f"go on if {'this shard' if mine else 'another shard'} owns {_source(source)}"
        case other:
            assert_never(other)


def _by(pattern: model.Pattern, tables: Mapping[str, Table]) -> str:
    """How the rows of a table that match are found."""
    table = tables[pattern.table]
    if len(pattern.key) == len(table.types):
        return "as a whole row"
    columns = _columns(table, (column for column, _ in pattern.key))
    return f"by index {columns}" if pattern.key else "by a scan"


def _loop(delta_rule: model.DeltaRule, head: Table, tables: Mapping[str, Table]) -> str:
    match delta_rule.loop:
        case model.StepByStep(why=why):
            return f"step by step: {why}"
        case model.CopyLoop():
            return "loop: copy"
        case model.JoinLoop(short=short, carries=carries, closes=closes):
            what = "join of two atoms" if carries is None else "last join of a longer rule"
            return f"loop: {what}{_form(short=short)}{', until no row comes any more' if closes else ''}"
        case model.PullLoop(short=short):
            return f"loop: pull through two atoms{_form(short=short)}"
        case model.BestLoop(short=short):
            (pick,) = head.picks
            return f"loop: best {head.columns[pick.value]} per {_columns(head, pick.group)}{_form(short=short)}"
        case model.FrontierLoop(probe=probe, sieves=sieves, closes=closes, clusters=clusters):
            (pick,) = head.picks
            assert delta_rule.start is not None
            met = tables[delta_rule.start.table], tables[probe.table]
            parts = [f"loop: frontier of {head.columns[pick.value]} per {_columns(head, pick.group)}"]
            parts += ["until no row comes any more"] if closes else []
            parts += [f"with rows sorted by {head.columns[clusters]}"] if clusters is not None else []
            sieved = [(table, at) for table, at in zip(met, sieves, strict=True) if at is not None]
            return ", ".join([*parts, *(f"from the best {table.columns[at]} of {table.name}" for table, at in sieved)])
        case other:
            assert_never(other)


def _form(*, short: bool) -> str:
    return ", short form" if short else ""


def _loops(rules: Iterable[FlatRule]) -> Iterator[Loop]:
    for rule in rules:
        yield from (delta_rule.loop for delta_rule in rule.arrive)
        yield from (pull.delta_rule.loop for pull in rule.pulls)


def _while_running(loops: Iterable[Loop]) -> Iterator[str]:
    found = list(loops)
    if any(isinstance(loop, model.JoinLoop | model.PullLoop | model.BestLoop) and loop.short for loop in found):
        yield _SHORT
    for kind, note in WHILE_RUNNING.items():
        if any(isinstance(loop, kind) for loop in found):
            yield note
