"""By which columns a relation can be asked: those whose values are settled when a row is derived, and of one type.

A column is *fixed* when a row's other values cannot change it: it is no time, no result of an aggregate, and part of
every group of which only the best rows are kept. Demand is built from fixed columns alone. So what is asked for never
depends on values that improve while a recursion runs, and a group is always asked for whole.

A fixed column is *bindable* when, besides, it holds no lists and nothing mixed, every rule copies it from a goal,
computes it or states it as a constant, and all these have one type. Types that only the data will show are taken to be
one; if they turn out not to be (an int from `road`, a float from `rail`), the program runs without restriction
(`CompiledProgram.unrestricted`).

Questions meet rows as two goals do, by their codes: a null is one value, there is one NaN, and 0.0 and -0.0 are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from headwater.core.types import Type
from headwater.language.syntax import Constant, Rule, Term, Variable
from headwater.language.terms import assigned, positive_atoms
from headwater.program.model import Program, Relation
from headwater.program.recursion.aggregates import aggregate_columns
from headwater.rewrite.demand.computed_values import kinds_of

Columns: TypeAlias = tuple[int, ...]

_PLAIN = (None, Type.INT, Type.STRING, Type.ADDRESS, Type.BOOL, Type.TIMESTAMP, Type.DATE, Type.DURATION, Type.FLOAT)


def fixed_columns(program: Program) -> dict[str, frozenset[int]]:
    """Of each relation the columns that demand may go by."""
    results: dict[str, set[int]] = {}
    for rule in program.rules:
        results.setdefault(rule.head.relation, set()).update(aggregate_columns(rule.head))
    return {relation.name: _fixed(relation, results.get(relation.name, set())) for relation in program.relations}


def _fixed(relation: Relation, results: set[int]) -> frozenset[int]:
    found = set(range(relation.arity - relation.hidden)) - results - {relation.time}
    return frozenset(found.intersection(*(selection.group for selection in relation.selections)))


def bindable_columns(
    program: Program, fixed: Mapping[str, frozenset[int]]
) -> tuple[dict[str, frozenset[int]], dict[str, dict[int, str]]]:
    """Of each relation that rules derive the columns by which it can be asked, and why it cannot be by the others."""
    relations = {relation.name: relation for relation in program.relations}
    rules_of: dict[str, list[Rule]] = {}
    for rule in program.rules:
        if rule.body:
            rules_of.setdefault(rule.head.relation, []).append(rule)
    found: dict[str, frozenset[int]] = {}
    refused: dict[str, dict[int, str]] = {}
    for name, own in rules_of.items():
        problems = {at: _problem(relations, own, at, fixed) for at in range(relations[name].arity)}
        found[name] = frozenset(at for at, problem in problems.items() if problem is None)
        refused[name] = {at: problem for at, problem in problems.items() if problem is not None}
    return found, refused


def _problem(
    relations: Mapping[str, Relation], rules: Sequence[Rule], at: int, fixed: Mapping[str, frozenset[int]]
) -> str | None:
    """Why a relation with these rules cannot be asked by a column; None if it can."""
    relation = relations[rules[0].head.relation]
    column = relation.columns[at]
    if at == relation.time:
        return f"{column.name} is the time of its rows"
    if at not in fixed[relation.name]:
        return f"{column.name} depends on all rows of a group"
    if column.type not in _PLAIN:
        return f"{column.name} holds lists, or values of several types"
    if not all(_one_type(rule, at, relations) for rule in rules):
        return f"{column.name} gets ints from one rule and floats from another"
    if not all(_given(rule, at, fixed) for rule in rules):
        return f"a rule takes {column.name} from a value that may still change"
    return None


def can_be_asked(term: Term) -> bool:
    """Whether a term can stand in a question."""
    return isinstance(term, Constant)


def _given(rule: Rule, at: int, fixed: Mapping[str, frozenset[int]]) -> bool:
    arg = rule.head.args[at]
    if isinstance(arg, Constant):
        return can_be_asked(arg)
    if not isinstance(arg, Variable):
        return False
    if arg.name in assigned(rule):
        return True
    return any(
        isinstance(there, Variable) and there.name == arg.name
        for atom in positive_atoms(rule)
        for column, there in enumerate(atom.args)
        if column in fixed[atom.relation]
    )


def _one_type(rule: Rule, at: int, relations: Mapping[str, Relation]) -> bool:
    """Whether a rule gives a column values of the column's own type, as far as types are known."""
    arg, kind = rule.head.args[at], relations[rule.head.relation].columns[at].type
    kinds = [
        relations[atom.relation].columns[column].type
        for atom in positive_atoms(rule)
        for column, there in enumerate(atom.args)
        if isinstance(there, Variable) and there == arg
    ]
    if isinstance(arg, Variable) and arg.name in assigned(rule):
        kinds.append(kinds_of(rule, relations)[arg.name])
    return isinstance(arg, Constant) or all(None in (kind, found) or found is kind for found in kinds)
