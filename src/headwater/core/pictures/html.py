"""Tables, cards and trees that fold, as HTML with styles of its own: notebooks keep no style sheet of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.core.pictures.drawing import printable

_CAME, _WENT = "rgba(46,160,67,.16)", "rgba(248,81,73,.16)"
_CELL = "text-align:{side};padding:2px 10px;vertical-align:top"
_LONGEST = 500  # letters of a cell
_DEEPEST = 60  # a notebook has no room for trees that are deeper


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a tree: its text, what is said of it in small letters, and the numbers of the lines below it."""

    text: str
    note: str = ""
    below: tuple[int, ...] = ()
    strong: bool = False


def card(title: str, *parts: str, note: str = "") -> str:
    """Parts under a title."""
    said = f' <span style="opacity:.7">{printable(note)}</span>' if note else ""
    return f"<div><div><strong>{printable(title)}</strong>{said}</div>{''.join(parts)}</div>"


def rows_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers: Iterable[int] = (), left_out: int = 0
) -> str:
    """Rows under the names of their columns; `numbers` are the places of columns that stand on the right."""
    return _table(columns, (("", "", row) for row in rows), frozenset(numbers), left_out)


def change_rows(
    columns: Sequence[str], came: Iterable[Sequence[Any]], went: Iterable[Sequence[Any]], *, left_out: int = 0
) -> str:
    """Rows that went and came, marked by colour and by sign."""
    lines = [*(("−", _WENT, row) for row in went), *(("+", _CAME, row) for row in came)]
    return _table(("", *columns), ((sign, colour, (sign, *row)) for sign, colour, row in lines), frozenset(), left_out)


def _table(
    columns: Sequence[str], lines: Iterable[tuple[str, str, Sequence[Any]]], numbers: frozenset[int], left_out: int
) -> str:
    sides = ["right" if at in numbers else "left" for at in range(len(columns))]
    heads = "".join(
        f'<th scope="col" style="{_CELL.format(side=side)}">{printable(name)}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    body = []
    for _, colour, row in lines:
        style = f' style="background:{colour}"' if colour else ""
        cells = "".join(
            f'<td style="{_CELL.format(side=side)}">{_cell(value)}</td>' for value, side in zip(row, sides, strict=True)
        )
        body.append(f"<tr{style}>{cells}</tr>")
    more = f'<div style="opacity:.7">... and {left_out:,} more</div>' if left_out else ""
    head, rows = f"<thead><tr>{heads}</tr></thead>", f"<tbody>{''.join(body)}</tbody>"
    return f'<table style="border-collapse:collapse">{head}{rows}</table>{more}'


def _cell(value: Any) -> str:
    if value is None:
        return '<em style="opacity:.7">null</em>'
    if isinstance(value, list | tuple):
        text = f"[{', '.join(map(str, value))}]"
    else:
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def folded(lines: Sequence[Line], *, open_to: int = 4, most: int = 1_000) -> str:
    """The first line and what is below it as lists that fold. A line that was shown above is not unfolded again."""
    seen: set[int] = set()
    out: list[str] = []
    shown = 0
    pending: list[tuple[int, int] | str] = [(0, 0)]
    while pending:
        step = pending.pop()
        if isinstance(step, str):
            out.append(step)
            continue
        at, depth = step
        if shown >= most or depth > _DEEPEST:
            out.append('<div style="margin-left:1.2em;opacity:.7">...</div>')
            continue
        shown += 1
        line = lines[at]
        again = bool(line.below) and at in seen
        seen.add(at)
        if not line.below or again:
            out.append(f'<div style="margin-left:1.2em">{_said(line, again)}</div>')
            continue
        state = " open" if depth < open_to else ""
        out.append(f'<details{state} style="margin-left:1.2em"><summary>{_said(line, False)}</summary>')
        pending.append("</details>")
        pending.extend((child, depth + 1) for child in reversed(line.below))
    return "".join(out)


def _said(line: Line, again: bool) -> str:
    text = printable(line.text)
    text = f"<strong>{text}</strong>" if line.strong else text
    note = f"{line.note}  (proved above)".strip() if again else line.note
    return f'{text} <span style="opacity:.7">{printable(note)}</span>' if note else text
