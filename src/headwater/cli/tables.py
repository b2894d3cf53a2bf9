"""Views and changes on the terminal: as wide as it is, and no longer than asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headwater.cli.report import counted
from headwater.cli.shown import shown
from headwater.database import RelationChange
from headwater.files.write import in_order, with_a_column

_WIDE = 100_000  # where nobody watches, nothing is cut


def terminal() -> Console:
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)


def show_view(console: Console, name: str, rows: pa.Table, most: int) -> None:
    """A view with its first rows; `most` is 0 for all."""
    console.print(Text.assemble((name, "bold"), f": {counted(rows.num_rows, 'row')}"))
    if not rows.num_rows:
        return
    shown = with_a_column(in_order(rows), name)
    cut = shown.slice(0, most) if most else shown
    table = _table(shown.schema)
    for row in zip(*(column.to_pylist() for column in cut.columns), strict=True):
        table.add_row("", *map(_cell, row))
    console.print(table)
    _show_rest(console, rows.num_rows - cut.num_rows)


def show_change(console: Console, name: str, change: RelationChange, most: int) -> None:
    """What came (+) and what went (-), rows that are alike beside each other."""
    came, went = change.inserted.num_rows, change.deleted.num_rows
    console.print(Text.assemble("  ", (name, "bold"), f": {came:,} came, {went:,} went"))
    marked = sorted([*_marked("+", change.inserted, name), *_marked("-", change.deleted, name)], key=_order)
    table = _table(with_a_column(change.inserted, name).schema, header=False)
    shown = marked[:most] if most else marked
    for mark, row in shown:
        style = "green" if mark == "+" else "red"
        table.add_row(Text(mark, style), *(Text(_cell(value).plain, style) for value in row))
    if shown:
        console.print(table)
    _show_rest(console, len(marked) - len(shown))


def _marked(mark: str, rows: pa.Table, name: str) -> Iterable[tuple[str, tuple[Any, ...]]]:
    columns = [column.to_pylist() for column in with_a_column(rows, name).columns]
    return ((mark, row) for row in zip(*columns, strict=True))


def _order(marked: tuple[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    """Rows that agree on the columns before the first list or number are one thing that changed: old before new."""
    mark, row = marked
    named = next((at for at, value in enumerate(row) if not isinstance(value, str)), len(row))
    rest = (json.dumps(value, default=str) if isinstance(value, list) else value for value in row[named:])
    return (*row[:named], mark != "-", *rest)


def _table(schema: pa.Schema, *, header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, show_header=header, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", width=3 if not header else 0, no_wrap=True, justify="right")
    for field in schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        table.add_column(
            Text(field.name), justify="right" if number else "left", no_wrap=True, overflow="ellipsis", min_width=1
        )
    return table


def _show_rest(console: Console, count: int) -> None:
    if count > 0:
        console.print(Text(f"  ... {count:,} more", "dim"))


def _cell(value: Any) -> Text:
    return Text(shown(value))
