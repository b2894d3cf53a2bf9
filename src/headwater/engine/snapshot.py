"""A shard as a file, and back: flat arrays behind a header that says what they are.

Layout: magic, length and checksum of the header, header (JSON), then the arrays, each at a multiple of 64 bytes with
zeros between them. The header names every array's place and checksum and the length of the whole, so a file that was
cut, or in which any byte changed, is told as damaged when it is read. That costs one pass at the speed of memory;
nothing else of the arrays is looked at before it is needed: indexes and lists of children are made from them when
somebody first asks. The table of identities, which the first new row would ask for, is there if the shard had it.
Nothing in the file is executed.

Shards opened from one file and given the same transactions stay equal to the last row number and witness. The shard
that was saved need not: its indexes have grown in the order in which its rows came.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import StateError
from headwater.engine.checksum import checksum
from headwater.engine.index import Space
from headwater.engine.shard import Shard
from headwater.engine.store import Store
from headwater.engine.symbol_columns import from_columns, to_columns

MAGIC = b"HEADWATER\x00"
VERSION = 2
_ARRAYS = ("data", "stamp", "rules", "proof")
_HEADS = "heads"
_MANY = 10_000
_SYMBOLS = ("", "symbols")
_START = len(MAGIC) + 8 + 4
_ALIGNMENT = 64
_BLOCK = 1 << 24


def pack(shard: Shard, about: dict[str, Any]) -> Iterator[bytes | memoryview]:
    """The blocks of a file that holds a shard's rows and `about`: whatever else is needed to open it, as JSON."""
    arrays: dict[tuple[str, str], npt.NDArray[Any]] = {
        _SYMBOLS: np.frombuffer(_ipc(to_columns(shard.symbols.values[1:])), dtype=np.uint8)
    }
    for store in shard.stores.values():
        arrays.update(((store.name, name), getattr(store, name)[: store.size]) for name in _ARRAYS)
        if _is_identified(store):
            arrays[store.name, _HEADS] = store.heads
    places: list[list[Any]] = []
    at = 0  # counted from the end of the header
    for (table, name), array in arrays.items():
        places.append([table, name, array.dtype.str, list(array.shape), at, checksum(array)])
        at += _aligned(array.nbytes)
    header = {
        "version": VERSION,
        "about": about,
        "tick": shard.tick,
        "clock": shard.clock.now,
        "stores": {store.name: _counts(store) for store in shard.stores.values()},
        "arrays": places,
        "length": at,
    }
    text = json.dumps(header).encode()
    text += b" " * (_aligned(_START + len(text)) - _START - len(text))
    yield MAGIC + len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(4, "little") + text
    for array in arrays.values():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        for start in range(0, raw.nbytes, _BLOCK):
            yield raw[start : start + _BLOCK]
        yield bytes(_aligned(raw.nbytes) - raw.nbytes)


class Snapshot:
    """A saved shard, read and checked; `about` tells what to build, `fill` puts the rows in."""

    def __init__(self, content: npt.NDArray[np.uint8], path: str) -> None:
        if bytes(content[: len(MAGIC)]) != MAGIC:
            raise StateError(f"{path} is no saved database; give a file that Database.save wrote")
        self._path = path
        length = int.from_bytes(bytes(content[len(MAGIC) : len(MAGIC) + 8]), "little")
        text = bytes(content[_START : _START + min(length, content.size)])
        if len(text) != length or zlib.crc32(text).to_bytes(4, "little") != bytes(content[_START - 4 : _START]):
            raise self._damaged()
        header = json.loads(text)
        if header["version"] != VERSION:
            raise StateError(
                f"{path} has format {header['version']}, but this version of Headwater reads {VERSION}; open it with "
                "the version that wrote it, or load the data anew"
            )
        self.about: dict[str, Any] = header["about"]
        self._tick: int = header["tick"]
        self._clock: int | None = header["clock"]
        self._stores: dict[str, dict[str, Any]] = header["stores"]
        body = content[_START + length :]
        if body.size != header["length"]:
            raise self._damaged()
        self._arrays = {(place[0], place[1]): self._array(body, *place[2:]) for place in header["arrays"]}
        with pa.ipc.open_stream(pa.py_buffer(self._arrays.pop(_SYMBOLS))) as reader:
            self.symbols = from_columns(reader.read_all())

    @classmethod
    def read(cls, path: Path) -> Snapshot:
        """Into memory: whatever becomes of the file later, this stays."""
        try:
            return cls(np.fromfile(path, dtype=np.uint8), str(path))
        except OSError as problem:
            raise StateError(f"cannot read {path}: {problem.strerror or problem}") from problem

    @classmethod
    def map(cls, path: Path) -> Snapshot:
        """Mapped, for a file that nobody writes to any more (it may be removed): pages are copied when written to."""
        try:
            if not path.stat().st_size:
                return cls(np.zeros(0, dtype=np.uint8), str(path))
            return cls(np.memmap(path, dtype=np.uint8, mode="c").view(np.ndarray), str(path))
        except OSError as problem:
            raise StateError(f"cannot read {path}: {problem.strerror or problem}") from problem

    def fill(self, shard: Shard) -> None:
        """Put the saved rows into a new shard of the same plan. The rows are handed over: do it once."""
        shard.tick = self._tick
        shard.clock.now = self._clock
        for store in shard.stores.values():
            counts = self._stores[store.name]
            arrays = [self._arrays.pop((store.name, name)) for name in _ARRAYS]
            if not _fits(store, arrays):
                raise self._damaged()
            store.load(*arrays, size=arrays[0].shape[0], count=counts["count"])
            store.bounds.widen(np.array(counts["low"], dtype=np.int64), np.array(counts["high"], dtype=np.int64))
            heads = self._arrays.pop((store.name, _HEADS), None)
            if heads is not None:
                store.know(heads, _space(counts.get("space")))

    def _array(
        self, body: npt.NDArray[np.uint8], kind: str, shape: list[int], at: int, expected: int
    ) -> npt.NDArray[Any]:
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        raw = body[at : at + nbytes]
        if raw.size != nbytes or checksum(raw) != expected or body[at + nbytes : at + _aligned(nbytes)].any():
            raise self._damaged()
        return raw.view(np.dtype(kind)).reshape(shape)

    def _damaged(self) -> StateError:
        return StateError(f"{self._path} is damaged; restore it from a copy, or load the data anew")


def _counts(store: Store) -> dict[str, Any]:
    counts = {"count": store.count, "low": store.bounds.low.tolist(), "high": store.bounds.high.tolist()}
    if _is_identified(store) and store.space is not None:
        counts["space"] = [store.space.base.tolist(), store.space.extent.tolist()]
    return counts


def _is_identified(store: Store) -> bool:
    """Whether the table of identities is worth saving: it knows all rows, and there are many."""
    return store.size >= _MANY and store.identified == store.size


def _space(saved: list[list[int]] | None) -> Space | None:
    return None if saved is None else Space(*(np.array(part, dtype=np.int64) for part in saved))


def _fits(store: Store, arrays: list[npt.NDArray[Any]]) -> bool:
    """Whether arrays have the shape and the kinds of numbers that a store's arrays have."""
    data, stamp, rules, proof = arrays
    size = data.shape[0]
    return (
        data.dtype in (np.int32, np.int64)
        and (stamp.dtype == np.int32 and rules.dtype == np.int16 and proof.dtype == np.int32)
        and data.shape == (size, store.width)
        and stamp.shape == rules.shape == (size,)
        and proof.shape == (size, store.depth)
    )


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


def _ipc(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
