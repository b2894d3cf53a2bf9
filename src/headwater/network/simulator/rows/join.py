"""The pipelined hash join: one delta rule, from a row that came or went to the rows that follow (000, 4.3).

The plan has a delta rule per atom of a rule; here each becomes a chain of lookups in the hash tables of one node.
A result is a head row and the parts it was joined from: rows with their values.

Where this departs from 000, Algorithm 2: the algorithm has two inputs, each with hash tables of its own; here a join
has any number of inputs, and all joins of a node share one table per relation. The algorithm also joins deleted tuples,
with a provenance that is not monotone (`pu AND NOT u.pv`); here strategies handle deletions, and the join only gives
what would follow from a row. A derivation may be found twice, when two of its rows come at the same time; all
strategies absorb that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, assert_never

from headwater.core.errors import EvaluationError
from headwater.core.types import Type
from headwater.network.simulator.rows.table import HashTable, key_of
from headwater.network.simulator.rows.terms import NOTHING, Getter, Row, TooLarge, fitted, holds, value_of
from headwater.plan.model import (
    Absent,
    DeltaRule,
    Filter,
    FlatRule,
    Join,
    Let,
    Literal,
    Owned,
    Pattern,
    Source,
    Test,
    Var,
)

Part: TypeAlias = tuple[Row, Any]
"""A row and its value. For a negated atom: the key that nothing matches, and what the strategy made of that."""

Binding: TypeAlias = tuple[Row, tuple[Part, ...]]
Tables: TypeAlias = Mapping[str, HashTable[Any]]


@dataclass(frozen=True, slots=True)
class AbsentKey:
    """A negated atom at the moment when no row matches it."""

    table: str
    columns: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    key: Any


class Looks(Enum):
    """What a join sees: what holds now; or also what held before, with negated atoms left out."""

    NOW = "now"
    BACK = "back"


Absences: TypeAlias = Callable[[AbsentKey], Any]
"""What a strategy keeps for a negated atom that holds."""

Step: TypeAlias = Callable[[list[Binding], Looks], list[Binding]]


class DeltaJoin:
    """A delta rule of the plan over the tables of one node."""

    __slots__ = ("_delta_rule", "_head", "_places", "_start", "_steps", "rule", "table")

    def __init__(
        self,
        delta_rule: DeltaRule,
        rule: FlatRule,
        types: tuple[Type, ...],
        tables: Tables,
        name: Callable[[str], str],
        absences: Absences,
    ) -> None:
        self.rule = rule
        self.table = None if delta_rule.start is None else name(delta_rule.start.table)
        self._delta_rule = delta_rule
        slots: dict[str, int] = {}
        self._start = _matcher(delta_rule.start, slots)
        self._steps: list[Step] = []
        order = [] if delta_rule.atom is None else [delta_rule.atom]
        for step in delta_rule.steps:
            match step:
                case Join(pattern=pattern, atom=atom):
                    self._steps.append(_join(pattern, tables[name(pattern.table)], slots))
                    order.append(atom)
                case Absent(pattern=pattern):
                    table = name(pattern.table)
                    self._steps.append(_absent(pattern, table, tables[table], slots, absences))
                    order.append(-1)
                case Let(variable=variable, type=kind, term=term):
                    self._steps.append(_let(fitted(value_of(term, slots), kind)))
                    slots[variable] = len(slots)
                case Test(goal=goal):
                    self._steps.append(_test(holds(goal, slots)))
                case Owned():
                    raise AssertionError("nodes ship all that they derive")
                case Filter():
                    raise AssertionError("nodes join in the structural order")
                case other:
                    assert_never(other)
        self._places = [order.index(atom) for atom in range(len(rule.atoms))]
        self._head = _builder(rule.head, types, rule.types, slots)

    def follow(self, row: Row, value: Any, looks: Looks = Looks.NOW) -> list[tuple[Row, tuple[Part, ...]]]:
        """What follows from one row of the delta rule's table: head rows, each with the parts it was joined from."""
        start = self._start(row)
        if start is None:
            return []
        bindings: list[Binding] = [(start, ((row, value),) if self._delta_rule.atom is not None else ())]
        try:
            for step in self._steps:
                bindings = step(bindings, looks)
                if not bindings:
                    return bindings
            head = self._head
            return [(head(binding), parts) for binding, parts in bindings]
        except TooLarge as problem:
            if looks is Looks.BACK:
                return []
            raise EvaluationError(str(problem)) from problem

    def body(self, parts: tuple[Part, ...]) -> tuple[Row, ...]:
        """The rows of the rule's atoms in the order of its text: they identify the derivation."""
        return tuple([parts[at][0] for at in self._places])


