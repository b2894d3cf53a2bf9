"""Calls that read a shard: the rows of a view, or an answer to a question about stored rows.

A worker that has done any call for a shard can do these, too; nothing in the shard changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa

from headwater.core.functions.function import Function
from headwater.exchange import Member, answer
from headwater.semistructured.sharded import DocumentViews
from headwater.spark.session.local_sockets import message_of, read_message
from headwater.spark.session.worker import prepare
from headwater.spark.state import shard_cache
from headwater.spark.state.checkpoint import Assignment

Functions = tuple[tuple[str, Function], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of one shard: a call for the worker that is best placed."""

    changes: ClassVar[bool] = False
    word: ClassVar[str] = ""
    functions: Functions
    mark: str  # of the functions
    assignment: Assignment
    shard: int
    asked: bytes
    documents: DocumentViews | None = None  # what the views show, if it is documents

    def __call__(self, cancelled: Callable[[], bool]) -> bytes:
        prepare(self.functions)
        with shard_cache.reading(self.assignment, self.shard) as member:
            return self.read(member)

    def read(self, member: Member) -> bytes:
        raise NotImplementedError

    @property
    def kind(self) -> str:
        return f"{self.word} {self.mark}"

    def to_message(self) -> bytes:
        return message_of({"assignment": self.assignment.to_json(self.shard)}) + self.asked

    def understands(self, kind: str) -> bool:
        return is_reading(kind, self.mark)

    def like(self, kind: str, message: bytes) -> Reading:
        return reading_like(kind, self.functions, self.documents, self.assignment, self.shard, message)

    @classmethod
    def of_message(
        cls, functions: Functions, documents: DocumentViews | None, mark: str, assignment: Assignment, shard: int,
        message: bytes,
    ) -> Self:  # fmt: skip
        head, _, asked = message.partition(b"\n")
        about, _ = read_message(head)
        return cls(functions, mark, assignment.like(shard, about["assignment"]), shard, asked, documents)


class ViewReading(Reading):
    """The rows that a shard has of a view."""

    word = "view"

    def read(self, member: Member) -> bytes:
        view = self.asked.decode()
        found = member.rows(view) if self.documents is None else self.documents.rows(member, view)
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, found.schema) as stream:
            stream.write_table(found)
        return bytes(out.getvalue())


class QuestionReading(Reading):
    """What a shard answers to a question about its stored rows."""

    word = "question"

    def read(self, member: Member) -> bytes:
        return answer(member, self.asked)


_KINDS: dict[str, Any] = {kind.word: kind for kind in (ViewReading, QuestionReading)}


def is_reading(kind: str, mark: str) -> bool:
    """Whether calls of this kind read, for a program with these functions."""
    word, _, found = kind.partition(" ")
    return word in _KINDS and found == mark


def reading_like(
    kind: str, functions: Functions, documents: DocumentViews | None, assignment: Assignment, shard: int, message: bytes
) -> Reading:
    """The reading of a message, by a worker that has these functions and an assignment of the shard."""
    word, _, mark = kind.partition(" ")
    made: Reading = _KINDS[word].of_message(functions, documents, mark, assignment, shard, message)
    return made
