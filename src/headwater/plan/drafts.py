"""Relations to tables, and rules to rules without aggregates.

An aggregate that keeps rows of its body's values (min, max, mmin, mmax, top) becomes a plain rule into a
table with a pick, and what goes with its value (`min<(C, P)>`) a column that the pick compares after it. Any other
ranges over a *bag*: a table of the distinct bindings of the body's named variables, one per rule, so that sets are
enough everywhere; where the body is one atom that names all its columns, that atom's table is the bag. `mcount` and
`msum` of (K, N) have one bag for all rules of the head, which keeps the largest N per group and K.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import assert_never

from headwater.core.types import Type
from headwater.language.syntax import Aggregate, Atom, Call, Condition, Constant, Goal, ListTerm, Rule, Variable
from headwater.plan.boxing import boxed
from headwater.plan.model import (
    Aggregation,
    Best,
    Contribution,
    Measure,
    Pick,
    Source,
    Table,
    Var,
    WrittenColumn,
    literal,
)
from headwater.program.model import Keeps, Program, Relation, Shown
from headwater.program.recursion.aggregates import WITH, carried_columns
from headwater.program.time.program_clock import lifetime
from headwater.program.types.inference import Types

PICKS = {"min": Best.MIN, "mmin": Best.MIN, "max": Best.MAX, "mmax": Best.MAX, "top": Best.MIN}
SUMS_OF_LARGEST = frozenset({"mcount", "msum"})
MEASURES = {"mcount": "sum", "msum": "sum", "mmin": "min", "mmax": "max"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule without aggregates whose delta rules are not chosen yet."""

    origin: int
    table: str
    head: tuple[Source, ...]
    body: tuple[Goal, ...]
    types: dict[str, Type]
    nullable: frozenset[str]
    weights: Mapping[str, int] = field(default_factory=dict)  # tables by expected size, for the join order
    keys: Mapping[str, frozenset[int]] = field(default_factory=dict)  # columns that no two rows of a table agree on
    owned: Source | None = None  # the value whose owner follows a binding, where not all shards do
    mine: bool = True  # this shard follows what it owns; else, what others own
    ordered: bool = False  # its atoms are to be joined as they stand
    filtered: bool = True  # bindings may be filtered by atoms that are joined later


@dataclass(slots=True)
class Drafts:
    """What a plan is made from, as far as it is known."""

    tables: dict[str, Table]
    rules: list[Draft]
    aggregations: list[Aggregation]
    homes: dict[str, str]  # bag -> the relation whose stratum it belongs to
    owned: Mapping[int, Source]  # per rule of the program, see `Draft.owned`
    parts: dict[str, str] = field(default_factory=dict)  # part of a table -> the relation whose stratum it goes before

    def add(self, number: int, table: str, head: tuple[Source, ...], body: tuple[Goal, ...], types: Types) -> None:
        nullable = types.nulls.variables[number]
        for goals, kinds, stands in boxed(body, _known_types(types, number), self.tables):
            nulls = nullable | {name for name, other in stands.items() if other in nullable}
            self.rules.append(Draft(number, table, head, goals, kinds, nulls, owned=self.owned.get(number)))


def known(kind: Type | None) -> Type:
    """The type to store a column under; one that no data has shown yet holds no rows."""
    return Type.ANY if kind is None else kind


def draft(program: Program, types: Types, owned: Mapping[int, Source]) -> Drafts:
    """Tables and drafts of all rules that can fire; one that reads a relation without any rows yet has none."""
    drafts = Drafts({}, [], [], {}, owned)
    rules_of: dict[str, list[int]] = {}
    for number in _can_fire(program, types):
        rules_of.setdefault(program.rules[number].head.relation, []).append(number)
    for relation in program.relations:
        drafts.tables[relation.name] = _table(relation, types)
        if not relation.derived and relation.window is not None and relation.window.slide is not None:
            drafts.tables[pending(relation.name)] = _pending(drafts.tables[relation.name])
    for relation in program.relations:
        rules = {number: program.rules[number] for number in rules_of.get(relation.name, ())}
        positions = sorted({at for rule in rules.values() for at in aggregate_positions(rule)})
        if positions:
            _Aggregated(drafts, types, relation, rules, positions).add()
        else:
            for number, rule in rules.items():
                drafts.add(number, relation.name, tuple(map(_source, rule.head.args)), rule.body, types)
    return drafts


