"""Programs with time for engines that take rows away themselves when their time is over: no base row ends by itself.

A stream becomes a relation with its time as an ordinary column, of which at most one version of a row is there at
any moment. The rows that follow are those that `leases` makes follow, without the moment at which they end.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.language.syntax import Kind
from headwater.program.model import Keeps, Program, Relation
from headwater.program.time.program_clock import lifetime


def endless(program: Program) -> Program:
    if all(lifetime(relation) is None for relation in program.relations):
        return program
    return replace(program, relations=tuple(map(_endless, program.relations)))


def _endless(relation: Relation) -> Relation:
    if relation.derived:
        return relation if relation.time is None else replace(relation, keeps=Keeps.BEST)
    location = relation.location
    if location is None and relation.time is not None and relation.arity > 1:
        location = 1  # a row does not live where its time says
    return replace(
        relation, kind=Kind.RELATION, ttl=None, lateness=None, window=None, time=None, key=None, location=location
    )
