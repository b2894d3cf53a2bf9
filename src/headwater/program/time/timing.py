"""What time does to each relation of a program: whose rows end, whose rows have a lease, whose times are kept.

A base row *ends* by a ttl or a window. A derived relation is *leased* when it rests on rows that end and every row of
it is borne by single derivations: then each row can carry the moment until which its best derivation lasts. A
total (count, sum, avg, mcount, msum) is borne by all its bindings at once and has no lease; it follows the rows
that come and go, and so does whatever it shares a recursion with.

The time of a derived row is kept only where it is *asked* for: by a query that names it, by a rule that does more
with it than hand it on, or because a negated goal must look at what had arrived by then (004, Definition 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from headwater.core.graph import reachable_from
from headwater.language import syntax
from headwater.language.terms import assigned, goal_names, names, positive_atoms, readers
from headwater.program.model import Program, Relation
from headwater.program.recursion.aggregates import AGGREGATES, aggregate_columns, value_columns
from headwater.program.recursion.cycles import cycles
from headwater.program.recursion.strata import Mode, strata
from headwater.program.time.program_clock import lifetime

OF_TIMES = frozenset({"larger", "largest"})


def ending(program: Program) -> frozenset[str]:
    """The base relations whose rows end."""
    return frozenset(each.name for each in program.relations if (life := lifetime(each)) is not None and life.ends)


def leased(program: Program) -> frozenset[str]:
    """The derived relations whose rows have a lease."""
    totals, bases = frozenset(_totals(program)), ending(program)
    reading = {name: found - totals for name, found in readers(program.rules, negated=False).items()}
    return frozenset(reachable_from(bases, reading) - bases)


def timeless(program: Program) -> frozenset[str]:
    """The derived relations whose rows cannot keep a time."""
    return frozenset((*_totals(program), *_unsteady(program)))


def asked(program: Program) -> frozenset[str]:
    """The derived relations whose rows keep their time."""
    relations = {relation.name: relation for relation in program.relations}
    timed = {name for name, relation in relations.items() if relation.derived and relation.time is not None}
    if program.queries:
        found = {name for query in program.queries if (name := query.atom.relation) in timed and _names_time(query)}
    else:
        resting: set[str] = reachable_from(timeless(program), readers(program.rules, negated=False))
        found = timed - resting
    while True:
        before = len(found)
        for rule in program.rules:
            found |= _asks(rule, relations, timed, found)
        if len(found) == before:
            return frozenset(found)


def hides_time(name: str, program: Program) -> bool:
    """Whether a derived relation is queried, and no query names its time."""
    own = [query for query in program.queries if query.atom.relation == name]
    return bool(own) and not any(map(_names_time, own))


def _names_time(query: syntax.Query) -> bool:
    return isinstance(query.atom.args[0], syntax.Variable | syntax.Constant)


def looks_back(goal: syntax.Goal, rule: syntax.Rule, relations: Mapping[str, Relation]) -> TypeGuard[syntax.Negation]:
    """Whether a negated goal sees what has arrived up to the time of the head: if both have a time."""
    return (
        isinstance(goal, syntax.Negation)
        and relations[goal.atom.relation].time is not None
        and relations[rule.head.relation].time is not None
        and bool(rule.body)
    )


@dataclass(frozen=True, slots=True)
class LiveRule:
    """What is left of a rule when its head's time is not asked for: goals that only compute it are gone."""

    head: tuple[syntax.Term | syntax.Aggregate, ...]  # without the time, if it is not kept
    body: tuple[syntax.Goal, ...]
    uses: Counter[str]  # how often each variable stands in what is left

    def needs(self, arg: syntax.Term) -> bool:
        """Whether an atom's argument that is a time matters to more than that atom."""
        return isinstance(arg, syntax.Constant) or (isinstance(arg, syntax.Variable) and self.uses[arg.name] > 1)


