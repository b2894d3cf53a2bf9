"""What Spark's own WITH RECURSIVE (4.3) would do with an SQL text, beside what Headwater does.

Spark rejects much (UNION, mutual recursion, aggregates, the missing side of an outer join), answers a
recursion that reads itself twice incompletely and says nothing, and runs into its limit of levels or rows where the
data has a cycle. The doctor reads the text alone: whether the data has a cycle only the data can tell. Its claims are
held against a real Spark in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source, Span
from headwater.language.sql.text.parsed import SqlText
from headwater.language.sql.text.shape import components, is_recursion, union_parts
from headwater.language.sql.text.statements import SqlQuery, SqlView, Statement, read_statements, with_views
from headwater.language.syntax import Declaration, Kind


@dataclass(frozen=True, slots=True)
class Finding:
    """What Spark does with one view or statement, why, and what we do."""

    name: str
    verdict: Verdict
    error: str | None  # Spark's error condition, if it rejects it
    why: str
    ours: str
    span: Span | None

    def __str__(self) -> str:
        error = f" ({self.error})" if self.error else ""
        return f"{self.name}: Spark: {self.verdict.value}{error}: {self.why}\n  Headwater: {self.ours}"


class Verdict(Enum):
    """What Spark does with a recursion."""

    FINE = "fine"
    LIMITED = "may hit the level limit"
    INCOMPLETE = "silently incomplete"
    REJECTED = "rejected"


_ENDS = "computes the set of rows that follow, and stops when nothing new does"
_COPIES = "computes the rows that follow, each as often as Spark does, without a limit of levels"


def diagnose(source: Source) -> list[Finding]:
    """One finding for each statement or recursion that Spark treats in its own way; raises SyntaxProblem."""
    text = SqlText(source)
    statements, problems = read_statements(text)
    if problems:
        raise SyntaxProblem(tuple(problems))
    found: list[Finding] = []
    for statement in statements:
        found += _statement(statement)
        found += [finding for views in _in_brackets(text, statement) for finding in _views(views)]
    return found


def _in_brackets(text: SqlText, statement: Statement) -> Iterator[tuple[SqlView, ...]]:
    """The WITHs of subqueries."""
    match statement:
        case SqlView(query=query):
            yield from _in_brackets(text, query)
        case SqlQuery(views=views, select=select):
            for view in views:
                yield from _in_brackets(text, view)
            for clause in select.find_all(exp.With) if select is not None else ():
                yield with_views(text, clause)
        case _:
            pass


def _statement(statement: Statement) -> list[Finding]:
    match statement:
        case Declaration(kind=Kind.STREAM):
            why = "Spark has no CREATE STREAM"
            ours = "keeps the rows of the stream for as long as windows and ttl say"
            return [Finding(statement.relation, Verdict.REJECTED, "PARSE_SYNTAX_ERROR", why, ours, statement.span)]
        case Declaration():
            return []
        case SqlView(recursive=True):
            why = "Spark has no CREATE RECURSIVE VIEW"
            finding = Finding(statement.name, Verdict.REJECTED, "PARSE_SYNTAX_ERROR", why, _ENDS, statement.span)
            return [finding]
        case SqlView():
            return _views(statement.query.views) + _window(statement.query, statement.name)
        case SqlQuery():
            return _views(statement.views) + _window(statement, "the query")


def _window(query: SqlQuery, name: str) -> list[Finding]:
    if query.window is None:
        return []
    why = "WINDOW(view, size) is not a table function of Spark's"
    ours = "shows what follows from the rows of the last moments, and forgets them as time goes on"
    return [Finding(name, Verdict.REJECTED, "PARSE_SYNTAX_ERROR", why, ours, query.window.span)]


def _views(views: tuple[SqlView, ...]) -> list[Finding]:
    by_name = {view.name.lower(): view for view in views}
    found: list[Finding] = []
    for group in components(by_name):
        if is_recursion(group, by_name):
            found += [_view(by_name[key], set(group)) for key in group]
    for view in views:
        found += _views(view.query.views)
    return found


def _view(view: SqlView, group: set[str]) -> Finding:
    assert view.query.select is not None
    unions = _own_unions(view.query.select)
    parts = union_parts(view.query.select, True)
    steps = [part for part in parts if _reads(part, group)]

    def rejected(error: str, why: str, ours: str = _ENDS) -> Finding:
        return Finding(view.name, Verdict.REJECTED, error, why, ours, view.span)

    if any(column.aggregate for column in view.columns or ()):
        return rejected("PARSE_SYNTAX_ERROR", "Spark knows no aggregate in the head of a view", _BEST)
    if len(group) > 1:
        return rejected("TABLE_OR_VIEW_NOT_FOUND", "views that read each other in a circle; it sees earlier ones only")
    if any(union.args.get("distinct") for union in unions):
        return rejected("UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE", "a recursion with UNION; Spark knows UNION ALL only")
    if len(steps) == len(parts) or not unions:
        return rejected("INVALID_RECURSIVE_CTE", "a recursion needs a part that does not read itself, and UNION ALL")
    if _reads(_left(view.query.select), group):
        return rejected("INVALID_RECURSIVE_CTE", "only the last part of its UNION ALL may read the view itself")
    for step in steps:
        place = _bad_place(step, group)
        if place is not None:
            return rejected("INVALID_RECURSIVE_REFERENCE.PLACE", f"the view is read {place}")
    if any(_count(step, group) > 1 for step in steps):
        why = "a part reads the view twice; Spark joins only the rows of the last round with each other"
        return Finding(view.name, Verdict.INCOMPLETE, None, why, f"{_ENDS}: none is missing", view.span)
    if all(_counts_up(step) for step in steps):
        why = "a condition bounds the recursion, but 100 levels and a million rows are the limit unless raised"
        return Finding(view.name, Verdict.FINE, None, why, _COPIES, view.span)
    why = (
        "on data with a cycle, or deeper than 100 levels, the query fails with RECURSION_LEVEL_LIMIT_EXCEEDED; "
        "with more than a million rows, copies counted, with RECURSION_ROW_LIMIT_EXCEEDED"
    )
    ours = f"{_COPIES}; on data with a cycle, each row once"
    return Finding(view.name, Verdict.LIMITED, None, why, ours, view.span)


_BEST = "keeps only the best row of each group while the recursion goes on"


def _own_unions(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Subquery):
        node = node.this
    if isinstance(node, exp.SetOperation):
        return [node, *_own_unions(node.this), *_own_unions(node.expression)]
    return []


def _left(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery):
        node = node.this
    return node.this if isinstance(node, exp.SetOperation) else node


def _reads(node: exp.Expr, group: set[str]) -> bool:
    return _count(node, group) > 0


def _count(node: exp.Expr, group: set[str]) -> int:
    return sum(1 for table in node.find_all(exp.Table) if table.name.lower() in group)


def _bad_place(step: exp.Expr, group: set[str]) -> str | None:
    """Where a part reads its own view in a way that Spark refuses."""
    for node in step.walk():
        match node:
            case exp.Select() if node.args.get("group") and _reads(node, group):
                return "under GROUP BY"
            case exp.Select() if any(each.find(exp.AggFunc) for each in node.expressions) and _reads(node, group):
                return "under an aggregate"
            case exp.Join() if (node.kind or "").upper() in ("SEMI", "ANTI") and _reads(node.this, group):
                return "on the right side of a semi or anti join"
            case exp.Join() if (node.side or "").upper() in ("LEFT", "FULL") and _reads(node.this, group):
                return "on the side of an outer join that may be missing"
            case exp.Join() if (node.side or "").upper() in ("RIGHT", "FULL"):
                parent = node.parent
                others = parent.args.get("from_") if parent is not None else None
                if others is not None and _reads(others, group):
                    return "on the side of an outer join that may be missing"
            case _:
                pass
    return None


def _counts_up(step: exp.Expr) -> bool:
    """Whether a condition bounds a number that the part makes larger or smaller."""
    where = step.args.get("where")
    if where is None:
        return False
    moving = {
        column.name.lower()
        for item in step.expressions
        for sum_ in item.find_all(exp.Add, exp.Sub)
        for column in sum_.find_all(exp.Column)
    }
    return any(
        column.name.lower() in moving
        for comparison in where.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE)
        for column in comparison.find_all(exp.Column)
    )
