"""Write a recursion from the side that is asked for (predicate reordering: 002 section 5.1.2; 003 section 4.5.3).

`reach(X, Y) :- edge(X, Z), reach(Z, Y).` asked by X asks next for all Z, and in the end for all pairs among what X
reaches. Written `reach(X, Y) :- reach(X, Z), edge(Z, Y).` it hands X on: only the rows of X are derived. Asked by
Y, it is the other way round. Two ways put together (doubled recursion) ask as the first form does, and are made linear.

Guarantees: the same rows in every relation (see `closure`). Where values of a way are summed, they must not be floats;
if the data shows that they are, the program runs without this (`CompiledProgram.fitted`).

Does not fire where nothing, both ends or several sides are asked for, where the recursion already hands on what is
asked, for rules that say their join order, which would not be that of the turned rule, or where fewer rows could be
kept afterwards (`aggregate_selection`). Nor for rows with a time where steps look at what has not arrived by then, or
where the time of the best row is asked for.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.core.types import Type
from headwater.language.syntax import Negation, Rule
from headwater.language.terms import positive_atoms
from headwater.program.model import Program, Relation
from headwater.program.recursion.cycles import cycles
from headwater.program.time.timing import asked as asked_times
from headwater.rewrite.aggregate_selection import aggregate_selection
from headwater.rewrite.demand.adornments import Adornments
from headwater.rewrite.demand.bindable import Columns
from headwater.rewrite.demand.closure import Closure, JoinedValue, Side, find_closure, turned

_TIMES = (JoinedValue.LARGER, JoinedValue.FIRST, JoinedValue.LAST)


def leading_side(program: Program) -> Program:
    if not program.queries:
        return program
    found = [next(iter(cycle.relations)) for cycle in cycles(program) if len(cycle.relations) == 1]
    if not found:
        return program
    asked = Adornments(program, {}).restricted
    for name in found:
        if name in asked and len(asked[name]) == 1:
            program = _turned(program, name, next(iter(asked[name])))
    return program


def _turned(program: Program, name: str, way: Columns) -> Program:
    closure = find_closure(name, [rule for rule in program.rules if rule.head.relation == name])
    side = None if closure is None else _better_side(closure, way)
    return program if closure is None or side is None else written_from(program, name, closure, side)


def written_from(program: Program, name: str, closure: Closure, side: Side) -> Program:
    """The program with a closure written from a side; the program itself where that would change rows or keep more."""
    relation = program.relation(name)
    if relation.key is not None or not is_exact(relation, closure) or not _keeps_time(program, relation, closure):
        return program
    if any(says_order(rule) for rule in program.rules if rule.head.relation == name):
        return program
    around = [rule for rule in program.rules if rule.head.relation == name and rule not in closure.steps]
    written = around[0] if len(around) == 1 else None
    made = list(turned(closure, side, written))
    after = replace(
        program,
        relations=tuple(
            replace(each, exact=tuple(sorted({*each.exact, *closure.sums}))) if each.name == name else each
            for each in program.relations
        ),
        rules=tuple(each for rule in program.rules for each in _replaced(rule, around, made)),
    )
    return after if _kept(after, name) == _kept(program, name) else program


def _replaced(rule: Rule, around: list[Rule], made: list[Rule]) -> list[Rule]:
    if rule not in around:
        return [rule]
    return made if rule is around[0] else []


def _better_side(closure: Closure, way: Columns) -> Side | None:
    """The side from which a closure had better be written when these columns are asked for; None: as it is."""
    source, target = closure.source in way, closure.target in way
    if source == target:
        return None
    side = Side.LEFT if source else Side.RIGHT
    return None if side is closure.side else side


def says_order(rule: Rule) -> bool:
    """Whether a rule says in which order its goals are joined."""
    return any(atom.turn is not None for atom in positive_atoms(rule))


def is_exact(relation: Relation, closure: Closure) -> bool:
    """Whether values come out the same in any order, as far as types are known."""
    joined = closure.sums if closure.best is None else tuple(closure.values)
    columns = [relation.columns[at] for at in joined]
    sums = [relation.columns[at] for at in closure.sums]
    return not any(each.nullable for each in columns) and all(each.type in (None, Type.INT) for each in sums)


def _keeps_time(program: Program, relation: Relation, closure: Closure) -> bool:
    """Whether rows get the same times from either side.

    A row has the earliest time of its ways, and a way the latest of its steps, the first or the last; that is as
    bracketing does not matter. Of a best row it is the time of ways with this value alone, which steps do not know.
    """
    if relation.time is None:
        return True
    if closure.values.get(relation.time) not in _TIMES or any(_negates(step) for step in closure.steps):
        return False
    return closure.best is None or (relation.name not in asked_times(program) and not _is_negated(program, relation))


def _negates(rule: Rule) -> bool:
    """Whether a rule looks at what is not there, up to the time of its head."""
    return any(isinstance(goal, Negation) for goal in rule.body)


def _is_negated(program: Program, relation: Relation) -> bool:
    goals = [goal for rule in program.rules for goal in rule.body]
    return any(isinstance(goal, Negation) and goal.atom.relation == relation.name for goal in goals)


def _kept(program: Program, name: str) -> object:
    return aggregate_selection(program).relation(name).selections
