"""A file of JSON lines as rows of a relation: each line an object by column name, or an array in column order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from headwater.core.errors import FileError
from headwater.files.header import HeaderError, Match, by_position, match
from headwater.files.json_values import VALUES
from headwater.files.rows import BadRows, Expected, FileRows
from headwater.files.typed_rows import typed_rows


def read_jsonl(data: bytes, file: str, expected: Expected, *, feed: bool) -> FileRows:
    bad = BadRows(expected.relation, file)
    names = _Names(expected, feed)
    rows: list[list[Any]] = []
    lines: list[int] = []
    unparsed = 0
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as problem:
            unparsed += 1
            bad.reject(number, _reason(problem), line.decode("utf-8", "surrogateescape").strip())
            continue
        try:
            rows.append(names.row(value))
            lines.append(number)
        except HeaderError as problem:
            bad.reject(number, str(problem), json.dumps(value, ensure_ascii=False))
    if bad.rows and not rows:
        what = "no line is JSON; write one object per line" if unparsed == len(bad.rows) else bad.rows[0].reason
        raise FileError(f"{file}: {what}")
    width = len(expected.columns) + feed
    columns = [[row[place] for row in rows] for place in range(width)]
    change = columns.pop() if feed else None
    return typed_rows(expected, names.match, columns, change, np.array(lines, dtype=np.int64), bad, VALUES)


def _reason(problem: Exception) -> str:
    match problem:
        case UnicodeDecodeError():
            return f"it is not UTF-8 (byte {problem.start + 1} of the line)"
        case RecursionError():
            return "it is nested too deep"
        case json.JSONDecodeError():
            return f"it is not JSON: {problem.msg} (column {problem.colno})"
    return f"it is not JSON: {problem}"


class _Names:
    """Which keys hold which columns, whatever their order in an object."""

    def __init__(self, expected: Expected, feed: bool) -> None:
        self._expected = expected
        self._feed = feed
        self._known: dict[tuple[str, ...], list[str] | HeaderError] = {}
        self._by_set: dict[frozenset[str], list[str] | HeaderError] = {}
        self._ignored: dict[str, None] = {}

    def row(self, value: Any) -> list[Any]:
        """The values of one line in the relation's order, its change type last."""
        if isinstance(value, Mapping):
            return [value[key] for key in self._keys(value)]
        if isinstance(value, list):
            found = by_position(len(value), self._expected, feed=self._feed)
            places = found.places if found.change is None else (*found.places, found.change)
            return [value[place] for place in places]
        raise HeaderError("it is neither an object nor an array")

    def _keys(self, value: Mapping[str, Any]) -> list[str]:
        names = tuple(value)
        keys = self._known.get(names)
        if keys is None:
            keys = self._by_set.setdefault(frozenset(names), self._matched(list(names)))
            self._known[names] = keys
        if isinstance(keys, HeaderError):
            raise keys
        return keys

    def _matched(self, given: list[str]) -> list[str] | HeaderError:
        try:
            found: Match = match(given, self._expected, feed=self._feed)
        except HeaderError as problem:
            return problem
        self._ignored.update(dict.fromkeys(found.ignored))
        places = found.places if found.change is None else (*found.places, found.change)
        return [given[place] for place in places]

    @property
    def match(self) -> Match:
        """The columns of the rows that were read, with all keys that were left out."""
        width = len(self._expected.columns)
        return Match(tuple(range(width)), width if self._feed else None, tuple(self._ignored), by_name=True)
