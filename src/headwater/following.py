"""Questions that are followed: what a user holds while the answers are maintained."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from headwater.core.types import Type
from headwater.engine.border.changes import Changes, RelationChange
from headwater.engine.border.lookup import check_fits, tuples
from headwater.engine.codes.fitting import fit
from headwater.engine.codes.symbols import find_code
from headwater.engine.shard import Shard
from headwater.language.syntax import Query
from headwater.plan.model import Table
from headwater.program.model import Program, Relation
from headwater.program.questions import filled, query_for, question_columns, questions_of
from headwater.rewrite.demand.searched_ways import given_ends


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One question: a query with parameters, and a value for each of them."""

    query: Query
    values: tuple[Any, ...]

    @property
    def relation(self) -> str:
        """The base relation of which it is a row."""
        return questions_of(self.query)

    @property
    def plain(self) -> Query:
        """The query with the values in place."""
        return filled(self.query, self.values)


def question_row(model: Program, table: Table, given: Mapping[str, Any]) -> QuestionRow:
    """A question that a user asks about a view; raises DataError if it has other parameters or holds no such values."""
    query = query_for(model.queries, table.name, given)
    for name, at in zip(query.parameters, question_columns(query), strict=True):
        check_fits(given[name], table.types[at], f"`${name}` of `{table.name}`")
    return QuestionRow(query, tuple(_as_key(given[name]) for name in query.parameters))


def _as_key(value: Any) -> Any:
    """The value as it is counted by: a list as a tuple, and every NaN as the same one."""
    if isinstance(value, list):
        return tuple(value)
    return math.nan if value != value else value


def search_rows(shard: Shard, relation: Relation, question: QuestionRow) -> set[tuple[Any, ...]] | None:
    """The answers to a question that gives one or both ends of ways, searched for; None where rules must derive them.

    Nothing is kept. See `headwater.rewrite.demand.searched_ways`.
    """
    search = relation.search
    given = () if search is None else given_ends(question.query, search)
    if search is None or not given:
        return None
    steps, kinds = shard.stores[search.steps].table.types, shard.stores[relation.name].table.types
    types = [kinds[at] for at in search.ends]
    if types != [steps[at] for at in (search.leaves, search.arrives)]:
        return None
    if any(kind is Type.FLOAT or kind.is_mixed for kind in types):
        return None  # whether two such values are one is a question for the rules
    values = dict(zip(question_columns(question.query), question.values, strict=True))
    ends = {at: fit(values[at], kinds[at]) for at in given}
    codes = {at: find_code(ends[at], kinds[at], shard.symbols) for at in given}
    if len(given) == 2:
        found = shard.search_between(search, codes[search.source], codes[search.target])
        if found is None:
            return None
        row = tuple(ends.get(at, found.cost) for at in range(relation.arity))
        return set() if found.cost is None else {row}
    reached = shard.search_from(search, given[0], codes[given[0]])
    return None if reached is None else set(tuples(shard.stores[relation.name].table, reached, shard.symbols))


class Follower:
    """The questions that are followed: each is a row of its relation while somebody follows it.

    A question may come before the rows that show its types; then it waits, and its row comes with them.
    """

    def __init__(
        self,
        answers: Callable[[Query], set[tuple[Any, ...]]],
        suppose: Callable[[QuestionRow], set[tuple[Any, ...]]],
        apply: Callable[..., Changes],
        holds: Callable[[str], bool],
    ) -> None:
        """How to read answers, with and without a question that is not followed; how to change rows; what can be asked.

        Where there is no relation for questions, all answers are there anyway.
        """
        self._answers, self._suppose, self._apply, self._holds = answers, suppose, apply, holds
        self._counts: dict[QuestionRow, int] = {}
        self._recent: Changes | None = None

    def ask(self, question: QuestionRow) -> set[tuple[Any, ...]]:
        if question in self._counts or not self._holds(question.relation):
            return self._answers(question.plain)
        return self._suppose(question)

    def follow(self, question: QuestionRow) -> FollowedQuestion:
        if question not in self._counts:
            self._change(insert={question.relation: [question.values]})
        self._counts[question] = self._counts.get(question, 0) + 1
        before, plain = self._recent, question.plain

        def changes() -> RelationChange | None:
            return None if self._recent is None or self._recent is before else self._recent.answering(plain)

        return FollowedQuestion(question, lambda: self._answers(plain), changes, lambda: self._close(question))

    def note(self, changes: Changes) -> Changes:
        """Take note of what a transaction changed, while anybody wants to know."""
        self._recent = changes if self._counts else None
        return changes

    def rows(self, relations: Collection[str]) -> dict[str, list[tuple[Any, ...]]]:
        """All questions that are followed, as rows of those of these relations that hold questions."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for question in self._counts:
            if question.relation in relations:
                found.setdefault(question.relation, []).append(question.values)
        return found

    def queries(self, view: str) -> list[Query]:
        """What the questions about a view ask for."""
        return [question.plain for question in self._counts if question.query.atom.relation == view]

    def _close(self, question: QuestionRow) -> None:
        if self._counts[question] == 1:
            self._change(delete={question.relation: [question.values]})
            del self._counts[question]
        else:
            self._counts[question] -= 1

    def _change(self, **rows: dict[str, list[tuple[Any, ...]]]) -> None:
        """Change the questions; to those who follow others, nothing has happened."""
        if all(self._holds(relation) for given in rows.values() for relation in given):
            before = self._recent
            self._apply(**rows)
            self._recent = before


class FollowedQuestion:
    """A question whose answers are maintained until `close`."""

    def __init__(
        self,
        question: QuestionRow,
        rows: Callable[[], set[tuple[Any, ...]]],
        changes: Callable[[], RelationChange | None],
        close: Callable[[], None],
    ) -> None:
        self.view = question.query.atom.relation
        self.given = dict(zip(question.query.parameters, question.values, strict=True))
        self._rows = rows
        self._changes = changes
        self._close = close
        self.closed = False

    @property
    def rows(self) -> set[tuple[Any, ...]]:
        """The answers as they are now."""
        self._check_open()
        return self._rows()

    @property
    def changes(self) -> RelationChange | None:
        """The answers that came and went with the last transaction; None: there was none since it is followed."""
        self._check_open()
        return self._changes()

    def close(self) -> None:
        """Stop following. What no other question needs is dropped."""
        if not self.closed:
            self.closed = True
            self._close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"{self!r} is closed; follow it again")

    def __enter__(self) -> FollowedQuestion:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.given.items())
        return f"follow({self.view!r}{values})"
