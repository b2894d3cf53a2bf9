"""The rewrites, in order. Each maps a checked program to a checked program with the same answers.

Every program goes through `RULES`. Programs with time then need `TIME_RULES`, and last either `LEASE_RULES` or, where
something else takes rows away when their time is over, `ENDLESS_RULES`. Before these, programs for several shards go
through `NETWORK_RULES`: one process holds all rows, gains nothing by copies, and would pay for them.

    one process         RULES + TIME_RULES + LEASE_RULES + ALONE_RULES
    shards on Spark     RULES + TIME_RULES + NETWORK_RULES + LEASE_RULES
    nodes on links      LINK_RULES + TIME_RULES + NETWORK_RULES
    nodes, provenance   RULES + TIME_RULES + ENDLESS_RULES (+ NETWORK_RULES)

`RULES`, `ALONE_RULES` and `NETWORK_RULES` make a program faster or local; each of them can be left out by name, for
bisecting. The others say what time means: without them a program with time would give other rows, and they leave all
others alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from headwater.language.datalog.printer import print_rule
from headwater.program.model import Program
from headwater.program.text import print_program
from headwater.rewrite.aggregate_selection import aggregate_selection
from headwater.rewrite.computed_keys import computed_keys
from headwater.rewrite.constant_folding import constant_folding
from headwater.rewrite.demand.along_links import along_links
from headwater.rewrite.demand.asker_leads import asker_leads
from headwater.rewrite.demand.bound_columns import bound_columns
from headwater.rewrite.demand.leading_side import leading_side
from headwater.rewrite.demand.linear_recursion import linear_recursion
from headwater.rewrite.demand.magic_sets import magic_sets
from headwater.rewrite.demand.searched_ways import searched_ways
from headwater.rewrite.demand.steps_apart import steps_apart
from headwater.rewrite.localise import localise
from headwater.rewrite.relocate import relocate
from headwater.rewrite.shared_prefix import shared_prefix
from headwater.rewrite.stage_limit import stage_limit
from headwater.rewrite.time.endless import endless
from headwater.rewrite.time.kept_times import kept_times
from headwater.rewrite.time.leases import leases
from headwater.rewrite.time.progressive import progressive
from headwater.rewrite.unfold_views import unfold_views
from headwater.rewrite.unneeded_rules import unneeded_rules

RewriteRule: TypeAlias = Callable[[Program], Program]

DEMAND_RULES: tuple[RewriteRule, ...] = (searched_ways, leading_side, steps_apart, magic_sets)
"""The rewrites that derive only what is asked for."""

RULES: tuple[RewriteRule, ...] = (
    constant_folding,  # first: rules that can never fire would keep others needed
    unneeded_rules,  # an unneeded rule must not keep a view from being unfolded or a selection from firing
    unfold_views,  # a recursion through a renaming becomes a direct one, which the rules below look for
    stage_limit,  # wants the uses of a recursion as plain as they get: views between it and the query are gone
    searched_ways,  # sees recursions as they are written
    leading_side,  # before the next one, which says what is kept of a recursion as it is written by then
    linear_recursion,  # what is left of doubled recursions: no side of them, or several, are asked for
    aggregate_selection,  # exact only if it sees every use of a relation that is left
    steps_apart,  # after both: it leaves alone what they have seen to
    magic_sets,  # after these: its rules read more relations, which would keep the rules above from firing
    computed_keys,  # after these, for the same reason
    shared_prefix,  # last: it takes rules apart that others must see whole
)

LINK_RULES: tuple[RewriteRule, ...] = tuple(
    each
    for rule in RULES
    if rule not in (leading_side, steps_apart)
    for each in ((asker_leads, along_links) if rule is magic_sets else (rule,))
)
"""The same for nodes that talk along links. A recursion that is turned round sends its rows back from the other end."""

TIME_RULES: tuple[RewriteRule, ...] = (
    progressive,  # first: it makes rules that ask for times
    kept_times,  # before rows move or get leases: a time that no rule asks for is not carried along
)

NETWORK_RULES: tuple[RewriteRule, ...] = (
    relocate,  # first: what is moved is localised where it lives
    localise,  # after all others: its copies would look like trivial views, and its parts hide direct recursion
)

LEASE_RULES: tuple[RewriteRule, ...] = (
    leases,  # last: rows that move between shards carry their leases with them
)

ENDLESS_RULES: tuple[RewriteRule, ...] = (
    endless,  # instead of `leases`, and before rows move: a stream becomes a relation that lives by another column
)

ALONE_RULES: tuple[RewriteRule, ...] = (
    bound_columns,  # last: the others look for the goals that it takes away
)
"""For a process that holds all rows: on shards, what these leave out says where rows live."""

SEMI_JOINS = "semi_joins"
"""No rewrite but a choice of the planner, by the data (`plan.join_order`): here it can be left out like them."""

OPTIONAL = (*(rule.__name__ for rule in (*RULES, *ALONE_RULES, asker_leads, along_links, *NETWORK_RULES)), SEMI_JOINS)
"""What can be left out."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one rewrite did: the rules, declarations and notes of the program's text that went and that came."""

    rule: str
    before: Program
    after: Program

    @property
    def removed(self) -> tuple[str, ...]:
        return _missing(self.before, self.after)

    @property
    def added(self) -> tuple[str, ...]:
        return _missing(self.after, self.before)


def rewrite(program: Program, *, disabled: Collection[str] = (), rules: tuple[RewriteRule, ...] = RULES) -> Program:
    """The program after all rules, except those named in `disabled`; raises ValueError if that cannot be left out."""
    for step in _steps(program, disabled, rules):
        program = step.after
    return replace(program, filters=False) if SEMI_JOINS in disabled else program


def trace(
    program: Program, *, disabled: Collection[str] = (), rules: tuple[RewriteRule, ...] = RULES
) -> tuple[Program, tuple[Step, ...]]:
    """The same, with a step for every rule that changed something."""
    steps = tuple(step for step in _steps(program, disabled, rules) if step.after != step.before)
    return (steps[-1].after if steps else program), steps


def _steps(program: Program, disabled: Collection[str], rules: tuple[RewriteRule, ...]) -> Iterator[Step]:
    for name in disabled:
        if name not in OPTIONAL:
            raise ValueError(f"there is no rewrite {name!r} to leave out; the rewrites are {', '.join(OPTIONAL)}")
    for rule in rules:
        if rule.__name__ not in disabled:
            after = rule(program)
            yield Step(rule.__name__, program, after)
            program = after


def _missing(program: Program, other: Program) -> tuple[str, ...]:
    """The rules and notes of one program's text that the other's does not have, in order."""
    there = Counter(_pieces(other))
    found = []
    for piece in _pieces(program):
        if there[piece]:
            there[piece] -= 1
        else:
            found.append(piece)
    return tuple(found)


def _pieces(program: Program) -> Iterator[str]:
    """A program's text, rule by rule, with its notes (comment lines) as pieces of their own."""
    yield from (line for line in print_program(replace(program, rules=())).splitlines() if line)
    yield from (print_rule(rule) for rule in program.rules)
