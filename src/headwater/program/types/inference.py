"""Types, inferred through the rules: of every column and of every variable of every rule.

A column that gets an int from one rule and a float from another is float, and int values that flow into it are
widened; `address` and `string` go together. Apart from that a variable has one type: standing in an int column
and in a float column is an error, as it would compare what cannot be equal by key.

A column that gets nothing but nulls has the type of what it is joined with.

A list has the type of its items. A column declared `list`, without saying of what, holds the lists that rules and data
put into it. Items of different types make a list of `any`; an item of such a list may stand in a column of any type,
and is looked at there when it comes.

A base relation without declaration has no types until data comes: call `infer` again with what is `known`, and
`with_types` to have the program's literals follow.
Linear: a column's type changes a few times at most, and only the rules that read it are looked at again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.functions.function import Registry
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type, list_of
from headwater.core.widening import item_of, narrower, same, wider
from headwater.language.syntax import Aggregate, Assign, Atom, Rule, Term, Variable
from headwater.language.terms import body_atoms
from headwater.program.model import Column, Program, Relation
from headwater.program.types.calls import settled_rule
from headwater.program.types.literals import coerce_query, coerce_rule
from headwater.program.types.nullability import Nullability, nullability
from headwater.program.types.typing import aggregate_type, term_type
from headwater.program.types.typing_problems import head_problems, query_problems, rule_problems

Columns = dict[str, tuple[Type | None, ...]]


@dataclass(frozen=True, slots=True)
class Types:
    """`variables` has one mapping per rule, in the order of the program's rules; `nulls` says where nulls can be."""

    columns: Columns
    variables: tuple[dict[str, Type | None], ...]
    nulls: Nullability


def infer(
    program: Program, known: Mapping[str, tuple[Type | None, ...]] | None = None, registry: Registry = FUNCTIONS
) -> Types:
    """The types of a program, `known` being those of undeclared base relations as found in data."""
    types, problems = inferred(program, known or {}, registry)
    if problems:
        raise CheckProblem(tuple(problems))
    return types


def with_types(program: Program, types: Types) -> Program:
    """The program with these types written on its columns, and its literals as their places ask for them."""
    return replace(
        program,
        relations=tuple(_with_columns(relation, types) for relation in program.relations),
        rules=tuple(
            settled_rule(coerce_rule(rule, types.columns, of), of)
            for rule, of in zip(program.rules, types.variables, strict=True)
        ),
        queries=tuple(coerce_query(query, types.columns) for query in program.queries),
    )


def _with_columns(relation: Relation, types: Types) -> Relation:
    if relation.declared:
        return relation
    nullable = types.nulls.columns[relation.name]
    found = zip(relation.columns, types.columns[relation.name], strict=True)
    columns = tuple(Column(column.name, of, at in nullable) for at, (column, of) in enumerate(found))
    return replace(relation, columns=columns)


def inferred(
    program: Program, known: Mapping[str, tuple[Type | None, ...]], registry: Registry = FUNCTIONS
) -> tuple[Types, list[Diagnostic]]:
    """The types as far as they can be worked out, with everything that does not fit."""
    nulls = nullability(program, registry)
    columns = _columns(program, known, nulls, registry)
    variables = tuple(_variables(rule, columns, registry) for rule in program.rules)
    types = Types({name: tuple(each) for name, each in columns.items()}, variables, nulls)
    problems: list[Diagnostic] = []
    declared = {relation.name for relation in program.relations if relation.declared}
    for rule, of in zip(program.rules, variables, strict=True):
        problems += rule_problems(rule, types.columns, of, registry)
    problems += head_problems(program, types.columns, variables, declared, registry)
    for query in program.queries:
        problems += query_problems(query, types.columns)
    return types, list(dict.fromkeys(problems))  # one place may clash in several rules


