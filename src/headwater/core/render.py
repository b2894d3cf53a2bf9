"""A diagnostic as the text a person reads: what is wrong, where, the line with carets under it, and a way out.

The text is safe to print: control characters of the program never reach the terminal. Carets stand
under what they point at also behind tabs and wide characters, and a very long line is cut to a window
around them. A span over several lines is marked up to the end of its first line.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span

_WINDOW = 100
_LEAD = 40  # how much of a long line is shown before the caret
_TAB = "    "
_CUT = "..."


def render(diagnostic: Diagnostic) -> str:
    lines = [f"{diagnostic.severity.value}[{diagnostic.code}]: {_printable(diagnostic.message)}"]
    if diagnostic.span is not None:
        lines += _excerpt(diagnostic.span)
    lines += _remark("note", diagnostic.note)
    lines += _remark("hint", diagnostic.hint)
    return "\n".join(lines)


def _excerpt(span: Span) -> list[str]:
    text = span.source.text
    first = text.rfind("\n", 0, span.start) + 1
    last = text.find("\n", span.start)
    line = text[first : last if last >= 0 else len(text)].rstrip("\r")
    begin = min(span.start - first, len(line))
    end = max(begin, min(span.end - first, len(line)))

    cut = 0 if len(line) <= _WINDOW else max(0, min(begin - _LEAD, len(line) - _WINDOW))
    stop = min(len(line), cut + _WINDOW)
    before = (_CUT if cut else "") + _printable(line[cut:begin])
    marked = _printable(line[begin : min(end, stop)])
    after = _printable(line[min(end, stop) : stop]) + (_CUT if stop < len(line) else "")

    number = f"{span.line:>4}"
    carets = " " * _width(before) + "^" * max(1, _width(marked))
    return [
        f"  --> {_printable(span.source.name)}:{span.line}:{span.column}",
        f"{number} | {before}{marked}{after}".rstrip(),
        f"{' ' * len(number)} | {carets}",
    ]


def _remark(word: str, text: str | None) -> list[str]:
    if text is None:
        return []
    indent = " " * len(f"  {word}: ")
    first, *rest = text.split("\n")
    return [f"  {word}: {_printable(first)}", *(f"{indent}{_printable(line)}" for line in rest)]


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _TAB if c == "\t" else " " if c == "\n" else "\ufffd" for c in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A finding for editors: lines and columns count from 1, `length` is in characters."""
    span = diagnostic.span
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "file": span.source.name if span else None,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "length": span.end - span.start if span else None,
        "note": diagnostic.note,
        "hint": diagnostic.hint,
    }
