"""Statements about views that are kept in a catalog: CREATE, REFRESH, DROP, SHOW and DESCRIBE MATERIALIZED VIEW.

    read_statement(Source("<text>", text))  # None: the text is something else

A text of several statements is none of these: there, CREATE MATERIALIZED VIEW names a view of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import Token, TokenType, exp

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.language.sql.split import Named
from headwater.language.sql.text.cursor import Cursor
from headwater.language.sql.text.parsed import NotTranslated, SqlText
from headwater.language.sql.text.shape import mentioned
from headwater.language.sql.text.statements import SqlQuery, SqlView, read_statements

_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY")
_SHOW = re.compile(r"\s*SHOW\s+MATERIALIZED\s+VIEWS(?:\s+(?:LIKE\s+)?'([^'\\]*)')?\s*;?\s*", re.IGNORECASE)
_SCHEDULES = "write CREATE MATERIALIZED VIEW name SCHEDULE EVERY 10 SECONDS AS SELECT ..."


@dataclass(frozen=True, slots=True)
class CreateView:
    """`text` is the statement without OR REPLACE, IF NOT EXISTS and SCHEDULE; `every` is what that says: `10 seconds`.

    Spaces stand where something is left out, so that places in the text stay.
    """

    name: str
    text: str
    every: str | None
    replace: bool
    if_missing: bool
    tables: dict[str, Named]  # by the names that the view has for them, in lower case


@dataclass(frozen=True, slots=True)
class RefreshView:
    """Bring a view up to date."""

    name: str


@dataclass(frozen=True, slots=True)
class DropView:
    """Forget a view and its state."""

    name: str
    if_there: bool


@dataclass(frozen=True, slots=True)
class ShowViews:
    """List the views, or those whose names a pattern of Spark's SHOW matches: `*` is any text, `|` is or."""

    pattern: str | None


@dataclass(frozen=True, slots=True)
class DescribeView:
    """Columns of a view, and what is known of it."""

    name: str


CatalogStatement: TypeAlias = CreateView | RefreshView | DropView | ShowViews | DescribeView


def read_statement(source: Source) -> CatalogStatement | None:
    """The statement that a text is; None if it is something else. Raises SyntaxProblem."""
    show = _SHOW.fullmatch(source.text)  # to the tokenizer, all behind SHOW is one token
    if show is not None:
        return ShowViews(show[1])
    text = SqlText(source)
    try:
        cursor = Cursor(text)
        cursor.tokens = text.tokens()
    except NotTranslated:
        return None
    while cursor.tokens and cursor.tokens[-1].token_type is TokenType.SEMICOLON:
        cursor.tokens.pop()
    try:
        return _statement(cursor)
    except NotTranslated as refused:
        raise SyntaxProblem((refused.diagnostic,)) from None


def words(text: str) -> tuple[str, ...]:
    """A text as its tokens; without regard to spaces, comments and, outside of quotation marks, case."""
    tokens = SqlText(Source("<text>", text)).tokens()
    quoted = (TokenType.STRING, TokenType.IDENTIFIER)
    return tuple(
        f"{token.token_type} {token.text if token.token_type in quoted else token.text.upper()}" for token in tokens
    )


def _statement(cursor: Cursor) -> CatalogStatement | None:
    if cursor.word() == "CREATE":
        return _create(cursor)
    if cursor.take("REFRESH", "MATERIALIZED", "VIEW"):
        return RefreshView(_last_name(cursor))
    if cursor.take("DROP", "MATERIALIZED", "VIEW"):
        if_there = cursor.take("IF", "EXISTS")
        return DropView(_last_name(cursor), if_there)
    if cursor.take("DESCRIBE", "MATERIALIZED", "VIEW") or cursor.take("DESC", "MATERIALIZED", "VIEW"):
        return DescribeView(_last_name(cursor))
    return None


def _create(cursor: Cursor) -> CreateView | None:
    cursor.take("CREATE")
    replace = cursor.take("OR", "REPLACE")
    is_alone = all(token.token_type is not TokenType.SEMICOLON for token in cursor.tokens)
    if not is_alone or not cursor.take("MATERIALIZED", "VIEW"):
        return None
    named = cursor.at
    if_missing = cursor.take("IF", "NOT", "EXISTS")
    behind = cursor.at
    name = _name(cursor)
    if cursor.word() == "(":
        cursor.group()
    first = cursor.at
    every = _schedule(cursor)
    text = cursor.text.source.text
    for left_out in (
        cursor.tokens[1:3] if replace else [],
        cursor.tokens[named:behind],
        cursor.tokens[first : cursor.at],
    ):
        for token in left_out:
            text = text[: token.start] + " " * (token.end + 1 - token.start) + text[token.end + 1 :]
    view = _view(Source(cursor.text.source.name, text))
    return CreateView(name, text, every, replace, if_missing, _tables(cursor.text, view))


def _schedule(cursor: Cursor) -> str | None:
    """`SCHEDULE [REFRESH] EVERY 10 SECONDS`, as Databricks writes it."""
    if not cursor.take("SCHEDULE"):
        return None
    cursor.take("REFRESH")
    cursor.expect("EVERY", _SCHEDULES)
    number, unit = cursor.word(), cursor.word(1).removesuffix("S")
    if not number.isdigit() or int(number) == 0 or unit not in _UNITS:
        message = "a schedule is a whole number of seconds, minutes, hours or days"
        cursor.text.refuse("HW117", message, cursor.here(), hint=_SCHEDULES)
    cursor.at += 2
    return f"{int(number)} {unit.lower()}{'s' if int(number) > 1 else ''}"


def _view(source: Source) -> SqlView:
    statements, problems = read_statements(SqlText(source))
    if problems:
        raise SyntaxProblem(tuple(problems))
    (view,) = statements
    assert isinstance(view, SqlView), "the text begins with CREATE MATERIALIZED VIEW"
    return view


def _tables(text: SqlText, view: SqlView) -> dict[str, Named]:
    """The tables that a view reads, by the names that it has for them."""
    wanted = mentioned(view)
    found: dict[str, Named] = {}
    for table in _mentions(view.query):
        parts = tuple(str(part.name) for part in table.parts)
        if table.name.lower() not in wanted or not isinstance(table.this, exp.Identifier):
            continue
        before = found.setdefault(table.name.lower(), Named(parts, text.span(table)))
        if tuple(map(str.lower, before.parts)) != tuple(map(str.lower, parts)):
            message = f"`{'.'.join(before.parts)}` and `{'.'.join(parts)}` have one name here"
            hint = "create a view with another name over one of them"
            text.refuse("HW201", message, table, hint=hint)
    return found


def _mentions(query: SqlQuery) -> Iterator[exp.Table]:
    for view in query.views:
        yield from _mentions(view.query)
    if query.select is not None:
        yield from query.select.find_all(exp.Table)


def _last_name(cursor: Cursor) -> str:
    found = _name(cursor)
    _refuse_more(cursor)
    return found


def _name(cursor: Cursor) -> str:
    before = cursor.at
    name, token = cursor.name("the view")
    if cursor.at > before + 1:
        hint = f"write {name}; folders of views, one for each group of them, are chosen by spark.headwater.views"
        cursor.text.refuse("HW117", "a materialized view has a name of one part", token, hint=hint)
    return name


def _refuse_more(cursor: Cursor) -> None:
    if cursor.at < len(cursor.tokens):
        token: Token = cursor.tokens[cursor.at]
        cursor.text.refuse("HW101", f"unexpected `{token.text}`", token, hint="end the statement before it")
