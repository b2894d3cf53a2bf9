"""The text form of OEM: labels, object ids and values, with sharing and cycles.

    Guide &1 {
      Restaurant &2 { Name &5 "Thai City" }
      Restaurant &3 { Name &7 "Baghdad Cafe", Entree &9 { Ingredient &15 "Mushroom" } }
    }

An entry is a label, an id or none, and a value or none. What stands outside of all braces are names. An id without a
value refers to the object that has one elsewhere. Atoms are written as in JSON; a time is `@2026-11-17T08:00:00Z`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from headwater.core.errors import DataError
from headwater.semistructured.reading.python_values import seconds
from headwater.semistructured.schema import ATOM, ATOM_COLUMNS, EDGE, EDGE_COLUMNS, NAME, NAME_COLUMNS, number_of

_TOKEN = re.compile(
    r"""\s+ | \#[^\n]* | , | (?P<open>\{) | (?P<close>\}) | &(?P<oid>[0-9]{1,15})\b | (?P<string>"(?:[^"\\\n]|\\.)*")
    | @(?P<time>[0-9T:.+Z-]+) | (?P<number>-?[0-9][0-9eE+.-]*) | (?P<word>[^\s{},&"@\#]+)""",
    re.VERBOSE,
)
_ATOMS = {"true": ("bool", "true", None), "false": ("bool", "false", None), "null": ("null", None, None)}


@dataclass(frozen=True, slots=True)
class OemObjects:
    """Rows of a document store, by relation, and the objects that names lead to."""

    tables: dict[str, pa.Table]
    names: dict[str, int]
    largest: int


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._cut()
        self._at = 0
        self.edges: list[tuple[int, str, int, int]] = []
        self.atoms: dict[int, tuple[str, str | None, float | None]] = {}
        self.names: dict[str, int] = {}
        self._complex: set[int] = set()
        self._used: set[int] = {int(token.text) for token in self._tokens if token.kind == "oid"}
        self._fresh = max(self._used, default=0)

    def _cut(self) -> list[_Token]:
        found, at = [], 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._problem(at, f"unexpected {self._text[at]!r}")
            if match.lastgroup is not None:
                found.append(_Token(match.lastgroup, match[match.lastgroup], at))
            at = match.end()
        return found

    def _problem(self, at: int, reason: str) -> DataError:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return DataError(f"error[HW820]: OEM, line {line}, column {column}: {reason}")

    def read(self) -> OemObjects:
        open_objects: list[tuple[int, int]] = []  # (object, where its brace stands)
        referred: dict[int, int] = {}
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "close":
                if not open_objects:
                    raise self._problem(token.at, "this brace closes nothing")
                open_objects.pop()
                self._at += 1
                continue
            label = self._label(token)
            oid, has_value = self._object(token)
            if not has_value:
                referred.setdefault(oid, token.at)
            if open_objects:
                self.edges.append((open_objects[-1][0], label, oid, -1))
            elif self.names.setdefault(label, oid) != oid:
                raise self._problem(token.at, f"the name `{label}` leads to two objects")
            if self._at < len(self._tokens) and self._tokens[self._at].kind == "open" and has_value:
                open_objects.append((oid, self._tokens[self._at].at))
                self._at += 1
        if open_objects:
            raise self._problem(open_objects[-1][1], "this brace is never closed")
        for oid, at in referred.items():
            if oid not in self.atoms and oid not in self._complex:
                raise self._problem(at, f"object &{oid} has no value anywhere")
        return self._graph()

    def _label(self, token: _Token) -> str:
        self._at += 1
        if token.kind == "string":
            return str(json.loads(token.text))
        if token.kind not in ("word", "number"):
            raise self._problem(token.at, "a label should be here")
        return token.text

    def _object(self, label: _Token) -> tuple[int, bool]:
        """The object of an entry, and whether it has a value here; an opening brace is left to be read."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        oid = None
        if token is not None and token.kind == "oid":
            oid = int(token.text)
            self._at += 1
            token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if oid is None:
            self._fresh += 1
            oid = self._fresh
        if token is not None and token.kind == "open":
            self._define(oid, token)
            self._complex.add(oid)
            return oid, True
        atom = self._atom(token)
        if atom is None:
            if oid == self._fresh and oid not in self._used:
                raise self._problem(label.at, f"`{label.text}` has neither an id nor a value")
            return oid, False
        assert token is not None
        self._define(oid, token)
        self.atoms[oid] = atom
        self._at += 1
        return oid, True

    def _define(self, oid: int, token: _Token) -> None:
        if oid in self.atoms or oid in self._complex:
            raise self._problem(token.at, f"object &{oid} has a value already")

    def _atom(self, token: _Token | None) -> tuple[str, str | None, float | None] | None:
        if token is None:
            return None
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        is_label = following is not None and following.kind in ("oid", "open", "string", "number", "time")
        match token.kind:
            case "string" if not is_label or (following is not None and following.kind in ("string", "number", "time")):
                try:
                    text = str(json.loads(token.text))
                except ValueError as problem:
                    raise self._problem(token.at, f"{problem}") from None
                return "string", text, number_of(text)
            case "number":
                return self._number(token)
            case "time":
                return self._time(token)
            case "word" if token.text in _ATOMS and not is_label:
                return _ATOMS[token.text]
        return None

    def _number(self, token: _Token) -> tuple[str, str | None, float | None]:
        number = number_of(token.text)
        if number is None:
            raise self._problem(token.at, f"{token.text} is no number that a float holds")
        is_int = token.text.removeprefix("-").isdigit()
        return ("int", str(int(token.text)), number) if is_int else ("real", token.text, number)

    def _time(self, token: _Token) -> tuple[str, str | None, float | None]:
        try:
            text = datetime.fromisoformat(token.text).isoformat()
        except ValueError:
            raise self._problem(token.at, f"{token.text} is no ISO 8601 time") from None
        return "time", text, seconds(text)

    def _graph(self) -> OemObjects:
        def table(columns: tuple[str, ...], rows: list[tuple[Any, ...]], types: tuple[pa.DataType, ...]) -> pa.Table:
            data = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
            return pa.table([pa.array(c, type=t) for c, t in zip(data, types, strict=True)], names=list(columns))

        whole, text = pa.int64(), pa.string()
        atoms = [(oid, *atom) for oid, atom in self.atoms.items()]
        tables = {
            EDGE: table(EDGE_COLUMNS, list(dict.fromkeys(self.edges)), (whole, text, whole, whole)),
            ATOM: table(ATOM_COLUMNS, atoms, (whole, text, text, pa.float64())),
            NAME: table(NAME_COLUMNS, list(self.names.items()), (text, whole)),
        }
        return OemObjects(tables, dict(self.names), max(self._used | {self._fresh}, default=0))


def read_oem(text: str) -> OemObjects:
    """A graph from its text; raises DataError with the line and column."""
    return _Reader(text).read()
