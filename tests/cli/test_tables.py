"""Tables on a terminal: cut to its width, numbers never."""

from __future__ import annotations

import io

import pyarrow as pa
from rich.console import Console

from headwater.cli.screen.tables import show_change, show_view
from headwater.database import RelationChange

ROUTES = pa.table(
    {
        "from": ["lisbon"],
        "path": [["lisbon", "madrid", "barcelona", "milan", "vienna"]],
        "ms": [123456789],
        "é": ["日本"],
    }
)


def printed(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show_view(console, "fastest", ROUTES, 0)
    show_change(console, "fastest", RelationChange(ROUTES, ROUTES.slice(0, 0)), 0)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_what_fits_is_whole() -> None:
    path = "[lisbon, madrid, barcelona, milan, vienna]"
    assert [line.rstrip() for line in printed(80)] == [
        "fastest: 1 row",
        f"  from    {'path':{len(path)}}         ms  é",
        f"  lisbon  {path}  123456789  日本",
        "  fastest: 1 came, 0 went",
        f"  +  lisbon  {path}  123456789  日本",
    ]


def test_the_widest_column_gives_way_and_numbers_stay() -> None:
    for width in (30, 40, 50, 60):
        lines = printed(width)
        assert all(len(line) <= width for line in lines)
        assert "123456789" in lines[2]
        assert "…" in lines[2]
        assert "lisbon" in lines[2]
