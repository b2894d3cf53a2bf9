"""Lorel text to a syntax tree.

Any text gives a tree or a `SyntaxProblem` that lists its mistakes; parsing takes time linear in the length of the
text. No node is nested deeper than `DEEPEST`, so that later stages may recurse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any

from lark import Lark, UnexpectedInput

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source, Span
from headwater.language.datalog.depth import DEEPEST
from headwater.language.lines import Lines
from headwater.language.lorel import tree
from headwater.language.lorel.build import LorelBuilder
from headwater.language.lorel.mistakes import explain_stop
from headwater.language.lorel.scan import scan_lorel
from headwater.language.stops import stop_of

MOST_FINDINGS = 50  # a text that is not Lorel at all can be wrong in every statement

_ONE_AT_A_TIME = Lock()  # the grammar's tables are shared, and its builder is bound to them


def parse_lorel(source: Source | str) -> tree.LorelTree:
    """The tree of a text; raises SyntaxProblem."""
    if isinstance(source, str):
        source = Source("<text>", source)
    lines = Lines(source)
    scanned = scan_lorel(source.text, lines)
    problems = list(scanned.problems)
    statements: list[tree.LorelStatement] = []
    for piece in scanned.pieces:
        if len(problems) >= MOST_FINDINGS:
            break
        text = scanned.code[piece.start : piece.end]
        if not piece.broken and text.strip(" \t\r\n\ufeff"):
            try:
                found, mistakes = _parse_one(lines, piece.start, text)
            except UnexpectedInput as error:
                problems.append(explain_stop(lines, stop_of(error, scanned.code, piece.start, piece.end, sure=True)))
                continue
            problems += mistakes or _too_deep(found)
            if not mistakes:
                problems += _add(statements, found)
    if problems:
        problems.sort(key=lambda problem: problem.span.start if problem.span else 0)
        raise SyntaxProblem(tuple(problems[:MOST_FINDINGS]))
    return tree.LorelTree(tuple(statements))


def parse_update(source: Source | str) -> tree.ElementaryUpdate:
    """One elementary update, as in `Ins(&10, Ingredient, &15)` or `Chg(&7, "old", "new")`; raises SyntaxProblem."""
    found = parse_lorel(source).statements
    match found:
        case (tree.InsertEdge() | tree.DeleteEdge() | tree.ChangeValue() as update,):
            return update
        case _:
            given = source if isinstance(source, Source) else Source("<text>", source)
            span = Span(given, 0, max(1, len(given.text)), 1, 1)
            hint = 'as in `Ins(&10, Ingredient, &15)`, `Del(&3, Entree, &9)` or `Chg(&7, "old", "new")`'
            raise SyntaxProblem((Diagnostic("HW155", "this is not one elementary update", span, hint=hint),))


def _add(statements: list[tree.LorelStatement], found: Any) -> list[Diagnostic]:
    """A statement `B = select ...` belongs to the view before it."""
    if not isinstance(found, tree.NamedQuery):
        statements.append(found)
        return []
    match statements:
        case [*_, tree.ViewDefinition(parts=parts) as view]:
            statements[-1] = replace(view, parts=(*parts, found))
            return []
        case _:
            hint = f"write `define view V as {found.name} = select ...`"
            return [Diagnostic("HW154", f"`{found.name}` belongs to no view", found.span, hint=hint)]


def _parse_one(lines: Lines, offset: int, text: str) -> tuple[Any, list[Diagnostic]]:
    with _ONE_AT_A_TIME:
        grammar, builder = _grammar()
        builder.turn_to(lines, offset)
        found = grammar.parse(text)
        return found, builder.finish()


def _too_deep(found: Any) -> list[Diagnostic]:
    level = [found]
    for _ in range(DEEPEST):
        level = [child for node in level for child in _children(node)]
        if not level:
            return []
    hint = "name parts of it in the from clause"
    message = f"this is nested more than {DEEPEST} levels deep"
    return [Diagnostic("HW106", message, getattr(level[0], "span", None) or found.span, hint=hint)]


def _children(node: Any) -> Iterator[Any]:
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, tuple):
            for item in value:
                yield from item if isinstance(item, tuple) else (item,)
        elif is_dataclass(value) and not isinstance(value, Span):
            yield value


@cache
def _grammar() -> tuple[Lark, LorelBuilder]:
    builder = LorelBuilder()
    text = (files("headwater.language.lorel") / "lorel.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", start="statement", transformer=builder, maybe_placeholders=True), builder
