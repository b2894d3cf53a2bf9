"""A recursive query taken apart: what Spark runs itself, and the recursions, which it does not.

    steps = split(Source("query.sql", text))

Everything that does not take part in a recursion stays SQL as it was written: views that a recursion reads, its first
rows where they are more than a look at a table, subqueries in its FROM, and all that reads its result. Only the
recursive views themselves become rules. Steps come in an order in which they can run. The text of one step speaks of
the frame of another as `{h1}`, to be filled in by its caller; braces of the text itself are doubled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from sqlglot import Token, TokenType, exp

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source, Span
from headwater.language.sql.query.bags import keeps_copies
from headwater.language.sql.query.levels import with_limit
from headwater.language.sql.query.views import refuse_kept
from headwater.language.sql.text.cursor import closing
from headwater.language.sql.text.parsed import NotTranslated, SqlText
from headwater.language.sql.text.shape import components, is_recursion, mentioned, tables_in, unions
from headwater.language.sql.text.statements import SqlQuery, SqlView, Statement, read_query, read_statements
from headwater.language.syntax import Declaration

_OWN = "own"  # marks a `*` that the text does not have
_BETWEEN = frozenset(
    {TokenType.EXCEPT, TokenType.INTERSECT, TokenType.WITH, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET}
    | {TokenType.FETCH, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.WINDOW}
)  # what is no UNION, or belongs to a chain of them as a whole
_PLAIN = (
    exp.Select | exp.From | exp.Table | exp.TableAlias | exp.Column | exp.Identifier | exp.Alias | exp.Literal
    | exp.Where | exp.Star | exp.Add | exp.Sub | exp.Mul | exp.Paren | exp.And | exp.EQ | exp.NEQ | exp.LT | exp.LTE
    | exp.GT | exp.GTE | exp.Is | exp.Not | exp.Null | exp.Boolean | exp.Neg | exp.Values | exp.Tuple
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A table of the session, by the parts of its name."""

    parts: tuple[str, ...]
    span: Span | None

    def __str__(self) -> str:
        return ".".join(_quoted(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Select:
    """A query that Spark runs; what it gives is the frame `frame`."""

    frame: str
    text: str


@dataclass(frozen=True, slots=True)
class Recursion:
    """Views that read each other in a circle; each gives a frame.

    `frames` are the frames of other steps by the name that the views have for them, `tables` the session's tables.
    Of those that are not `whole`, the views look at `columns` alone (None: at all). `shared`: more than one place reads
    the outcome. `typed` are texts for each view that have columns of its types in Spark, the best first.
    """

    views: tuple[SqlView, ...]
    outputs: tuple[str, ...]
    frames: dict[str, str]
    tables: dict[str, Named]
    whole: frozenset[str]
    columns: frozenset[str] | None
    shared: bool
    typed: tuple[tuple[str, ...], ...] = ()


Step: TypeAlias = Select | Recursion


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a text; the last one gives its answer."""

    text: SqlText
    steps: tuple[Step, ...]


def split(source: Source) -> Steps | None:
    """The steps of a text; None if nothing in it is recursive. Raises SyntaxProblem."""
    try:
        return _steps(SqlText(source))
    except NotTranslated as refused:
        raise SyntaxProblem((refused.diagnostic,)) from None


def _steps(text: SqlText) -> Steps | None:
    statements, problems = read_statements(text)
    if problems:
        raise SyntaxProblem(tuple(problems))
    for statement in statements:
        if isinstance(statement, Declaration):
            _refuse_declaration(text, statement)
    created = [statement for statement in statements if isinstance(statement, SqlView)]
    asked = [statement for statement in statements if isinstance(statement, SqlQuery)]
    queries = [with_limit(query) for query in asked if query.select is not None]
    views = [*(view for query in asked if query.select is None for view in query.views), *created]
    if len(queries) > 1 or (not queries and not views):
        place = queries[1].span if queries else None
        text.refuse("HW102", "one query is asked for here", place, hint="leave one SELECT, behind all CREATE VIEWs")
    splitter = _Splitter(text, _uses(statements))
    scope = _Scope(None)
    splitter.define(views, scope)
    if queries:
        last = splitter.query(queries[0], scope)
    else:
        last = f"SELECT * FROM {_quoted(views[-1].name)}"
    if not splitter.recursive:
        return None
    splitter.steps.append(Select("", _alone(last, scope)))
    return Steps(text, tuple(splitter.steps))


def _refuse_declaration(text: SqlText, declaration: Declaration) -> None:
    """The session's tables have columns of their own; a key, a stream and a ttl would mean nothing to them."""
    message = f"`{declaration.relation}` is declared, but the tables here are those of the session"
    hint = "leave the declaration out; hws.evaluate and hws.maintain take texts that declare their tables"
    text.refuse("HW117", message, declaration.span, hint=hint)


@dataclass(slots=True)
class _Scope:
    """The views of one WITH as text, in order, inside those around it."""

    parent: _Scope | None
    views: dict[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name in self.views or (self.parent is not None and self.parent.has(name))


def _alone(text: str, scope: _Scope | None) -> str:
    """A query with all that it may read in front of it."""
    while scope is not None:
        if scope.views:
            inner = text if not text.startswith("WITH ") else f"SELECT * FROM ({text})"
            text = f"WITH {', '.join(scope.views.values())} {inner}"
        scope = scope.parent
    return text


class _Splitter:
    def __init__(self, text: SqlText, uses: Counter[str]) -> None:
        self.text = text
        self.steps: list[Step] = []
        self.recursive = False
        self._uses = uses
        self._numbers = count(1)
        self._spelt: dict[str, Named] = {}  # every table, as the text spells its name

    def query(self, query: SqlQuery, scope: _Scope) -> str:
        """A query as text for Spark, its own WITH in front; frames of recursions in it stand in their places."""
        self._refuse_window(query)
        inner = _Scope(scope)
        self.define(query.views, inner)
        body = self._written(query.tokens, inner)
        if not inner.views:
            return body
        return f"WITH {', '.join(inner.views.values())} {body}"

    def _refuse_window(self, query: SqlQuery) -> None:
        if query.window is not None:
            message = "WINDOW(view, size) follows the time of a stream, and the tables of a session have none"
            hint = "run the query embedded, where time moves with the data"
            self.text.refuse("HW117", message, query.window.span, hint=hint)

    def define(self, views: Sequence[SqlView], scope: _Scope) -> None:
        """The views of one WITH, each before those that read it."""
        by_name = {view.name.lower(): self._with_whole_names(view) for view in views}
        for group in components(by_name):
            first = by_name[group[0]]
            if is_recursion(group, by_name):
                self.recursive = True
                self._recursion([by_name[key] for key in group], scope)
            else:
                refuse_kept(self.text, first)
                columns = ", ".join(_quoted(column.name) for column in first.columns or ())
                head = f"{_quoted(first.name)}({columns})" if columns else _quoted(first.name)
                scope.views[group[0]] = f"{head} AS ({self.query(first.query, scope)})"

    def _written(self, tokens: Sequence[Token], scope: _Scope) -> str:
        """The text of these tokens as it stands there, recursions in brackets replaced."""
        text = self.text.source.text
        out: list[str] = []
        at = tokens[0].start
        place = 0
        while place < len(tokens):
            if tokens[place].token_type is TokenType.L_PAREN and _word(tokens, place + 1) == "WITH":
                end = closing(tokens, place)
                inner = read_query(self.text, tokens[place + 1 : end])
                out += [_escaped(text[at : tokens[place].end + 1]), self.query(inner, scope)]
                at = tokens[end].start
                place = end
            place += 1
        out.append(_escaped(text[at : tokens[-1].end + 1]))
        return "".join(out)

    def _frame(self, text: str, scope: _Scope) -> str:
        """A step that Spark runs; the name of its frame."""
        frame = f"h{next(self._numbers)}"
        self.steps.append(Select(frame, _alone(text, scope)))
        return frame

    # Recursions

    def _recursion(self, group: Sequence[SqlView], scope: _Scope) -> None:
        keys = {view.name.lower() for view in group}
        frames: dict[str, str] = {}
        inside = sum((_uses([view]) for view in group), Counter[str]())
        typed: list[tuple[str, ...]] = []
        views = tuple(self._reduced(view, keys, scope, frames, typed) for view in group)
        columns = _columns([node for view in views for node in _selects(view.query)])
        whole = frozenset(frames)
        tables: dict[str, Named] = {}
        for name in sorted(set().union(*map(mentioned, views)) - keys - frames.keys()):
            if scope.has(name):
                frames[name] = self._frame(f"SELECT * FROM {_quoted(name)}", scope)
            else:
                tables[name] = self._spelt[name]
        outputs = tuple(f"h{next(self._numbers)}" for _ in views)
        shared = any(self._uses[key] - inside[key] > 1 for key in keys)
        self.steps.append(Recursion(views, outputs, frames, tables, whole, columns, shared, tuple(typed)))
        for view, frame in zip(views, outputs, strict=True):
            scope.views[view.name.lower()] = f"{_quoted(view.name)} AS (SELECT * FROM {{{frame}}})"

    def _reduced(
        self,
        view: SqlView,
        keys: set[str],
        scope: _Scope,
        frames: dict[str, str],
        typed: list[tuple[str, ...]],
    ) -> SqlView:
        """The view with frames in place of what does not read the recursion."""
        if view.path is not None:
            hint = "write the column that it stands for yourself: array_append(r.way, r.n) AS way"
            self.text.refuse("HW117", "SEARCH and CYCLE are not translated for Spark", view.span, hint=hint)
        self._refuse_window(view.query)
        inner = _Scope(scope)
        kept = self._nested(view, keys, inner, frames)
        reads = keys | {nested.name.lower() for nested in kept}
        found = []
        begins: list[str] = []
        goes_on: list[str] = []
        for number, part in enumerate(_parts(view.query.tokens, reads), 1):
            parsed = self._parsed(part, view)
            if tables_in(parsed) & reads:
                found.append(self._with_frames(part, reads, view, inner, frames))
                goes_on.append(self._written(part, inner))
            elif all(isinstance(node, _PLAIN) for node in parsed.walk()):
                found.append(parsed)
                begins.append(self._written(part, inner))
            else:
                name = self._own(f"part {number} of {view.name}")
                frames[name] = self._frame(self._written(part, inner), inner)
                found.append(_whole(name))
                begins.append(f"SELECT * FROM {{{frames[name]}}}")
        typed.append(tuple(_alone(text, inner) for text in _typed(view, begins, goes_on if len(keys) == 1 else ())))
        select = found[0]
        plain = all(union.args.get("distinct") for union in unions(view.query.select))
        sets = not keeps_copies(view, keys)
        for other in found[1:]:
            select = exp.Union(this=select, expression=other, distinct=plain or (sets and other is found[-1]))
        return replace(view, query=replace(view.query, views=tuple(kept), select=select), recursive=True, passing=False)

    def _nested(self, view: SqlView, keys: set[str], scope: _Scope, frames: dict[str, str]) -> list[SqlView]:
        """The views of a recursive view's own WITH: those that do not read the recursion are frames."""
        by_name = {nested.name.lower(): self._with_whole_names(nested) for nested in view.query.views}
        kept: list[SqlView] = []
        reading = set(keys)
        for group in components(by_name):
            views = [by_name[key] for key in group]
            if any(mentioned(nested) & reading for nested in views):
                for nested in views:
                    self._refuse_window(nested.query)
                reading |= set(group)
                kept += views
                continue
            self.define(views, scope)
            for nested in views:
                name = self._own(f"{nested.name} of {view.name}")
                frames[name] = self._frame(f"SELECT * FROM {_quoted(nested.name)}", scope)
                query = replace(nested.query, views=(), select=_whole(name))
                kept.append(SqlView(nested.name, None, query, False, nested.span))
        return kept

    def _with_frames(
        self, part: Sequence[Token], reads: set[str], view: SqlView, scope: _Scope, frames: dict[str, str]
    ) -> exp.Expr:
        """A part that goes on, its subqueries in FROM replaced where they do not read the recursion."""
        tokens: list[Token] = []
        place = 0
        while place < len(part):
            token = part[place]
            in_from = token.token_type is TokenType.L_PAREN and _word(part, place - 1) in ("FROM", "JOIN")
            if in_from and _word(part, place + 1) in ("SELECT", "WITH"):
                end = closing(part, place)
                query = read_query(self.text, part[place + 1 : end])
                if not mentioned(SqlView("", None, query, recursive=False, span=None)) & reads:
                    name = self._own(f"subquery of {view.name}")
                    frames[name] = self._frame(self.query(query, scope), scope)
                    tokens.append(_token(name, token, part[end]))
                    place = end + 1
                    continue
            tokens.append(token)
            place += 1
        return self._parsed(tokens, view)

    # Names of tables

    def _own(self, wanted: str) -> str:
        """A name for a frame that nothing else has."""
        name, number = wanted.lower(), 2
        while name in self._spelt:
            name, number = f"{wanted.lower()} {number}", number + 1
        self._spelt[name] = Named((name,), None)
        return name

    def _parsed(self, tokens: Sequence[Token], view: SqlView) -> exp.Expr:
        parsed = self.text.parse(tokens, view.span)
        self._make_whole(parsed)
        return parsed

    def _with_whole_names(self, view: SqlView) -> SqlView:
        """The view with tables of other databases under one name each."""
        if view.query.select is not None:
            self._make_whole(view.query.select)
        for nested in view.query.views:
            self._with_whole_names(nested)
        return view

    def _make_whole(self, query: exp.Expr) -> None:
        for table in list(query.find_all(exp.Table)):
            if not isinstance(table.this, exp.Identifier):
                continue
            parts = tuple(str(part.name) for part in table.parts)
            name = ".".join(parts)
            self._spelt.setdefault(name.lower(), Named(parts, self.text.span(table)))
            if len(parts) > 1:
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True)))
                meta = dict(table.this.meta)
                table.set("this", exp.to_identifier(name, quoted=True))
                table.this.meta.update(meta)
                table.set("db", None)
                table.set("catalog", None)


