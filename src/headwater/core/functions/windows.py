"""Window functions over the rows of one partition, a list of `[sort key, number of the row, value, other]`.

    windowed_ints(rows, "rank")                    windowed_same(rows, "sum rows -2 0")

Each gives a list with one item per row, in the order of the sort keys; `window_rows` gives the numbers of the rows in
that order. Rows of equal sort keys are peers; those that must be told apart go by their numbers. `other`, which may
be left out, is what `lag` and `lead` give where there is no row, or the value that a RANGE measures its distance by.

The second argument says what to compute: the function, a number that goes with it, whether nulls are skipped, and the
frame, which is `rows`, `groups` or `range` with its bounds, `-` for none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from headwater.core.errors import EvaluationError
from headwater.core.functions.function import plain
from headwater.core.types import Type, list_of
from headwater.core.widening import item_of

_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class _Spec:
    """What to compute for each row: see the module. Bounds of a frame count from the row itself; None: no bound."""

    function: str
    number: int
    skips_nulls: bool
    unit: str
    low: float | None
    high: float | None
    descending: bool


@lru_cache(maxsize=256)
def _read(text: str) -> _Spec:
    function, number, nulls, unit, low, high, direction = text.split()
    bounds = [None if bound == "-" else float(bound) if "." in bound else int(bound) for bound in (low, high)]
    return _Spec(function, int(number), nulls == "skip", unit, bounds[0], bounds[1], direction == "desc")


class _Rows:
    """The rows of a partition in order, and who their peers are."""

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self.rows = sorted(rows, key=itemgetter(0, 1))
        self.values = [row[2] for row in self.rows]
        self.others: list[Any] = [row[3] if len(row) > 3 else None for row in self.rows]
        self.first: list[int] = []  # for each row, where its peers begin
        self.last: list[int] = []  # and behind which row they end
        self.group: list[int] = []  # the number of their group, from 0
        self.starts: list[int] = []
        for number, (_, peers) in enumerate(groupby(self.rows, key=itemgetter(0))):
            begin, count = len(self.first), sum(1 for _ in peers)
            self.starts.append(begin)
            self.first += [begin] * count
            self.last += [begin + count] * count
            self.group += [number] * count

    def __len__(self) -> int:
        return len(self.rows)

    def frames(self, spec: _Spec) -> list[tuple[int, int]]:
        """For each row where its frame begins, and behind which row it ends."""
        match spec.unit:
            case "rows":
                found = [self._by_place(at, spec) for at in range(len(self))]
            case "groups":
                found = [self._by_group(at, spec) for at in range(len(self))]
            case _:
                found = self._by_distance(spec)
        return [(low, max(low, high)) for low, high in found]

    def _by_place(self, at: int, spec: _Spec) -> tuple[int, int]:
        low = 0 if spec.low is None else min(max(0, at + int(spec.low)), len(self))
        high = len(self) if spec.high is None else min(max(0, at + int(spec.high) + 1), len(self))
        return low, high

    def _by_group(self, at: int, spec: _Spec) -> tuple[int, int]:
        edges = [*self.starts, len(self)]
        groups = len(self.starts)
        low = 0 if spec.low is None else edges[min(max(0, self.group[at] + int(spec.low)), groups)]
        high = len(self) if spec.high is None else edges[min(max(0, self.group[at] + int(spec.high) + 1), groups)]
        return low, high

    def _by_distance(self, spec: _Spec) -> list[tuple[int, int]]:
        """A bound of 0 is that of the peers; any other measures how far values lie apart, and nulls are peers alone."""
        low = [0 if spec.low is None else self.first[at] for at in range(len(self))]
        high = [len(self) if spec.high is None else self.last[at] for at in range(len(self))]
        if not spec.low and not spec.high:
            return list(zip(low, high, strict=True))
        sign = -1 if spec.descending else 1
        known = [at for at, other in enumerate(self.others) if other is not None]
        measures = [sign * self.others[at] for at in known]
        begin = known[0] if known else 0
        for at, measure in zip(known, measures, strict=True):
            if spec.low:
                low[at] = begin + bisect_left(measures, measure + spec.low)
            if spec.high:
                high[at] = begin + bisect_right(measures, measure + spec.high)
        return list(zip(low, high, strict=True))


def _ranked(rows: _Rows, spec: _Spec) -> list[Any]:
    count = len(rows)
    match spec.function:
        case "row_number":
            return list(range(1, count + 1))
        case "rank":
            return [first + 1 for first in rows.first]
        case "dense_rank":
            return [number + 1 for number in rows.group]
        case "ntile":
            large, rest = divmod(count, spec.number)
            wide = rest * (large + 1)
            return [
                at // (large + 1) + 1 if at < wide else rest + (at - wide) // max(large, 1) + 1 for at in range(count)
            ]
        case "percent_rank":
            return [first / (count - 1) if count > 1 else 0.0 for first in rows.first]
        case _:  # cume_dist
            return [last / count for last in rows.last]


def _shifted(rows: _Rows, spec: _Spec) -> list[Any]:
    """`lag` and `lead`: the value some rows before or behind, else the other one."""
    step = -spec.number if spec.function == "lag" else spec.number
    if spec.skips_nulls:
        return [_shifted_past_nulls(rows, at, step) for at in range(len(rows))]
    return [rows.values[at + step] if 0 <= at + step < len(rows) else rows.others[at] for at in range(len(rows))]


def _shifted_past_nulls(rows: _Rows, at: int, step: int) -> Any:
    if not step:
        return rows.values[at]
    way = range(at - 1, -1, -1) if step < 0 else range(at + 1, len(rows))
    found = [place for place in way if rows.values[place] is not None][: abs(step)]
    return rows.values[found[-1]] if len(found) == abs(step) else rows.others[at]


def _picked(rows: _Rows, spec: _Spec) -> list[Any]:
    """`first_value`, `last_value` and `nth_value` of the frame."""
    found = []
    for low, high in rows.frames(spec):
        inside = rows.values[low:high] if spec.skips_nulls else rows.values
        begin, end = (0, len(inside)) if spec.skips_nulls else (low, high)
        if spec.skips_nulls:
            inside = [value for value in inside if value is not None]
            end = len(inside)
        place = end - 1 if spec.function == "last_value" else begin + spec.number - 1
        found.append(inside[place] if begin <= place < end else None)
    return found


def _aggregated(rows: _Rows, spec: _Spec) -> list[Any]:
    """`count`, `sum`, `avg`, `min` and `max` of the frame. A frame that begins with the partition only ever grows."""
    step, finish = _STEPS[spec.function]
    frames = rows.frames(spec)
    found: list[Any] = []
    kept: Any = None
    done = 0
    for low, high in frames:
        if spec.low is not None:
            kept, done = None, low
        for value in rows.values[done:high]:
            if value is not None:
                kept = step(kept, value)
        done = high
        found.append(finish(kept))
    return found


def _whole(value: Any) -> Any:
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise EvaluationError("a sum OVER a window does not fit into 64 bits; cast to DOUBLE first")
    return value


_STEPS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "count": (lambda kept, _: (kept or 0) + 1, lambda kept: kept or 0),
    "sum": (lambda kept, value: value if kept is None else kept + value, _whole),
    "avg": (
        lambda kept, value: (value, 1) if kept is None else (kept[0] + value, kept[1] + 1),
        lambda kept: None if kept is None else kept[0] / kept[1],
    ),
    "min": (lambda kept, value: value if kept is None or value < kept else kept, lambda kept: kept),
    "max": (lambda kept, value: value if kept is None or value > kept else kept, lambda kept: kept),
}
_WAYS: dict[str, Callable[[_Rows, _Spec], list[Any]]] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "ntile", "percent_rank", "cume_dist"), _ranked),
    **dict.fromkeys(("lag", "lead"), _shifted),
    **dict.fromkeys(("first_value", "last_value", "nth_value"), _picked),
    **dict.fromkeys(_STEPS, _aggregated),
}


def windowed(rows: Sequence[tuple[Any, ...]], text: str) -> tuple[Any, ...]:
    """One value per row, in order."""
    spec = _read(text)
    return tuple(_WAYS[spec.function](_Rows(rows), spec))


def _numbers(rows: Sequence[tuple[Any, ...]]) -> tuple[int, ...]:
    return tuple(row[1] for row in sorted(rows, key=itemgetter(0, 1)))


def _of_values(types: tuple[Type | None, ...]) -> Type:
    row = None if types[0] is None else item_of(types[0])
    return list_of(None if row is None else row.part(2))


_ASKED = (Type.LIST, Type.STRING)
WINDOWS = (
    plain("window_rows", (Type.LIST,), list_of(Type.INT), _numbers, "the numbers of the rows of a partition, in order"),
    plain("windowed_ints", _ASKED, list_of(Type.INT), windowed, "a window function of SQL that gives whole numbers"),
    plain("windowed_floats", _ASKED, list_of(Type.FLOAT), windowed, "a window function of SQL that gives floats"),
    plain("windowed_same", _ASKED, None, windowed, "a window function of SQL that gives values", typing=_of_values),
)
