"""The plan that all nodes share: which rules run in which stage, what is shipped where, where base rows live.

This is the plan of 000, Figure 4, for any program that can be localised: a rule whose head lives elsewhere fills an
outbox (MinShip), what arrives goes to the table (Fixpoint), and all joins are local.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.types import Type
from headwater.exchange import hash_values, owners
from headwater.language.syntax import Aggregate, Query
from headwater.network.simulator.layout.base_lifetimes import BaseLifetime, base_lifetime
from headwater.network.simulator.layout.stages import Stages, stages
from headwater.network.simulator.rows.terms import Row
from headwater.pipeline import CompiledProgram
from headwater.plan.build import build
from headwater.plan.model import Literal, Plan, Ships, Table
from headwater.plan.placement import obstacle
from headwater.program.model import Program, Relation
from headwater.program.time.program_clock import clock_type, lifetime
from headwater.program.types.inference import infer, with_types
from headwater.rewrite.localise import location_of
from headwater.rewrite.rules import ENDLESS_RULES, NETWORK_RULES, RULES, TIME_RULES, rewrite

Known: TypeAlias = Mapping[str, tuple[Type | None, ...]]


@dataclass(frozen=True, slots=True)
class Layout:
    """A localised program as nodes run it."""

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
    model = program.unrestricted().rewritten_by(RULES + TIME_RULES + ENDLESS_RULES)
    stated = {rule.head.relation for rule in model.rules if not rule.body}
    for relation in program.checked.relations:
        if lifetime(relation) is not None and relation.name in stated:
            message = f"nodes cannot follow facts of the program that live by the clock, as in `{relation.name}`"
            raise _refused(message, relation, "insert them instead of stating them")
    for name, kinds in infer(model, known).columns.items():
        if any(kind is not None and kind.holds_any for kind in kinds):
            message = f"nodes cannot keep values of type any, as in `{name}`"
            hint = "declare what its lists hold, such as list<int>, or list<int, string> for pairs"
            raise _refused(message, model.relation(name), hint)
        if not model.relation(name).derived and None in kinds:
            message = f"the types of `{name}` are not known, and nodes must agree on them before any row comes"
            hint = f"declare it: relation {name}(column: type, ...)."
            raise _refused(message, model.relation(name), hint, "HW912")
    _refuse_best_with_time(model)
    typed = with_types(model, infer(model, known))
    local = rewrite(typed, rules=NETWORK_RULES)
    problem = obstacle(local)
    if problem is not None:
        raise _refused(f"nodes cannot run this program together: {problem}", None, "run it on one database")
    plan = build(local, infer(local, known), ships=Ships.ALL)
    return Layout(
        plan=plan,
        tables={table.name: table for table in plan.tables},
        stages=stages(plan),
        locations={base.name: location_of(base) for base in local.relations if not base.derived},
        lives={base.name: base_lifetime(base) for base in program.checked.relations if not base.derived},
        clock=clock_type(program.checked),
        facts=_facts(plan),
        queries=model.queries,
        outputs=program.outputs,
    )


def _refuse_best_with_time(model: Program) -> None:
    """Of equally good rows the earliest would have to be kept, a second selection after the first."""
    aggregated = {
        rule.head.relation for rule in model.rules if any(isinstance(arg, Aggregate) for arg in rule.head.args)
    }
    for relation in model.relations:
        name = relation.name
        if relation.derived and relation.time is not None and (relation.selections or name in aggregated):
            message = f"nodes cannot keep the times of `{name}`, of which only the best rows are kept"
            raise _refused(message, relation, f"ask for its rows without their time: query {name}(_, ...).")


def _refused(message: str, relation: Relation | None, hint: str, code: str = "HW911") -> CheckProblem:
    return CheckProblem((Diagnostic(code, message, None if relation is None else relation.span, hint=hint),))


def _facts(plan: Plan) -> dict[str, frozenset[Row]]:
    stated: dict[str, set[Row]] = {}
    for number in plan.facts:
        rule = plan.rules[number]
        row = tuple(source.value for source in rule.head if isinstance(source, Literal))
        assert len(row) == len(rule.head), "a fact names no variable"
        stated.setdefault(rule.table, set()).add(row)
    return {name: frozenset(rows) for name, rows in stated.items()}


@dataclass(slots=True)
class Places:
    """Which node a location's value means: the node named for it, or else one chosen by a hash of the value."""

    nodes: int
    named: Mapping[Any, int] = field(default_factory=dict)
    _found: dict[Any, int] = field(default_factory=dict)

    def owner(self, value: Any) -> int:
        number = self._found.get(value)
        if number is None:
            hashed = int(owners(hash_values([value]), self.nodes)[0])
            self._found[value] = number = self.named.get(value, hashed)
        return number