def _parts(tokens: Sequence[Token], reads: set[str]) -> Iterator[Sequence[Token]]:
    """The parts of a chain of UNIONs; all of it, if there is more than UNIONs between them.

    A UNION that leaves out equal rows stays whole where it does not read what `reads` names.
    """
    while tokens[0].token_type is TokenType.L_PAREN and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    depth = together = 0
    starts, ends = [0], []
    for place, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type in _BETWEEN:
            yield tokens
            return
        if depth == 0 and token.token_type is TokenType.UNION:
            ends.append(place)
            after = place + 1
            everything = _word(tokens, after) == "ALL"
            while _word(tokens, after) in ("ALL", "DISTINCT"):
                after += 1
            starts.append(after)
            together = together if everything else len(ends)
    if not ends:
        yield tokens
        return
    ends.append(len(tokens))
    if together and not any(token.text.lower() in reads for token in tokens[: ends[together]]):
        yield tokens[: ends[together]]
        starts, ends = starts[together + 1 :], ends[together + 1 :]
    for start, end in zip(starts, ends, strict=True):
        yield from _parts(tokens[start:end], reads)


def _typed(view: SqlView, begins: Sequence[str], goes_on: Sequence[str]) -> Iterator[str]:
    """Queries with the columns of a recursive view: its first rows, and before them those of one step as well."""
    if not begins:
        return
    first = _together(begins)
    if goes_on:
        columns = ", ".join(_quoted(column.name) for column in view.columns or ())
        head = f"{_quoted(view.name)}({columns})" if columns else _quoted(view.name)
        yield f"WITH {head} AS ({first}) {_together([*begins, *goes_on])}"
    yield first