def _table(relation: Relation, types: Types) -> Table:
    """The table of a relation whose rules, if any, aggregate nothing."""
    kinds = tuple(known(kind) for kind in types.columns[relation.name])
    table = Table(
        relation.name,
        kinds,
        tuple(column.name for column in relation.columns),
        base=not relation.derived,
        picks=tuple(Pick(picked.group, picked.value, Best(picked.best)) for picked in relation.selections),
        nullable=types.nulls.columns[relation.name],
        time=relation.time if relation.keeps is not Keeps.ALL else None,
        lease=relation.lease,
        keeps=relation.keeps,
        life=lifetime(relation),
        ordered=relation.ordered,
        shown=None if relation.shown is None else tuple(_written(column, kinds) for column in relation.shown),
        stands_for=relation.stands_for,
        hidden=relation.hidden,
        part=relation.part_of is not None,
        asks=relation.asks is not None,
        alarm=relation.alarm,
    )
    if table.base or table.picks:
        return table
    match table.keeps:
        case Keeps.ALL:
            return table
        case Keeps.LATEST:
            assert table.lease is not None
            return replace(table, picks=(Pick(table.identity, table.lease, Best.MAX),))
        case Keeps.FRONTIER | Keeps.BEST if table.time is not None:
            return replace(table, picks=(Pick(table.identity, table.time, Best.MIN),))
        case Keeps.FRONTIER | Keeps.BEST:
            return table  # an aggregate will say what is best
        case other:
            assert_never(other)


def _written(shown: Shown, kinds: tuple[Type, ...]) -> WrittenColumn:
    kind = known(shown.column.type) if shown.at is None else kinds[shown.at]
    return WrittenColumn(shown.column.name, kind, shown.at, None if shown.value is None else shown.value.value)


def pending(stream: str) -> str:
    """The table of rows of a stream that wait for its window to move."""
    return f"{stream}'pending"


def _pending(table: Table) -> Table:
    """Rows on their way in; the lease is the moment at which they are due."""
    return Table(
        pending(table.name), table.types, table.columns, base=True, bag=True, lease=table.lease, stands_for=table.name
    )


def _can_fire(program: Program, types: Types) -> list[int]:
    """Rules all of whose positive atoms may have rows, in order.

    A base relation with a column of unknown type has had no rows yet; when it gets some, the plan is made anew.
    """
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    for number, rule in enumerate(program.rules):
        atoms = {goal.relation for goal in rule.body if isinstance(goal, Atom)}
        missing.append(len(atoms))
        for name in atoms:
            waiting.setdefault(name, []).append(number)
    bases = (relation.name for relation in program.relations if not relation.derived)
    pending = [name for name in bases if None not in types.columns[name]]
    pending += [program.rules[number].head.relation for number, count in enumerate(missing) if not count]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            for number in waiting.get(name, ()):
                missing[number] -= 1
                if not missing[number]:
                    pending.append(program.rules[number].head.relation)
    return [number for number, count in enumerate(missing) if not count]


def aggregate_positions(rule: Rule) -> Iterator[int]:
    return (at for at, arg in enumerate(rule.head.args) if isinstance(arg, Aggregate))


def _known_types(types: Types, number: int) -> dict[str, Type]:
    return {name: known(kind) for name, kind in types.variables[number].items()}


def _source(arg: object) -> Source:
    match arg:
        case Variable(name=name):
            return Var(name)
        case Constant() | ListTerm():
            return literal(arg)
    raise AssertionError(f"a checked head has no {arg!r}")


