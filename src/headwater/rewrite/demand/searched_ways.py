"""Search for ways along stored steps instead of deriving them, where a question gives an end or both (002 section 5.3).

    path(X, Y, C) :- link(X, Y, C).
    path(X, Y, C) :- link(X, Z, A), path(Z, Y, B), C = A + B.
    shortest(X, Y, min<C>) :- path(X, Y, C).
    query shortest($From, $To, C).
    query shortest($From, To, C).

Who only asks (`Database.ask`) keeps no rows, so none need be derived, stored and dropped again. With both ends given,
rules would follow all that From reaches, or all that reaches To; a search that goes on from either end, cheapest first,
meets in the middle and has seen far less (N(From, r) + N(To, r') values instead of N(From, r + r')). With one end
given, a search sees what rules would see, but goes on from each value once, at its least cost: from one of 50,000 nodes
it takes half the time, along a chain of 1,500 steps 1/200; without costs two thirds and 1/8. No rule changes: the
relation is marked (`Relation.search`).
Who follows a question, or reads a view, still gets it by the rules.

Guarantees: the same answers, where costs turn out to be ints and none is negative; else the rules give them.

Fires for a closure over one base relation without values (is there a way?), and for the least sum over it, taken in the
recursion or after it. Does not fire where steps are derived, filtered, timed or have a lease, for other aggregates, or
where no question gives an end or both and nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.core.types import Type
from headwater.language.syntax import Aggregate, Assign, Atom, Constant, Query, Rule, Term, Variable, Wildcard
from headwater.program.model import Program, Relation, WaySearch
from headwater.program.questions import is_parameter
from headwater.rewrite.demand.closure import JoinedValue, find_closure, plain_valued

_LEAST = ("min", "mmin")


def searched_ways(program: Program) -> Program:
    asked = dict.fromkeys(query.atom.relation for query in program.queries if query.parameters)
    marks = {name: search for name in asked if (search := _search(program, name)) is not None}
    if not marks:
        return program
    relations = (replace(each, search=marks.get(each.name, each.search)) for each in program.relations)
    return replace(program, relations=tuple(relations))


def given_ends(query: Query, search: WaySearch) -> tuple[int, ...]:
    """The ends that the parameters of a query give, if they give nothing else and it asks for all of the rest."""
    ends = tuple(at for at in search.ends if is_parameter(query.atom.args[at], query))
    free = [arg for at, arg in enumerate(query.atom.args) if at not in ends]
    taken = [_name(arg) for arg in query.atom.args if not isinstance(arg, Wildcard)]
    plain = all(isinstance(arg, Variable | Wildcard) for arg in free) and len(set(taken)) == len(taken)
    return ends if plain and len(ends) == len(query.parameters) else ()


def _search(program: Program, name: str) -> WaySearch | None:
    rules = _rules(program, name)
    goal = _least(rules[0]) if len(rules) == 1 else None
    if goal is None:
        search = _along(program, name)
        found = search if search is not None and (search.value is None or _keeps_best(rules)) else None
    else:
        search = _along(program, goal.relation)
        found = None if search is None or search.value is None else _renamed(search, rules[0], goal)
    if found is None:
        return None
    given = {given_ends(query, found) for query in program.queries if query.atom.relation == name and query.parameters}
    return replace(found, given=tuple(sorted(given - {()}))) if given - {()} else None


def _keeps_best(rules: list[Rule]) -> bool:
    return any(isinstance(arg, Aggregate) for rule in rules for arg in rule.head.args)


def _rules(program: Program, name: str) -> list[Rule]:
    return [rule for rule in program.rules if rule.head.relation == name]


def _least(rule: Rule) -> Atom | None:
    """The goal of a rule that does nothing but take the least of one of its three columns for the others."""
    aggregates = [arg for arg in rule.head.args if isinstance(arg, Aggregate)]
    if len(rule.body) != 1 or len(aggregates) != 1 or aggregates[0].function not in _LEAST:
        return None
    (goal,) = rule.body
    taken = [_taken(arg) for arg in rule.head.args]
    if not isinstance(goal, Atom) or None in taken or len(aggregates[0].args) != 1:
        return None
    given = [_name(arg) for arg in goal.args]
    return goal if len(set(given)) == len(given) == len(taken) == 3 and set(given) == set(taken) else None


def _renamed(search: WaySearch, rule: Rule, goal: Atom) -> WaySearch:
    """The search of a goal's rows as one for the rows of the head that takes the least of them."""
    taken = [_taken(arg) for arg in rule.head.args]
    at = [taken.index(_name(arg)) for arg in goal.args]
    assert search.value is not None
    return replace(search, source=at[search.source], target=at[search.target], value=at[search.value])


def _along(program: Program, name: str) -> WaySearch | None:
    """The search for rows of a closure whose steps are the rows of one base relation."""
    way = find_closure(name, _rules(program, name))
    if way is None or len(way.steps) != 1 or any(joined is not JoinedValue.SUM for joined in way.values.values()):
        return None
    if way.best not in (None, *_LEAST):
        return None
    step = plain_valued(way.steps[0])
    value = next(iter(way.values), None)
    match step.body:
        case (Atom() as goal,):
            computed = None
        case (Atom() as goal, Assign(variable=variable, term=Constant() as computed)) if (
            value is not None and step.head.args[value] == variable
        ):
            pass
        case _:
            return None
    columns = {_name(arg): at for at, arg in enumerate(goal.args)}
    given = [_name(arg) for arg in goal.args if not isinstance(arg, Wildcard)]
    if len(set(given)) != len(given) or None in given or len(way.values) != len(step.head.args) - 2:
        return None
    if not _is_plain(program.relation(goal.relation)):
        return None
    cost, each = None, 0
    if value is not None:
        arg = step.head.args[value] if computed is None else computed
        if isinstance(arg, Variable):
            cost = columns[arg.name]
        elif isinstance(arg, Constant) and isinstance(arg.value, int) and arg.type is Type.INT:
            each = arg.value
        else:
            return None
    leaves, arrives = (columns[_taken(step.head.args[at])] for at in (way.source, way.target))
    return WaySearch(way.source, way.target, value, goal.relation, leaves, arrives, cost, each)


def _is_plain(relation: Relation) -> bool:
    """Whether rows are given, and stay until they are deleted."""
    timed = relation.time is not None or relation.ttl is not None or relation.window is not None
    nulls = any(column.nullable for column in relation.columns)
    return not (relation.derived or timed or nulls or relation.hidden)


def _taken(arg: Term | Aggregate) -> str | None:
    return _name(arg.args[0]) if isinstance(arg, Aggregate) else _name(arg)


def _name(arg: Term) -> str | None:
    return arg.name if isinstance(arg, Variable) else None
