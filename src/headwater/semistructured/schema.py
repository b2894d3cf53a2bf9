"""The base relations of a document store: whoever reads documents writes these rows, every view's rules read them.

A document is a graph of objects, as in OEM (001, section 2.1). An object has an id. A complex object has labelled
edges to other objects, an atomic object has a value, and a name is an entry point.

`edge(parent, label, child, place)`: `place` is the index inside a JSON array, -1 otherwise: so a document comes out
with an array of one item where one went in. It is part of no key but the whole row.

`atom(oid, kind, text, number)`: one row per atomic object. `text` is the value as text: null for a JSON null, `true`
and `false` for booleans, ISO 8601 for times, digits without leading zeros for ints. `number` is the value as a
number where the kind is int or real, or where a string reads as one; of a time it is the seconds since 1970; else it
is null. With these two columns, Lorel's forgiving comparisons (5 = "5" = 5.0) are comparisons of columns.

`name(name, oid)`: the entry points.

Two promises make equality cheap: equal texts (not null) mean equal values, and two ints are equal only if their texts
are, because a float does not hold every int above 2^53.
"""

from __future__ import annotations

import math
import re
from typing import Final

EDGE: Final = "edge"
ATOM: Final = "atom"
NAME: Final = "name"

EDGE_COLUMNS: Final = ("parent", "label", "child", "place")
ATOM_COLUMNS: Final = ("oid", "kind", "text", "number")
NAME_COLUMNS: Final = ("name", "oid")

INT: Final = "int"
REAL: Final = "real"
STRING: Final = "string"
BOOL: Final = "bool"
NULL: Final = "null"
TIME: Final = "time"
KINDS: Final = (INT, REAL, STRING, BOOL, NULL, TIME)

DECLARATIONS: Final = """\
relation edge(parent: int, label: string, child: int, place: int) optional.
relation atom(oid: int, kind: string, text: string?, number: float?) key(oid) optional.
relation name(name: string, oid: int) optional.
"""
"""All three are optional: a store without names, edges or atoms is a store."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def number_of(text: str) -> float | None:
    """The number that a string reads as: decimal, without spaces, and finite. Else None."""
    if not text or text[0] not in "+-.0123456789" or _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None
