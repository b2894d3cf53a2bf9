"""Documents as rows without a store: ids are computed, so that many workers agree on them without talking.

The id of an object is a hash of its document's name and key and of its number in the document, in 62 bits: among a
hundred million objects the chance of one collision is about one in a thousand. For documents that are read once; a
store that follows changes hands out ids of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.semistructured.reading.loading import Key, keyed, refuse
from headwater.semistructured.reading.nodes import Ints
from headwater.semistructured.reading.scan import scan_texts
from headwater.semistructured.schema import ATOM, EDGE, NAME

_STEP = np.uint64(0x9E3779B97F4A7C15)
_BITS = np.uint64(2)


def hashed_rows(name: str, texts: Sequence[bytes], key: str) -> dict[str, pa.Table]:
    """The rows of documents by relation; raises DataError if one cannot be read, or has no key."""
    batch = keyed(scan_texts(texts, name), key, range(len(texts)))
    nodes = batch.nodes
    if nodes.rejected:
        raise refuse(nodes.rejected)
    roots = nodes.roots[nodes.roots >= 0]
    sizes = np.diff(np.append(roots, nodes.size))
    oids = _ids(np.repeat(_seeds(name, batch.keys), sizes), np.arange(nodes.size) - np.repeat(roots, sizes))
    named = pa.DictionaryArray.from_arrays(pa.array(np.zeros(roots.size, dtype=np.int32)), pa.array([name]))
    return {
        EDGE: nodes.edges(oids),
        ATOM: nodes.atoms(oids),
        NAME: pa.table({"name": named, "oid": oids[roots]}),
    }


def _seeds(name: str, keys: Sequence[Key]) -> Any:
    def seed(key: Key) -> int:
        text = f"{name}\0{type(key).__name__}\0{key}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")

    return np.fromiter(map(seed, keys), dtype=np.uint64, count=len(keys))


def _ids(seeds: Any, numbers: Any) -> Ints:
    mixed = seeds + (numbers.astype(np.uint64) + np.uint64(1)) * _STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> _BITS).astype(np.int64)