def live(rule: syntax.Rule, *, drop_time: bool) -> LiveRule:
    head = rule.head.args[1:] if drop_time else rule.head.args
    body = rule.body
    while True:
        uses = Counter(name for arg in head for name in names(arg))
        for goal in body:
            if isinstance(goal, syntax.Atom | syntax.Negation):
                atom = goal.atom if isinstance(goal, syntax.Negation) else goal
                uses.update(arg.name for arg in atom.args if isinstance(arg, syntax.Variable))
            else:
                uses.update(goal_names(goal))
        left = tuple(goal for goal in body if not (is_time_goal(goal) and uses[goal.variable.name] == 1))
        if len(left) == len(body):
            return LiveRule(head, body, uses)
        body = left


def is_time_goal(goal: syntax.Goal) -> TypeGuard[syntax.Assign]:
    """Whether a goal takes the larger or largest of some values, as the times of heads are made."""
    return isinstance(goal, syntax.Assign) and isinstance(goal.term, syntax.Call) and goal.term.function in OF_TIMES


def is_total(rules: list[syntax.Rule]) -> bool:
    """Whether rules for one relation add up bindings, or aggregate several columns, instead of picking rows."""
    places = {at for rule in rules for at in value_columns(rule.head)}
    shapes = [arg for rule in rules for arg in rule.head.args if isinstance(arg, syntax.Aggregate)]
    return len(places) > 1 or any(not AGGREGATES[shape.function].picks for shape in shapes)


def _totals(program: Program) -> Iterator[str]:
    rules_of: dict[str, list[syntax.Rule]] = {}
    for rule in program.rules:
        rules_of.setdefault(rule.head.relation, []).append(rule)
    for stratum in strata(program):
        if stratum.mode is Mode.STAGED or any(is_total(rules_of[name]) for name in stratum.relations):
            yield from stratum.relations


def _unsteady(program: Program) -> Iterator[str]:
    """Relations in whose recursion a better value may come with a later time, and leave rows with the old time behind.

    That cannot be where a better value below always makes a better one above, which then takes the time with it: in a
    recursion of one relation whose value is copied, or added to.
    """
    for cycle in cycles(program):
        value = {at for rule in cycle.rules for at in aggregate_columns(rule.head)}
        if value and not (
            len(cycle.relations) == len(value) == 1
            and all(_adds_to(rule, cycle.relations, *value) for rule in cycle.recursive_rules())
        ):
            yield from cycle.relations


def _adds_to(rule: syntax.Rule, relations: frozenset[str], at: int) -> bool:
    """Whether the value that a rule picks is a sum with the values of all the goals of its own recursion in it."""
    aggregate = rule.head.args[at]
    waiting = list(aggregate.args) if isinstance(aggregate, syntax.Aggregate) else [aggregate]
    terms = assigned(rule)
    leaves: set[str] = set()
    while waiting:
        match waiting.pop():
            case syntax.Variable(name=name) if name in terms:
                waiting.append(terms[name])
            case syntax.Variable(name=name):
                leaves.add(name)
            case syntax.Binary(op="+", left=left, right=right):
                waiting += (left, right)
            case syntax.Constant():
                pass
            case _:
                return False
    own = [goal.args[at] for goal in positive_atoms(rule) if goal.relation in relations]
    return all(isinstance(arg, syntax.Variable) and arg.name in leaves for arg in own)


def _asks(rule: syntax.Rule, relations: Mapping[str, Relation], timed: set[str], asked: set[str]) -> set[str]:
    """Derived relations whose time this rule needs."""
    head = rule.head.relation
    backward = [goal.atom.relation for goal in rule.body if looks_back(goal, rule, relations)]
    drop = head in timed and head not in asked and not backward
    left = live(rule, drop_time=drop)
    found = {name for name in backward if name in timed}
    for goal in left.body:
        atom = goal.atom if isinstance(goal, syntax.Negation) else goal
        if isinstance(atom, syntax.Atom) and atom.relation in timed and left.needs(atom.args[0]):
            found.add(atom.relation)
    return found
