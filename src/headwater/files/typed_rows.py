"""Raw columns to typed rows: types are guessed where none is declared, misfits set aside with their lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.border.intake import guess_type
from headwater.engine.codes.columns import plain
from headwater.files.header import Match
from headwater.files.rows import CHANGE_TYPE, CHANGE_TYPES, BadRows, Column, Expected, FileRows, Numbers, Problems
from headwater.program.types.inference import refined


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the raw values of a format become values of a type."""

    guess: Callable[[Column], Type | None]  # the type of a column without one
    convert: Callable[[Column, Type], tuple[Column, Problems]]  # its values, and where one does not fit
    missing: Callable[[Column, Type], npt.NDArray[np.bool_]]  # where it holds a null


def typed_rows(
    expected: Expected,
    found: Match,
    raw: Sequence[Column],
    change: Column | None,
    lines: Numbers,
    bad: BadRows,
    conversion: Conversion,
    notes: Sequence[str] = (),
) -> FileRows:
    """The rows that fit; the others are noted in `bad`. `change` is the column of change types, of a change file."""
    if found.ignored:
        notes = [f"{bad.file}: left out {', '.join(found.ignored)}: no column of `{expected.text}`", *notes]
    keep = np.ones(lines.size, dtype=np.bool_)
    reasons: dict[int, str] = {}
    types: list[Type | None] = []
    columns: list[Column] = []
    for place, (name, known, column) in enumerate(zip(expected.columns, expected.types, raw, strict=True)):
        kind = known or conversion.guess(column)
        types.append(kind)
        if kind is not None and place in expected.nullable:
            typed, problems = _around_nulls(column, kind, conversion)
        else:
            typed, problems = ([], {}) if kind is None else conversion.convert(column, kind)
        if kind is None and len(column):
            problems = dict.fromkeys(range(len(column)), "a null does not fit")
            typed = [None] * len(column)
        if kind is not None and not kind.is_known:
            types[-1] = refined(kind, guess_type([value for value in typed if value is not None]))
        for at, reason in problems.items():
            reasons.setdefault(at, f"column `{name}`: {reason}")
        columns.append(typed)
    inserts = None
    if change is not None:
        words = change if isinstance(change, list) else change.to_pylist()
        directions = [CHANGE_TYPES.get(word) if isinstance(word, str) else None for word in words]
        for at, direction in enumerate(directions):
            if direction is None:
                known_words = ", ".join(CHANGE_TYPES)
                reasons.setdefault(at, f"`{CHANGE_TYPE}` is {words[at]!r}, not one of {known_words}")
        inserts = np.array([bool(direction) for direction in directions], dtype=np.bool_)
    for at, reason in sorted(reasons.items()):
        keep[at] = False
        bad.reject(int(lines[at]), reason, _shown(raw, at))
    if reasons:
        columns = [_filtered(column, keep) for column in columns]
        lines = lines[keep]
        inserts = None if inserts is None else inserts[keep]
    return FileRows(
        expected.relation,
        bad.file,
        expected.columns,
        tuple(types),
        tuple(columns),
        lines,
        bad.sort(),
        inserts,
        tuple(notes),
    )


def _around_nulls(column: Column, kind: Type, conversion: Conversion) -> tuple[Column, Problems]:
    null = conversion.missing(column, kind)
    if not null.any():
        return conversion.convert(column, kind)
    typed, found = conversion.convert(_filtered(column, ~null), kind)
    places = np.flatnonzero(~null)
    problems = {int(places[at]): reason for at, reason in found.items()}
    if isinstance(typed, list):
        values = iter(typed)
        return [None if is_null else next(values) for is_null in null.tolist()], problems
    return typed.take(pa.array(np.cumsum(~null) - 1, mask=null)), problems


def _filtered(column: Column, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Column:
    if isinstance(column, list):
        return [value for value, kept in zip(column, keep.tolist(), strict=True) if kept]
    return column.filter(pa.array(keep))


def _shown(raw: Sequence[Column], at: int) -> str:
    values = (column[at] for column in raw)
    return ",".join(str(plain(value)) for value in values)
