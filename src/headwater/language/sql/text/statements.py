"""The statements of an SQL text: CREATE TABLE, CREATE STREAM, CREATE VIEW, WITH, SELECT, as they are written.

They are cut out token by token; only queries go to sqlglot. That leaves room for what no SQL parser takes: streams,
`min() AS cost` in the head of a recursive view (004, section VI), `FROM WINDOW(view, 60)`, a WITH whose views are used
by the CREATE VIEWs behind it (000, section 2), and statements without semicolons between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from sqlglot import Token, TokenType, exp

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type, list_named
from headwater.language.sql.text.cursor import CLOSING, OPENING, Cursor, bracket_step, closing, split
from headwater.language.sql.text.parsed import NotTranslated, Place, SqlText
from headwater.language.sql.text.path_clauses import PathClause, Unreadable, read_path_clause, with_path
from headwater.language.sql.text.sql_types import FIXES, type_named
from headwater.language.syntax import ColumnDeclaration, Declaration, Duration, Kind, Window
from headwater.language.units import duration

_SET_WORDS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_CREATE_WORDS = frozenset(
    {"OR", "REPLACE", "LOCAL", "GLOBAL", "TEMP", "TEMPORARY", "EXTERNAL", "RECURSIVE", "MATERIALIZED"}
)


@dataclass(frozen=True, slots=True)
class HeadColumn:
    """A column that the head of a view names, with the aggregate it is kept by: `min() AS cost`."""

    name: str
    aggregate: str | None
    span: Span | None


@dataclass(frozen=True, slots=True)
class Levels:
    """How many levels of a recursion are computed, the rows that it begins with being the first.

    If it `refuses`, a row beyond them is an error, as in Spark: MAX RECURSION LEVEL. If not, no more are asked for.
    """

    most: int
    refuses: bool
    span: Span | None


@dataclass(frozen=True, slots=True)
class SqlView:
    """`name(columns) AS query`, of a CREATE VIEW or a WITH."""

    name: str
    columns: tuple[HeadColumn, ...] | None
    query: SqlQuery
    recursive: bool
    span: Span | None
    kept: bool = False  # MATERIALIZED: shown also beside a SELECT
    passing: bool = False  # TEMP: never shown
    levels: Levels | None = None
    path: PathClause | None = None  # what SEARCH or CYCLE added to its parts


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """`WITH views SELECT ...`; without a SELECT, the views are what the statement gives."""

    views: tuple[SqlView, ...]
    select: exp.Expr | None
    recursive: bool
    window: Window | None
    span: Span | None
    tokens: tuple[Token, ...] = field(default=(), compare=False, repr=False)  # those of the SELECT


Statement: TypeAlias = Declaration | SqlView | SqlQuery


def read_statements(text: SqlText) -> tuple[list[Statement], list[Diagnostic]]:
    """All statements, and what is wrong with those that could not be read."""
    reader = _Reader(text)
    found: list[Statement] = []
    problems: list[Diagnostic] = []
    try:
        reader.tokens = _with_plain_names(text.tokens(), text.source.text)
    except NotTranslated as refused:
        return [], [refused.diagnostic]
    while reader.skip_semicolons():
        try:
            if not reader.declares():
                found.append(reader.statement())
        except NotTranslated as refused:
            problems.append(refused.diagnostic)
            reader.skip_statement()
    for name, (_, place) in reader.declared.items():
        message = f"`{name}` is declared as a recursive view, but not created"
        problems.append(text.problem("HW102", message, place, hint=f"add CREATE VIEW {name} AS SELECT ..."))
    return found, problems


def with_views(text: SqlText, clause: exp.With) -> tuple[SqlView, ...]:
    """The views of a WITH that the parser has read."""
    views = []
    for view in clause.expressions:
        given = view.args["alias"].args.get("columns") or []
        columns = tuple(HeadColumn(each.name, None, text.span(each)) for each in given) or None
        span = text.span(view.args["alias"].this)
        query = SqlQuery((), view.this, False, None, span)
        views.append(SqlView(view.alias, columns, query, bool(clause.args.get("recursive")), span))
    return tuple(views)


def read_query(text: SqlText, tokens: Sequence[Token]) -> SqlQuery:
    """The one query that these tokens are; raises Refused."""
    reader = _Reader(text)
    reader.tokens = list(tokens)
    found = reader.query(tokens[0])
    if found.select is None or reader.at < len(reader.tokens):
        text.refuse("HW101", "syntax error in this subquery", reader.here())
    return found


class _Reader(Cursor):
    def __init__(self, text: SqlText) -> None:
        super().__init__(text)
        self.declared: dict[str, tuple[tuple[HeadColumn, ...], Token]] = {}  # recursive views that are to be created

    def skip_semicolons(self) -> bool:
        while self.take(";"):
            pass
        return self.at < len(self.tokens)

    def skip_statement(self) -> None:
        """Behind a mistake: to the next semicolon, or to the next CREATE that begins a line."""
        while self.at < len(self.tokens) and self.word() != ";":
            self.at += 1
            if self.word() == "CREATE" and self.tokens[self.at].line > self.tokens[self.at - 1].line:
                return

    # Statements

    def statement(self) -> Statement:
        start = self.tokens[self.at]
        if not self.take("CREATE"):
            return self.query(start)
        words = set()
        while self.word() in _CREATE_WORDS:
            words.add(self.word())
            self.at += 1
        if self.take("STREAM"):
            self.take(":")
            return self._table(Kind.STREAM, start)
        is_table = self.take("TABLE")
        if is_table or self.take("VIEW"):
            self.take("IF", "NOT", "EXISTS")
            return self._table(Kind.RELATION, start) if is_table else self._view(words)
        hint = "write CREATE TABLE, CREATE STREAM or CREATE [RECURSIVE] VIEW"
        self.text.refuse("HW101", f"there is no CREATE {self.word() or '...'} here", self.here(), hint=hint)

    def declares(self) -> bool:
        """Whether Feldera's `DECLARE RECURSIVE VIEW name(a INT, ...)` stands here, which is then taken in."""
        if not self.take("DECLARE", "RECURSIVE", "VIEW"):
            return False
        name, token = self.name("the view")
        if self.word() != "(":
            self.text.refuse(
                "HW101", f"the columns of `{name}` are missing here", self.here(), hint="write (a INT, ...)"
            )
        self.declared[name.lower()] = self._head_columns(typed=True), token
        return True

    def _view(self, words: set[str]) -> SqlView:
        name, token = self.name("the view")
        columns = self._head_columns() if self.word() == "(" else None
        declared = self.declared.pop(name.lower(), None)
        self.expect("AS", "write CREATE VIEW name AS SELECT ...")
        start = self.tokens[min(self.at, len(self.tokens) - 1)]
        query = self.query(start)
        if query.select is None:
            self.text.refuse("HW102", "the view has no SELECT", token, hint="write SELECT ... behind the WITH")
        recursive = "RECURSIVE" in words or declared is not None
        if declared is not None:
            columns = columns or declared[0]
            _without_copies(query.select)
        passing = bool(words & {"TEMP", "TEMPORARY", "LOCAL"})
        return SqlView(name, columns, query, recursive, self.text.span(token), "MATERIALIZED" in words, passing)

    def query(self, start: Token) -> SqlQuery:
        views: list[SqlView] = []
        recursive = False
        bracketed = self.word() == "(" and self.word(1) == "WITH"  # it holds the whole of `(WITH ... SELECT ...)`
        self.at += bracketed
        if self.take("WITH"):
            typed = self.take("MUTUALLY")  # Materialize's: columns have types, and all views may read each other
            recursive = self.take("RECURSIVE")
            if typed and self.word() == "(":
                hint = "leave it out; a guard stops a recursion that has no end"
                self.text.refuse("HW117", "a limit of recursions is not translated", self.here(), hint=hint)
            views.append(self._named(recursive, typed))
            while self.take(","):
                views.append(self._named(recursive, typed))
            if self.word() in ("", ";", "CREATE", "WITH") or self.is_quoted(self.at):
                return SqlQuery(tuple(views), None, recursive, None, self.text.span(start))
        return self._parsed(views, recursive, self._query_tokens(bracketed), start)

    def _named(self, recursive: bool, typed: bool) -> SqlView:
        found = self._headed(recursive, typed)
        while (self.word() == "SEARCH" and self.word(1) in ("DEPTH", "BREADTH")) or self.word() == "CYCLE":
            place = self.here()
            clause = read_path_clause(self)
            assert found.query.select is not None
            names = None if found.columns is None else [column.name for column in found.columns]
            try:
                whole = with_path(found.query.select, found.name, names, clause)
            except Unreadable as problem:
                hint = "write the column that it stands for yourself: array_append(r.way, r.n) AS way"
                self.text.refuse("HW117", str(problem), place, hint=hint)
            kept = found.columns or ()
            more = [HeadColumn(name, None, self.text.span(place)) for name in whole[len(kept) :]]
            found = replace(found, columns=(*kept, *more), path=clause)
        return found

    def _headed(self, recursive: bool, typed: bool) -> SqlView:
        name, token = self.name("the view")
        columns = self._head_columns(typed=typed) if self.word() == "(" else None
        if self.word() == "USING" and self.word(1) == "KEY":
            columns = self._keyed(name, columns)
        levels = self._levels()
        self.take("AS")
        self.take("NOT")
        self.take("MATERIALIZED")
        if self.word() != "(":
            self.text.refuse("HW101", "the query of this view stands in brackets", self.here(), hint="write AS ( ... )")
        start = self.tokens[self.at]
        if self.word(1) == "WITH":
            before = self.at
            inside = _Reader(self.text)
            inside.tokens = self.group()
            query = inside.query(start)
            if self.word() not in _SET_WORDS and inside.at == len(inside.tokens):
                return SqlView(name, columns, query, recursive, self.text.span(token), levels=levels)
            self.at = before
        begin = self.at
        self.group()
        while self.word() in _SET_WORDS:  # 004 leaves out the brackets around the union
            self.at += 1
            while self.take("ALL") or self.take("DISTINCT"):
                pass
            if self.word() != "(":
                message = "this part of the union stands in brackets"
                self.text.refuse("HW101", message, self.here(), hint="write ( ... )")
            self.group()
        query = self._parsed((), False, self.tokens[begin : self.at], start)
        return SqlView(name, columns, query, recursive, self.text.span(token), levels=levels)

    def _keyed(self, name: str, columns: tuple[HeadColumn, ...] | None) -> tuple[HeadColumn, ...]:
        """DuckDB's `USING KEY (n, min(cost))`: the columns of the head, with the aggregates that keep them."""
        place = self.here()
        self.at += 2
        if columns is None or self.word() != "(":
            self.text.refuse(
                "HW101", "USING KEY needs names", place, hint=f"write {name}(n, cost) USING KEY (n, min(cost))"
            )
        kept: dict[str, str | None] = {}
        for part in split(self.group()):
            words = [token.text for token in part]
            if len(words) == 1:
                kept[words[0].lower()] = None
            elif len(words) == 4 and (words[1], words[3]) == ("(", ")"):
                kept[words[2].lower()] = words[0].lower()
            else:
                message = f"`{''.join(words)}` in USING KEY is not translated"
                hint = "name a column, or one aggregate of one: min(cost)"
                self.text.refuse("HW117", message, part[0] if part else place, hint=hint)
        unknown = [key for key in kept if key not in {column.name.lower() for column in columns}]
        if unknown:
            self.text.refuse("HW230", f"`{name}` has no column `{unknown[0]}`", place)
        lost = [column for column in columns if column.name.lower() not in kept]
        if lost:
            message = f"which `{lost[0].name}` stays for a key depends on the order in which rows come"
            hint = f"say which one: USING KEY (..., min({lost[0].name}))"
            self.text.refuse("HW117", message, place, note="a view that is maintained has no such order", hint=hint)
        return tuple(replace(column, aggregate=kept[column.name.lower()]) for column in columns)

    def _levels(self) -> Levels | None:
        """`MAX RECURSION LEVEL 10`, if it stands here."""
        begin = self.here()
        if not self.take("MAX", "RECURSION", "LEVEL"):
            return None
        number = self.word()
        if not number.isdigit() or int(number) < 1:
            message = "MAX RECURSION LEVEL takes a whole number from 1 on"
            self.text.refuse("HW101", message, self.here(), hint="write MAX RECURSION LEVEL 100")
        self.at += 1
        return Levels(int(number), True, self.text.span(begin, self.tokens[self.at - 1]))

    def _parsed(self, views: Sequence[SqlView], recursive: bool, tokens: list[Token], start: Token) -> SqlQuery:
        kept, window = self._without_window(tokens)
        select = self.text.parse(kept, start)
        return SqlQuery(tuple(views), select, recursive, window, self.text.span(start, *tokens[-1:]), tuple(tokens))

    def _head_columns(self, *, typed: bool = False) -> tuple[HeadColumn, ...]:
        """The columns of a view's head; where they are `typed`, the types that its query gives them stand behind."""
        parts = list(split(self.group()))
        found = []
        for part in parts:
            if len(part) == 1 or (typed and part and part[1].token_type is not TokenType.L_PAREN):
                found.append(HeadColumn(part[0].text, None, self.text.span(part[0])))
            elif len(part) >= 3 and part[1].token_type is TokenType.L_PAREN:
                inside = [token for token in part[2:] if token.token_type is not TokenType.R_PAREN]
                named = [token for token in inside if token.token_type is not TokenType.ALIAS]
                if len(named) != 1:
                    self.text.refuse("HW101", "this column has no name", part[0], hint="write min() AS cost")
                found.append(HeadColumn(named[0].text, part[0].text.lower(), self.text.span(part[0], part[-1])))
            else:
                place: Place = part[0] if part else self.here()
                self.text.refuse("HW101", "a column's name stands here, or `min() AS name`", place)
        return tuple(found)

    def _query_tokens(self, bracketed: bool) -> list[Token]:
        """The tokens of a query that begins here, up to where it ends."""
        begin = self.at
        depth = 0
        while self.at < len(self.tokens):
            word = self.word()
            if depth == 0 and self.at > begin:
                summed = word == "WITH" and self.word(1) in ("ROLLUP", "CUBE", "ORDINALITY")
                if word == ";" or (word in ("CREATE", "WITH") and not summed):
                    break
                closed = self.tokens[self.at - 1].token_type is TokenType.R_PAREN
                if closed and word == "SELECT" and self.tokens[begin].token_type is TokenType.L_PAREN:
                    break
            depth += bracket_step(self.tokens[self.at])
            if depth < 0:
                if not bracketed:
                    self.text.refuse("HW101", "this bracket has no opening one", self.tokens[self.at])
                tokens = self.tokens[begin : self.at]
                self.at += 1
                return tokens
            self.at += 1
        if depth > 0:
            self.at = next(
                place
                for place in range(begin, len(self.tokens))
                if bracket_step(self.tokens[place]) > 0 and closing(self.tokens, place) == len(self.tokens)
            )
            self.group()
        return self.tokens[begin : self.at]

    # Windows

    def _without_window(self, tokens: Sequence[Token]) -> tuple[list[Token], Window | None]:
        """A query's tokens without `WINDOW(view, 60)` around a table and `WINDOW(60 minutes)` behind it."""
        kept: list[Token] = []
        window: Window | None = None
        place = depth = 0
        own = _brackets_around(tokens)
        while place < len(tokens):
            token = tokens[place]
            depth += bracket_step(token)
            opens = place + 2 < len(tokens) and tokens[place + 1].token_type is TokenType.L_PAREN
            if token.text.upper() == "WINDOW" and opens and not self._is_function(kept, tokens[place + 2]):
                end = next(
                    (at for at in range(place, len(tokens)) if tokens[at].token_type is TokenType.R_PAREN), len(tokens)
                )
                parts = list(split(tokens[place + 2 : end]))
                if parts and parts[0] and parts[0][0].token_type is not TokenType.NUMBER:
                    kept += parts.pop(0)
                if depth > own:
                    note = "a window is that of the whole query: it shows what follows from the rows inside it"
                    hint = "name the subquery as a view, and write FROM WINDOW(view, 60) in the last SELECT"
                    self.text.refuse("HW117", "WINDOW of a subquery is not translated", token, note=note, hint=hint)
                if window is not None:
                    self.text.refuse("HW101", "a query has one window", token, hint="give the query one WINDOW(...)")
                window = self._window(parts, token)
                place = end + 1
            else:
                kept.append(token)
                place += 1
        return kept, window

    def _is_function(self, before: list[Token], inside: Token) -> bool:
        """`window(ts, '5 minutes')` in a SELECT list is a function of Spark's."""
        if inside.token_type is TokenType.NUMBER:
            return False
        return not before or before[-1].text.upper() not in ("FROM", "JOIN", ",")

    def _window(self, parts: list[list[Token]], place: Token) -> Window:
        extents = [self._extent(part, place) for part in parts]
        if not 1 <= len(extents) <= 2:
            self.text.refuse("HW101", "a window has a size, and perhaps a slide", place, hint="write WINDOW(view, 60)")
        span = self.text.span(place, *(token for part in parts for token in part))
        return Window(extents[0], extents[1] if len(extents) == 2 else None, span=span)

    def _extent(self, tokens: list[Token], place: Token) -> Duration | int:
        if len(tokens) == 1 and tokens[0].token_type is TokenType.NUMBER and tokens[0].text.isdigit():
            return int(tokens[0].text)
        words = " ".join(token.text for token in tokens if token.text.upper() != "INTERVAL").split()
        found = duration(words[0], words[1]) if len(words) == 2 and words[0].isdigit() else None
        if found is None:
            place = tokens[0] if tokens else place
            self.text.refuse("HW110", "this is not a span of time", place, hint="write 60 minutes")
        return found

    # Tables

    def _table(self, kind: Kind, start: Token) -> Declaration:
        name, token = self.name("the table")
        if self.word() != "(":
            self.text.refuse("HW101", "the columns of the table are missing", token, hint="write (name type, ...)")
        columns: list[ColumnDeclaration] = []
        key: list[str] = []
        for part in split(self.group()):
            words = [each.text.upper() for each in part]
            if words[:1] == ["CONSTRAINT"]:
                part, words = part[2:], words[2:]
            if words and (words[0].startswith("PRIMARY") or words[:2] == ["KEY", "("]):
                key += [each.text for each in part if each.token_type not in _PUNCTUATION and not _is_key(each)]
                continue
            for column, is_key in self._columns(part, token):
                columns.append(column)
                key += [column.name] * is_key
        ttl: Duration | int | None = None
        if self.take("TTL"):
            begin = self.at
            self.at += 2 if self.word(1).lower() not in ("", ";", "create", "with", "select") else 1
            ttl = self._extent(self.tokens[begin : self.at], start)
        if self.word() not in ("", ";", "CREATE", "WITH", "SELECT", "VALUES", "("):
            hint = "the data come from files, frames or Spark; here only the columns are declared"
            self.text.refuse("HW101", f"CREATE TABLE does not go on with `{self.word()}`", self.here(), hint=hint)
        if kind is Kind.STREAM and columns:
            columns[0] = replace(columns[0], nullable=False)  # a row of a stream has a time
        names = {column.name.lower(): column.name for column in columns}
        spelt = tuple(names.get(each.lower(), each) for each in key) or None
        return Declaration(kind, name, tuple(columns), spelt, ttl, span=self.text.span(token))

    def _columns(self, part: list[Token], place: Token) -> Iterator[tuple[ColumnDeclaration, bool]]:
        """`name type`, or `name: type`; 004 forgets a comma, which the colons make good."""
        rest = [token for token in part if token.token_type is not TokenType.COLON]
        colons = [token for token in part if token.token_type is TokenType.COLON]
        if len(colons) > 1 and len(rest) == 2 * len(colons):
            for at in range(0, len(rest), 2):
                yield self._column(rest[at : at + 2], place)
        else:
            yield self._column(rest, place)

    def _column(self, tokens: list[Token], place: Token) -> tuple[ColumnDeclaration, bool]:
        if not tokens:
            self.text.refuse("HW101", "a column is missing here", place, hint="write (name type, ...)")
        name = tokens[0]
        if len(tokens) < 2:
            self.text.refuse("HW109", f"column `{name.text}` has no type", name, hint=f"write {name.text} STRING")
        digits = [token.text for token in tokens[2:] if token.token_type is TokenType.NUMBER]
        kind, behind = type_named(tokens[1].text, digits), tokens[2:]
        if kind is Type.LIST:
            kind, behind = self._array(tokens[1:])
        if kind is None:
            fix = FIXES.get(tokens[1].text.lower())
            message = f"no column has the type {tokens[1].text}" if fix else f"there is no type `{tokens[1].text}`"
            note = "the types are INT, BIGINT, DOUBLE, STRING, BOOLEAN, TIMESTAMP, DATE, ARRAY and their kin"
            self.text.refuse("HW109", message, tokens[1], note=note, hint=fix)
        words = [token.text.upper() for token in behind]
        self._refuse_options(behind)
        is_key = any(map(_is_key, behind))
        required = is_key or ("NOT", "NULL") in pairwise(words)
        span = self.text.span(name, tokens[-1])
        return ColumnDeclaration(name.text, kind, not required, span=span), is_key

    def _refuse_options(self, tokens: list[Token]) -> None:
        """What stands behind a type: promises about the data may stand there, what would change it may not."""
        depth = 0
        for token in tokens:
            depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
            word = token.text.upper()
            if word in _PROMISES:
                return
            if depth == 0 and token.token_type not in CLOSING and word not in _BEHIND_TYPE and not _is_key(token):
                message = f"{word} of a column is not translated"
                self.text.refuse("HW117", message, token, hint=f"leave out {word}: rows come with all their values")

    def _array(self, tokens: list[Token]) -> tuple[Type | None, list[Token]]:
        """The type of `ARRAY<INT>` and its like, and the tokens behind it."""
        kind = type_named(tokens[0].text)
        if kind is not Type.LIST or len(tokens) < 2 or tokens[1].text != "<":
            return kind, tokens[1:]
        items, rest = self._array(tokens[2:]) if len(tokens) > 2 else (None, tokens[:0])
        if not rest or not rest[0].text.startswith(">"):
            self.text.refuse("HW109", "the items of this array have no type", tokens[0], hint="write ARRAY<BIGINT>")
        if items is None:
            self.text.refuse("HW109", f"no array has items of type {tokens[2].text}", tokens[2])
        return list_named([items]), rest[1:]


