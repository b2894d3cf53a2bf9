"""Which compiled loop runs a delta rule, from starting rows to head rows, and what it is given.

Most of the time of a closure, of shortest paths and of components goes into such loops. A loop gives the rows that the
steps of its delta rule give; the engine builds what is decided here and decides nothing again. Only what depends on
the data is left to it (`explain.WHILE_RUNNING`). Where no loop applies, the reason stands on the delta rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from headwater.core.types import Type
from headwater.language.syntax import Atom, Binary, Call, Constant, Term, Variable
from headwater.language.terms import names
from headwater.plan.drafts import Draft
from headwater.plan.model import (
    Absent,
    BestLoop,
    Copied,
    CopyLoop,
    DeltaRule,
    FlatRule,
    FrontierLoop,
    Join,
    JoinLoop,
    Let,
    Literal,
    Loop,
    LoopValue,
    Owned,
    Pattern,
    PlannedStratum,
    Probe,
    Pull,
    PullLoop,
    Side,
    Source,
    StepByStep,
    Table,
    Var,
)

Tables: TypeAlias = Mapping[str, Table]
_Values: TypeAlias = tuple[LoopValue, ...]


def with_loop(delta_rule: DeltaRule, rule: Draft, tables: Tables) -> DeltaRule:
    """The delta rule with the loop that runs it."""
    return replace(delta_rule, loop=_loop(delta_rule, rule, tables))


def pull_with_loop(pull: Pull, rule: Draft, tables: Tables) -> Pull:
    """The pull with the loop that runs it."""
    loop = _pull_loop(pull, rule, tables)
    return Pull(pull.columns, replace(pull.delta_rule, loop=loop))


def alone(stratum: PlannedStratum, rules: Sequence[FlatRule], outboxes: bool) -> Iterable[FlatRule]:
    """The rules of a stratum; of their loops, those go on from what comes which no other rule of it must see."""
    starts = [table for rule in rules for table in rule.atoms]
    for rule in rules:
        inside = [table for table in rule.atoms if table in stratum.tables]
        if inside == [rule.table] and starts.count(rule.table) == 1 and not (stratum.aggregations or outboxes):
            yield rule
        else:
            yield replace(rule, arrive=tuple(map(_one_round, rule.arrive)))


def _one_round(delta_rule: DeltaRule) -> DeltaRule:
    match delta_rule.loop:
        case FrontierLoop(closes=True) | JoinLoop(closes=True) as loop:
            return replace(delta_rule, loop=replace(loop, closes=False))
        case _:
            return delta_rule


def _loop(delta_rule: DeltaRule, rule: Draft, tables: Tables) -> Loop:
    head, start = tables[rule.table], delta_rule.start
    if start is None:
        return StepByStep("it starts from no row")
    if delta_rule.atom is None:
        return StepByStep("it starts from a negated atom")
    if not rule.head:
        return StepByStep("the head has no columns")
    for source, kind, column in zip(rule.head, head.types, head.columns, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return StepByStep(f"{source.name} is {rule.types[source.name].value}, column {column} is {kind.value}")
    atoms = sum(isinstance(goal, Atom) for goal in rule.body)
    if atoms == 1:
        return _copy(delta_rule, start, rule, tables)
    join = next(step for step in reversed(delta_rule.steps) if isinstance(step, Join))
    if join.any:
        return StepByStep("one row met is as good as all")
    if join.pattern.equal:
        return StepByStep("columns of the row met must agree")
    if len(join.pattern.key) == len(tables[join.pattern.table].types):
        return StepByStep("the row met is known whole")
    if atoms == 2:
        return _join(delta_rule, start, join, rule, tables)
    return _last_join(delta_rule, join, rule, tables)


def _copy(delta_rule: DeltaRule, start: Pattern, rule: Draft, tables: Tables) -> Loop:
    if tables[rule.table].picks:
        return StepByStep("the table keeps only the best rows")
    columns = {name: column for column, name in start.binds}
    match delta_rule.steps:
        case ():
            owner = None
        case (Owned(source=Var(name=name)),):
            owner = columns[name]
        case _:
            return _more_than_copies(delta_rule)
    head = _Sides(columns, {}).values(rule.head)
    taken = [value.column for value in head if isinstance(value, Copied)]
    whole = list(range(len(tables[start.table].types)))
    return CopyLoop(head, owner, distinct=set(taken) == set(whole), same=taken == whole and len(taken) == len(head))


def _last_join(delta_rule: DeltaRule, join: Join, rule: Draft, tables: Tables) -> Loop:
    """The last join of a rule of three atoms or more."""
    if tables[rule.table].picks:
        return StepByStep("the table keeps only the best rows")
    if join is not delta_rule.steps[-1]:
        return StepByStep("the last join is not the last step")
    met = {name: column for column, name in join.pattern.binds}
    keyed = [source.name for _, source in join.pattern.key if isinstance(source, Var)]
    copied = [source.name for source in rule.head if isinstance(source, Var) and source.name not in met]
    carries = tuple(dict.fromkeys((*keyed, *copied)))
    sides = _Sides({name: at for at, name in enumerate(carries)}, met)
    probe, head = sides.probe(join), sides.values(rule.head)
    return JoinLoop(probe, head, _is_short(probe, head), carries)


def _join(delta_rule: DeltaRule, start: Pattern, join: Join, rule: Draft, tables: Tables) -> Loop:
    """The join of a rule of two atoms."""
    sides = _Sides(
        {name: column for column, name in start.binds}, {name: column for column, name in join.pattern.binds}
    )
    if any(isinstance(source, Var) and source.name not in sides.start for _, source in join.pattern.key):
        return StepByStep("it computes what is looked up")
    head, probe = tables[rule.table], sides.probe(join)
    if not head.picks:
        if len(delta_rule.steps) != 1 or not all(map(sides.copies, rule.head)):
            return _more_than_copies(delta_rule)
        values = sides.values(rule.head)
        return JoinLoop(probe, values, _is_short(probe, values), closes=_goes_on(start, rule, probe, values))
    if not (head.listed or head.single):
        return StepByStep("the table does not keep one row per group by a number")
    (pick,) = head.picks
    lets = {step.variable: step.term for step in delta_rule.steps if isinstance(step, Let)}
    if len(lets) != len(delta_rule.steps) - 1:
        return _more_than_copies(delta_rule)
    groups = [rule.head[at] for at in pick.group]
    if not all(map(sides.copies, groups)):
        return StepByStep("it computes a column of the group")
    group = sides.values(groups)
    if head.listed:
        return _frontier(start, rule, tables, sides, probe, group, lets)
    if any(name not in _needed(rule.head[pick.value], lets) for name in lets):
        return StepByStep("it computes a value that the head does not have")  # without one, there is no row
    value = sides.sum(rule.head[pick.value], lets, rule, head.types[pick.value])
    if value is None:
        return StepByStep("the value is no sum of ints")
    plain = len(group) == 1 and isinstance(group[0], Copied) and probe.by_column is not None
    return BestLoop(probe, group, value, short=plain and _one_each(value))


def _goes_on(start: Pattern, rule: Draft, probe: Probe, head: _Values) -> bool:
    """Whether head rows are starting rows in turn, and what they hand on stays in its column."""
    kept = all(column_from(Side.START, (value,)) in (None, at) for at, value in enumerate(head))
    return start.table == rule.table != probe.table and kept and not (start.key or start.equal)


def _more_than_copies(delta_rule: DeltaRule) -> StepByStep:
    if any(isinstance(step, Absent) for step in delta_rule.steps):
        return StepByStep("it checks a negated atom")
    if any(isinstance(step, Owned) for step in delta_rule.steps):
        return StepByStep("it checks which shard owns a value")
    return StepByStep("it tests or computes values")


def _frontier(
    start: Pattern, rule: Draft, tables: Tables, sides: _Sides, probe: Probe, group: _Values, lets: Mapping[str, Term]
) -> Loop:
    head = tables[rule.table]
    (pick,) = head.picks
    assert head.lease is not None
    until = rule.head[head.lease]
    lease = sides.smallest(until, lets)
    if lease is None or not _one_each(lease) or any(isinstance(term, Literal) for term in lease):
        return StepByStep("the lease is not the smallest of a column of either row")
    value: _Values | None = ()
    if pick.value != head.lease:
        value = sides.sum(rule.head[pick.value], lets, rule, head.types[pick.value])
    if value is None or not _one_each(value):
        return StepByStep("the value is no sum of an int of either row")
    needed = _needed(rule.head[pick.value], lets) | _needed(until, lets)
    if any(name not in needed for name in lets):
        return StepByStep("it computes a value that the head does not have")
    own, own_lease = column_from(Side.START, value), column_from(Side.START, lease)
    passes_on = own in (None, pick.value) and own_lease in (None, head.lease)
    follows = start.table == rule.table != probe.table and passes_on and len(probe.columns) == 1
    copied = [at for at, place in zip(pick.group, group, strict=True) if column_from(Side.START, (place,)) is not None]
    return FrontierLoop(
        probe,
        group,
        value,
        lease,
        sieves=(
            _sieve(tables[start.table], sides.start, Side.START, group, value, probe.key),
            _sieve(tables[probe.table], sides.met, Side.MET, group, value, probe.columns),
        ),
        closes=follows and probe.by_column is not None and not (start.key or start.equal),
        clusters=copied[0] if follows and len(copied) == 1 else None,
    )


def _sieve(
    table: Table, bound: Mapping[str, int], side: Side, group: _Values, value: _Values, key: Sequence[int | Literal]
) -> int | None:
    """The column of a base table of which the rule needs only the best, all others being equal."""
    column = column_from(side, value)
    if not table.base or table.lease is None or column is None or column in (table.time, table.lease):
        return None
    timed = table.time is not None and table.time in bound.values()
    return None if timed or column in key or Copied(side, column) in group else column


def _pull_loop(pull: Pull, rule: Draft, tables: Tables) -> Loop:
    head, start = tables[rule.table], pull.delta_rule.start
    assert start is not None
    if not rule.head:
        return StepByStep("the head has no columns")
    if head.picks:
        return StepByStep("the table keeps only the best rows")
    if len(start.binds) != len(head.types) or start.key or start.equal:
        return StepByStep("not every column of the head is a variable of its own")
    match pull.delta_rule.steps:
        case (Join(pattern=first) as join, Join(pattern=second)):
            pass
        case _:
            return StepByStep("it is no join of two atoms alone")
    if first.equal:
        return StepByStep("columns of the row met must agree")
    if len(second.key) != len(tables[second.table].types):
        return StepByStep("the second row is not known whole")
    sides = _Sides({name: column for column, name in start.binds}, {name: column for column, name in first.binds})
    probe, row = sides.probe(join), sides.values([source for _, source in second.key])
    return PullLoop(probe, second.table, row, short=bool(row) and _is_short(probe, row))


class _Sides:
    """The variables that stand in columns of the starting row, and those that stand in columns of the row met."""

    def __init__(self, start: Mapping[str, int], met: Mapping[str, int]) -> None:
        self.start = start
        self.met = met

    def copies(self, source: Source) -> bool:
        """Whether a head value is copied, not computed."""
        return isinstance(source, Literal) or source.name in self.start or source.name in self.met

    def value(self, source: Source) -> LoopValue:
        if isinstance(source, Literal):
            return source
        column = self.start.get(source.name)
        return Copied(Side.MET, self.met[source.name]) if column is None else Copied(Side.START, column)

    def values(self, sources: Iterable[Source]) -> _Values:
        return tuple(map(self.value, sources))

    def probe(self, join: Join) -> Probe:
        meet = join.pattern
        key = tuple(source if isinstance(source, Literal) else self.start[source.name] for _, source in meet.key)
        return Probe(meet.table, tuple(column for column, _ in meet.key), key, join.reads, join.atom)

    def smallest(self, source: Source, lets: Mapping[str, Term]) -> _Values | None:
        """A lease as the smallest of columns, or as it is; None if it is computed otherwise."""
        if isinstance(source, Literal) or source.name not in lets:
            return (self.value(source),)
        match lets[source.name]:
            case Call(function="smaller" | "smallest", args=args):
                columns = [arg.name for arg in args if isinstance(arg, Variable) and arg.name not in lets]
                return self.values(map(Var, columns)) if len(columns) == len(args) else None
            case _:
                return None

    def sum(self, source: Source, lets: Mapping[str, Term], rule: Draft, kind: Type) -> _Values | None:
        """A head value as a sum of columns and constants; None if it is anything else."""
        if isinstance(source, Literal) or source.name not in lets:
            return (self.value(source),)
        if kind is not Type.INT:
            return None
        found: list[LoopValue] = []
        pending = [lets[source.name]]
        while pending:
            match pending.pop():
                case Variable(name=name) if name in lets:
                    pending.append(lets[name])
                case Variable(name=name) if rule.types[name] is Type.INT and name not in rule.nullable:
                    found.append(self.value(Var(name)))
                case Constant(value=int(value), type=Type.INT):
                    found.append(Literal(value, Type.INT))
                case Binary(op="+", left=left, right=right):
                    pending.extend((left, right))
                case _:
                    return None
        return tuple(found)


def column_from(side: Side, values: _Values) -> int | None:
    """The first column among these values that is copied from a side."""
    return next((value.column for value in values if isinstance(value, Copied) and value.side is side), None)


def _one_each(values: _Values) -> bool:
    """Whether values are made from no more than a column of either side and a constant."""
    sides = [value.side if isinstance(value, Copied) else None for value in values]
    return len(set(sides)) == len(sides)


def _is_short(probe: Probe, values: _Values) -> bool:
    """Whether one column is looked up, and one or two are copied."""
    return len(values) <= 2 and probe.by_column is not None and all(isinstance(value, Copied) for value in values)


def _needed(source: Source, lets: Mapping[str, Term]) -> set[str]:
    """The computed variables that a head value is made from."""
    found: set[str] = set()
    pending = [source.name] if isinstance(source, Var) else []
    while pending:
        name = pending.pop()
        if name in lets and name not in found:
            found.add(name)
            pending.extend(names(lets[name]))
    return found
