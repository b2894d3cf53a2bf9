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
    """A text with its comments blanked, cut into statements."""

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
    return _Scanner(source.text, lines).run()


class _Scanner:
    """One walk over a text."""

    def __init__(self, text: str, lines: Lines) -> None:
        self._text = text
        self._lines = lines
        self._kept: list[str] = []
        self._pieces: list[Piece] = []
        self._problems: list[Diagnostic] = []
        self._copied = 0  # text[:copied] is in `kept`, comments blanked
        self._start = 0  # where the current piece begins
        self._broken = False

    def run(self) -> Scan:
        position = 0
        while (match := _BOUNDARY.search(self._text, position)) is not None:
            position = self._boundary(match)
        self._cut(len(self._text))
        self._kept.append(self._text[self._copied :])
        return Scan("".join(self._kept), tuple(self._pieces), tuple(self._problems))

    def _boundary(self, match: re.Match[str]) -> int:
        """Take in what was found; the position to look on from."""
        begin, end = match.span()
        match match.lastgroup:
            case "comment":
                self._blank(begin, end)
            case "open_comment":
                self._report("HW104", "this comment is never closed", begin, begin + 2, "close it with `*/`")
                end = len(self._text)
                self._blank(begin, end)
            case "percent" if not _is_remainder(self._text, begin):
                end = _end_of_line(self._text, begin)
                self._blank(begin, end)
            case "open_string":
                message = f"this string is never closed on its line: `{self._text[begin]}` is missing"
                end = _end_of_line(self._text, begin)
                self._report("HW103", message, begin, end, r"a line break inside a string is written `\n`")
                self._broken = True
                self._blank(begin, end)
            case "include":
                self._cut(begin)
                self._cut(end)
            case "end":
                self._cut(end)
            case "more_ends":
                # The full stop behind a brace belongs to it; a row of full stops is one mistake, not many.
                first = match.end("end")
                stop = self._text.index(".", first) + 1 if match["end"] == "}" else first
                self._cut(stop)
                if stop < end:
                    self._cut(end)
        return end

    def _blank(self, begin: int, end: int) -> None:
        self._kept += (self._text[self._copied : begin], " " * (end - begin))
        self._copied = end

    def _cut(self, end: int) -> None:
        self._pieces.append(Piece(self._start, end, self._broken))
        self._start, self._broken = end, False

    def _report(self, code: str, message: str, begin: int, end: int, hint: str) -> None:
        self._problems.append(Diagnostic(code, message, self._lines.span(begin, end), hint=hint))


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
