"""The net effect of an ordered feed of changes, so that it can be applied as one transaction.

The last change of a row wins. In a relation with a key an insert also replaces the row with its key, so the changes
of a key are followed in order. In one that counts equal rows every change moves the count by one, and never below 0. In
a stream all rows count: time decides between them, not their order, and only a delete removes what came before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Row = tuple[Any, ...]


@dataclass(slots=True)
class Net:
    """Positions in the feed of the rows to insert and to delete; keys whose rows must go: in a stream, those up to the
    given time."""

    inserts: list[int] = field(default_factory=list)
    deletes: list[int] = field(default_factory=list)
    cleared: dict[Row, Any] = field(default_factory=dict)


def is_cleared(until: Any, time: Any) -> bool:
    """Whether a row of this time, with a cleared key, goes."""
    return until is None or time is None or bool(time <= until)


def net(
    rows: Sequence[Row],
    inserts: Sequence[bool],
    key: tuple[int, ...] | None,
    *,
    counted: bool = False,
    time: int | None = None,
) -> Net:
    """The deletes come before the inserts. Where equal rows are `counted`, a position stands once per copy. `time` is
    the column with a row's time, of a stream."""
    if counted:
        return _by_count(rows, inserts)
    if time is not None:
        return _by_time(rows, inserts, key, time)
    return _by_row(rows, inserts) if key is None else _by_key(rows, inserts, key)


def _by_count(rows: Sequence[Row], inserts: Sequence[bool]) -> Net:
    """From c copies on, a feed leads to max(c + sum, left) copies, where `left` is what it leads to from none.

    Deleting `left - sum` copies and then inserting `left` leads there, too, whatever c is.
    """
    last: dict[Row, int] = {}
    left: Counter[Row] = Counter()
    total: Counter[Row] = Counter()
    for at, (row, insert) in enumerate(zip(rows, inserts, strict=True)):
        last[row] = at
        step = 1 if insert else -1
        total[row] += step
        left[row] = max(0, left[row] + step)
    found = Net()
    for row, at in last.items():
        found.inserts += [at] * left[row]
        found.deletes += [at] * (left[row] - total[row])
    return found


def _by_row(rows: Sequence[Row], inserts: Sequence[bool]) -> Net:
    last = {row: at for at, row in enumerate(rows)}
    found = Net()
    for at in last.values():
        (found.inserts if inserts[at] else found.deletes).append(at)
    return found


class _Held(Enum):
    BEFORE = "what was there before the feed"
    NOTHING = "nothing"


@dataclass(slots=True)
class _Story:
    held: _Held | int = _Held.BEFORE
    deleted: dict[Row, int] = field(default_factory=dict)


def _by_key(rows: Sequence[Row], inserts: Sequence[bool], key: tuple[int, ...]) -> Net:
    stories: dict[Row, _Story] = {}
    for at, row in enumerate(rows):
        story = stories.setdefault(tuple(row[place] for place in key), _Story())
        if inserts[at]:
            story.held = at
        elif story.held is _Held.BEFORE:
            story.deleted[row] = at
        elif isinstance(story.held, int) and rows[story.held] == row:
            story.held = _Held.NOTHING
    found = Net()
    for values, story in stories.items():
        found.deletes.extend(story.deleted.values())
        if isinstance(story.held, int):
            found.inserts.append(story.held)
        elif story.held is _Held.NOTHING:
            found.cleared[values] = None
    return found


@dataclass(slots=True)
class _Versions:
    """What came since the last delete of a row of a stream, or of the rows with one key."""

    newest: int | None = None
    inserted: list[int] = field(default_factory=list)
    deleted: dict[Row, int] = field(default_factory=dict)
    until: Any = None  # rows up to this time had been replaced when their successor was deleted


def _by_time(rows: Sequence[Row], inserts: Sequence[bool], key: tuple[int, ...] | None, time: int) -> Net:
    identities = [row[:time] + row[time + 1 :] for row in rows]
    stories: dict[Row, _Versions] = {}
    for at, row in enumerate(rows):
        group = identities[at] if key is None else tuple(row[place] for place in key)
        story = stories.setdefault(group, _Versions())
        if inserts[at]:
            story.inserted.append(at)
            if story.newest is None or rows[story.newest][time] <= row[time]:
                story.newest = at
            continue
        story.deleted[identities[at]] = at
        if story.newest is not None and identities[story.newest] == identities[at]:
            story.until = rows[story.newest][time]
            story.newest, story.inserted = None, []
    found = Net()
    for group, story in stories.items():
        found.inserts.extend(story.inserted)
        found.deletes.extend(story.deleted.values())
        if key is not None and story.until is not None:
            found.cleared[group] = story.until
    return found
