"""Cuts a text into statements before the grammar sees it.

Comments become blanks of the same length, so that every position still points into the text as
written. A statement ends at its full stop, at a closing brace or behind an `#include`. Because
each statement is parsed alone, one mistake does not hide the next.

Comments are `%` and `//` to the end of the line, `/* */`, and a line that starts with `#` and a blank.
A `%` is the remainder operator where an operand stands before it on its line and a variable, a number
or a bracket behind it, as in `X = Y % 2`; everywhere else it opens a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Source
from headwater.language.lines import Lines


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement, or blanks: `code[start:end]`. A broken piece holds an unclosed string and is not parsed."""

    start: int
    end: int
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    code: str
    pieces: tuple[Piece, ...]
    problems: tuple[Diagnostic, ...]


_BOUNDARY = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*(?s:.*?)\*/ | ^[ \t\ufeff]*\#(?:[ \t][^\n]*|\r?$) )
  | (?P<open_comment> /\* )
  | (?P<percent> % )
  | (?P<string> "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*" | (?<!\w)'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*' | `[^`\n]*` )
  | (?P<open_string> ["`] | (?<!\w)' )
  | (?P<number> (?<![\w.])[0-9]+(?:\.[0-9]+)+ )
  | (?P<include> ^[ \t\ufeff]*\#include\b [ \t]*
        (?: (?:"[^"\n]*"|'[^'\n]*') (?:[ \t]*\([^()]*\))? | \([^()]*\) | [^\n]* ) [ \t]*\.? )
  | (?P<end> [.}] )(?P<more_ends> [\s.]*\. )?
    """,
    re.VERBOSE | re.MULTILINE,
)
_OPERAND_AFTER = re.compile(
    r"%[ \t]*(?:\(|[a-z]\w*\(|(?:[A-Z]\w*(?:'\w+)*|_\w+|[0-9]+(?:\.[0-9]+)?)[ \t]*(?:[-+*/%,).\]|<>=!≠≤≥:}]|\r?$))",
    re.MULTILINE,
)


def scan(source: Source, lines: Lines) -> Scan:
    text = source.text
    kept: list[str] = []
    pieces: list[Piece] = []
    problems: list[Diagnostic] = []
    copied = 0  # text[:copied] is in `kept`, comments blanked
    start = 0  # where the current piece begins
    position = 0
    broken = False

    def blank(begin: int, end: int) -> None:
        nonlocal copied
        kept.append(text[copied:begin])
        kept.append(" " * (end - begin))
        copied = end

    def cut(end: int) -> None:
        nonlocal start, broken
        pieces.append(Piece(start, end, broken))
        start, broken = end, False

    while (match := _BOUNDARY.search(text, position)) is not None:
        begin, position = match.span()
        match match.lastgroup:
            case "comment":
                blank(begin, position)
            case "open_comment":
                problems.append(
                    Diagnostic(
                        "HW104", "this comment is never closed", lines.span(begin, begin + 2), hint="close it with `*/`"
                    )
                )
                position = len(text)
                blank(begin, position)
            case "percent" if not _is_remainder(text, begin):
                position = _end_of_line(text, begin)
                blank(begin, position)
            case "open_string":
                quote = text[begin]
                end = _end_of_line(text, begin)
                problems.append(
                    Diagnostic(
                        "HW103",
                        f"this string is never closed on its line: `{quote}` is missing",
                        lines.span(begin, end),
                        hint=r"a line break inside a string is written `\n`",
                    )
                )
                broken = True
                position = end
                blank(begin, end)
            case "include":
                cut(begin)
                cut(position)
            case "end":
                cut(position)
            case "more_ends":
                # The full stop behind a brace belongs to it; a row of full stops is one mistake, not many.
                first = match.end("end")
                stop = text.index(".", first) + 1 if match["end"] == "}" else first
                cut(stop)
                if stop < position:
                    cut(position)
            case _:
                pass
    pieces.append(Piece(start, len(text), broken))
    kept.append(text[copied:])
    return Scan("".join(kept), tuple(pieces), tuple(problems))


def _is_remainder(text: str, percent: int) -> bool:
    before = percent - 1
    while before >= 0 and text[before] in " \t":
        before -= 1
    if before < 0 or not (text[before].isalnum() or text[before] in "_)]"):
        return False
    return _OPERAND_AFTER.match(text, percent) is not None


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return end if end >= 0 else len(text)
