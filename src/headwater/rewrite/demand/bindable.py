"""By which columns a relation can be asked: those whose values come as they are from the data, under one type.

A column is *fixed* when a row's other values cannot change it: it is no time, no result of an aggregate, and part of
every group of which only the best rows are kept. Demand is built from fixed columns alone. So what is asked for never
depends on values that improve while a recursion runs, and a group is always asked for whole.

A fixed column is *bindable* when, besides, it holds no nulls, no floats and nothing mixed, every rule copies it from a
goal or states it as a constant, and all these have one type. Types that only the data will show are taken to be one; if
they turn out not to be (an int from `road`, a float from `rail`), the program runs without restriction
(`CompiledProgram.unrestricted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from headwater.core.types import Type
from headwater.language.syntax import Constant, Rule, Term, Variable
from headwater.language.terms import assigned, positive_atoms
from headwater.program.model import Program, Relation
from headwater.program.recursion.aggregates import aggregate_columns

Columns: TypeAlias = tuple[int, ...]

_PLAIN = (None, Type.INT, Type.STRING, Type.ADDRESS, Type.BOOL, Type.TIMESTAMP, Type.DURATION)


def fixed_columns(program: Program) -> dict[str, frozenset[int]]:
    """Of each relation the columns that demand may go by."""
    results: dict[str, set[int]] = {}
    for rule in program.rules:
        results.setdefault(rule.head.relation, set()).update(aggregate_columns(rule.head))
    return {relation.name: _fixed(relation, results.get(relation.name, set())) for relation in program.relations}


def _fixed(relation: Relation, results: set[int]) -> frozenset[int]:
    found = set(range(relation.arity - relation.hidden)) - results - {relation.time}
    return frozenset(found.intersection(*(selection.group for selection in relation.selections)))


def bindable_columns(program: Program, fixed: Mapping[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    """Of each relation that rules derive the columns by which it can be asked."""
    relations = {relation.name: relation for relation in program.relations}
    rules_of: dict[str, list[Rule]] = {}
    for rule in program.rules:
        if rule.body:
            rules_of.setdefault(rule.head.relation, []).append(rule)
    found: dict[str, frozenset[int]] = {}
    for relation in program.relations:
        own = rules_of.get(relation.name, [])
        if own and relation.key is None and relation.ttl is None:
            found[relation.name] = frozenset(
                at
                for at in fixed[relation.name]
                if not relation.columns[at].nullable
                and relation.columns[at].type in _PLAIN
                and all(_copied(rule, at, fixed) for rule in own)
                and all(_one_type(rule, at, relations) for rule in own)
            )
    return found


def can_be_asked(term: Term) -> bool:
    """Whether a constant can stand in a question: whether 0.0 and -0.0 are one value is a question for `=`."""
    return isinstance(term, Constant) and term.value is not None and term.type is not Type.FLOAT


def _copied(rule: Rule, at: int, fixed: Mapping[str, frozenset[int]]) -> bool:
    arg = rule.head.args[at]
    if isinstance(arg, Constant):
        return can_be_asked(arg)
    if not isinstance(arg, Variable) or arg.name in assigned(rule):
        return False
    return any(
        isinstance(there, Variable) and there.name == arg.name
        for atom in positive_atoms(rule)
        for column, there in enumerate(atom.args)
        if column in fixed[atom.relation]
    )


def _one_type(rule: Rule, at: int, relations: Mapping[str, Relation]) -> bool:
    """Whether a rule gives a column values of the column's own type, as far as types are known."""
    arg, kind = rule.head.args[at], relations[rule.head.relation].columns[at].type
    kinds = (
        relations[atom.relation].columns[column].type
        for atom in positive_atoms(rule)
        for column, there in enumerate(atom.args)
        if isinstance(there, Variable) and there == arg
    )
    return isinstance(arg, Constant) or all(None in (kind, found) or found is kind for found in kinds)
