"""Which column of a file holds which column of a relation.

By name where the file names all columns of the relation (letter case aside); else by position, if there are as
many and no name contradicts that. Columns beyond the relation's are left out only where names say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.files.rows import CHANGE_TYPE, FEED_COLUMNS, Expected, shortened


@dataclass(frozen=True, slots=True)
class Match:
    """The places of a relation's columns in a file."""

    places: tuple[int, ...]
    change: int | None  # the place of `_change_type`, in a change file
    ignored: tuple[str, ...]
    by_name: bool


class HeaderError(ValueError):
    """The file's columns are not those of the relation."""


def match(header: Sequence[str], expected: Expected, *, feed: bool) -> Match:
    given = [name.strip() for name in header]
    change = given.index(CHANGE_TYPE) if CHANGE_TYPE in given and CHANGE_TYPE not in expected.columns else None
    if feed and change is None:
        raise HeaderError(
            f"a change file needs a column `{CHANGE_TYPE}` (insert or delete); rows without one go to --input"
        )
    if not feed and change is not None:
        raise HeaderError(f"its column `{CHANGE_TYPE}` says that it holds changes; give it to --changes")
    beside = FEED_COLUMNS.difference(expected.columns) if feed else frozenset()
    own = [place for place, name in enumerate(given) if name not in beside]
    for fold in (str, str.casefold):
        places = {fold(given[place]): place for place in own}
        wanted = [fold(name) for name in expected.columns]
        if len(places) == len(own) and all(name in places for name in wanted):
            ignored = tuple(given[place] for place in own if fold(given[place]) not in wanted)
            return Match(tuple(places[name] for name in wanted), change, ignored, by_name=True)
    if len(own) != len(expected.columns):
        raise HeaderError(_counts(len(own), given, expected))
    _refuse_unordered(expected)
    _refuse_swapped([given[place] for place in own], expected)
    return Match(tuple(own), change, (), by_name=False)


def by_position(width: int, expected: Expected, *, feed: bool) -> Match:
    """The match of a row without names: its columns in the relation's order, behind the change type, if any."""
    _refuse_unordered(expected)
    if width != len(expected.columns) + feed:
        raise HeaderError(_counts(width - feed, (), expected))
    return Match(tuple(range(int(feed), width)), 0 if feed else None, (), by_name=False)


def _counts(count: int, given: Sequence[str], expected: Expected) -> str:
    listed = f" ({shortened(', '.join(given), 80)})" if given else ""
    text = f"{count} column{'' if count == 1 else 's'}{listed} for `{expected.text}`"
    if count == 1 and any(mark in name for name in given for mark in ";\t|"):
        return f"{text}; separate the columns by commas"
    return text


def _refuse_unordered(expected: Expected) -> None:
    if not expected.ordered:
        raise HeaderError(
            f"the order of the columns of `{expected.relation}` is not known: name them "
            f"({', '.join(expected.columns)}), or declare the table, CREATE TABLE {expected.relation} (...)"
        )


def _refuse_swapped(given: Sequence[str], expected: Expected) -> None:
    if not expected.declared:
        return
    for place, name in enumerate(given):
        if name in expected.columns and expected.columns.index(name) != place:
            raise HeaderError(
                f"columns {', '.join(given)} do not name those of `{expected.text}`, and `{name}` stands in another "
                "place; name all of them"
            )
