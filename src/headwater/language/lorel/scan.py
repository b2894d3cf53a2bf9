"""Cuts a text of Lorel into statements before the grammar sees it.

A statement ends with `;`. Comments (`-- ...`, `// ...`, `/* ... */`) become blanks of the same length, so that
every position still points into the text as written. Because each statement is parsed alone, one mistake does not
hide the next.
"""

from __future__ import annotations

import re

from headwater.core.diagnostics import Diagnostic
from headwater.language.datalog.scan import Piece, Scan
from headwater.language.lines import Lines

_BOUNDARY = re.compile(
    r"""
    (?P<comment> (?://|--)[^\n]* | /\*(?s:.*?)\*/ )
  | (?P<open_comment> /\* )
  | (?P<string> "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"
      | (?<!\w)(?<!')'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*' | `[^`\n]*` | “[^”\n]*” )
  | (?P<open_string> ["`“] | (?<!\w)(?<!')' )
  | (?P<end> ; )
    """,
    re.VERBOSE,
)


def scan_lorel(text: str, lines: Lines) -> Scan:
    kept: list[str] = []
    pieces: list[Piece] = []
    problems: list[Diagnostic] = []
    copied = start = position = 0
    broken = False
    while (found := _BOUNDARY.search(text, position)) is not None:
        begin, position = found.span()
        kind = found.lastgroup
        if kind == "end":
            pieces.append(Piece(start, begin, broken))
            start, broken = position, False
            continue
        if kind == "string":
            continue
        if kind == "open_comment":
            span = lines.span(begin, begin + 2)
            problems.append(Diagnostic("HW104", "this comment is never closed", span, hint="close it with `*/`"))
            position = len(text)
        elif kind == "open_string":
            line_end = text.find("\n", begin)
            position = line_end if line_end >= 0 else len(text)
            message = f"this string is never closed on its line: `{text[begin]}` is missing"
            hint = r"a line break inside a string is written `\n`"
            problems.append(Diagnostic("HW103", message, lines.span(begin, position), hint=hint))
            broken = True
        kept += (text[copied:begin], " " * (position - begin))
        copied = position
    kept.append(text[copied:])
    pieces.append(Piece(start, len(text), broken))
    return Scan("".join(kept), tuple(pieces), tuple(problems))
