"""SEARCH and CYCLE behind a recursive view, as columns that its parts compute.

    r(n) AS (...) SEARCH DEPTH FIRST BY n SET place         place: the values of n on the way to a row
    r(n) AS (...) SEARCH BREADTH FIRST BY n SET place       place: the number of steps, and n
    r(n) AS (...) CYCLE n SET again USING way               again: n stood on the way before; it leads no further

The way is a list of values, or of lists of values where several columns are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import TokenType, exp

from headwater.language.sql.text.cursor import Cursor
from headwater.language.sql.text.unshown import STEPS


@dataclass(frozen=True, slots=True)
class PathClause:
    """SEARCH or CYCLE: the columns it looks at, and those that it adds."""

    by: tuple[str, ...]
    column: str  # the place of a row, or whether it closes a cycle
    breadth: bool = False
    way: str | None = None  # the way to a row; None: it is a SEARCH
    yes: exp.Expr | None = None  # what stands in the column where a cycle is closed, and where not
    no: exp.Expr | None = None

    @property
    def added(self) -> tuple[str, ...]:
        """The columns that the view has more."""
        if self.way is not None:
            return self.column, self.way
        return (STEPS, self.column) if self.breadth else (self.column,)


class Unreadable(Exception):
    """A part of the view has another shape than the clause needs."""

    def __init__(self, message: str, place: exp.Expr) -> None:
        super().__init__(message)
        self.place = place


def read_path_clause(at: Cursor) -> PathClause:
    """The clause that stands at a place."""
    return _search(at) if at.take("SEARCH") else _cycle(at)


def _search(at: Cursor) -> PathClause:
    """`SEARCH DEPTH FIRST BY a, b SET place`"""
    breadth = at.take("BREADTH")
    for word in (() if breadth else ("DEPTH",)) + ("FIRST", "BY"):
        at.expect(word, "write SEARCH DEPTH FIRST BY a SET place")
    by = _names_until(at, "SET")
    return PathClause(by, at.name("the column")[0], breadth)


def _cycle(at: Cursor) -> PathClause:
    """`CYCLE a, b SET again TO 'yes' DEFAULT 'no' USING way`"""
    at.expect("CYCLE")
    by, column = _names_until(at, "SET"), at.name("the column")[0]
    marks: list[exp.Expr | None] = [None, None]
    if at.take("TO"):
        marks[0] = _mark(at)
        at.expect("DEFAULT", "write TO 'yes' DEFAULT 'no'")
        marks[1] = _mark(at)
    at.expect("USING", "write CYCLE a SET again USING way")
    return PathClause(by, column, False, at.name("the column")[0], *marks)


def _names_until(at: Cursor, word: str) -> tuple[str, ...]:
    found = [at.name("a column")[0]]
    while at.take(","):
        found.append(at.name("a column")[0])
    at.expect(word, f"write {word} and the name of a column")
    return tuple(found)


def _mark(at: Cursor) -> exp.Expr:
    """A text or number that says whether a row closes a cycle."""
    token = at.tokens[min(at.at, len(at.tokens) - 1)]
    at.at += 1
    if token.token_type is TokenType.STRING:
        return exp.Literal.string(token.text)
    if token.token_type is TokenType.NUMBER:
        return exp.Literal.number(token.text)
    if token.text.upper() in ("TRUE", "FALSE"):
        return exp.Boolean(this=token.text.upper() == "TRUE")
    at.text.refuse("HW101", "a text, a number, TRUE or FALSE stands here", token)


def with_path(query: exp.Expr, name: str, columns: Sequence[str] | None, clause: PathClause) -> tuple[str, ...]:
    """Add the columns of a clause to the parts of a recursive view, in place; the names of all its columns."""
    parts = list(_parts(query))
    if columns is None:
        columns = [item.alias_or_name for item in parts[0].expressions]
    places = {column.lower(): at for at, column in enumerate(columns)}
    wanted = [places.get(column.lower()) for column in clause.by]
    if None in wanted:
        missing = clause.by[wanted.index(None)]
        raise Unreadable(f"`{name}` has no column `{missing}`", query)
    for part in parts:
        if any(isinstance(item.unalias(), exp.Star) for item in part.expressions) or len(part.expressions) < len(
            columns
        ):
            raise Unreadable("SEARCH and CYCLE need every part to name its columns", part)
        values = [part.expressions[at].unalias().copy() for at in wanted if at is not None]
        for added, value in zip(clause.added, _values(part, values, name, clause), strict=True):
            part.append("expressions", exp.alias_(value, added, quoted=True))
    return (*columns, *clause.added)


def _parts(query: exp.Expr) -> Iterator[exp.Select]:
    match query:
        case exp.Subquery():
            yield from _parts(query.this)
        case exp.Union():
            yield from _parts(query.this)
            yield from _parts(query.expression)
        case exp.Select() if not query.args.get("group") and not query.args.get("distinct"):
            yield query
        case _:
            raise Unreadable("SEARCH and CYCLE need parts that are plain SELECTs", query)


def _values(part: exp.Select, values: list[exp.Expr], name: str, clause: PathClause) -> list[exp.Expr]:
    """What a part selects for the columns that a clause adds."""
    row = values[0] if len(values) == 1 else exp.Array(expressions=values)
    before = _before(part, name)
    if clause.way is not None:
        return _of_cycle(part, row, before, clause)
    if clause.breadth:
        steps = (
            exp.Literal.number(0) if before is None else exp.Add(this=before(STEPS), expression=exp.Literal.number(1))
        )
        return [steps, exp.Array(expressions=[steps.copy(), *(each.copy() for each in values)])]
    return [_way(row, before, clause.column)]


_Before = Callable[[str], exp.Column]


def _way(row: exp.Expr, before: _Before | None, column: str) -> exp.Expr:
    if before is None:
        return exp.Array(expressions=[row.copy()])
    return exp.ArrayAppend(this=before(column), expression=row.copy())


def _of_cycle(part: exp.Select, row: exp.Expr, before: _Before | None, clause: PathClause) -> list[exp.Expr]:
    assert clause.way is not None
    yes, no = clause.yes or exp.true(), clause.no or exp.false()
    if before is None:
        return [no.copy(), _way(row, None, clause.way)]
    open_end = exp.EQ(this=before(clause.column), expression=no.copy())
    where = part.args.get("where")
    part.set("where", exp.Where(this=open_end if where is None else exp.and_(exp.paren(where.this), open_end)))
    closed = exp.If(this=exp.ArrayContains(this=before(clause.way), expression=row.copy()), true=yes.copy())
    return [exp.Case(ifs=[closed], default=no.copy()), _way(row, before, clause.way)]


def _before(part: exp.Select, name: str) -> _Before | None:
    """The columns of the row that a part goes on from; None if it does not read the view."""
    read = [table for table in part.find_all(exp.Table) if table.name.lower() == name.lower()]
    if not read:
        return None
    if len(read) > 1 or read[0].find_ancestor(exp.Select) is not part:
        raise Unreadable(f"SEARCH and CYCLE need parts that read `{name}` once, in their own FROM", part)
    alias = read[0].alias_or_name

    def column(of: str) -> exp.Column:
        return exp.column(of, table=alias, quoted=True)

    return column
