"""Follow the steps of a recursion by themselves where only their start is asked for.

    points(V, H) :- new(V, H).
    points(V, H) :- assign(V, W), points(W, H).

Asked by V, this asks next for all W, and derives the rows of each of them. But a row of V is a row of `new` at the end
of some steps, so the steps are followed first, and only the rows of V are derived:

    points'way(V, W) :- assign(V, W).
    points'way(V, W) :- points'way(V, U), assign(U, W).
    points(V, H) :- new(V, H).
    points(V, H) :- points'way(V, W), new(W, H).

(003 section 4.5.3 turns recursions round where steps and ends are the same relation; see `leading_side`. Here they are
not.) Guarantees: the same rows in every relation. Each recursive rule hands on the columns that are not asked for as
they are, so a derivation is a chain of steps with one rule without recursion at its end, however it is bracketed.
`why` shows the steps, and not the relation between.

Does not fire where all is asked for, where columns that are not asked for are computed or looked at by a step, for
rows with a time, in programs with locations, for rules that say their join order, or where only the best rows are kept.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from headwater.language.syntax import Aggregate, Atom, Goal, Head, Negation, Rule, Term, Variable
from headwater.language.terms import goal_names, names, positive_atoms
from headwater.program.model import Column, Program, Relation
from headwater.rewrite.demand.adornments import asked_one_way
from headwater.rewrite.demand.bindable import Columns
from headwater.rewrite.demand.leading_side import says_order


def steps_apart(program: Program) -> Program:
    if any(each.location is not None for each in program.relations):
        return program
    for name, way in asked_one_way(program):
        program = _apart(program, name, way)
    return program


def _apart(program: Program, name: str, way: Columns) -> Program:
    relation = program.relation(name)
    rules = [rule for rule in program.rules if rule.head.relation == name]
    around = [rule for rule in rules if any(atom.relation == name for atom in positive_atoms(rule))]
    ends = [rule for rule in rules if rule not in around]
    kept = relation.selections or relation.key is not None or relation.time is not None
    if kept or not ends or not all(rule.body for rule in rules):
        return program
    if any(isinstance(arg, Aggregate) for rule in rules for arg in rule.head.args) or any(map(says_order, around)):
        return program
    if not all(_is_step(rule, name, way) for rule in around) or not all(_starts(rule, way) for rule in ends):
        return program
    part = f"{name}'way"
    columns = [relation.columns[at] for at in way]
    there = tuple(Column(f"{column.name}'end", column.type) for column in columns)
    ways = Relation(part, (*columns, *there), derived=True, part_of=name, span=relation.span)
    made = [each for rule in around for each in _steps(rule, part, way)]
    written = around[0] if len(around) == 1 else None
    made += [each for rule in ends for each in (rule, _ending(rule, part, way, written))]
    others = [rule for rule in program.rules if rule.head.relation != name]
    return replace(program, relations=(*program.relations, ways), rules=(*others, *made))


def _is_step(rule: Rule, name: str, way: Columns) -> bool:
    """Whether a recursive rule goes from columns asked for to those of its recursive goal, and hands on the rest."""
    goals = [goal for goal in rule.body if isinstance(goal, Atom) and goal.relation == name]
    if len(goals) != 1 or any(name == _negated(goal) for goal in rule.body):
        return False
    (goal,) = goals
    rest = [each for each in rule.body if each is not goal]
    looked_at = {each for other in rest for each in goal_names(other)}
    bound = {each for other in rest if isinstance(other, Atom) for each in goal_names(other)}
    ends = [_name(rule.head.args[at]) for at in way] + [_name(goal.args[at]) for at in way]
    handed = [(_name(rule.head.args[at]), _name(goal.args[at])) for at in range(len(goal.args)) if at not in way]
    used = [*ends, *(here for here, _ in handed)]
    return (
        None not in used
        and len(set(used)) == len(used)
        and all(each in bound for each in ends)
        and all(here == there and here not in looked_at for here, there in handed)
    )


def _starts(rule: Rule, way: Columns) -> bool:
    found = [_name(rule.head.args[at]) for at in way]
    return None not in found and len(set(found)) == len(found)


def _steps(rule: Rule, part: str, way: Columns) -> tuple[Rule, Rule]:
    """A first step, and one more."""
    (goal,) = (each for each in positive_atoms(rule) if each.relation == rule.head.relation)
    rest = tuple(each for each in rule.body if each is not goal)
    here = tuple(_variable(rule.head.args[at]) for at in way)
    there = tuple(_variable(goal.args[at]) for at in way)
    start = _starting(rule, here)
    first = Rule(Head(part, (*here, *there)), rest, span=rule.span)
    again = Rule(Head(part, (*start, *there)), (Atom(part, (*start, *here)), *rest), span=rule.span)
    return first, again


def _ending(rule: Rule, part: str, way: Columns, written: Rule | None) -> Rule:
    """A rule without recursion, at the end of a way; as `written`, it is recursive."""
    here = tuple(_variable(rule.head.args[at]) for at in way)
    start = {each.name: made for each, made in zip(here, _starting(rule, here), strict=True)}
    args: list[Term | Aggregate] = [
        start[_variable(arg).name] if at in way else arg for at, arg in enumerate(rule.head.args)
    ]
    steps = Atom(part, (*start.values(), *here))
    made = replace(
        rule, head=replace(rule.head, args=tuple(args)), body=(steps, *rule.body), origin=_repeated(written or rule)
    )
    return replace(made, label=None if written is None else written.label)


def _starting(rule: Rule, here: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Variables for the start of a way that leads to those of a rule."""
    taken = {name for goal in (rule.head, *rule.body) for name in _names(goal)}
    numbers = next(at for at in count() if not any(f"{each.name}{at}" in taken for each in here))
    return tuple(Variable(f"{each.name}{numbers}") for each in here)


def _names(part: Head | Goal) -> set[str]:
    return {name for arg in part.args for name in names(arg)} if isinstance(part, Head) else goal_names(part)


def _repeated(rule: Rule) -> Rule:
    """A rule as users see it, with all its steps below it."""
    return replace(rule.origin or rule, note="one step after the other")


def _name(arg: Term | Aggregate) -> str | None:
    return arg.name if isinstance(arg, Variable) else None


def _variable(arg: Term | Aggregate) -> Variable:
    assert isinstance(arg, Variable)
    return arg


def _negated(goal: Goal) -> str | None:
    return goal.atom.relation if isinstance(goal, Negation) else None
