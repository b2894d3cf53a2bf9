"""Negation over streams: a rule must be sequential, so that what a negated goal sees never changes afterwards.

Under the progressive closed world (004, Definition 3) a negated goal sees what has arrived up to the time of the
head. That time must therefore be one at which the whole rule is known: the time of a positive goal, and no earlier
than those of the others (004, section IV-B); and so must the times of the negated rows. A head without a time speaks
of now, and its negated goals see everything that is alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headwater.core.diagnostics import Diagnostic
from headwater.core.graph import reachable
from headwater.language.syntax import Atom, Comparison, Kind, Negation, Rule, Variable, Wildcard
from headwater.language.terms import assigned, leaves, reads
from headwater.program.model import Program, Relation
from headwater.program.names import rule_name
from headwater.program.time.timing import looks_back


def sequence_problems(program: Program) -> Iterator[Diagnostic]:
    relations = {relation.name: relation for relation in program.relations}
    if not any(relation.time is not None for relation in program.relations):
        return
    reading = reads(program.rules)
    reported: set[int] = set()
    for rule in program.rules:
        for goal in rule.body:
            if not isinstance(goal, Negation) or relations[rule.head.relation].time is None:
                continue
            if not looks_back(goal, rule, relations):
                if any(relations[name].kind is Kind.STREAM for name in reachable(goal.atom.relation, reading)):
                    yield _timeless(rule, goal)
                continue
            yield from _negated_time(rule, goal)
            cone = reachable(goal.atom.relation, reading)
            for number, other in enumerate(program.rules):
                if number not in reported and (other is rule or other.head.relation in cone):
                    reason = _disorder(other, relations)
                    if reason is not None:
                        reported.add(number)
                        yield _refused(other, goal, reason)


def _timeless(rule: Rule, goal: Negation) -> Diagnostic:
    name = goal.atom.relation
    message = f"`{name}` is negated in {rule_name(rule)}, whose rows have a time, but its own rows have none"
    note = f"a negated goal sees what has arrived up to the time of the head, and `{name}` does not say when"
    hint = f"derive `{name}` with its time as the first argument, or leave the time out of the head to ask about now"
    return Diagnostic("HW508", message, goal.span or rule.span, note=note, hint=hint)


def _negated_time(rule: Rule, goal: Negation) -> Iterator[Diagnostic]:
    first, head = goal.atom.args[0], rule.head.args[0]
    same = isinstance(first, Variable) and isinstance(head, Variable) and first.name == head.name
    if not same and not isinstance(first, Wildcard):
        message = f"the negated goal `{goal.atom.relation}` asks for a time of its own in {rule_name(rule)}"
        note = "it sees what has arrived up to the time of the head"
        hint = "write `_`, or the time of the head, in its first place"
        yield Diagnostic("HW508", message, goal.span or rule.span, note=note, hint=hint)


def _refused(rule: Rule, goal: Negation, reason: str) -> Diagnostic:
    message = f"{rule_name(rule)} is not sequential, but takes part in the negation of `{goal.atom.relation}`"
    note = f"{reason}, so what was absent at that time could still come"
    hint = "let the head's time be the `largest` of the times of all its goals"
    return Diagnostic("HW508", message, rule.span, note=note, hint=hint)


def _disorder(rule: Rule, relations: Mapping[str, Relation]) -> str | None:
    """Why the time of a head is not the latest of its goals' times; None if it is."""
    if not rule.body or relations[rule.head.relation].time is None:
        return None
    terms = assigned(rule)
    covered = leaves(rule.head.args[0], terms) if isinstance(rule.head.args[0], Variable) else set()
    for goal in rule.body:
        match goal:
            case Comparison(op="<" | "<=" | "=", left=Variable(name=lower), right=Variable(name=upper)):
                pass
            case Comparison(op=">" | ">=", left=Variable(name=upper), right=Variable(name=lower)):
                pass
            case _:
                continue
        if upper in covered:
            covered.add(lower)
    for goal in rule.body:
        if isinstance(goal, Atom) and relations[goal.relation].time is not None:
            match goal.args[0]:
                case Variable(name=name) if name in covered:
                    continue
                case Variable(name=name):
                    return f"its head is not later than `{name}`, the time of `{goal.relation}`"
                case _:
                    return f"its head does not look at the time of `{goal.relation}`"
    return None
