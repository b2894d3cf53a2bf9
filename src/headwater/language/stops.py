"""Where a parser stopped, and what stands there: the part of its findings that all languages share."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language.lines import Lines

CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Stop:
    """The parser could not go on at `position` of the statement `code[start:end]`; it would have taken `expected`."""

    code: str
    start: int
    end: int
    position: int
    expected: Set[str]


def stop_of(error: UnexpectedInput, code: str, start: int, end: int, *, sure: bool) -> Stop:
    """Where the parser stopped. `sure`: expected is only what it would have gone on with, else all its state knows."""
    match error:
        case UnexpectedToken() if error.token.type == "$END":
            return Stop(code, start, end, end, error.accepts or error.expected)
        case UnexpectedToken():
            expected = (error.accepts or error.expected) if sure else error.expected
            return Stop(code, start, end, start + (error.pos_in_stream or 0), expected)
        case UnexpectedCharacters():
            return Stop(code, start, end, start + (error.pos_in_stream or 0), error.allowed)
        case _:
            raise AssertionError(f"the parser stopped for an unknown reason: {error!r}")


def token_at(stop: Stop, tokens: re.Pattern[str], lines: Lines) -> tuple[str, str, Span]:
    """The token at a stop: whole, as much of it as is shown, and its place."""
    found = tokens.match(stop.code, stop.position)
    assert found is not None
    shown = found[0] if len(found[0]) <= _SHOWN else f"{found[0][: _SHOWN - 3]}..."
    return found[0], shown, lines.span(stop.position, min(found.end(), stop.end))


def open_bracket(stop: Stop, brackets: re.Pattern[str]) -> int | None:
    """Where the innermost bracket stands that is still open at the stop; what is quoted holds none."""
    open_: list[int] = []
    for found in brackets.finditer(stop.code, stop.start, stop.position):
        if found[0] in CLOSED_BY:
            open_.append(found.start())
        elif open_ and CLOSED_BY[stop.code[open_[-1]]] == found[0]:
            open_.pop()
    return open_[-1] if open_ else None


def unclosed(lines: Lines, code: str, bracket: int) -> Diagnostic:
    """What is said of a bracket that is never closed."""
    message = f"`{code[bracket]}` is never closed in this statement"
    hint = f"`{CLOSED_BY[code[bracket]]}` is missing"
    return Diagnostic("HW105", message, lines.span(bracket, bracket + 1), hint=hint)
