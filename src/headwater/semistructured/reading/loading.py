"""Where documents come from, and the keys that they are known by: files, Python values, Arrow tables.

Promise: every document has a key, and no two of one batch have the same one: the last one counts, as in a feed.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import DataError, FileError
from headwater.files.read import bytes_of
from headwater.semistructured.reading.kernels.scanning import INT, STRING
from headwater.semistructured.reading.nodes import BadDocument, Nodes
from headwater.semistructured.reading.python_values import nodes_of
from headwater.semistructured.reading.scan import kept_documents, scan_lines, scan_text

Key: TypeAlias = str | int
_LINES = (".jsonl", ".ndjson")
_SHOWN = 5
_EXACT = 2**53  # floats hold all ints below


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Documents on their way in: nodes, and the key of each root that is there."""

    nodes: Nodes
    keys: tuple[Key, ...]


def paths_of(pattern: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[Path]:
    """The files that patterns name, sorted within each."""
    patterns = [pattern] if isinstance(pattern, str | PathLike) else list(pattern)
    found: list[Path] = []
    for each in patterns:
        one = fspath(each)
        matches = sorted(glob.glob(one, recursive=True)) if glob.has_magic(one) else [one]  # noqa: PTH207
        if not matches:
            raise FileError(f"no file is called {one}; paths are relative to {Path.cwd()}")
        found += map(Path, matches)
    return found


def read_file(path: Path, key: str | None) -> DocumentBatch:
    """The documents of a file: one per line of jsonl, one per row of parquet; of a JSON file all of it, or, where each
    has a key and the file is an array, its items."""
    where = str(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return read_arrow(_parquet(path), key, where)
    if suffix not in (*_LINES, ".json"):
        raise FileError(f"{path}: its name does not say what it holds; it must end in .json, .jsonl, .ndjson, .parquet")
    data = bytes_of(path).removeprefix(b"\xef\xbb\xbf")
    if suffix in _LINES:
        nodes = scan_lines(data, where)
        whole = key is not None and not nodes.rejected  # then no document needs a name of its own
        return keyed(nodes, key, range(nodes.roots.size) if whole else _line_names(data, path.name))
    nodes = scan_text(data, where)
    if key is not None and not nodes.rejected and data.lstrip()[:1] == b"[":
        items = json.loads(data)
        return read_values(items, key, where, [f"{path.name}, item {at}" for at in range(len(items))])
    return keyed(nodes, key, [path.stem])


def _line_names(data: bytes, file: str) -> list[str]:
    """What the documents of a file are called: after their lines."""
    return [f"{file}:{at}" for at, line in enumerate(data.split(b"\n"), 1) if line.strip()]


def _parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        return pq.read_table(pa.BufferReader(bytes_of(path)))
    except (pa.ArrowException, OSError) as problem:
        raise FileError(f"{path} is no parquet file: {problem}") from None


def read_arrow(table: Any, key: str | None, where: str) -> DocumentBatch:
    """A document per row. Structs and maps are objects, lists arrays, timestamps and dates times; nulls are null."""
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pa.Table):
        table = pa.table(table)
    if not isinstance(table, pa.Table):
        raise DataError(f"error[HW820]: {where}: {type(table).__name__} is no Arrow table")
    rows = [_without_maps(row) for row in table.to_pylist(maps_as_pydicts="strict")]
    return keyed(nodes_of(rows, where), key, list(range(len(rows))))


def _without_maps(value: Any) -> Any:
    """Keys of maps as texts, bytes refused where JSON is written."""
    if isinstance(value, dict):
        return {name if isinstance(name, str) else str(name): _without_maps(item) for name, item in value.items()}
    return [_without_maps(item) for item in value] if isinstance(value, list) else value


def read_values(values: Sequence[Any], key: str | None, where: str, fallback: Sequence[Key]) -> DocumentBatch:
    return keyed(nodes_of(values, where), key, fallback)


def keyed(nodes: Nodes, key: str | None, fallback: Sequence[Key]) -> DocumentBatch:
    """Give each document its key: the int or string in a member of its root, or else what it is known by."""
    if key is None:
        there = np.flatnonzero(nodes.roots >= 0)
        return last_of_each(nodes, [fallback[at] for at in there.tolist()])
    label = nodes.labels.index(key) if key in nodes.labels else -2
    above = np.full(nodes.size, False)
    above[nodes.roots[nodes.roots >= 0]] = True
    holders = np.flatnonzero(
        (nodes.label == label) & (nodes.place < 0) & ((nodes.kind == INT) | (nodes.kind == STRING))
    )
    holders = holders[above[nodes.parent[holders]]]
    keys = _values(nodes, holders)
    if len(keys) < int(np.count_nonzero(nodes.roots >= 0)):
        nodes = _set_aside(nodes, key, set(nodes.parent[holders].tolist()), fallback)
    return last_of_each(nodes, keys)


def _values(nodes: Nodes, holders: npt.NDArray[np.intp]) -> list[Key]:
    """The ints and strings of these nodes."""
    kinds, numbers = nodes.kind[holders], nodes.number[holders]
    if (kinds == INT).all() and (np.abs(numbers) < _EXACT).all():
        found: list[Key] = numbers.astype(np.int64).tolist()
        return found
    texts = nodes.text.take(pa.array(holders)).to_pylist()
    return [int(text) if kind == INT else text for text, kind in zip(texts, kinds.tolist(), strict=True)]


def _set_aside(nodes: Nodes, key: str, found: set[int], fallback: Sequence[Key]) -> Nodes:
    rejected = list(nodes.rejected)
    first = nodes.roots[nodes.roots >= 0]
    ends = dict(zip(first.tolist(), [*first[1:].tolist(), nodes.size], strict=True))
    keep = np.ones(nodes.size, dtype=np.bool_)
    for at, root in enumerate(nodes.roots.tolist()):
        if root >= 0 and root not in found:
            keep[root : ends[root]] = False
            rejected.append(BadDocument(at, f"it has no int or string `{key}`, which is its key", f"{fallback[at]}"))
    return kept_documents(nodes, keep, tuple(rejected))


def last_of_each(nodes: Nodes, keys: list[Key]) -> DocumentBatch:
    """Of documents with one key the last."""
    if len(set(keys)) < len(keys):
        last = {key: at for at, key in enumerate(keys)}
        first = nodes.roots[nodes.roots >= 0]
        ends = np.append(first[1:], nodes.size)
        keep = np.zeros(nodes.size, dtype=np.bool_)
        for at in last.values():
            keep[first[at] : ends[at]] = True
        nodes = kept_documents(nodes, keep, nodes.rejected)
        keys = [keys[at] for at in sorted(last.values())]
    return DocumentBatch(nodes, tuple(keys))


def refuse(rejected: Sequence[BadDocument]) -> DataError:
    """The error for documents that cannot be read."""
    lines = [f"error[HW820]: {len(rejected)} document(s) cannot be read; nothing was applied"]
    lines += [f"  {bad}" for bad in rejected[:_SHOWN]]
    if len(rejected) > _SHOWN:
        lines.append(f"  ... and {len(rejected) - _SHOWN} more")
    lines.append("  hint: correct them; `add_files(..., strict=False)` reads files and sets such documents aside")
    return DataError("\n".join(lines))


def joined(batches: Sequence[DocumentBatch]) -> DocumentBatch:
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    labels: dict[str, int] = {}
    parts = [batch.nodes for batch in batches]
    numbers = [
        np.array([labels.setdefault(label, len(labels)) for label in part.labels] or [0], dtype=np.int32)
        for part in parts
    ]
    starts = np.cumsum([0, *(part.size for part in parts)])[:-1].tolist()
    places = np.cumsum([0, *(part.roots.size for part in parts)])[:-1].tolist()

    def moved(array: Any, start: int) -> Any:
        return np.where(array >= 0, array + start, -1)

    def renamed(array: Any, number: Any) -> Any:
        return np.where(array >= 0, number[array], -1).astype(np.int32)

    both = list(zip(parts, starts, numbers, strict=True))
    hollow = [np.column_stack([part.hollow[:, 0] + start, number[part.hollow[:, 1]]]) for part, start, number in both]
    nodes = Nodes(
        np.concatenate([moved(part.parent, start) for part, start, _ in both]).astype(np.int32),
        np.concatenate([renamed(part.label, number) for part, _, number in both]),
        np.concatenate([part.place for part in parts]),
        np.concatenate([part.kind for part in parts]),
        pa.concat_arrays([part.text for part in parts]),
        np.concatenate([part.number for part in parts]),
        tuple(labels),
        np.concatenate(hollow).astype(np.int32),
        np.concatenate([moved(part.roots, start) for part, start, _ in both]),
        tuple(
            replace(bad, position=bad.position + place)
            for part, place in zip(parts, places, strict=True)
            for bad in part.rejected
        ),
    )
    return last_of_each(nodes, [key for batch in batches for key in batch.keys])