def _together(queries: Sequence[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM ({query})" for query in queries)


def _selects(query: SqlQuery) -> Iterator[exp.Expr]:
    for view in query.views:
        yield from _selects(view.query)
    if query.select is not None:
        yield query.select


def _uses(statements: Sequence[Statement]) -> Counter[str]:
    """How often each name stands in a FROM."""
    asking = [statement for statement in statements if isinstance(statement, SqlView | SqlQuery)]
    queries = [statement.query if isinstance(statement, SqlView) else statement for statement in asking]
    selects = [node for query in queries for node in _selects(query)]
    return Counter(table.name.lower() for node in selects for table in node.find_all(exp.Table))


def _columns(selects: Sequence[exp.Expr]) -> frozenset[str] | None:
    """The names that may be columns of what these read; None: any column, by a `*` or a NATURAL JOIN."""
    for select in selects:
        for star in select.find_all(exp.Star):
            if not isinstance(star.parent, exp.Count) and not star.meta.get(_OWN):
                return None
        if any(str(join.args.get("method") or "").upper() == "NATURAL" for join in select.find_all(exp.Join)):
            return None
    return frozenset(name.name.lower() for select in selects for name in select.find_all(exp.Identifier))


def _word(tokens: Sequence[Token], place: int) -> str:
    if not 0 <= place < len(tokens) or tokens[place].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return ""
    return str(tokens[place].text).upper()


def _token(name: str, first: Token, last: Token) -> Token:
    return Token(TokenType.IDENTIFIER, name, line=first.line, col=first.col, start=first.start, end=last.end)


def _whole(name: str) -> exp.Select:
    """All rows of a frame, which holds what is needed and no more."""
    select = exp.select("*").from_(exp.Table(this=exp.to_identifier(name, quoted=True)))
    select.expressions[0].meta[_OWN] = True
    return select


def _quoted(name: str) -> str:
    return "`" + _escaped(name).replace("`", "``") + "`"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
