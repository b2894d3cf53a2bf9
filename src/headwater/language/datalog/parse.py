"""Text to syntax tree: plain Datalog, Network Datalog and Streamlog in one grammar.

Any text gives a tree or a `SyntaxProblem` that lists its mistakes; parsing takes time linear in the
length of the text. `#include`s are resolved here, so that the tree holds rules, declarations and
queries only. The trees are shallow: no term is nested deeper than `DEEPEST`, so that later stages may
recurse over them without a care.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from threading import Lock

from lark import Lark, UnexpectedInput

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.language.datalog.build import Builder
from headwater.language.datalog.depth import DEEPEST, too_deep
from headwater.language.datalog.include import Reader, read_file, resolve
from headwater.language.datalog.mistakes import begins_statement, explain
from headwater.language.datalog.scan import Piece, scan
from headwater.language.lines import Lines
from headwater.language.stops import stop_of
from headwater.language.syntax import Include, Statement, Tree

# A text that is not a program at all can be wrong in every line: the first findings are enough.
MOST_PROBLEMS = 50

_ONE_AT_A_TIME = Lock()  # the grammar's tables are shared, and its builder is bound to them


def parse(source: Source, read: Reader = read_file) -> Tree:
    """The tree of a text. `read` finds included files, relative to the one that includes them."""
    statements, problems = resolve(source, read, parse_statements)
    if problems:
        raise SyntaxProblem(tuple(problems[:MOST_PROBLEMS]))
    return Tree(tuple(statements))


def parse_statements(source: Source) -> tuple[list[Statement | Include], list[Diagnostic]]:
    """The statements of one text, includes unresolved, and what is wrong with the others."""
    lines = Lines(source)
    scanned = scan(source, lines)
    problems = list(scanned.problems)
    statements: list[Statement | Include] = []
    for piece in scanned.pieces:
        if len(problems) >= MOST_PROBLEMS:
            break
        if not piece.broken:
            _parse_piece(lines, scanned.code, piece, statements, problems)
    problems.sort(key=lambda problem: problem.span.start if problem.span else 0)
    return statements, problems


def _parse_piece(
    lines: Lines, code: str, piece: Piece, statements: list[Statement | Include], problems: list[Diagnostic]
) -> None:
    """One statement; or several, where the full stops between them are missing."""
    start = piece.start
    while len(problems) < MOST_PROBLEMS and not _is_blank(text := code[start : piece.end]):
        try:
            found, mistakes = _parse_one(lines, start, text)
        except UnexpectedInput as error:
            stop = stop_of(error, code, start, piece.end, sure=False)
            problems.append(explain(lines, stop))
            if not begins_statement(lines, stop):
                return
            start = stop.position
            continue
        problems += mistakes
        if not mistakes:
            statements += found
            problems += too_deep(found, len(text))
        return


def _is_blank(text: str) -> bool:
    return not text.strip() or text.strip() == "\ufeff"


def _parse_one(lines: Lines, offset: int, text: str) -> tuple[list[Statement | Include], list[Diagnostic]]:
    with _ONE_AT_A_TIME:
        grammar, builder = _grammar()
        builder.turn_to(lines, offset)
        found: list[Statement | Include] = grammar.parse(text)  # type: ignore[assignment]
        return found, builder.finish()


@cache
def _grammar() -> tuple[Lark, Builder]:
    builder = Builder()
    text = (files("headwater.language.datalog") / "datalog.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", start="statement", transformer=builder), builder


__all__ = ["DEEPEST", "MOST_PROBLEMS", "parse", "parse_statements"]
