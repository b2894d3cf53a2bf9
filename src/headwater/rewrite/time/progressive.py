"""Negated goals that look back in time, in terms of times: "none up to T" is "none at all, or the first one after T".

`h(T, X) :- b(T, X), !q(_, X).` over streams asks whether `q` has arrived by the time of the head (004, Definition 3).
It becomes two rules: one where `q` has no row, one where the earliest time among its rows is later than `T`. Both are
rules of the ordinary kind, and the negation that is left asks about now.

The program's checks have made sure that such rules are sequential. What does not look back stays as it is: negated
relations that no stream feeds, and heads without a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from headwater.language import syntax
from headwater.program.model import Column, Program, Relation
from headwater.program.time.timing import looks_back


@dataclass(frozen=True, slots=True)
class _First:
    """A relation that has the earliest time of rows that match a negated goal."""

    absent: syntax.Negation
    present: syntax.Atom


def progressive(program: Program) -> Program:
    relations = {relation.name: relation for relation in program.relations}
    added: list[Relation] = []
    rules: list[syntax.Rule] = []
    for rule in program.rules:
        backward = [goal for goal in rule.body if looks_back(goal, rule, relations)]
        if not backward:
            rules.append(rule)
            continue
        others = tuple(goal for goal in rule.body if goal not in backward)
        choices: list[tuple[tuple[syntax.Goal, ...], tuple[syntax.Goal, ...]]] = []
        for goal in backward:
            time = syntax.Variable(f"First'time{len(choices)}")
            first = _first(goal, time, relations, added, rules)
            after = syntax.Comparison(">", time, rule.head.args[0], span=goal.span)  # type: ignore[arg-type]
            choices.append(((first.absent,), (first.present, after)))
        rules.extend(
            replace(rule, body=(*others, *(goal for part in chosen for goal in part)), origin=rule)
            for chosen in product(*choices)
        )
    if len(rules) == len(program.rules):
        return program
    return replace(program, relations=(*program.relations, *added), rules=tuple(rules))


def _first(
    goal: syntax.Negation,
    time: syntax.Variable,
    relations: dict[str, Relation],
    added: list[Relation],
    rules: list[syntax.Rule],
) -> _First:
    args = goal.atom.args[1:]
    asked = list(dict.fromkeys(arg.name for arg in args if isinstance(arg, syntax.Variable)))
    if len(asked) == len(args):  # it names a whole row, whose time is the earliest
        absent = replace(goal, atom=replace(goal.atom, args=(syntax.Wildcard(), *args)))
        return _First(absent, syntax.Atom(goal.atom.relation, (time, *args), span=goal.span))
    name = f"{goal.atom.relation}'first{len(added)}"
    source = relations[goal.atom.relation]
    columns = tuple(Column(f"c{at}") for at in range(len(asked) + 1))
    added.append(Relation(name, columns, derived=True, stands_for=source.name, span=source.span))
    relations[name] = added[-1]
    shown = tuple(map(syntax.Variable, asked))
    earliest = syntax.Aggregate("mmin", (time,))
    rules.append(
        syntax.Rule(syntax.Head(name, (*shown, earliest)), (syntax.Atom(source.name, (time, *args)),), span=goal.span)
    )
    absent = syntax.Negation(syntax.Atom(name, (*shown, syntax.Wildcard())), span=goal.span)
    return _First(absent, syntax.Atom(name, (*shown, time), span=goal.span))
