"""The manifest of a batch: what the state of every shard is made of once the batch is committed.

A batch is committed by its manifest and by nothing else. It names, per shard, one snapshot and the logs of the batches
since; files that no manifest names are garbage. It is one small file: JSON behind a line with format and checksum.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headwater.core.errors import StateError
from headwater.spark.state.query_definition import QueryDefinition

FORMAT = 2
_HEAD = "headwater manifest"


@dataclass(frozen=True, slots=True)
class Saved:
    """A file of a shard's state: a snapshot, or the log of a batch.

    `rows` and `seconds` say what it saves or costs: rows held by a snapshot, or changed by a batch; time to write the
    one, or to have run the other.
    """

    name: str
    batch: int
    bytes: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Part:
    """The state of one shard: a snapshot (if there is none, a new shard), and the logs to replay on it."""

    snapshot: Saved | None = None
    logs: tuple[Saved, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Names in the order of their use. They are given once, so equal histories are equal states."""
        first = () if self.snapshot is None else (self.snapshot.name,)
        return (*first, *(log.name for log in self.logs))

    def with_log(self, log: Saved) -> Part:
        return replace(self, logs=(*self.logs, log))

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Part:
        snapshot = given["snapshot"]
        return cls(None if snapshot is None else Saved(**snapshot), tuple(Saved(**log) for log in given["logs"]))


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker reports to the driver, as text, when a shard has its part of a batch on disk."""

    shard: int
    batch: int
    part: Part
    rounds: int
    rows_shipped: int
    bytes_shipped: int
    seconds: float
    changed: dict[str, tuple[int, int]]  # per view, rows inserted and deleted
    opening: float  # seconds until the shard stood where the batch begins: none if the worker had it warm
    clock: int | None = None  # the time it is there now

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Report:
        given = json.loads(text)
        changed = {name: (came, went) for name, (came, went) in given.pop("changed").items()}
        return cls(part=Part.from_json(given.pop("part")), changed=changed, **given)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a committed batch rests on, and what it says of itself."""

    batch: int
    definition: QueryDefinition
    parts: tuple[Part, ...]  # by shard
    rejected: dict[str, int] = field(default_factory=dict)  # rows set aside since the beginning, by relation
    set_aside: tuple[str, ...] = ()  # the files that shards wrote those of this batch to
    metrics: dict[str, Any] = field(default_factory=dict)  # the figures of this batch
    clock: int | None = None  # the time it is once the batch is done; None: the program knows none
    query: str | None = None  # the id of the streaming query that brought the batch, as Spark's own files have it
    epoch: int = 0  # of the run that committed it

    @property
    def files(self) -> frozenset[str]:
        """Every file that it rests on."""
        return frozenset(name for part in self.parts for name in part.files)

    @property
    def outgoing(self) -> frozenset[str]:
        """The files to publish: the changes of views, and the rows set aside."""
        feed = self.metrics.get("feed", {})
        return frozenset((*(name for files in feed.values() for name in files), *self.set_aside))

    def refuse_unsound(self) -> None:
        """Raise TypeError or ValueError if a manifest from a file says what none can say."""
        saved = [file for part in self.parts for file in (*([part.snapshot] if part.snapshot else []), *part.logs)]
        numbers = [self.batch, self.epoch, *self.rejected.values()]
        numbers += (number for file in saved for number in (file.batch, file.bytes, file.rows))
        if self.clock is not None:
            numbers.append(abs(self.clock))
        if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
            raise ValueError("it has an invalid number")
        if not isinstance(self.metrics, dict) or not isinstance(self.query, str | None):
            raise TypeError("its figures or its query are none")
        if not all(_is_below(name) for name in (*self.files, *self.outgoing)):
            raise ValueError("it names files outside its folder")
        if self.definition.shards != len(self.parts):
            raise ValueError("it has unknown parts")

    def to_bytes(self) -> bytes:
        text = json.dumps(asdict(self) | {"fingerprint": self.definition.fingerprint}, indent=1).encode()
        return f"{_HEAD} {FORMAT} {zlib.crc32(text):08x}\n".encode() + text

    @classmethod
    def from_bytes(cls, content: bytes, where: str) -> Manifest:
        head, _, text = content.partition(b"\n")
        words = head.decode("ascii", "replace").split(" ")
        known = " ".join(words[:2]) == _HEAD and len(words) == 4
        if known and words[2] != str(FORMAT):
            raise StateError(
                f"{where} has format {words[2]}, but this version of Headwater reads {FORMAT}; go on with the version "
                "that wrote it, or start with a new checkpoint"
            )
        if not known or words[3] != f"{zlib.crc32(text):08x}":
            raise StateError(f"{where} is damaged; {_RESTORE}")
        try:
            given = json.loads(text)
            made = cls(
                definition=QueryDefinition.from_json(given["definition"]),
                parts=tuple(Part.from_json(part) for part in given["parts"]),
                set_aside=tuple(given["set_aside"]),
                query=given.get("query"),
                epoch=given.get("epoch", 0),
                **{name: given[name] for name in ("batch", "rejected", "metrics", "clock")},
            )
            made.refuse_unsound()
            return made
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
            raise StateError(f"{where} is damaged ({problem!r}); {_RESTORE}") from problem


def _is_below(name: Any) -> bool:
    """Whether a file's name leads nowhere but below the folder of the checkpoint: files that it names are removed."""
    parts = name.split("/")
    return len(parts) > 1 and "\0" not in name and not {"", ".", ".."}.intersection(parts)


_RESTORE = "restore the checkpoint from a copy, or start with a new one"
