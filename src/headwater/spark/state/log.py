"""The log of a batch: everything that one shard was given in it, enough to do it again.

A shard's transaction is deterministic: replayed on the state it began from, with the base changes and the rounds that
it was given, it leads to the same state, row numbers and witnesses included. The log ends with a fingerprint of
that state; a replay that leads to another one (with another version of a library, say) is an error, never a silently
different state.

A file is a sequence of frames, each with its length and checksum, and says what it is called: one that was put in the
place of another is refused. Nothing in it is executed or trusted: columns, codes and senders are checked before
a transaction is given them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headwater.core.errors import StateError
from headwater.engine.border.arrow_stream import read_stream, write_stream
from headwater.engine.border.checksum import checksum
from headwater.engine.shard import Shard
from headwater.exchange import Incoming, read_incoming, write_incoming

_FRAME = struct.Struct("<8sQQ")  # what, bytes that follow, their checksum
_ALIGNMENT = 64
_OPEN, _INSERT, _DELETE, _ROUND, _END = b"HWOPEN 2", b"INSERT  ", b"DELETE  ", b"ROUND   ", b"SEAL    "
_RELATION = b"headwater.relation"
_INT64 = range(-(2**63), 2**63)
Tables = Mapping[str, pa.Table]


@dataclass(slots=True)
class LogEntry:
    """What one shard was given in one batch."""

    first: bool
    inserts: Tables
    deletes: Tables
    now: int | None = None  # the least that the clock shows
    rounds: list[Incoming] = field(default_factory=list)


def fingerprint(shard: Shard, *, exact: bool) -> dict[str, list[int]]:
    """What a state measures: the rows alive per table, the time it is and, if witnesses count, all rows stored and the
    number of rounds."""
    measured = {name: [store.count, store.size] if exact else [store.count] for name, store in shard.stores.items()}
    time = {} if shard.clock.now is None else {"@": [shard.clock.now]}
    return measured | time | ({"": [shard.tick]} if exact else {})


def write(entry: LogEntry, state: Mapping[str, list[int]], name: str) -> Iterator[bytes | memoryview]:
    """The blocks of a log file that has this name."""
    opened = {"first": entry.first, "now": entry.now, "name": name}
    yield from _frame(_OPEN, pa.py_buffer(json.dumps(opened).encode()))
    for what, tables in ((_INSERT, entry.inserts), (_DELETE, entry.deletes)):
        for name, rows in tables.items():
            yield from _frame(what, _to_ipc(name, rows))
    for incoming in entry.rounds:
        yield from _frame(_ROUND, write_incoming(incoming))
    yield from _frame(_END, pa.py_buffer(json.dumps(state).encode()))


def read(content: bytes, name: str, where: str) -> tuple[LogEntry, dict[str, list[int]]]:
    """What `write` was given, in the file of this name, which is in a folder `where`."""
    try:
        return _read(content, name)
    except (
        *(struct.error, OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError),
        *(pa.ArrowException, StateError),
    ) as problem:
        raise StateError(
            f"{where}/{name} is damaged ({problem}); restore the checkpoint from a copy, or start with a new one"
        ) from problem


def _read(content: bytes, name: str) -> tuple[LogEntry, dict[str, list[int]]]:
    frames = _frames(pa.py_buffer(content))
    what, payload = next(frames, (b"", pa.py_buffer(b"")))
    if what != _OPEN:
        raise ValueError("it is not a log")
    inserts: dict[str, pa.Table] = {}
    deletes: dict[str, pa.Table] = {}
    opened = json.loads(payload.to_pybytes())
    if opened.get("name", name) != name:  # logs of earlier versions do not say
        raise ValueError(f"it is {opened['name']}")
    now = opened["now"]
    if now is not None and (type(now) is not int or now not in _INT64):
        raise ValueError("its time cannot be")
    entry = LogEntry(bool(opened["first"]), inserts, deletes, now)
    for what, payload in frames:
        if what == _END:
            if next(frames, None) is not None:
                raise ValueError("there are bytes after its end")
            return entry, json.loads(payload.to_pybytes())
        if what == _ROUND:
            entry.rounds.append(read_incoming(payload))
        elif what in (_INSERT, _DELETE):
            relation, rows = _from_ipc(payload)
            (inserts if what == _INSERT else deletes)[relation] = rows
        else:
            raise ValueError("it has an unknown record")
    raise ValueError("it is cut off")


def _frame(what: bytes, payload: pa.Buffer) -> Iterator[bytes | memoryview]:
    sum_ = checksum(np.frombuffer(payload, dtype=np.uint8))
    yield _FRAME.pack(what, payload.size, sum_) + bytes(_ALIGNMENT - _FRAME.size)
    yield memoryview(payload)
    yield bytes(-payload.size % _ALIGNMENT)


def _frames(content: pa.Buffer) -> Iterator[tuple[bytes, pa.Buffer]]:
    at = 0
    while at < content.size:
        what, length, sum_ = _FRAME.unpack_from(content, at)
        start = at + _ALIGNMENT
        at = start + length + -length % _ALIGNMENT
        if at > content.size:
            raise ValueError("it is cut off")
        payload = content.slice(start, length)
        if checksum(np.frombuffer(payload, dtype=np.uint8)) != sum_:
            raise ValueError("a checksum does not match")
        yield what, payload


def _to_ipc(name: str, rows: pa.Table) -> pa.Buffer:
    if not rows.num_columns:  # Arrow would forget how many there are
        rows = pa.table({"": pa.nulls(min(1, rows.num_rows))})  # one is as good as many
    return write_stream(rows.replace_schema_metadata({_RELATION: name.encode()}))


def _from_ipc(payload: pa.Buffer) -> tuple[str, pa.Table]:
    rows = read_stream(payload)
    name = rows.schema.metadata[_RELATION].decode()
    return name, rows.select([]) if rows.column_names == [""] else rows.replace_schema_metadata(None)
