"""A shard as bytes, and back: flat arrays behind a header that says what they are.

Layout: magic, length of the header, header (JSON), arrays one after the other, checksum of all that. Nothing in
it is executed when it is read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import StateError
from headwater.engine.shard import Shard

MAGIC = b"HEADWATER\x00"
VERSION = 1
_ARRAYS = ("data", "stamp", "rules", "proof")


def pack(shard: Shard, about: dict[str, Any]) -> Iterator[bytes]:
    """A shard's rows with `about`: whatever else is needed to open it again, as JSON."""
    arrays = [(store, name, getattr(store, name)[: store.size]) for store in shard.stores.values() for name in _ARRAYS]
    header = {
        "version": VERSION,
        "about": about,
        "tick": shard.tick,
        "symbols": [_to_json(value) for value in shard.symbols.values],
        "arrays": [[store.name, name, array.dtype.str, list(array.shape)] for store, name, array in arrays],
    }
    text = json.dumps(header, ensure_ascii=False).encode("utf-8", "surrogatepass")
    check = 0
    for block in (MAGIC + len(text).to_bytes(8, "little") + text, *(array.tobytes() for _, _, array in arrays)):
        check = zlib.crc32(block, check)
        yield block
    yield check.to_bytes(4, "little")


class Snapshot:
    """A saved shard, read and checked; `about` tells what to build, `fill` puts the rows in."""

    def __init__(self, content: bytes, path: Path) -> None:
        if not content.startswith(MAGIC):
            raise StateError(f"{path} is no saved database; give a file that Database.save wrote")
        start = len(MAGIC) + 8
        length = int.from_bytes(content[len(MAGIC) : start], "little")
        if len(content) < start + length + 4 or zlib.crc32(content[:-4]) != int.from_bytes(content[-4:], "little"):
            raise StateError(f"{path} is damaged; restore it from a copy, or load the data anew")
        header = json.loads(content[start : start + length].decode("utf-8", "surrogatepass"))
        if header["version"] != VERSION:
            raise StateError(
                f"{path} has format {header['version']}, but this version of Headwater reads {VERSION}; open it with "
                "the version that wrote it, or load the data anew"
            )
        self.about: dict[str, Any] = header["about"]
        self.tick: int = header["tick"]
        self.symbols = [_from_json(value) for value in header["symbols"]]
        self._arrays: dict[tuple[str, str], npt.NDArray[Any]] = {}
        at = start + length
        for table, name, kind, shape in header["arrays"]:
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(content, dtype=np.dtype(kind), count=count, offset=at).reshape(shape)
            self._arrays[table, name] = array
            at += array.nbytes

    def fill(self, shard: Shard) -> None:
        """Put the saved rows into a new shard of the same plan."""
        shard.tick = self.tick
        for store in shard.stores.values():
            store.load(*(self._arrays[store.name, name] for name in _ARRAYS))


def _to_json(value: Any) -> Any:
    """Strings as they are; lists, and what is in them, marked by type."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return {"list": [_to_json(item) for item in value]}
    if isinstance(value, float):
        return {"float": value.hex()}
    return {type(value).__name__: value}


def _from_json(value: Any) -> Any:
    if isinstance(value, str):
        return value
    ((kind, inner),) = value.items()
    if kind == "list":
        return tuple(_from_json(item) for item in inner)
    return float.fromhex(inner) if kind == "float" else inner