def _columns(
    program: Program, known: Mapping[str, tuple[Type | None, ...]], nulls: Nullability, registry: Registry
) -> dict[str, list[Type | None]]:
    columns: dict[str, list[Type | None]] = {}
    unsettled: dict[str, list[int]] = {}  # the columns whose types rules may show
    for relation in program.relations:
        found = known.get(relation.name, ())
        if len(found) != relation.arity:
            found = (None,) * relation.arity
        columns[relation.name] = [
            refined(column.type, kind) if relation.declared else kind
            for column, kind in zip(relation.columns, found, strict=True)
        ]
        unsettled[relation.name] = [
            at for at, column in enumerate(relation.columns) if not (relation.declared and is_known(column.type))
        ]
    readers: dict[str, list[int]] = {}
    for index, rule in enumerate(program.rules):
        for name in {atom.relation for atom, _ in body_atoms(rule)}:
            readers.setdefault(name, []).append(index)
    askings: dict[str, list[Relation]] = {}
    for relation in program.relations:
        if relation.asks is not None:  # what is asked of a column has its type
            asked = relation.asks.columns
            unsettled[relation.name] = [at for at in unsettled[relation.name] if at >= len(asked)]  # its lease
            askings.setdefault(relation.asks.relation, []).append(relation)
            columns[relation.name][: len(asked)] = [columns[relation.asks.relation][at] for at in asked]
    waiting = deque(range(len(program.rules)))
    queued = set(waiting)
    while waiting or (waiting := deque(_typed_nulls(program, columns, nulls, readers, registry))):
        index = waiting.popleft()
        queued.discard(index)
        rule = program.rules[index]
        if _flow(rule, columns, unsettled[rule.head.relation], registry):
            changed = [rule.head.relation]
            for asking in askings.get(rule.head.relation, ()):
                assert asking.asks is not None
                asked = asking.asks.columns
                columns[asking.name][: len(asked)] = [columns[rule.head.relation][at] for at in asked]
                changed.append(asking.name)
            for reader in (each for name in changed for each in readers.get(name, ())):
                if reader not in queued:
                    queued.add(reader)
                    waiting.append(reader)
    return columns


def is_known(kind: Type | None) -> bool:
    """Whether a column's type is known, also what its lists hold."""
    return kind is not None and kind.is_known


def refined(declared: Type | None, found: Type | None) -> Type | None:
    """The type of a declared column; what its lists hold is found in the data if the declaration does not say."""
    if declared is None or declared.is_known or found is None or not same(declared, found):
        return declared
    return narrower(declared, found)


def _typed_nulls(
    program: Program,
    columns: dict[str, list[Type | None]],
    nulls: Nullability,
    readers: Mapping[str, list[int]],
    registry: Registry,
) -> list[int]:
    """Give a column of nothing but nulls the type of a variable that stands there; the rules to look at again."""
    for name, places in nulls.columns.items():
        for at in places:
            if columns[name][at] is None:
                for index in readers.get(name, ()):
                    rule = program.rules[index]
                    variables = _variables(rule, columns, registry)
                    args = [atom.args[at] for atom, _ in body_atoms(rule) if atom.relation == name]
                    found = next((variables.get(arg.name) for arg in args if isinstance(arg, Variable)), None)
                    if found is not None:
                        columns[name][at] = found
                        return readers[name]
    return []


def _flow(rule: Rule, columns: dict[str, list[Type | None]], places: list[int], registry: Registry) -> bool:
    """Let the types of a rule's head flow into these columns of its relation; True if one changed."""
    if not places:
        return False
    variables = _variables(rule, columns, registry)
    target = columns[rule.head.relation]
    changed = False
    for place in places:
        found = head_type(rule.head.args[place], variables, registry)
        if not rule.body and found is not None and found.parts:
            found = list_of(item_of(found))  # a fact says nothing of how long the lists of others are
        joined = wider(target[place], found)
        if joined is not None and joined is not target[place]:
            target[place] = joined
            changed = True
    return changed


def head_type(arg: Term | Aggregate, variables: Mapping[str, Type | None], registry: Registry) -> Type | None:
    if isinstance(arg, Aggregate):
        inner = tuple(term_type(each, variables, registry) for each in arg.args)
        return aggregate_type(arg.function, inner)
    return term_type(arg, variables, registry)


def _variables(rule: Rule, columns: Mapping[str, list[Type | None]], registry: Registry) -> dict[str, Type | None]:
    types: dict[str, Type | None] = {}
    for goal in rule.body:
        if isinstance(goal, Atom):
            for arg, column in zip(goal.args, columns[goal.relation], strict=True):
                if isinstance(arg, Variable):
                    types[arg.name] = narrower(types.get(arg.name), column)
    for goal in rule.body:
        if isinstance(goal, Assign):
            before, found = types.get(goal.variable.name), term_type(goal.term, types, registry)
            types[goal.variable.name] = narrower(found, before) if same(found, before) else found
    return types
