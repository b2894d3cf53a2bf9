"""Python values to nodes: they are written as JSON and read like any other text, so that both are checked alike.

Dicts, lists, tuples, strings, numbers, booleans and None are JSON. A date or datetime becomes an atom of the kind time;
until it is read it is a string that begins with a mark which no other process can guess.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import DataError
from headwater.semistructured.reading.kernels.scanning import TIME
from headwater.semistructured.reading.nodes import Nodes
from headwater.semistructured.reading.scan import scan_texts

_MARK = "\x00time " + secrets.token_hex(16) + " "


@dataclass(frozen=True, slots=True, eq=False)
class TimeText:
    """A time that was stored, by its text, which it is equal to; it is stored again as it was."""

    text: str

    def __eq__(self, other: object) -> bool:
        return self.text == (other.text if isinstance(other, TimeText) else other)

    def __hash__(self) -> int:
        return hash(self.text)


def nodes_of(values: Sequence[Any], where: str) -> Nodes:
    """A document per value, bytes being JSON text. What cannot be a document is a DataError."""
    texts = []
    for at, value in enumerate(values):
        if isinstance(value, bytes):
            texts.append(value)
            continue
        try:
            texts.append(_JSON.encode(value).encode())
        except RecursionError:
            raise _refused(where, at, "nested too deep") from None
        except (TypeError, ValueError) as problem:
            raise _refused(where, at, _reason(problem)) from None
    return with_times(scan_texts(texts, where))


def _other(value: Any) -> Any:
    if isinstance(value, TimeText):
        return _MARK + value.text
    if isinstance(value, datetime):
        return _MARK + (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
    if isinstance(value, date):
        return _MARK + value.isoformat()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a document cannot hold a value of type {type(value).__name__}")


_JSON = json.JSONEncoder(default=_other, allow_nan=False)


def _reason(problem: Exception) -> str:
    text = str(problem)
    if "Circular" in text:
        return "a value that contains itself"
    return "NaN and infinity are no JSON" if "Out of range" in text else text


def _refused(where: str, at: int, reason: str) -> DataError:
    return DataError(f"error[HW820]: {where}, document {at + 1}: {reason}; nothing was applied")


def with_times(nodes: Nodes) -> Nodes:
    """The strings that stand for times as atoms of that kind."""
    if not _may_hold_times(nodes):
        return nodes
    marked = pc.fill_null(pc.starts_with(nodes.text, _MARK), False).to_numpy(zero_copy_only=False)
    if not marked.any():
        return nodes
    texts = nodes.text.to_pylist()
    kind, number = nodes.kind.copy(), nodes.number.copy()
    for node in np.flatnonzero(marked).tolist():
        texts[node] = texts[node].removeprefix(_MARK)
        kind[node], number[node] = TIME, seconds(texts[node])
    return replace(nodes, kind=kind, number=number, text=pa.array(texts, type=pa.large_string()))


def _may_hold_times(nodes: Nodes) -> bool:
    data = nodes.text.buffers()[2]
    return data is not None and _MARK.encode() in memoryview(data).tobytes()


def seconds(text: str) -> float:
    """The seconds since 1970 of an ISO time; without a zone it is taken as UTC."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
