"""Relations to tables, and rules to rules without aggregates.

An aggregate that keeps rows of its body's values (min, max, mmin, mmax, top) becomes a plain rule into a
table with a pick, and what goes with its value (`min<(C, P)>`) a column that the pick compares after it. Any other
ranges over a *bag*: a table of the distinct bindings of the body's named variables, one per rule, so that sets are
enough everywhere; where the body is one atom that names all its columns, that atom's table is the bag. `mcount` and
`msum` of (K, N) have one bag for all rules of the head, which keeps the largest N per group and K.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from headwater.core.types import Type
from headwater.language.syntax import Aggregate, Atom, Call, Condition, Constant, Goal, ListTerm, Rule, Variable
from headwater.plan.boxing import boxed
from headwater.plan.model import Aggregation, Best, Contribution, Measure, Pick, Source, Table, Var, Written, literal
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
    owned: Source | None = None  # what tells the shard that follows a binding, where not all do
    mine: bool = True  # this shard follows what it owns; else, what others own
    ordered: bool = False  # its atoms are to be joined as they stand


@dataclass(slots=True)
class Drafts:
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
        numbers = rules_of.get(relation.name, [])
        positions = sorted({at for number in numbers for at in aggregate_positions(program.rules[number])})
        if not positions:
            for number in numbers:
                rule = program.rules[number]
                head = tuple(_source(arg) for arg in rule.head.args)
                drafts.add(number, relation.name, head, rule.body, types)
        else:
            _draft_aggregate(drafts, program, types, relation, numbers, positions)
    return drafts


def _table(relation: Relation, types: Types) -> Table:
    """The table of a relation whose rules, if any, aggregate nothing."""
    kinds = tuple(known(kind) for kind in types.columns[relation.name])
    table = Table(
        relation.name,
        kinds,
        tuple(column.name for column in relation.columns),
        base=not relation.derived,
        picks=tuple(Pick(one.group, one.value, Best(one.best)) for one in relation.selections),
        nullable=types.nulls.columns[relation.name],
        time=relation.time if relation.keeps is not Keeps.ALL else None,
        lease=relation.lease,
        keeps=relation.keeps,
        life=lifetime(relation),
        ordered=relation.ordered,
        shown=None if relation.shown is None else tuple(_written(one, kinds) for one in relation.shown),
        stands_for=relation.stands_for,
        hidden=relation.hidden,
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


def _written(one: Shown, kinds: tuple[Type, ...]) -> Written:
    return Written(one.column.name, known(one.column.type) if one.at is None else kinds[one.at], one.at)


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
    pending = [one.name for one in program.relations if not one.derived and None not in types.columns[one.name]]
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


def _draft_aggregate(
    drafts: Drafts, program: Program, types: Types, relation: Relation, numbers: list[int], positions: list[int]
) -> None:
    shapes = [arg for number in numbers for arg in program.rules[number].head.args if isinstance(arg, Aggregate)]
    functions = {shape.function for shape in shapes}
    picking = next((shape for shape in shapes if shape.function != WITH), shapes[0])
    carried = {at for number in numbers for at in carried_columns(program.rules[number].head)}
    values = [at for at in positions if at not in carried]
    if len(values) == 1 and functions - {WITH} <= PICKS.keys():
        _draft_pick(drafts, program, types, relation, numbers, values[0], picking, tuple(sorted(carried)))
        return
    group = tuple(at for at in range(relation.arity) if at not in positions)
    contributions: list[Contribution] = []
    measures: dict[int, Measure] = {}
    nullable: set[int] = set()
    for number in numbers:
        rule = program.rules[number]
        if functions & SUMS_OF_LARGEST and next(aggregate_positions(rule), None) is not None:
            key = _key_type([(program.rules[one], _known_types(types, one)) for one in numbers], positions[0])
            bag = _largest_bag(drafts, relation, rule, number, types, group, positions[0], key)
            if bag not in contributions:
                contributions.append(bag)
        else:
            bag = _bindings_bag(drafts, relation, rule, number, types, group, positions)
            contributions.append(bag)  # also twice the same: bindings of different rules are different
        for at, value in zip(positions, bag.values, strict=True):
            arg = rule.head.args[at]
            if value in drafts.tables[bag.table].nullable:
                nullable.add(at)
            if isinstance(arg, Aggregate) and not (at in measures and _is_null(arg)):
                function = MEASURES.get(arg.function, arg.function)
                result = drafts.tables[relation.name].types[at]
                kind = drafts.tables[bag.table].types[value]
                if at in measures and Type.FLOAT in (kind, measures[at].type):
                    kind = Type.FLOAT  # ints and floats are pooled as floats
                measures[at] = Measure(function, result, kind)
    drafts.aggregations.append(
        Aggregation(
            relation.name,
            group,
            tuple(replace(measures[at], nullable=at in nullable) for at in positions),
            tuple(positions),
            tuple(contributions),
            next(number for number in numbers if any(True for _ in aggregate_positions(program.rules[number]))),
        )
    )


def _is_null(shape: Aggregate) -> bool:
    """Whether it ranges over the literal `null`, which says nothing of the type of its values."""
    return isinstance(shape.args[-1], Constant) and shape.args[-1].value is None


def _draft_pick(
    drafts: Drafts,
    program: Program,
    types: Types,
    relation: Relation,
    numbers: list[int],
    at: int,
    shape: Aggregate,
    carried: tuple[int, ...],
) -> None:
    table = drafts.tables[relation.name]
    group = tuple(column for column in table.identity if column != at and column not in carried)
    pick = Pick(group, at, PICKS[shape.function], shape.limit or 1, carried)
    drafts.tables[relation.name] = replace(table, base=False, picks=(pick,))
    for number in numbers:
        rule = program.rules[number]
        head = tuple(_source(arg.args[0] if isinstance(arg, Aggregate) else arg) for arg in rule.head.args)
        body = rule.body
        if (shape.function == "top" or carried) and _may_be_null(head[at], types.nulls.variables[number]):
            arg = rule.head.args[at]
            value = arg.args[0] if isinstance(arg, Aggregate) else arg
            body = (*body, Condition(Call("is_not_null", (value,))))  # a null is none of the best, and carries nothing
        drafts.add(number, relation.name, head, body, types)


def _bag(
    drafts: Drafts,
    relation: Relation,
    name: str,
    sources: list[Source],
    kinds: list[Type],
    nullable: frozenset[str],
    picks: tuple[Pick, ...],
) -> None:
    columns = tuple(source.name if isinstance(source, Var) else f"c{at}" for at, source in enumerate(sources))
    nulls = frozenset(at for at, source in enumerate(sources) if _may_be_null(source, nullable))
    drafts.tables[name] = Table(name, tuple(kinds), columns, picks=picks, bag=True, nullable=nulls)
    drafts.homes[name] = relation.name


def _may_be_null(source: Source, nullable: frozenset[str]) -> bool:
    return source.name in nullable if isinstance(source, Var) else source.value is None


def _kind(source: Source, kinds: dict[str, Type]) -> Type:
    return kinds[source.name] if isinstance(source, Var) else source.type


def _key_type(rules: Iterable[tuple[Rule, dict[str, Type]]], at: int) -> Type:
    """A type that holds the K of every `msum<(K, N)>` of a head: where the rules differ, any value by its symbol."""
    found: set[Type] = set()
    for rule, kinds in rules:
        shape = rule.head.args[at]
        if isinstance(shape, Aggregate):
            found.add(_kind(_source(shape.args[0]), kinds))
    if len(found) == 1:
        return next(iter(found))
    return Type.FLOAT if found == {Type.INT, Type.FLOAT} else Type.ANY


def _largest_bag(
    drafts: Drafts,
    relation: Relation,
    rule: Rule,
    number: int,
    types: Types,
    group: tuple[int, ...],
    at: int,
    key: Type,
) -> Contribution:
    name = f"{relation.name}'largest"
    nullable = types.nulls.variables[number]
    shape = rule.head.args[at]
    assert isinstance(shape, Aggregate)
    sources = [_source(rule.head.args[column]) for column in group] + [_source(arg) for arg in shape.args]
    if name not in drafts.tables:
        table = drafts.tables[relation.name]
        kinds = [table.types[column] for column in group]
        kinds += [key, table.types[at]]
        keys = tuple(range(len(sources) - 1))
        _bag(drafts, relation, name, sources, kinds, nullable, (Pick(keys, len(sources) - 1, Best.MAX),))
    table = drafts.tables[name]
    nulls = frozenset(place for place, source in enumerate(sources) if _may_be_null(source, nullable))
    drafts.tables[name] = replace(table, nullable=table.nullable | nulls)
    drafts.add(number, name, tuple(sources), rule.body, types)
    return Contribution(name, tuple(range(len(group))), (len(sources) - 1,))


def _bindings_bag(
    drafts: Drafts,
    relation: Relation,
    rule: Rule,
    number: int,
    types: Types,
    group: tuple[int, ...],
    positions: list[int],
) -> Contribution:
    kinds = _known_types(types, number)
    sources = [_source(rule.head.args[column]) for column in group]
    values: list[Source] = []
    for at in positions:
        arg = rule.head.args[at]
        values.append(_source(arg.args[0] if isinstance(arg, Aggregate) else arg))
    stored = drafts.tables[relation.name].types
    plain = None if number in drafts.owned else _atom_as_bag(rule.body, sources, values)
    if plain is not None:
        own = drafts.tables[plain.table].types
        fits = all(own[column] is stored[at] for column, at in zip(plain.group, group, strict=True))
        mixed = [own[column].is_mixed for column in plain.values] + [stored[at] is Type.ANY for at in positions]
        if fits and not any(mixed):
            return plain
    sources += [value for value in values if value not in sources]
    for name in named_variables(rule.body):
        if Var(name) not in sources:
            sources.append(Var(name))
    bag = f"{relation.name}'bag{number}"
    columns = [stored[at] for at in group] + [_kind(source, kinds) for source in sources[len(group) :]]
    for at, value in zip(positions, values, strict=True):
        place = sources.index(value)
        arg = rule.head.args[at]
        taken = isinstance(arg, Aggregate) and arg.function != "count" and place >= len(group)
        if taken and (columns[place].is_mixed or stored[at] is Type.ANY):
            columns[place] = stored[at]  # mixed values, and those of unknown type, are taken as the head has them
    _bag(drafts, relation, bag, sources, columns, types.nulls.variables[number], ())
    drafts.add(number, bag, tuple(sources), rule.body, types)
    return Contribution(bag, tuple(range(len(group))), tuple(sources.index(value) for value in values))


def named_variables(body: tuple[Goal, ...]) -> list[str]:
    """Variables that positive atoms bind, in order: what tells two bindings apart.

    Assigned variables are functions of these and tell nothing more.
    """
    names: dict[str, None] = {}
    for goal in body:
        if isinstance(goal, Atom):
            names.update((arg.name, None) for arg in goal.args if isinstance(arg, Variable))
    return list(names)


def _atom_as_bag(body: tuple[Goal, ...], group: list[Source], values: list[Source]) -> Contribution | None:
    """The one atom of a body as its own bag, if its rows are the bindings one to one."""
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
