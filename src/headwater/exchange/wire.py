"""What shards send each other in a round, as values and as bytes.

Bytes are Arrow IPC streams behind a small header. Nothing in them is executed when they are read, and bytes that are
cut off or foreign are a StateError.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from headwater.core.errors import StateError
from headwater.engine.border.arrow_stream import read_stream, write_stream
from headwater.engine.shipping import Activity as Activity

_MAGIC = b"HWX1"
_HEAD = struct.Struct("<4sBxxxQ")  # magic, activity, parcels
_FRAME = struct.Struct("<qQ")  # peer, bytes that follow
_ALIGNED = 64  # so that arrays are used where they lie
_SHIPMENT, _MARKS = b"headwater.shipment", b"headwater.marks"


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows of one outbox for one shard: they came alive there, or (`marks`) lost their witness."""

    shipment: str  # the outbox
    marks: bool
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What one shard sends in a round, by receiver; never to itself."""

    parcels: dict[int, list[Parcel]] = field(default_factory=dict)
    activity: Activity = Activity.NOTHING


@dataclass(frozen=True, slots=True)
class Incoming:
    """What one shard gets in a round, with the sender of each parcel, and the most that any shard reported."""

    parcels: list[tuple[int, Parcel]] = field(default_factory=list)
    activity: Activity = Activity.NOTHING


Run: TypeAlias = Generator[Outgoing, Incoming, Any]  # a shard's part of a transaction


def ship(outgoing: Sequence[Outgoing]) -> list[Incoming]:
    """What each shard gets if these shards, in the order of their numbers, send this."""
    activity = max((sent.activity for sent in outgoing), default=Activity.NOTHING)
    parcels: list[list[tuple[int, Parcel]]] = [[] for _ in outgoing]
    for sender, shipped in enumerate(outgoing):
        for receiver, sent in shipped.parcels.items():
            parcels[receiver].extend((sender, parcel) for parcel in sent)
    return [Incoming(received, activity) for received in parcels]


def write_outgoing(outgoing: Outgoing) -> pa.Buffer:
    return _write(((peer, parcel) for peer, many in outgoing.parcels.items() for parcel in many), outgoing.activity)


def read_outgoing(content: bytes | memoryview | pa.Buffer) -> Outgoing:
    activity, parcels = _read(content)
    by_peer: dict[int, list[Parcel]] = {}
    for peer, parcel in parcels:
        by_peer.setdefault(peer, []).append(parcel)
    return Outgoing(by_peer, activity)


def write_incoming(incoming: Incoming) -> pa.Buffer:
    return _write(incoming.parcels, incoming.activity)


def read_incoming(content: bytes | memoryview | pa.Buffer) -> Incoming:
    activity, parcels = _read(content)
    return Incoming(list(parcels), activity)


def _write(parcels: Iterable[tuple[int, Parcel]], activity: Activity) -> pa.Buffer:
    listed = list(parcels)
    out = pa.BufferOutputStream()
    out.write(_HEAD.pack(_MAGIC, activity, len(listed)))
    for peer, parcel in listed:
        block = _write_parcel(parcel)
        out.write(_FRAME.pack(peer, block.size))
        out.write(bytes(-out.tell() % _ALIGNED))
        out.write(block)
    return out.getvalue()


def _write_parcel(parcel: Parcel) -> pa.Buffer:
    about = {_SHIPMENT: parcel.shipment.encode("utf-8"), _MARKS: b"1" if parcel.marks else b"0"}
    return write_stream(parcel.rows.combine_chunks().replace_schema_metadata(about))


def _read(content: bytes | memoryview | pa.Buffer) -> tuple[Activity, list[tuple[int, Parcel]]]:
    buffer = content if isinstance(content, pa.Buffer) else pa.py_buffer(content)
    try:
        magic, activity, count = _HEAD.unpack_from(buffer)
        if magic != _MAGIC:
            raise StateError("these bytes are no round of an exchange")
        return Activity(activity), list(_frames(buffer, count))
    except (struct.error, OSError, ValueError, LookupError, TypeError, pa.ArrowException) as problem:
        raise StateError(f"a round of an exchange is damaged: {problem}") from problem


def _frames(buffer: pa.Buffer, count: int) -> Iterator[tuple[int, Parcel]]:
    at = _HEAD.size
    for _ in range(count):
        peer, size = _FRAME.unpack_from(buffer, at)
        at += _FRAME.size
        at += -at % _ALIGNED
        if at + size > buffer.size:
            raise ValueError("it is cut off")
        yield peer, _read_parcel(buffer.slice(at, size))
        at += size


def _read_parcel(block: pa.Buffer) -> Parcel:
    rows = read_stream(block)
    about = rows.schema.metadata or {}
    return Parcel(about[_SHIPMENT].decode("utf-8"), about[_MARKS] == b"1", rows)
