"""A shard as a file, and back: flat arrays behind a header that says what they are.

Layout: magic, length and checksum of the header, header (JSON), then the arrays, each at a multiple of 64 bytes with
zeros between them. The header names every array's place and checksum and the length of the whole, so a file that was
cut, or in which any byte changed, is refused as damaged when it is read.

Checksums find damage, not intent: the writer of a file can make them fit. So nothing in a file is trusted: the header
is read key by key, arrays have the kinds of numbers that a store has and lie side by side, and every number
in them is looked at before the rows are used (see `soundness`). Nothing is allocated that is much larger than the
file. What follows from the rows (counts, bounds, the table of identities, indexes, lists of children) is not in the
file: it is made from them when it is first needed. Nothing in the file is executed, and no other file is read.

Shards opened from one file and given the same transactions stay equal to the last row number and witness. The shard
that was saved need not: its indexes have grown in the order in which its rows came.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import StateError
from headwater.engine.border.arrow_stream import read_stream, write_stream
from headwater.engine.border.checksum import checksum
from headwater.engine.border.soundness import Unsound, refuse_unsound
from headwater.engine.border.symbol_columns import from_columns, to_columns
from headwater.engine.shard import Shard
from headwater.engine.store.states import EVER, GONE
from headwater.engine.store.store import Store

MAGIC = b"HEADWATER\x00"
VERSION = 4
_ARRAYS = ("data", "stamp", "rules", "witness")
_KINDS = frozenset({"|u1", "<i2", "<i4", "<i8"})
_INT64 = range(-(2**63), 2**63)
_SYMBOLS = ("", "symbols")
_START = len(MAGIC) + 8 + 4
_ALIGNMENT = 64
_BLOCK = 1 << 24


def pack(shard: Shard, about: dict[str, Any]) -> Iterator[bytes | memoryview]:
    """The blocks of a file that holds a shard's rows and `about`: whatever else is needed to open it, as JSON."""
    arrays: dict[tuple[str, str], npt.NDArray[Any]] = {
        _SYMBOLS: np.frombuffer(write_stream(to_columns(shard.symbols.values[1:])), dtype=np.uint8)
    }
    for store in shard.stores.values():
        arrays.update(((store.name, name), getattr(store, name)[: store.size]) for name in _ARRAYS)
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
        "joins": shard.join_orders(),
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


