"""FROM and its joins: sources, and what a JOIN asks of them.

An inner join is a goal more in the body. An outer join becomes a relation of its own: the rows that match, and the rows
of the kept side that match nothing, with nulls for the other side. Where the ON only equates columns of the two sides,
"matches nothing" asks the other side alone, so that the kept side may be recursive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.language.sql.body import Body, meant
from headwater.language.sql.conditions import Conditions
from headwater.language.sql.rules import ALWAYS, Choices, Piece, both, made, present
from headwater.language.sql.tables import Column, Source, Table
from headwater.language.sql.values import Values
from headwater.language.tree import Atom, Constant, Negation, Term, Variable

if TYPE_CHECKING:
    from headwater.language.sql.queries import Queries

_TABLE_PARTS = frozenset({"this", "alias", "db", "catalog", "joins"})
_JOIN_PARTS = frozenset({"this", "on", "side", "kind", "using", "method"})


@dataclass(slots=True)
class _Match:
    """The pieces of an ON: equated values of both sides, and what asks of one side only."""

    left: list[exp.Expr]
    right: list[exp.Expr]
    left_only: list[exp.Expr]
    right_only: list[exp.Expr]


class Joins:
    def __init__(self, queries: Queries, body: Body) -> None:
        self.queries = queries
        self.body = body
        self.context = body.context
        self.text = body.context.text

    def read(self, select: exp.Select) -> None:
        first = select.args.get("from_")
        if first is not None:
            self._item(first.this)
        for join in select.args.get("joins") or []:
            self._join(join)

    # Tables

    def _item(self, node: exp.Expr) -> list[Source]:
        """A table, a subquery or VALUES in FROM, with the joins that stand in its brackets."""
        before = len(self.body.sources)
        match node:
            case exp.Table():
                self._refuse_parts(node, _TABLE_PARTS)
                self._add(self._table(node), node.alias or node.name, node)
            case exp.Subquery() if isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
                self._item(node.this)
            case exp.Subquery() | exp.Values():
                alias = node.alias or "subquery"
                query = node.this if isinstance(node, exp.Subquery) else node
                name = self.context.relation(f"{self.body.owner}'{_plain(alias)}")
                table = self.queries.relation(query, self.body.scope, name, outer=None)
                self._add(table, alias, node)
            case exp.Lateral() | exp.Unnest():
                self.text.refuse(
                    "HW117", "LATERAL is not translated", node, hint="bring the items of lists as rows of a table"
                )
            case _:
                self.text.refuse("HW117", f"`{self.text.written(node)}` in FROM is not translated", node)
        for join in node.args.get("joins") or []:
            self._join(join)
        return self.body.sources[before:]

    def _table(self, node: exp.Table) -> Table:
        if not isinstance(node.this, exp.Identifier):
            self.text.refuse(
                "HW117",
                f"`{self.text.written(node)}` in FROM is not translated",
                node,
                hint="write a table, a view, a subquery, VALUES, or WINDOW(view, size) around the only table",
            )
        return self.queries.named(node, self.body.scope)

    def _add(self, table: Table, alias: str, node: exp.Expr) -> None:
        if any(source.alias.lower() == alias.lower() for source in self.body.sources):
            self.text.refuse(
                "HW204", f"`{alias}` stands twice in this FROM", node, hint=f"give one an alias: {alias} AS {alias}2"
            )
        given = node.args.get("alias")
        columns = given.args.get("columns") if given is not None else None
        if columns:
            table = self._renamed(table, [column.name for column in columns], node)
        self.body.add(table, alias, node)

    def _renamed(self, table: Table, names: list[str], node: exp.Expr) -> Table:
        if table.open or len(names) != len(table.columns):
            self.text.refuse(
                "HW201",
                f"{len(names)} names for {len(table.columns)} columns",
                node,
                hint="name every column once, or none",
            )
        columns = [replace(old, name=name) for name, old in zip(names, table.columns, strict=True)]
        return Table(table.relation, columns, table.hidden, table.key, base=table.base)

    def _refuse_parts(self, node: exp.Expr, known: frozenset[str]) -> None:
        for part, value in node.args.items():
            if value not in (None, [], False, "") and part not in known:
                word = part.rstrip("_").upper()
                self.text.refuse("HW117", f"{word} is not translated here", node, hint=f"leave out {word}")

    # Joins

    def _join(self, join: exp.Join) -> None:
        self._refuse_parts(join, _JOIN_PARTS)
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if (join.method or "").upper() not in ("", "NATURAL"):
            self.text.refuse("HW117", f"{join.method} JOIN is not translated", join, hint="write JOIN ... ON")
        if kind in ("SEMI", "ANTI"):
            self._filtering(join, negated=kind == "ANTI")
        elif side:
            self._outer(join, side)
        else:
            count = len(self.body.sources)
            added = self._item(join.this)
            for condition in self._conditions(join, self.body.sources[:count], added):
                self.body.restrict(self._holds(condition))

    def _holds(self, condition: exp.Expr, body: Body | None = None) -> Choices:
        body = body or self.body
        return Conditions(Values(body, self.queries.scalar), self.queries).holds(condition)

    def _conditions(
        self, join: exp.Join, before: list[Source], added: list[Source], *, merge: bool = True
    ) -> list[exp.Expr]:
        """What the join asks: its ON, or columns of equal name."""
        using = [column.name for column in join.args.get("using") or []]
        if (join.method or "").upper() == "NATURAL":
            ours = [column.name for source in before for column in source.table.columns]
            theirs = {column.name.lower() for source in added for column in source.table.columns}
            using = [name for name in ours if name.lower() in theirs]
        found = [condition for condition in (join.args.get("on"),) if condition is not None]
        for name in using:
            holding = [source for source in before if source.table.place(name) is not None]
            if len([one for one in holding if name.lower() not in one.merged]) != 1:
                columns = [column.name for source in before for column in source.table.columns]
                self.text.refuse(
                    "HW230", f"USING ({name}) finds no such column on the left", join, hint=meant(name, columns)
                )
            for source in added:
                if source.table.place(name) is None and not source.table.open:
                    self.text.refuse("HW230", f"USING ({name}) finds no such column on the right", join)
            left = next(one for one in holding if name.lower() not in one.merged)
            found.append(exp.EQ(this=_column(left.alias, name, join), expression=_column(added[0].alias, name, join)))
            if merge:
                added[0].merged.add(name.lower())
        return found

    def _filtering(self, join: exp.Join, *, negated: bool) -> None:
        """LEFT SEMI and LEFT ANTI JOIN: a row stays if the other side has a match, or has none."""
        inner = Body(self.context, self.body.scope, self.body.owner, self.body, self.body.names)
        added = Joins(self.queries, inner)._item(join.this)
        for condition in self._conditions(join, self.body.sources, added, merge=False):
            inner.restrict(self._holds(condition, inner))
        atom = self.queries.asked(inner, [], join)
        self.body.goals.append(Negation(atom, span=atom.span) if negated else atom)

    def _outer(self, join: exp.Join, side: str) -> None:
        body = self.body
        left = list(body.sources)
        goals, choices = list(body.goals), [list(way) for way in body.choices]
        for source in left:
            self.queries.refuse_recursive(source.table, side in ("RIGHT", "FULL"), join)
        right = self._item(join.this)
        for source in right:
            self.queries.refuse_recursive(source.table, side in ("LEFT", "FULL"), join)
        other = body.goals[len(goals) :]
        conditions = self._conditions(join, left, right, merge=side != "FULL")
        span = self.text.span(join)
        name = self.context.relation(f"{body.owner}'join")
        ours = [variable for source in left for variable in source.variables]
        theirs = [variable for source in right for variable in source.variables]
        on = ALWAYS
        for condition in conditions:
            on = both(on, self._holds(condition))
        matching = [*goals, *other]
        rules = made(name, [*ours, *theirs], matching, both(choices, on), span)
        if side in ("LEFT", "FULL"):
            ways = self._unmatched(conditions, left, right, (goals, choices), (other, ALWAYS), on)
            rules += made(name, [*ours, *_nulls(right)], goals, both(choices, ways), span)
        if side in ("RIGHT", "FULL"):
            ways = self._unmatched(conditions, right, left, (other, ALWAYS), (goals, choices), on)
            rules += made(name, [*_nulls(left), *theirs], other, ways, span)
        self.context.rules += rules
        self._stand_for(name, left, right, side, join)

    def _unmatched(
        self,
        conditions: list[exp.Expr],
        kept: list[Source],
        asked: list[Source],
        kept_body: tuple[list[Piece], Choices],
        asked_body: tuple[list[Piece], Choices],
        on: Choices,
    ) -> Choices:
        """The ways in which a row of the kept side matches nothing on the other."""
        place = self.body.sources[-1].span
        match = self._split(conditions, kept, asked)
        name = self.context.relation(f"{self.body.owner}'match")
        values = Values(self.body, self.queries.scalar)
        asker = Conditions(values, self.queries)
        if match is None:
            told: list[Term] = list(dict.fromkeys(one for source in kept for one in source.identity()))
            everything = [*kept_body[0], *asked_body[0]]
            self.context.rules += made(name, told, everything, both(both(kept_body[1], asked_body[1]), on), place)
            return [[Negation(Atom(name, tuple(told), span=place), span=place)]]
        theirs = [values.value(each) for each in match.right]
        ways = asked_body[1]
        for condition in match.right_only:
            ways = both(ways, asker.holds(condition))
        # A null equals nothing, but is found in a relation that holds one: so this one must hold none.
        checks: list[Piece] = [present(each.term, place) for each in theirs if each.nullable]
        terms = [each.term for each in theirs]
        self.context.rules += made(name, terms, [*asked_body[0], *checks], ways, place)
        ours = tuple(values.term(each) for each in match.left)
        missing: Choices = [[Negation(Atom(name, ours, span=place), span=place)]]
        if not match.left_only:
            return missing
        asks = exp.and_(*(each.copy() for each in match.left_only), copy=False)
        return [*missing, *asker.fails_or_unknown(asks)]

    def _split(self, conditions: list[exp.Expr], kept: list[Source], asked: list[Source]) -> _Match | None:
        """The ON by sides; None if a piece of it is about both in another way than by being equal."""
        found = _Match([], [], [], [])
        for condition in (part for each in conditions for part in _conjuncts(each)):
            if condition.find(exp.Select, exp.Subquery, exp.Exists) is not None:
                return None
            sides = self._sides(condition, kept, asked)
            if sides == {"kept"}:
                found.left_only.append(condition)
            elif sides <= {"asked"}:
                found.right_only.append(condition)
            elif isinstance(condition, exp.EQ):
                first, second = (self._sides(each, kept, asked) for each in (condition.this, condition.expression))
                if (first, second) == ({"kept"}, {"asked"}):
                    pair = condition.this, condition.expression
                elif (first, second) == ({"asked"}, {"kept"}):
                    pair = condition.expression, condition.this
                else:
                    return None
                found.left.append(pair[0])
                found.right.append(pair[1])
            else:
                return None
        return found

    def _sides(self, node: exp.Expr, kept: list[Source], asked: list[Source]) -> set[str]:
        ours = {variable.name for source in kept for variable in source.variables}
        theirs = {variable.name for source in asked for variable in source.variables}
        found = set()
        for column in node.find_all(exp.Column):
            name = self.body.column(column).variable.name
            found.add("kept" if name in ours else "asked" if name in theirs else "outside")
        return found

    def _stand_for(self, name: str, left: list[Source], right: list[Source], side: str, join: exp.Join) -> None:
        """The joined relation in place of both sides; their columns keep their names."""
        body = self.body
        body.goals, body.choices, body.sources = [], [list(way) for way in ALWAYS], []
        variables: list[Variable] = []
        for source in (*left, *right):
            may_lack = side == "FULL" or (side == "LEFT") == (source in right)
            columns = [
                Column(column.name, column.type, column.nullable or may_lack, column.date)
                for column in source.table.columns
            ]
            table = source.table  # while its columns are still found out, it takes on more
            if not table.open:
                table = Table(table.relation, columns, table.hidden, table.key)
            body.sources.append(Source(source.alias, table, source.variables, source.span, merged=source.merged))
            variables += source.variables
        if side == "RIGHT":
            self._right_wins(left, right)
        span = self.text.span(join)
        columns = [Column(variable.name.lower()) for variable in variables]
        self.context.define(Table(name, columns, span=span))
        body.goals.append(Atom(name, tuple(variables), span=span))

    def _right_wins(self, left: list[Source], right: list[Source]) -> None:
        """The column that USING shows once is the right one's, which is never lacking."""
        shown = self.body.sources[len(left) :]
        for old, new in zip(right, shown, strict=True):
            for name in list(old.merged):
                new.merged.discard(name)
                for source in self.body.sources[: len(left)]:
                    if source.table.place(name) is not None:
                        source.merged.add(name)


def _nulls(sources: list[Source]) -> list[Term]:
    return [Constant(None, None) for source in sources for _ in source.variables]


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _column(alias: str, name: str, place: exp.Expr) -> exp.Column:
    made = exp.column(name, table=alias, quoted=True)
    inside = next((node.meta for node in place.walk() if node.meta and node.meta.get("start") is not None), None)
    if inside:
        made.this.meta.update(inside)
    return made


def _plain(alias: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in alias).lower() or "part"
