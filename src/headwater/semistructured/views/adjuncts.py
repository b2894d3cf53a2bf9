"""With clauses as rules: the edges that come into a view with its selected objects.

Each position of a path is a relation of the objects that stand there, and every edge from one position to the next
is in the view. So an edge is in the view only by a path that the with clause names, not because its two ends are
there (001, Appendix A). A closure is a position that leads back to itself. Every step that exists is imported,
also where the path ends early.
"""

from __future__ import annotations

from typing import assert_never

from headwater.language.lorel import tree
from headwater.language.syntax import Atom, Term, Wildcard
from headwater.semistructured.views.walk import PathRules
from headwater.semistructured.views.writer import RuleWriter


class AdjunctRules:
    """Writes the rules of with clauses; `edges` is the relation of imported edges."""

    def __init__(self, writer: RuleWriter, walker: PathRules, edges: str) -> None:
        self._writer = writer
        self._walker = walker
        self._edges = edges
        self._like: Term | None = None

    def follow(self, position: str, steps: tuple[tree.PathStep, ...], like: Term | None = None) -> str:
        """The relation of the objects behind a path that starts from the objects of `position`. These belong to the
        view that `like` ranges over, if it ranges over one."""
        self._like = like
        return self._steps(position, steps)

    def _steps(self, position: str, steps: tuple[tree.PathStep, ...]) -> str:
        for step in steps:
            position = self._step(position, step)
        return position

    def _step(self, position: str, step: tree.PathStep) -> str:
        match step:
            case tree.ByLabel() | tree.ByPattern():
                after = self._writer.relation("with")
                self._one(position, step, after)
                return after
            case tree.Choice():
                after = self._writer.relation("with")
                self._branches(position, step, after)
                return after
            case tree.Repeat(path, least=0, endless=False):
                after = self._writer.relation("with")
                self._copy(position, after)
                self._branches(position, path, after)
                return after
            case tree.Repeat(path, least):
                loop = self._writer.relation("with")
                if least:
                    self._branches(position, path, loop)
                else:
                    self._copy(position, loop)
                self._branches(loop, path, loop)
                return loop
            case tree.AnyPath():
                loop = self._writer.relation("with")
                self._copy(position, loop)
                self._one(loop, tree.ByPattern("%"), loop)
                return loop
            case _:
                assert_never(step)

    def _branches(self, position: str, choice: tree.Choice, after: str) -> None:
        for branch in choice.branches:
            match branch:
                case (tree.ByLabel() | tree.ByPattern() as only,):
                    self._one(position, only, after)
                case _:
                    self._copy(self._steps(position, branch), after)

    def _copy(self, position: str, after: str) -> None:
        item = self._writer.variable("Item")
        self._writer.rule(after, (item,), [(Atom(position, (item,)),)])

    def _one(self, position: str, step: tree.ByLabel | tree.ByPattern, after: str) -> None:
        """The edges of one step, and the objects that they lead to."""
        parent, child, place = (self._writer.variable(name) for name in ("Parent", "Child", "Place"))
        if self._like is not None:
            self._walker.follow(self._like, parent)
        first, *more = self._walker.edge(parent, step, child, place)
        assert isinstance(first, Atom)
        label = first.args[1]
        if isinstance(label, Wildcard):
            label = self._writer.variable("Label")
            first = Atom(first.relation, (parent, label, child, place))
        body = (Atom(position, (parent,)), first, *more)
        self._writer.rule(self._edges, (parent, label, child, place), [body])
        self._writer.rule(after, (child,), [body])
