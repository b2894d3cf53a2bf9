"""The SQL examples compile, and give what their comments promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

FOLDER = Path(__file__).parents[2] / "examples"
SHORTEST = ({"a": 3, "b": 1, "c": 2}, {"a": 2, "b": 3, "c": 1}, {"a": 1, "b": 2, "c": 3})  # from a, b and c
ROWS: dict[str, tuple[dict[str, list[Any]], list[dict[str, Any]]]] = {
    "org_chart": (
        {"employee": [("ann", None), ("bob", "ann"), ("cat", "bob"), ("dan", "bob")]},
        [{"boss": "ann", "people": 3}, {"boss": "bob", "people": 2}],
    ),
    "reachability": (
        {"link": [{"src": "a", "dst": "b"}, {"src": "b", "dst": "a"}]},
        [{"src": x, "dst": y} for x in "ab" for y in "ab"],
    ),
    "shortest_roads": (
        {"road": [("a", "b", 1), ("b", "c", 1), ("a", "c", 3), ("c", "a", 1)]},
        [{"src": x, "dst": y, "km": km} for x, row in zip("abc", SHORTEST, strict=True) for y, km in row.items()],
    ),
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sql")), ids=lambda path: path.stem)
def test_it_gives_what_it_says(path: Path) -> None:
    rows, expected = ROWS[path.stem]
    db = hw.Database(hw.compile_file(path))
    db.apply(insert=rows)
    (view,) = db.program.outputs
    found = db.table(view).to_pylist()
    assert (found if db.is_ordered(view) else sorted(found, key=lambda row: tuple(row.values()))) == expected
