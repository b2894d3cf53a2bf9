"""Paths as goals: a step by a label is a join with `edge`, a closure is a recursive relation.

A walk starts from what a body has bound and ends in a variable that the caller chose. It gives alternatives, one
per choice in the path. A closure becomes a relation of pairs (start, end) that begins with the starts of this body
alone, so that only what the view can reach is ever stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from headwater.language.lorel import tree
from headwater.language.syntax import Atom, Call, Condition, Term, Variable, Wildcard
from headwater.language.terms import goal_names
from headwater.semistructured.schema import EDGE
from headwater.semistructured.views.writer import MOST_BODIES, Body, RuleWriter, compared, integer, never, text


class PathRules:
    """Writes the goals and the relations of paths."""

    def __init__(self, writer: RuleWriter) -> None:
        self._writer = writer
        self._label: Atom | None = None
        self._matching: dict[str, str] = {}
        self.labels: Mapping[str, Term] = {}  # the label variables that a step may bind, or compare with
        self._edges: dict[Term, str | None] = {}  # for objects of a view, the relation of the view's edges

    def range_over(self, objects: Term, edges: str | None) -> None:
        """Say that a variable stands for objects of a view, from which only the view's edges lead on."""
        self._edges[objects] = edges

    def follow(self, start: Term, end: Term) -> None:
        """Say that `end` stands for objects of the same view as `start`, if that stands for any."""
        if start in self._edges:
            self._edges[end] = self._edges[start]

    def walk(
        self, body: Body, start: Term, steps: Sequence[tree.PathStep], end: Term, keep: tuple[Term, ...]
    ) -> list[Body]:
        """The body and a path from `start` to `end`. Variables of the body that are needed later are in `keep`."""
        if not steps:
            self.follow(start, end)
            return [(*body, compared(end, "=", start))]
        bodies = [body]
        for place, step in enumerate(steps):
            after = end if place == len(steps) - 1 else self._writer.variable(_hint(step))
            self.follow(start, after)
            bodies = [each for before in bodies for each in self._step(before, start, step, after, (*keep, start))]
            if len(bodies) > MOST_BODIES:
                bodies = [(self._writer.derive("paths", _once((*_bound(keep, bodies), after)), bodies),)]
            start = after
        return bodies

    def edge(self, start: Term, step: tree.ByLabel | tree.ByPattern, end: Term, place: Term) -> Body:
        """One edge that a step by label or pattern allows; `place` is its place in an array."""
        goals: Body = ()
        label: Term
        match step:
            case tree.ByLabel(name):
                label = text(name)
                if step.variable is not None:
                    label = self.labels[step.variable.name]
                    goals = (compared(label, "=", text(name)),)
            case tree.ByPattern(pattern) if step.variable is not None:
                label = self.labels[step.variable.name]
                goals = (Atom(self._matches(pattern), (label,)),) if pattern.strip("%") else ()
            case tree.ByPattern(pattern) if not pattern.strip("%"):
                label = Wildcard()
            case tree.ByPattern(pattern):
                label = self._writer.variable("Label")
                goals = (Atom(self._matches(pattern), (label,)),)
            case _:
                assert_never(step)
        match step.places:
            case None:
                pass
            case tree.Places(first, last) if first == last:
                goals = (*goals, compared(place, "=", integer(first))) if isinstance(place, Variable) else goals
                place = place if isinstance(place, Variable) else integer(first)
            case tree.Places(first, last):
                place = place if isinstance(place, Variable) else self._writer.variable("Place")
                goals = (*goals, compared(place, ">=", integer(first)), compared(place, "<=", integer(last)))
        edges = self._edges.get(start, EDGE)
        if edges is None:  # the view has no with clause
            return (Atom(EDGE, (start, label, end, place)), *never(start), *goals)
        self.follow(start, end)
        return (Atom(edges, (start, label, end, place)), *goals)

    def _step(self, body: Body, start: Term, step: tree.PathStep, end: Term, keep: tuple[Term, ...]) -> list[Body]:
        match step:
            case tree.ByLabel() | tree.ByPattern():
                return [(*body, *self.edge(start, step, end, Wildcard()))]
            case tree.Choice(branches):
                return [each for branch in branches for each in self.walk(body, start, branch, end, keep)]
            case tree.Repeat(path, least=0, endless=False):
                return [(*body, compared(end, "=", start)), *self._step(body, start, path, end, keep)]
            case tree.Repeat(path, least=0):
                return [self._closure(body, start, path, end, keep)]
            case tree.Repeat(path):
                middle = self._writer.variable("Step")
                first = self._step(body, start, path, middle, keep)
                return [self._closure(each, middle, path, end, keep) for each in first]
            case tree.AnyPath():
                return [self._closure(body, start, None, end, keep)]
            case _:
                assert_never(step)

    def _closure(self, body: Body, start: Term, path: tree.Choice | None, end: Term, keep: tuple[Term, ...]) -> Body:
        """Any number of such paths, or of any edges; also none."""
        if len(body) > 1:
            body = (self._writer.derive("starts", _once((*_bound(keep, [body]), start)), [body]),)
        relation = self._writer.relation("reach")
        self._writer.rule(relation, (start, start), [body])
        begin, middle, after = (self._writer.variable(name) for name in ("From", "Via", "To"))
        self.follow(start, middle)
        self.follow(start, end)
        so_far: Body = (Atom(relation, (begin, middle)),)
        if path is None:
            bodies = [(*so_far, *self.edge(middle, tree.ByPattern("%"), after, Wildcard()))]
        else:
            bodies = self._step(so_far, middle, path, after, (begin, middle))
        self._writer.rule(relation, (begin, after), bodies)
        return (*body, Atom(relation, (start, end)))

    def _matches(self, pattern: str) -> str:
        """The labels of a pattern: each label of the store is compared with it once, not each edge."""
        if pattern not in self._matching:
            name = self._writer.variable("Label")
            if self._label is None:
                self._label = self._writer.derive(
                    "labels", (name,), [(Atom(EDGE, (Wildcard(), name, Wildcard(), Wildcard())),)]
                )
            relation = self._writer.relation("like")
            like = Condition(Call("like", (name, text(pattern.replace("_", "\\_")))))
            self._writer.rule(relation, (name,), [(Atom(self._label.relation, (name,)), like)])
            self._matching[pattern] = relation
        return self._matching[pattern]


def _hint(step: tree.PathStep) -> str:
    return step.label if isinstance(step, tree.ByLabel) else "Step"


def _bound(terms: tuple[Term, ...], bodies: list[Body]) -> tuple[Term, ...]:
    """Those that every body binds: a label variable is bound by a later step only."""
    known = [{name for goal in body for name in goal_names(goal)} for body in bodies]
    return tuple(term for term in terms if isinstance(term, Variable) and all(term.name in each for each in known))


def _once(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, Variable)))
