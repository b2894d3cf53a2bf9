"""The plan as all nodes share it: which rules run in which stage, what is shipped where, where base rows live.

This is the plan of 000, Figure 4, for any program that can be localised: a rule whose head lives elsewhere fills an
outbox (MinShip), what arrives goes to the table (Fixpoint), and all joins are local.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.types import Type
from headwater.exchange.routing import hash_values, owners
from headwater.language.syntax import Aggregate, Query
from headwater.network.simulator.layout.base_lifetimes import BaseLifetime, lives
from headwater.network.simulator.layout.stages import Stages, stages
from headwater.network.simulator.rows.terms import Row
from headwater.pipeline import CompiledProgram
from headwater.plan.build import build
from headwater.plan.model import Literal, Plan, Ships, Table
from headwater.plan.placement import obstacle
from headwater.program.model import Program
from headwater.program.time.program_clock import clock_type, lifetime
from headwater.program.types.inference import infer, with_types
from headwater.rewrite.localise import location_of
from headwater.rewrite.rules import NETWORK_RULES, rewrite

Known: TypeAlias = Mapping[str, tuple[Type | None, ...]]
Owner: TypeAlias = Callable[[Any], int]


@dataclass(frozen=True, slots=True)
class Layout:
    plan: Plan
    tables: Mapping[str, Table]
    stages: Stages
    locations: Mapping[str, int | None]  # of base relations: the column that says where a row lives; None: on node 0
    lives: Mapping[str, BaseLifetime]  # of base relations
    clock: Type | None  # what their times are, if they have any
    facts: Mapping[str, frozenset[Row]]  # base rows that the program itself states
    queries: tuple[Query, ...]
    outputs: tuple[str, ...]


def layout(program: CompiledProgram, known: Known) -> Layout:
    """Raises CheckProblem for a program that nodes cannot run together, and for base columns of unknown type.

    Rows end at the scan; so the rules are those of the program without leases.
    """
    model = program.endless
    stated = {rule.head.relation for rule in model.rules if not rule.body}
    for one in program.checked.relations:
        if lifetime(one) is not None and one.name in stated:
            message = f"nodes cannot follow facts of the program that live by the clock, as in `{one.name}`"
            raise CheckProblem((Diagnostic("HW911", message, one.span, hint="insert them instead of stating them"),))
    for relation, kinds in infer(model, known).columns.items():
        if any(kind is not None and kind.holds_any for kind in kinds):
            message = f"nodes cannot keep values of type any, as in `{relation}`"
            hint = "declare what its lists hold, such as list<int>, or list<int, string> for pairs"
            raise CheckProblem((Diagnostic("HW911", message, model.relation(relation).span, hint=hint),))
        if not model.relation(relation).derived and None in kinds:
            message = f"the types of `{relation}` are not known, and nodes must agree on them before any row comes"
            hint = f"declare it: relation {relation}(column: type, ...)."
            raise CheckProblem((Diagnostic("HW912", message, model.relation(relation).span, hint=hint),))
    _refuse_best_with_time(model)
    typed = with_types(model, infer(model, known))
    local = rewrite(typed, rules=NETWORK_RULES)
    problem = obstacle(local)
    if problem is not None:
        hint = "run it on one database"
        raise CheckProblem((Diagnostic("HW911", f"nodes cannot run this program together: {problem}", hint=hint),))
    plan = build(local, infer(local, known), ships=Ships.ALL)
    return Layout(
        plan=plan,
        tables={table.name: table for table in plan.tables},
        stages=stages(plan),
        locations={one.name: location_of(one) for one in local.relations if not one.derived},
        lives={one.name: lives(one) for one in program.checked.relations if not one.derived},
        clock=clock_type(program.checked),
        facts=_facts(plan),
        queries=model.queries,
        outputs=program.outputs,
    )


def _refuse_best_with_time(model: Program) -> None:
    """Of equally good rows the earliest would have to be kept, which is a choice among choices."""
    aggregated = {
        rule.head.relation for rule in model.rules if any(isinstance(arg, Aggregate) for arg in rule.head.args)
    }
    for one in model.relations:
        if one.derived and one.time is not None and (one.selections or one.name in aggregated):
            message = f"nodes cannot keep the times of `{one.name}`, of which only the best rows are kept"
            hint = f"ask for its rows without their time: query {one.name}(_, ...)."
            raise CheckProblem((Diagnostic("HW911", message, one.span, hint=hint),))


def _facts(plan: Plan) -> dict[str, frozenset[Row]]:
    stated: dict[str, set[Row]] = {}
    for number in plan.facts:
        rule = plan.rules[number]
        row = tuple(one.value for one in rule.head if isinstance(one, Literal))
        assert len(row) == len(rule.head), "a fact names no variable"
        stated.setdefault(rule.table, set()).add(row)
    return {name: frozenset(rows) for name, rows in stated.items()}


@dataclass(slots=True)
class Places:
    """Which node a location's value means: the one named for it, or else one chosen by a hash of the value."""

    nodes: int
    named: Mapping[Any, int] = field(default_factory=dict)
    _found: dict[Any, int] = field(default_factory=dict)

    def owner(self, value: Any) -> int:
        number = self._found.get(value)
        if number is None:
            hashed = int(owners(hash_values([value]), self.nodes)[0])
            self._found[value] = number = self.named.get(value, hashed)
        return number
