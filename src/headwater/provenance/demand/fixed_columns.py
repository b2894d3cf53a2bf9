"""Which columns are *fixed*: their values do not depend on the world, so that rows can be asked for by them.

Not fixed are: the result of an aggregate; where the best rows are kept, all columns outside their groups; values that
are computed around a recursion (which may end in each world and not in all of them together); what a rule makes of such
values; and a column that holds a variable under another type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.language.syntax import Assign, Atom, Variable
from headwater.language.terms import names
from headwater.plan.model import FlatRule, Plan, Var


def fixed_columns(plan: Plan) -> dict[str, tuple[int, ...]]:
    """Of each table the columns whose values do not depend on the world."""
    tables = {table.name: table for table in plan.tables}
    fixed = {table.name: set(range(len(table.types))) for table in plan.tables}
    rules = [rule for rule in plan.rules if not tables[rule.table].base]
    around = {number for stratum in plan.strata if stratum.recursive for number in stratum.rules}
    for table in plan.tables:
        if not table.base:
            fixed[table.name].intersection_update(table.identity, *(pick.group for pick in table.picks))
    for aggregation in plan.aggregations:
        fixed[aggregation.table].difference_update(aggregation.positions)
    for rule in rules:
        computed = assigned(rule) if rule.id in around else set()
        for at, source in enumerate(rule.head):
            if isinstance(source, Var):
                cast = rule.types[source.name] is not tables[rule.table].types[at]
                if cast or source.name in computed:
                    fixed[rule.table].discard(at)
    moved = True
    while moved:
        before = sum(map(len, fixed.values()))
        for rule in rules:
            known = known_variables(rule, fixed)
            for at, source in enumerate(rule.head):
                if isinstance(source, Var) and source.name not in known:
                    fixed[rule.table].discard(at)
        for aggregation in plan.aggregations:
            for place, at in enumerate(aggregation.group):
                if any(source.group[place] not in fixed[source.table] for source in aggregation.contributions):
                    fixed[aggregation.table].discard(at)
        moved = sum(map(len, fixed.values())) < before
    return {name: tuple(sorted(columns)) for name, columns in fixed.items()}


def known_variables(rule: FlatRule, fixed: Mapping[str, Iterable[int]]) -> set[str]:
    """The variables of a rule whose values do not depend on the world."""
    found: set[str] = set()
    for goal in rule.body:
        if isinstance(goal, Atom):
            args = (goal.args[at] for at in fixed[goal.relation])
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