def picker(columns: tuple[int, ...]) -> Callable[[Row], Row]:
    """Some columns of a row, always as a tuple."""
    if not columns:
        return lambda _: ()
    if len(columns) == 1:
        only = columns[0]
        return lambda row: (row[only],)
    return key_of(columns)


def _matcher(pattern: Pattern | None, slots: dict[str, int]) -> Callable[[Row], Row | None]:
    """From a starting row to the first variables, or None where the row does not match."""
    if pattern is None:
        return lambda _: ()
    for at, (_, name) in enumerate(pattern.binds):
        slots[name] = at
    take = picker(tuple(column for column, _ in pattern.binds))
    wanted = [(column, source.value) for column, source in pattern.key if isinstance(source, Literal)]
    assert len(wanted) == len(pattern.key), "nothing is known before the first atom"
    if not wanted and not pattern.equal:
        return take

    def match(row: Row) -> Row | None:
        if any(row[column] != value for column, value in wanted) or any(row[x] != row[y] for x, y in pattern.equal):
            return None
        return take(row)

    return match


def _key(sources: tuple[Source, ...], slots: Mapping[str, int]) -> Getter:
    """What an index is asked for, from a binding: as `key_of` makes it from a row."""
    if all(isinstance(source, Var) for source in sources):
        return key_of(tuple(slots[source.name] for source in sources if isinstance(source, Var)))
    getters = [_source(source, slots) for source in sources]
    if len(getters) == 1:
        return getters[0]
    return lambda binding: tuple(getter(binding) for getter in getters)


def _source(source: Source, slots: Mapping[str, int]) -> Getter:
    match source:
        case Var(name=name):
            return key_of((slots[name],))
        case Literal(value=value):
            return lambda _: value
        case other:
            assert_never(other)


def _join(pattern: Pattern, table: HashTable[Any], slots: dict[str, int]) -> Step:
    key = _key(tuple(source for _, source in pattern.key), slots)
    for at, (_, name) in enumerate(pattern.binds, start=len(slots)):
        slots[name] = at
    found = table.index(tuple(column for column, _ in pattern.key))
    take = picker(tuple(column for column, _ in pattern.binds))
    equal, hidden = pattern.equal, table.hidden
    nothing: Mapping[Row, Any] = {}

    def run(bindings: list[Binding], looks: Looks) -> list[Binding]:
        out = []
        skip = hidden if looks is Looks.NOW else ()
        for binding, parts in bindings:
            for part in found.get(key(binding), nothing).items():
                row = part[0]
                if (skip and row in skip) or (equal and any(row[x] != row[y] for x, y in equal)):
                    continue
                out.append((binding + take(row), (*parts, part)))
        return out

    return run


def _absent(pattern: Pattern, name: str, table: HashTable[Any], slots: Mapping[str, int], absences: Absences) -> Step:
    columns = tuple(column for column, _ in pattern.key)
    key, found = _key(tuple(source for _, source in pattern.key), slots), table.index(columns)
    equal, hidden = pattern.equal, table.hidden

    def run(bindings: list[Binding], looks: Looks) -> list[Binding]:
        if looks is Looks.BACK:
            return [(binding, (*parts, ((), None))) for binding, parts in bindings]
        out = []
        for binding, parts in bindings:
            asked = key(binding)
            if not any(row not in hidden and all(row[x] == row[y] for x, y in equal) for row in found.get(asked, ())):
                out.append((binding, (*parts, ((), absences(AbsentKey(name, columns, equal, asked))))))
        return out

    return run


def _let(compute: Getter) -> Step:
    def run(bindings: list[Binding], _: Looks) -> list[Binding]:
        out = []
        for binding, parts in bindings:
            value = compute(binding)
            if value is not NOTHING:
                out.append(((*binding, value), parts))
        return out

    return run


def _test(check: Callable[[Row], bool]) -> Step:
    return lambda bindings, _: [binding for binding in bindings if check(binding[0])]


def _builder(
    head: tuple[Source, ...], types: tuple[Type, ...], kinds: Mapping[str, Type], slots: Mapping[str, int]
) -> Callable[[Row], Row]:
    plain: list[int] = []
    for source, kind in zip(head, types, strict=True):
        if isinstance(source, Var) and (kinds[source.name] is kind or not (kind is Type.FLOAT or kind.has_floats)):
            plain.append(slots[source.name])
    if len(plain) == len(head):
        return picker(tuple(plain))
    getters = [fitted(_source(source, slots), kind) for source, kind in zip(head, types, strict=True)]
    return lambda binding: tuple(getter(binding) for getter in getters)
