"""Questions on a network: asked at one moment, answered along links a while later, ended or kept as a cache.

While a question is open, its answers are a view that the nodes maintain, and every node that was asked on the way keeps
its own (see `headwater.rewrite.demand.along_links`). When the last question that needs them has ended, they go: first
at the node that asked, then neighbour by neighbour (003, section 4.6). With `caching=s` they stay for s seconds more,
right all the time, so that a question which comes meanwhile goes no further than to a node that has the answer (002,
section 5.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headwater.core.errors import DataError
from headwater.following import QuestionRow
from headwater.language.syntax import Query
from headwater.program.questions import query_for, question_columns


class QuestionStep(Enum):
    """What becomes of a question at one moment."""

    OPENS = "opens"
    CLOSES = "closes"  # nobody reads the answers any more
    GOES = "goes"  # and nobody keeps them


@dataclass(frozen=True, slots=True)
class QuestionEvent:
    """A step of a question."""

    question: QuestionRow
    step: QuestionStep


def node_question(
    queries: tuple[Query, ...], view: str, given: Mapping[str, Any], nodes: Mapping[Any, int]
) -> QuestionRow:
    """A question about a view; raises DataError if it has other parameters, or is asked at a node that is not there."""
    query = query_for(queries, view, given)
    for name, at in zip(query.parameters, question_columns(query), strict=True):
        if at == 0 and given[name] not in nodes:
            raise DataError(
                f"`${name}` of `{view}` is {given[name]!r}, which is not a node of the topology; add the node, or "
                "ask at another one"
            )
    return QuestionRow(query, tuple(given[name] for name in query.parameters))


@dataclass(slots=True)
class OpenQuestions:
    """The questions that somebody reads, and those whose answers are kept, with how often each was asked."""

    read: Counter[QuestionRow] = field(default_factory=Counter)
    kept: Counter[QuestionRow] = field(default_factory=Counter)

    def take(self, event: QuestionEvent) -> int:
        """What an event does to the row of its question: 1 it comes, -1 it goes, 0 nothing."""
        question = event.question
        match event.step:
            case QuestionStep.OPENS:
                self.read[question] += 1
                self.kept[question] += 1
                return int(self.kept[question] == 1)
            case QuestionStep.CLOSES:
                self.read[question] -= 1
                return 0
            case QuestionStep.GOES:
                self.kept[question] -= 1
                return -int(self.kept[question] == 0)

    def queries(self, view: str) -> list[Query]:
        """What the open questions about a view ask for."""
        return [question.plain for question, many in self.read.items() if many and question.query.atom.relation == view]


class SimulatedQuestion:
    """A question that was asked in a simulation: read its answers at any moment, close it at some moment."""

    def __init__(
        self,
        question: QuestionRow,
        rows: Callable[[Query], set[tuple[Any, ...]]],
        close: Callable[[QuestionRow, float | None], None],
    ) -> None:
        self.view = question.query.atom.relation
        self.given = dict(zip(question.query.parameters, question.values, strict=True))
        self._question, self._rows, self._close = question, rows, close
        self._closed = False

    @property
    def rows(self) -> set[tuple[Any, ...]]:
        """The answers that have come by now and still hold; none once it is closed."""
        return self._rows(self._question.plain)

    def close(self, at: float | None = None) -> None:
        """End the question, now or at a later moment. What no other question needs is given back."""
        if not self._closed:
            self._close(self._question, at)
            self._closed = True

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.given.items())
        return f"follow({self.view!r}{values})"
