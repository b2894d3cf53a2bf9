"""JSON text to nodes.

Promise: a document is read whole or set aside with a reason and its line and column. Duplicate members, numbers that
no float holds, NaN, half surrogate pairs, bytes that are no UTF-8 and nesting beyond 1,000 levels are such reasons.
Ints of up to 1,000 digits keep every digit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.semistructured.reading import kernels
from headwater.semistructured.reading.kernels.faults import WORDS
from headwater.semistructured.reading.kernels.scanning import COMPLEX, INT, NULL, STRING
from headwater.semistructured.reading.nodes import BadDocument, Ints, Nodes

_SHOWN = 24
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_TOO_LARGE = "a number that no 64-bit float holds"
_LIMITS = "a JSON text of more than 2 GiB cannot be read at once; cut it into several"


def scan_lines(text: bytes, where: str) -> Nodes:
    """A document per line (jsonl); lines without anything on them are no documents."""
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.append(np.flatnonzero(data == 10), data.size).astype(np.int64)
    begins = np.append(0, ends[:-1] + 1).astype(np.int64)
    kept = _not_blank(text, begins, ends)
    return _scan(text, begins[kept], ends[kept], where)


def scan_text(text: bytes, where: str) -> Nodes:
    """One document."""
    return _scan(text, np.zeros(1, dtype=np.int64), np.full(1, len(text), dtype=np.int64), where)


def scan_texts(texts: Sequence[bytes], where: str) -> Nodes:
    """A document per text."""
    ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    begins = np.append(0, ends[:-1]).astype(np.int64) if len(texts) else ends
    return _scan(b"".join(texts), begins, ends, where, alone=True)


def _not_blank(text: bytes, begins: Ints, ends: Ints) -> npt.NDArray[np.bool_]:
    kept = ends > begins
    short = np.flatnonzero(kept & (ends - begins < 64))
    for line in short.tolist():
        kept[line] = bool(text[begins[line] : ends[line]].strip(b" \t\r\n"))
    return kept


def _scan(text: bytes, begins: Ints, ends: Ints, where: str, *, alone: bool = False) -> Nodes:
    if len(text) >= 2**31 - 16:
        raise ValueError(_LIMITS)
    data = np.frombuffer(text, dtype=np.uint8)
    most = int(kernels.most_nodes(data)) + begins.size
    parent, label, place = (np.empty(most, dtype=np.int32) for _ in range(3))
    kind, unsure = (np.zeros(most, dtype=np.int8) for _ in range(2))
    offsets = np.zeros(most + 1, dtype=np.int64)
    number = np.empty(most, dtype=np.float64)
    out = np.empty(data.size + 8, dtype=np.uint8)
    words = np.empty(data.size + 8, dtype=np.uint8)
    word_ends = np.zeros(most + 2, dtype=np.int64)
    slots = np.zeros(_room(most + 2), dtype=np.int32)
    members = np.zeros(_room(most), dtype=np.int64)
    hollow = np.empty((most, 2), dtype=np.int32)
    counts = np.zeros(3, dtype=np.int64)
    roots, faults, places = (np.empty(begins.size, dtype=np.int64) for _ in range(3))
    kernels.scan_documents(
        data, begins, ends, parent, label, place, kind, offsets, number, unsure, out, words, word_ends, slots, members,
        hollow, counts, roots, faults, places,
    )  # fmt: skip
    count = int(counts[1])
    kinds, numbers = kind[:count], number[:count]
    texts = _texts(out, offsets[: count + 1], (kinds == COMPLEX) | (kinds == NULL))
    labels = _labels(words, word_ends[: int(counts[0])])
    wrong = _sure(numbers, np.flatnonzero(unsure[:count] == 2), kinds, texts)
    rejected = [
        BadDocument(at, WORDS[int(faults[at])], _place(text, int(places[at]), where, begins, at, alone=alone))
        for at in np.flatnonzero(faults).tolist()
    ]
    nodes = Nodes(
        parent[:count], label[:count], place[:count], kinds, texts, numbers, labels, hollow[: int(counts[2])], roots,
        tuple(rejected),
    )  # fmt: skip
    if not wrong:
        return nodes

    def place_of(document: int, number: str) -> str:
        found = number.encode()
        tokens = _TOKEN.finditer(text, int(begins[document]), int(ends[document]))
        at = next((token.start() for token in tokens if token[0] == found), int(begins[document]))
        return _place(text, at, where, begins, document, alone=alone)

    return _without(nodes, wrong, place_of)


def _room(entries: int) -> int:
    return 1 << max(4, (2 * entries - 1).bit_length())


def _texts(out: npt.NDArray[np.uint8], offsets: Ints, absent: npt.NDArray[np.bool_]) -> pa.LargeStringArray:
    bits = np.packbits(~absent, bitorder="little")
    buffers = [pa.py_buffer(bits), pa.py_buffer(offsets), pa.py_buffer(out[: int(offsets[-1])])]
    return pa.Array.from_buffers(pa.large_string(), absent.size, buffers)


def _labels(words: npt.NDArray[np.uint8], ends: Ints) -> tuple[str, ...]:
    data = words[: int(ends[-1]) if ends.size else 0].tobytes()
    return tuple(data[begin:end].decode() for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))


def _sure(numbers: npt.NDArray[np.float64], nodes: Any, kinds: npt.NDArray[np.int8], texts: Any) -> list[int]:
    """Fill in the numbers that need more care than one division; those that are too large for a real."""
    wrong = []
    for node in nodes.tolist():
        value = float(texts[node].as_py())
        if math.isfinite(value):
            numbers[node] = value
        elif kinds[node] not in (INT, STRING):
            wrong.append(node)
    return wrong


def _without(nodes: Nodes, wrong: list[int], place_of: Callable[[int, str], str]) -> Nodes:
    """Set the documents of these nodes aside; `place_of` says where a number of a document stands."""
    good = np.flatnonzero(nodes.roots >= 0)
    first = nodes.roots[good]
    owners = good[np.searchsorted(first, np.array(wrong), side="right") - 1]
    keep = np.ones(nodes.size, dtype=np.bool_)
    ends = np.append(first[1:], nodes.size)
    rejected = list(nodes.rejected)
    for document, node in dict(zip(owners.tolist()[::-1], wrong[::-1], strict=True)).items():
        at = int(np.searchsorted(good, document))
        keep[first[at] : ends[at]] = False
        text = nodes.text[node].as_py()
        rejected.append(BadDocument(document, f"{_TOO_LARGE}: {text[:_SHOWN]}", place_of(document, text)))
    return kept_documents(nodes, keep, tuple(sorted(rejected, key=lambda bad: bad.position)))


def kept_documents(nodes: Nodes, keep: npt.NDArray[np.bool_], rejected: tuple[BadDocument, ...]) -> Nodes:
    """Only these nodes, which are whole documents."""
    moved = np.cumsum(keep) - 1
    parent = nodes.parent[keep]
    hollow = nodes.hollow[keep[nodes.hollow[:, 0]]].copy()
    hollow[:, 0] = moved[hollow[:, 0]]
    present = nodes.roots >= 0
    roots = np.where(present, np.where(keep[nodes.roots], moved[nodes.roots], -1), -1) if keep.size else nodes.roots
    return Nodes(
        np.where(parent >= 0, moved[parent], -1).astype(np.int32), nodes.label[keep], nodes.place[keep],
        nodes.kind[keep], nodes.text.filter(pa.array(keep)), nodes.number[keep], nodes.labels, hollow, roots, rejected,
    )  # fmt: skip


def _numbered(where: str, document: int, *, alone: bool) -> str:
    return f"{where}, document {document + 1}" if alone else where


def _place(text: bytes, at: int, where: str, begins: Ints, document: int, *, alone: bool) -> str:
    begin = int(begins[document]) if alone else 0
    line = text.count(b"\n", begin, at)
    column = len(text[text.rfind(b"\n", begin, at) + 1 if line else begin : at].decode(errors="replace")) + 1
    return f"{_numbered(where, document, alone=alone)}, line {line + 1}, column {column}"
