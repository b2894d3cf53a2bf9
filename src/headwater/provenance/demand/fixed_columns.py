"""Which columns hold values that do not depend on the world, so that one may ask by them before any world is known.

The result of an aggregate is not *clear*, nor, where the best rows are kept, anything outside their groups, nor what is
computed around a recursion (a recursion may end in each world and not in all of them together), nor whatever a rule
makes of such values. A column that holds a variable under another type counts as not clear, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.language.syntax import Assign, Atom, Variable
from headwater.plan.model import FlatRule, Plan, Var
from headwater.program.terms import names


def clear_columns(plan: Plan) -> dict[str, tuple[int, ...]]:
    """Of each table the columns whose values do not depend on the world."""
    tables = {one.name: one for one in plan.tables}
    clear = {one.name: set(range(len(one.types))) for one in plan.tables}
    rules = [rule for rule in plan.rules if not tables[rule.table].base]
    around = {number for stratum in plan.strata if stratum.recursive for number in stratum.rules}
    for one in plan.tables:
        if not one.base:
            clear[one.name].intersection_update(one.identity, *(pick.group for pick in one.picks))
    for pooled in plan.aggregations:
        clear[pooled.table].difference_update(pooled.positions)
    for rule in rules:
        computed = assigned(rule) if rule.id in around else set()
        for at, source in enumerate(rule.head):
            if isinstance(source, Var):
                cast = rule.types[source.name] is not tables[rule.table].types[at]
                if cast or source.name in computed:
                    clear[rule.table].discard(at)
    moved = True
    while moved:
        before = sum(map(len, clear.values()))
        for rule in rules:
            known = known_variables(rule, clear)
            for at, source in enumerate(rule.head):
                if isinstance(source, Var) and source.name not in known:
                    clear[rule.table].discard(at)
        for pooled in plan.aggregations:
            for place, at in enumerate(pooled.group):
                if any(one.group[place] not in clear[one.table] for one in pooled.contributions):
                    clear[pooled.table].discard(at)
        moved = sum(map(len, clear.values())) < before
    return {name: tuple(sorted(columns)) for name, columns in clear.items()}


def known_variables(rule: FlatRule, clear: Mapping[str, Iterable[int]]) -> set[str]:
    """The variables of a rule whose values do not depend on the world."""
    found: set[str] = set()
    for goal in rule.body:
        if isinstance(goal, Atom):
            args = (goal.args[at] for at in clear[goal.relation])
            found.update(arg.name for arg in args if isinstance(arg, Variable))
    moved = True
    while moved:
        moved = False
        for goal in rule.body:
            if isinstance(goal, Assign) and goal.variable.name not in found and names(goal.term) <= found:
                found.add(goal.variable.name)
                moved = True
    return found


def assigned(rule: FlatRule) -> set[str]:
    return {goal.variable.name for goal in rule.body if isinstance(goal, Assign)}