@dataclass
class _Aggregated:
    """A relation whose rules aggregate, by their numbers; `positions` are the columns of its aggregates."""

    drafts: Drafts
    types: Types
    relation: Relation
    rules: Mapping[int, Rule]
    positions: list[int]

    @cached_property
    def group(self) -> tuple[int, ...]:
        return tuple(at for at in range(self.relation.arity) if at not in self.positions)

    def add(self) -> None:
        """Its tables, rules and aggregation."""
        shapes = [arg for rule in self.rules.values() for arg in rule.head.args if isinstance(arg, Aggregate)]
        functions = {shape.function for shape in shapes}
        carried = {at for rule in self.rules.values() for at in carried_columns(rule.head)}
        values = [at for at in self.positions if at not in carried]
        if len(values) == 1 and functions - {WITH} <= PICKS.keys():
            picking = next((shape for shape in shapes if shape.function != WITH), shapes[0])
            self._add_pick(values[0], picking, tuple(sorted(carried)))
        else:
            self._add_measures(sums_of_largest=bool(functions & SUMS_OF_LARGEST))

    def _add_measures(self, *, sums_of_largest: bool) -> None:
        tables, name = self.drafts.tables, self.relation.name
        contributions: list[Contribution] = []
        measures: dict[int, Measure] = {}
        nullable: set[int] = set()
        for number, rule in self.rules.items():
            if sums_of_largest and next(aggregate_positions(rule), None) is not None:
                bag = self._largest_bag(number)
                if bag not in contributions:
                    contributions.append(bag)
            else:
                bag = self._bindings_bag(number)
                contributions.append(bag)  # also twice the same: bindings of different rules are different
            for at, value in zip(self.positions, bag.values, strict=True):
                arg = rule.head.args[at]
                if value in tables[bag.table].nullable:
                    nullable.add(at)
                if isinstance(arg, Aggregate) and not (at in measures and _is_null(arg)):
                    kind = tables[bag.table].types[value]
                    if at in measures and Type.FLOAT in (kind, measures[at].type):
                        kind = Type.FLOAT  # ints and floats are pooled as floats
                    measures[at] = Measure(MEASURES.get(arg.function, arg.function), tables[name].types[at], kind)
        pooled = tuple(replace(measures[at], nullable=at in nullable) for at in self.positions)
        named = next(number for number, rule in self.rules.items() if next(aggregate_positions(rule), None) is not None)
        self.drafts.aggregations.append(
            Aggregation(name, self.group, pooled, tuple(self.positions), tuple(contributions), named)
        )

    def _add_pick(self, at: int, shape: Aggregate, carried: tuple[int, ...]) -> None:
        table = self.drafts.tables[self.relation.name]
        group = tuple(column for column in table.identity if column != at and column not in carried)
        pick = Pick(group, at, PICKS[shape.function], shape.limit or 1, carried)
        self.drafts.tables[table.name] = replace(table, base=False, picks=(pick,))
        for number, rule in self.rules.items():
            args = [arg.args[0] if isinstance(arg, Aggregate) else arg for arg in rule.head.args]
            head, body = tuple(map(_source, args)), rule.body
            if (shape.function == "top" or carried) and _may_be_null(head[at], self.types.nulls.variables[number]):
                is_value = Condition(
                    Call("is_not_null", (args[at],))
                )  # a null is none of the best, and carries nothing
                body = (*body, is_value)
            self.drafts.add(number, table.name, head, body, self.types)

    def _add_bag(
        self, name: str, number: int, sources: list[Source], kinds: list[Type], picks: tuple[Pick, ...] = ()
    ) -> None:
        """A table of bindings, to which several rules may add."""
        table = self.drafts.tables.get(name)
        if table is None:
            columns = tuple(source.name if isinstance(source, Var) else f"c{at}" for at, source in enumerate(sources))
            table = Table(name, tuple(kinds), columns, picks=picks, bag=True)
            self.drafts.homes[name] = self.relation.name
        nullable = self.types.nulls.variables[number]
        nulls = frozenset(at for at, source in enumerate(sources) if _may_be_null(source, nullable))
        self.drafts.tables[name] = replace(table, nullable=table.nullable | nulls)
        self.drafts.add(number, name, tuple(sources), self.rules[number].body, self.types)

    def _largest_bag(self, number: int) -> Contribution:
        args, at = self.rules[number].head.args, self.positions[0]
        shape = args[at]
        assert isinstance(shape, Aggregate)
        sources = [_source(args[column]) for column in self.group] + [_source(arg) for arg in shape.args]
        stored, last = self.drafts.tables[self.relation.name].types, len(sources) - 1
        kinds = [*(stored[column] for column in self.group), self._key_type(at), stored[at]]
        name = f"{self.relation.name}'largest"
        self._add_bag(name, number, sources, kinds, (Pick(tuple(range(last)), last, Best.MAX),))
        return Contribution(name, tuple(range(len(self.group))), (last,))

    def _key_type(self, at: int) -> Type:
        """A type that holds the K of every `msum<(K, N)>` of a head; where the rules differ, any value."""
        found: set[Type] = set()
        for number, rule in self.rules.items():
            shape = rule.head.args[at]
            if isinstance(shape, Aggregate):
                found.add(_kind(_source(shape.args[0]), _known_types(self.types, number)))
        if len(found) == 1:
            return next(iter(found))
        return Type.FLOAT if found == {Type.INT, Type.FLOAT} else Type.ANY

    def _bindings_bag(self, number: int) -> Contribution:
        rule, group, positions = self.rules[number], self.group, self.positions
        kinds = _known_types(self.types, number)
        sources = [_source(rule.head.args[column]) for column in group]
        args = [rule.head.args[at] for at in positions]
        values = [_source(arg.args[0] if isinstance(arg, Aggregate) else arg) for arg in args]
        stored = self.drafts.tables[self.relation.name].types
        plain = None if number in self.drafts.owned else _atom_as_bag(rule.body, sources, values)
        if plain is not None:
            own = self.drafts.tables[plain.table].types
            fits = all(own[column] is stored[at] for column, at in zip(plain.group, group, strict=True))
            mixed = [own[column].is_mixed for column in plain.values] + [stored[at] is Type.ANY for at in positions]
            if fits and not any(mixed):
                return plain
        sources += [value for value in values if value not in sources]
        sources += [Var(name) for name in _named_variables(rule.body) if Var(name) not in sources]
        bag = f"{self.relation.name}'bag{number}"
        columns = [stored[at] for at in group] + [_kind(source, kinds) for source in sources[len(group) :]]
        for at, arg, value in zip(positions, args, values, strict=True):
            place = sources.index(value)
            taken = isinstance(arg, Aggregate) and arg.function != "count" and place >= len(group)
            if taken and (columns[place].is_mixed or stored[at] is Type.ANY):
                columns[place] = stored[at]  # mixed values, and those of unknown type, are taken as the head has them
        self._add_bag(bag, number, sources, columns)
        return Contribution(bag, tuple(range(len(group))), tuple(sources.index(value) for value in values))