def replace_file(path: Path, blocks: Iterator[bytes | memoryview]) -> None:
    """Write a file beside its place and move it there when it is whole on disk."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines(blocks)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Snapshot:
    """A saved shard, read and checked; `about` says what to build, `fill` puts the rows in."""

    def __init__(self, content: npt.NDArray[np.uint8], path: str) -> None:
        if bytes(content[: len(MAGIC)]) != MAGIC:
            raise StateError(f"{path} is not a saved database; give a file that Database.save wrote")
        self._path = path
        length = int.from_bytes(bytes(content[len(MAGIC) : len(MAGIC) + 8]), "little")
        text = bytes(content[_START : _START + min(length, content.size)])
        whole = len(text) == length and (_START + length) % _ALIGNMENT == 0
        if not whole or zlib.crc32(text).to_bytes(4, "little") != bytes(content[_START - 4 : _START]):
            raise self.damaged("its header is cut off or changed")
        try:
            self._read(json.loads(text), content[_START + length :])
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError) as problem:
            raise self.damaged(_reason(problem)) from problem

    def _read(self, header: dict[str, Any], body: npt.NDArray[np.uint8]) -> None:
        if header["version"] != VERSION:
            raise StateError(
                f"{self._path} has format {header['version']!r:.20}, but this version of Headwater reads {VERSION}; "
                "open it with the version that wrote it, or load the data anew"
            )
        self.about: dict[str, Any] = header["about"]
        if not isinstance(self.about, dict):
            raise TypeError("its header is none")
        self._tick = _number(header["tick"], range(EVER), "the number of its rounds")
        self._clock = None if header["clock"] is None else _number(header["clock"], _INT64, "its time")
        self._joins = header.get("joins")  # files of earlier versions have none
        if body.size != header["length"]:
            raise ValueError("it is not as long as its header says")
        self._arrays: dict[tuple[str, str], npt.NDArray[Any]] = {}
        at = 0
        for table, name, kind, shape, place, expected in header["arrays"]:
            if place != at or (table, name) in self._arrays:
                raise ValueError(f"table `{table}`: `{name}` is at the wrong offset")
            self._arrays[table, name] = array = _array(body[at:], table, name, kind, shape, expected)
            at += _aligned(array.nbytes)
        if at != body.size:
            raise ValueError("it holds more than its header says")
        self.symbols = from_columns(read_stream(pa.py_buffer(self._arrays.pop(_SYMBOLS))))

    @classmethod
    def read(cls, path: Path) -> Snapshot:
        """Into memory: whatever becomes of the file later, this stays."""
        try:
            return cls(np.fromfile(path, dtype=np.uint8), str(path))
        except OSError as problem:
            raise StateError(f"cannot read {path}: {problem.strerror or problem}") from problem

    @classmethod
    def map(cls, path: Path) -> Snapshot:
        """Mapped, for a file that is not written to any more (it may be removed): pages are copied when written to."""
        try:
            if not path.stat().st_size:
                return cls(np.zeros(0, dtype=np.uint8), str(path))
            return cls(np.memmap(path, dtype=np.uint8, mode="c").view(np.ndarray), str(path))
        except OSError as problem:
            raise StateError(f"cannot read {path}: {problem.strerror or problem}") from problem

    def fill(self, shard: Shard) -> None:
        """Put the saved rows into a new shard of the same plan, whose symbols begin with `symbols`. The rows are handed
        over: do it once."""
        if shard.symbols.values[1 : len(self.symbols) + 1] != self.symbols:
            raise self.damaged("two of its symbols are equal, or they are not those of its program")
        if {table for table, _ in self._arrays} != set(shard.stores):
            raise self.damaged("its tables are not those of its program")
        if self._joins is not None:
            try:
                shard.restore_join_orders(self._joins)
            except (LookupError, TypeError, ValueError, AttributeError) as problem:
                raise self.damaged(f"its join orders are not those of its program: {problem}") from problem
        shard.tick = self._tick
        shard.clock.now = self._clock
        for store in shard.stores.values():
            arrays = [self._arrays.pop((store.name, name), _NONE) for name in _ARRAYS]
            if not _fits(store, arrays):
                raise self.damaged(f"table `{store.name}`: its arrays do not fit each other or its program")
            data, stamp, rules, witness = arrays
            store.load(data, stamp, rules, witness, size=data.shape[0], count=int(np.count_nonzero(stamp > GONE)))
            store.bounds.include(data)
        if self._arrays:
            raise self.damaged("it holds arrays that no table has")
        try:
            refuse_unsound(shard)
        except (Unsound, MemoryError) as problem:
            raise self.damaged(_reason(problem)) from problem

    def damaged(self, reason: str) -> StateError:
        return StateError(
            f"error[HW921]: {self._path} is damaged, or not as Headwater writes it: {reason}\n"
            "  hint: restore it from a copy, or load the data anew"
        )


def _reason(problem: BaseException) -> str:
    match problem:
        case LookupError():
            return f"its header lacks {problem}"
        case RecursionError():
            return "its header is nested too deeply"
        case MemoryError():
            return "it needs more memory than there is"
        case _:
            return str(problem) or type(problem).__name__


def _number(given: Any, allowed: range, what: str) -> int:
    if type(given) is not int or given not in allowed:
        raise ValueError(f"{what} cannot be {given!r:.30}")
    return given


def _array(
    body: npt.NDArray[np.uint8], table: Any, name: Any, kind: Any, shape: Any, expected: Any
) -> npt.NDArray[Any]:
    """An array at the front of these bytes."""
    if kind not in _KINDS or not 1 <= len(shape) <= 2:
        raise ValueError(f"table `{table}`: `{name}` has an unknown array type")
    sizes = [_number(size, range(2**31), f"table `{table}`: the length of `{name}`") for size in shape]
    nbytes = math.prod(sizes) * np.dtype(kind).itemsize
    raw = body[:nbytes]
    if raw.size != nbytes or checksum(raw) != expected or body[nbytes : _aligned(nbytes)].any():
        raise ValueError(f"table `{table}`: `{name}` is cut off or changed")
    return raw.view(np.dtype(kind)).reshape(sizes)


def _fits(store: Store, arrays: list[npt.NDArray[Any]]) -> bool:
    """Whether arrays have the shape and the kinds of numbers that a store's arrays have."""
    data, stamp, rules, witness = arrays
    size = data.shape[0]
    return (
        data.dtype in (store.data.dtype, np.int64)
        and (stamp.dtype == store.stamp.dtype and rules.dtype == np.int16 and witness.dtype == np.int32)
        and data.shape == (size, store.width)
        and stamp.shape == rules.shape == (size,)
        and witness.shape == (size, store.depth)
    )


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


_NONE: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
