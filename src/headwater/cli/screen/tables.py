"""Views and changes on the terminal: as wide as it is, and no longer than asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headwater.cli.screen.display import shown
from headwater.cli.screen.report import counted
from headwater.database import RelationChange
from headwater.files.write import with_a_column

_NARROWEST = 6
_STYLES = {"+": "green", "-": "red", "": ""}
_WIDE = 100_000  # where the output is no terminal, nothing is cut


def terminal() -> Console:
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)


def show_view(console: Console, name: str, rows: pa.Table, most: int) -> None:
    """A view with its first rows, in the order given; `most` is 0 for all."""
    console.print(Text.assemble((name, "bold"), f": {counted(rows.num_rows, 'row')}"))
    if not rows.num_rows:
        return
    shown = with_a_column(rows, name)
    cut = shown.slice(0, most) if most else shown
    lines = [_Line("", row) for row in zip(*(column.to_pylist() for column in cut.columns), strict=True)]
    console.print(_table(console, cut.schema, lines, header=True))
    _show_rest(console, rows.num_rows - cut.num_rows)


def show_change(console: Console, name: str, change: RelationChange, most: int) -> None:
    """What came (+) and what went (-), rows that are alike beside each other."""
    came, went = change.inserted.num_rows, change.deleted.num_rows
    console.print(Text.assemble("  ", (name, "bold"), f": {came:,} came, {went:,} went"))
    lines = sorted([*_marked("+", change.inserted, name), *_marked("-", change.deleted, name)], key=_order)
    cut = lines[:most] if most else lines
    if cut:
        console.print(_table(console, with_a_column(change.inserted, name).schema, cut, header=False))
    _show_rest(console, len(lines) - len(cut))


@dataclass(frozen=True, slots=True)
class _Line:
    mark: str  # "+", "-", or nothing
    row: tuple[Any, ...]


def _marked(mark: str, rows: pa.Table, name: str) -> Iterable[_Line]:
    columns = [column.to_pylist() for column in with_a_column(rows, name).columns]
    return (_Line(mark, row) for row in zip(*columns, strict=True))


def _order(line: _Line) -> tuple[Any, ...]:
    """Rows that agree on the columns before the first list or number are one thing that changed: old before new."""
    named = next(
        (at for at, value in enumerate(line.row) if not (value is None or isinstance(value, str))), len(line.row)
    )
    keys = [_null_first(value) for value in line.row]
    return (*keys[:named], (line.mark != "-", ""), *keys[named:])


def _null_first(value: Any) -> tuple[bool, Any]:
    return value is not None, json.dumps(value, default=str) if isinstance(value, list) else value


def _table(console: Console, schema: pa.Schema, lines: list[_Line], *, header: bool) -> Table:
    cells = [[shown(value) for value in line.row] for line in lines]
    heads = [shown(name) for name in schema.names]
    numbers = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in schema]
    mark = 0 if header else 3
    widths = [max(map(cell_len, column)) for column in zip(*cells, *([heads] if header else []), strict=True)]
    widths = _fitted(widths, numbers, console.width - 2 - mark)
    table = Table(box=None, pad_edge=False, show_header=header, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", width=mark, no_wrap=True, justify="right")
    for head, width, number in zip(heads, widths, numbers, strict=True):
        align: Literal["left", "right"] = "right" if number else "left"
        table.add_column(Text(head), justify=align, no_wrap=True, overflow="ellipsis", width=width)
    for line, row in zip(lines, cells, strict=True):
        style = _STYLES[line.mark]
        table.add_row(Text(line.mark, style), *(Text(cell, style) for cell in row))
    return table


def _fitted(widths: list[int], numbers: list[bool], room: int) -> list[int]:
    """Widths that fit the room: the widest gives way first, and a number never (half of one is another number)."""
    widths = list(widths)
    while sum(widths) + 2 * len(widths) > room:
        widest = max((at for at, number in enumerate(numbers) if not number), key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _show_rest(console: Console, count: int) -> None:
    if count > 0:
        console.print(Text(f"  ... {count:,} more", "dim"))