def _is_null(shape: Aggregate) -> bool:
    """Whether it ranges over the literal `null`, which says nothing of the type of its values."""
    return isinstance(shape.args[-1], Constant) and shape.args[-1].value is None


def _may_be_null(source: Source, nullable: frozenset[str]) -> bool:
    return source.name in nullable if isinstance(source, Var) else source.value is None


def _kind(source: Source, kinds: dict[str, Type]) -> Type:
    return kinds[source.name] if isinstance(source, Var) else source.type


def _named_variables(body: tuple[Goal, ...]) -> list[str]:
    """Variables that positive atoms bind, in order: bindings differ in these. Assigned variables follow from them."""
    names: dict[str, None] = {}
    for goal in body:
        if isinstance(goal, Atom):
            names.update((arg.name, None) for arg in goal.args if isinstance(arg, Variable))
    return list(names)


def _atom_as_bag(body: tuple[Goal, ...], group: list[Source], values: list[Source]) -> Contribution | None:
    """The only atom of a body as its own bag, if each of its rows is one binding."""
    if len(body) != 1 or not isinstance(body[0], Atom):
        return None
    names = [arg.name for arg in body[0].args if isinstance(arg, Variable)]
    if len(names) != len(body[0].args) or len(set(names)) != len(names):
        return None
    wanted = [source.name for source in (*group, *values) if isinstance(source, Var)]
    if len(wanted) != len(group) + len(values):
        return None
    columns = [names.index(name) for name in wanted]
    return Contribution(body[0].relation, tuple(columns[: len(group)]), tuple(columns[len(group) :]))
