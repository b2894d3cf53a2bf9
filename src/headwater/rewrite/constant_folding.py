"""Work out what is known before any data arrives, and drop the rules that can never fire.

- a term without variables becomes its value; one that has none (`1 / 0`) makes its rule impossible;
- a comparison or condition over values is dropped if true, and makes its rule impossible if false;
- `X = 3` puts 3 in every place of X: a join on X becomes a lookup, a stage `J = 0` a constant of the head;
- a rule that is impossible is dropped; so, in turn, are rules that read a derived relation without rules, while a
  negation of such a relation always holds.

Guarantees: every relation keeps its rows. A relation that loses its last rule stays, derived and empty, so that it
is still an output and is not taken for a base relation. A constant moves only to columns of its own type (or
of a type not known yet): `p(1)` and `p(X), X = 1` could differ where a float column meets an int.
Variables that an aggregate takes keep their assignment, because `count<1>` says less than `count<X>`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from headwater.core.errors import EvaluationError
from headwater.core.functions.operators import compared
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import body_atoms, names
from headwater.program.model import Program, Relation
from headwater.program.types.constants import NoValueError, worked_out
from headwater.rewrite.substitution import substitute_goal, substitute_head

Relations = Mapping[str, Relation]


class _Impossible(Exception):
    """The rule can never fire."""


def constant_folding(program: Program) -> Program:
    relations = {relation.name: relation for relation in program.relations}
    rules: list[syntax.Rule] = []
    for rule in program.rules:
        try:
            rules.append(_folded(rule, relations))
        except _Impossible:
            continue
    kept = _without_empty(rules, relations)
    return program if kept == program.rules else replace(program, rules=kept)


def _folded(rule: syntax.Rule, relations: Relations) -> syntax.Rule:
    """The rule with constants put in and worked out, until nothing changes; raises `_Impossible`."""
    given = rule
    while True:
        body = tuple(known for goal in rule.body if (known := _goal(goal)) is not None)
        if body != rule.body:
            rule = replace(rule, body=body)
        bindings = _bindings(rule, relations)
        if not bindings:
            return _kept_with_body(given, rule)
        goals = {id(goal) for goal, _ in bindings.values()}
        terms = {name: value for name, (_, value) in bindings.items()}
        rest = tuple(substitute_goal(goal, terms) for goal in rule.body if id(goal) not in goals)
        rule = replace(rule, head=substitute_head(rule.head, terms), body=rest)


def _kept_with_body(before: syntax.Rule, after: syntax.Rule) -> syntax.Rule:
    """A rule may lose its body only if its head is a fact."""
    is_fact = all(isinstance(arg, syntax.Constant | syntax.ListTerm) and not names(arg) for arg in after.head.args)
    return after if after.body or is_fact else before


def _goal(goal: syntax.Goal) -> syntax.Goal | None:
    """The goal with its terms worked out; None if it always holds. Raises `_Impossible` if it never does."""
    match goal:
        case syntax.Atom() | syntax.Negation():
            return goal
        case syntax.Assign(term=term):
            return replace(goal, term=_term(term))
        case syntax.Comparison(op=op, left=left, right=right):
            left, right = _term(left), _term(right)
            holds = _compared(op, left, right)
            if holds is not None:
                _check_holds(holds)
                return None
            return replace(goal, left=left, right=right)
        case syntax.Condition(call=call, negated=negated):
            known = _term(call)
            if isinstance(known, syntax.Constant) and isinstance(known.value, bool):
                _check_holds(known.value is not negated)
                return None
            assert isinstance(known, syntax.Call)
            return replace(goal, call=known)
        case _:
            assert_never(goal)


def _check_holds(holds: bool) -> None:
    if not holds:
        raise _Impossible


def _term(term: syntax.Term) -> syntax.Term:
    """The term with everything worked out that names no variable."""
    match term:
        case syntax.Variable() | syntax.Wildcard() | syntax.Constant():
            return term
        case syntax.ListTerm(items=items, tail=tail):
            return replace(term, items=tuple(_term(item) for item in items), tail=None if tail is None else _term(tail))
        case syntax.Binary(left=left, right=right):
            term = replace(term, left=_term(left), right=_term(right))
        case syntax.Call(args=args):
            term = replace(term, args=tuple(_term(arg) for arg in args))
        case _:
            assert_never(term)
    return term if names(term) else _value(term)


def _value(term: syntax.Binary | syntax.Call) -> syntax.Term:
    try:
        found = worked_out(term, FUNCTIONS)
    except NoValueError:
        raise _Impossible from None
    except (TypeError, ValueError, ArithmeticError, AttributeError, EvaluationError):
        return term
    match found:
        case syntax.Constant(value=None):
            return term  # a null keeps the type that its term has
        case syntax.Constant(value=int(value)) if not -(2**63) <= value < 2**63:
            return term
        case _:
            return found


def _compared(op: str, left: syntax.Term, right: syntax.Term) -> bool | None:
    """Whether a comparison always or never holds; None: it depends, or the two cannot be compared."""
    if not (isinstance(left, syntax.Constant) and isinstance(right, syntax.Constant)):
        return None
    values = left.value, right.value
    if None in values:
        return op in ("=", "!=") and (left.value is right.value) is (op == "=")
    if (
        any(isinstance(value, syntax.Duration) for value in values)
        or len({isinstance(value, str) for value in values}) > 1
    ):
        return None
    return compared(op, *values)


def _bindings(rule: syntax.Rule, relations: Relations) -> dict[str, tuple[syntax.Goal, syntax.Constant]]:
    """The variables that a goal fixes to a constant fit for every place where they stand, with that goal."""
    fixed: dict[str, tuple[syntax.Goal, syntax.Constant]] = {}
    for goal in rule.body:
        match goal:
            case (
                syntax.Assign(variable=syntax.Variable(name=name), term=syntax.Constant() as value)
                | syntax.Comparison(op="=", left=syntax.Variable(name=name), right=syntax.Constant() as value)
                | syntax.Comparison(op="=", left=syntax.Constant() as value, right=syntax.Variable(name=name))
            ):
                fixed.setdefault(name, (goal, value))
            case _:
                continue
    if not fixed:
        return fixed
    stay = {name for arg in rule.head.args if isinstance(arg, syntax.Aggregate) for name in names(arg)}
    # A variable that is worked out elsewhere must still be compared with the constant.
    stay |= {
        goal.variable.name
        for goal in rule.body
        if isinstance(goal, syntax.Assign) and goal is not fixed.get(goal.variable.name, (None,))[0]
    }
    atoms: list[syntax.Head | syntax.Atom] = [rule.head, *(atom for atom, _ in body_atoms(rule))]
    for atom in atoms:
        for arg, column in zip(atom.args, relations[atom.relation].columns, strict=True):
            if (
                isinstance(arg, syntax.Variable)
                and arg.name in fixed
                and not _fits(fixed[arg.name][1].type, column.type)
            ):
                stay.add(arg.name)
    return {name: found for name, found in fixed.items() if name not in stay}


def _fits(value: Type | None, place: Type | None) -> bool:
    """Floats stay in their goal: whether 0.0 and -0.0 are one value is a question for `=`, not for a lookup."""
    if value is Type.FLOAT:
        return False
    if value is None:
        return True
    return place is None or place is value or (value is Type.STRING and place is Type.ADDRESS)


def _without_empty(rules: list[syntax.Rule], relations: Relations) -> tuple[syntax.Rule, ...]:
    """The rules without those that read a derived relation that has no rules left, and without its negations."""
    count = Counter(rule.head.relation for rule in rules)
    can_be_empty = {name for name, relation in relations.items() if relation.derived and not relation.declared}
    waiting = [name for name in can_be_empty if not count[name]]
    if not waiting:
        return tuple(rules)
    readers: dict[str, set[int]] = {}
    for index, rule in enumerate(rules):
        for atom, _ in body_atoms(rule):
            readers.setdefault(atom.relation, set()).add(index)
    kept: dict[int, syntax.Rule] = dict(enumerate(rules))
    while waiting:
        empty = waiting.pop()
        for index in readers.get(empty, set()) & kept.keys():
            rule = kept[index]
            body = tuple(g for g in rule.body if not (isinstance(g, syntax.Negation) and g.atom.relation == empty))
            if any(isinstance(goal, syntax.Atom) and goal.relation == empty for goal in body):
                del kept[index]
                count[rule.head.relation] -= 1
                if not count[rule.head.relation] and rule.head.relation in can_be_empty:
                    waiting.append(rule.head.relation)
            else:
                kept[index] = _kept_with_body(rule, replace(rule, body=body))
    return tuple(rule for _, rule in sorted(kept.items()))
