"""The SQL examples compile, and give what their comments promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

FOLDER = Path(__file__).parents[2] / "examples"
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
        [
            {"src": x, "dst": y, "km": km}
            for x, y, km in [
                ("a", "a", 3),
                ("a", "b", 1),
                ("a", "c", 2),
                ("b", "a", 2),
                ("b", "b", 3),
                ("b", "c", 1),
                ("c", "a", 1),
                ("c", "b", 2),
                ("c", "c", 3),
            ]
        ],
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
