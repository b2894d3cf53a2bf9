"""Types of undeclared base relations, as their first rows show them, and the plans of a program that has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.types import Type
from headwater.engine.border.intake import Intake, guess_type, guess_types
from headwater.pipeline import CompiledProgram
from headwater.plan.build import build
from headwater.plan.model import Plan
from headwater.program.model import Program
from headwater.program.time.program_clock import lifetime
from headwater.program.types.inference import infer, is_known, refined, with_types
from headwater.rewrite.rules import ENDLESS_RULES, RULES, TIME_RULES

Known: TypeAlias = dict[str, tuple[Type | None, ...]]


def learn(model: Program, known: Known, inserts: Mapping[str, Intake]) -> Known:
    """The types that are known once these rows are in."""
    known = dict(known)
    types = infer(model, known).columns
    for name, intake in inserts.items():
        if None in types[name]:
            found = (*guess_types(intake), *(Type.INT,) * model.relation(name).hidden)
            if None not in found:
                known[name] = tuple(have or new for have, new in zip(types[name], found, strict=True))
        elif not all(map(is_known, types[name])):  # what its lists hold
            shown = map(guess_type, intake.columns)
            known[name] = tuple(map(refined, types[name], (*shown, *types[name][len(intake.columns) :])))
    return known


def all_known(model: Program, known: Known) -> bool:
    """Whether the type of every base column is known, so that no row can show anything more."""
    types = infer(model, known).columns
    return all(is_known(kind) for relation in model.relations if not relation.derived for kind in types[relation.name])


def untyped(model: Program, known: Known) -> list[str]:
    """The relations with a column of which no type is known."""
    return [name for name, kinds in infer(model, known).columns.items() if None in kinds]


def unknown_types(known: Known, learnt: Known) -> str:
    """Why rows of unknown types cannot be supposed."""
    new = ", ".join(f"`{name}`" for name in learnt if learnt[name] != known.get(name))
    return f"the types of {new} are not known before its first rows; declare them to suppose rows"


def of_file(model: Program, saved: Mapping[str, list[str | None]]) -> Known:
    """Types that were read from a file; ValueError or LookupError if they are not those of base relations."""
    known = {name: tuple(None if kind is None else Type(kind) for kind in kinds) for name, kinds in saved.items()}
    arity = {relation.name: relation.arity for relation in model.relations if not relation.derived}
    for name, kinds in known.items():
        if len(kinds) != arity[name]:
            raise ValueError(f"`{name}` has {arity[name]} columns")
    return known


def plan_of(model: Program, known: Known) -> Plan:
    """The plan of a program whose undeclared relations have these types."""
    types = infer(model, known)
    return build(with_types(model, types), types)


def endless_plan(program: CompiledProgram, known: Known) -> Plan:
    """The plan of a program whose rows never end, for provenance."""
    endless = program.rewritten_by(RULES + TIME_RULES + ENDLESS_RULES)
    stated = {rule.head.relation for rule in endless.rules if not rule.body}
    for relation in program.rewritten.relations:
        if lifetime(relation) is not None and relation.name in stated:
            message = f"provenance cannot follow facts of the program that live by the clock, as in `{relation.name}`"
            hint = "insert these facts instead of stating them; `why`, `without` and `valid_until` can be asked"
            raise CheckProblem((Diagnostic("HW902", message, relation.span, hint=hint),))
    arity = {relation.name: relation.arity for relation in endless.relations}
    return plan_of(endless, {name: kinds[: arity[name]] for name, kinds in known.items()})