def _with_plain_names(tokens: list[Token], text: str) -> list[Token]:
    """The tokens with words such as `drop`, and `"names"` in double quotes, as names where they can be nothing else."""
    found = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ";"
        behind = tokens[place + 1].text if place + 1 < len(tokens) else ";"
        asked = before.upper() in _BEFORE_NAMES and (place < 2 or tokens[place - 2].text.upper() != "DISTINCT")
        quoted = token.token_type is TokenType.STRING and text[token.start] == '"'
        if quoted and (asked or "." in (before, behind)):
            token = _renamed(token, TokenType.IDENTIFIER)
        if token.token_type in _STATEMENT_WORDS and before != ";":
            token = _renamed(token, TokenType.VAR)
        found.append(token)
    return found


def _renamed(token: Token, kind: TokenType) -> Token:
    """The token as one of another kind."""
    return Token(kind, token.text, line=token.line, col=token.col, start=token.start, end=token.end)


_BEFORE_NAMES = frozenset({"FROM", "JOIN", "WITH", "RECURSIVE", "VIEW", "TABLE"})
_STATEMENT_WORDS = frozenset(
    {TokenType.ALTER, TokenType.CACHE, TokenType.COMMENT, TokenType.COPY, TokenType.DROP}
    | {TokenType.KILL, TokenType.LOAD, TokenType.MERGE, TokenType.REFRESH, TokenType.TRUNCATE}
)
_PROMISES = frozenset({"UNIQUE", "REFERENCES", "CHECK", "CONSTRAINT", "COMMENT"})  # the data keep them, or do not
_BEHIND_TYPE = frozenset({"NOT", "NULL", "PRECISION", "VARYING", "WITH", "WITHOUT", "LOCAL", "TIME", "ZONE"})
_PUNCTUATION = frozenset({TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA})


def _brackets_around(tokens: Sequence[Token]) -> int:
    """How many pairs of brackets hold all of it."""
    found = 0
    while tokens and tokens[0].token_type is TokenType.L_PAREN and closing(tokens) == len(tokens) - 1:
        tokens, found = tokens[1:-1], found + 1
    return found


def _without_copies(query: exp.Expr) -> None:
    """Each UNION ALL of a chain as UNION: Feldera's recursive views are sets."""
    waiting = [query]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Subquery):
            waiting.append(node.this)
        elif isinstance(node, exp.Union):
            node.set("distinct", True)
            waiting += [node.this, node.expression]


def _is_key(token: Token) -> bool:
    return token.text.upper() in ("PRIMARY", "KEY", "PRIMARY KEY")
