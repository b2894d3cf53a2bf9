"""FROM and its joins: sources, and what a JOIN asks of them.

An inner join is a goal more in the body. An outer join becomes a relation of its own: the rows that match, and the rows
of the kept side that match nothing, with nulls for the other side. Where the ON only equates columns of the two sides,
"matches nothing" asks the other side alone, so that the kept side may be recursive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.language.sql.query.conditions import Conditions
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scope.body import Body, Found, meant
from headwater.language.sql.scope.rules import ALWAYS, Choices, Piece, both, made, present
from headwater.language.sql.scope.sources import Column, Source, Table
from headwater.language.syntax import Atom, Constant, Negation, Term, Variable

if TYPE_CHECKING:
    from headwater.language.sql.query.queries import Queries

_TABLE_PARTS = frozenset({"this", "alias", "db", "catalog", "joins"})
_JOIN_PARTS = frozenset({"this", "on", "side", "kind", "using", "method"})


@dataclass(slots=True)
class _Match:
    """The pieces of an ON: equated values of both sides, and what asks of one side only."""

    left: list[exp.Expr]
    right: list[exp.Expr]
    left_only: list[exp.Expr]
    right_only: list[exp.Expr]


@dataclass(slots=True)
class _Side:
    """What a piece of FROM brings: its sources, and the goals that make their rows."""

    sources: list[Source]
    goals: list[Piece]
    choices: Choices


@dataclass(frozen=True, slots=True)
class _Shared:
    """A column that USING or NATURAL shows once, and where both sides have it."""

    name: str
    left: Source
    right: Source


class Joins:
    def __init__(self, queries: Queries, body: Body) -> None:
        self.queries = queries
        self.body = body
        self.context = body.context
        self.text = body.context.text

    def read(self, select: exp.Select) -> None:
        """All of a FROM: what stands between two commas is joined first."""
        first = select.args.get("from_")
        found = None if first is None else self._item(first.this)
        before: _Side | None = None
        for join in select.args.get("joins") or []:
            if found is not None and self.text.follows_comma(join.this):
                before = found if before is None else self._beside(before, found)
                found = self._item(join.this)
            else:
                found = self._join(found or _nothing(), join)
        if before is not None and found is not None:
            found = self._beside(before, found)
        if found is not None:
            self._take(found)

    def _take(self, side: _Side) -> None:
        """Let the body be this, for its names to be found."""
        self.body.sources, self.body.goals, self.body.choices = list(side.sources), list(side.goals), side.choices

    def _taken(self) -> _Side:
        return _Side(self.body.sources, self.body.goals, self.body.choices)

    def _beside(self, left: _Side, right: _Side) -> _Side:
        taken = {source.alias.lower() for source in left.sources}
        for source in right.sources:
            if source.alias.lower() in taken:
                alias = source.alias
                hint = f"give one an alias: {alias} AS {alias}2"
                self.text.refuse("HW204", f"`{alias}` stands twice in this FROM", source.span, hint=hint)
        choices = both(left.choices, right.choices)
        return _Side([*left.sources, *right.sources], [*left.goals, *right.goals], choices)

    # Tables

    def _item(self, node: exp.Expr) -> _Side:
        """A table, a subquery or VALUES in FROM, with the joins that stand in its brackets."""
        found = self._table_or_query(node)
        for join in node.args.get("joins") or []:
            found = self._join(found, join)
        return found

    def _table_or_query(self, node: exp.Expr) -> _Side:
        match node:
            case exp.Table():
                self._refuse_parts(node, _TABLE_PARTS)
                return self._named(self._table(node), node.alias or node.name, node)
            case exp.Subquery() if isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
                return self._item(node.this)
            case exp.Subquery() | exp.Values():
                alias = node.alias or "subquery"
                query = node.this if isinstance(node, exp.Subquery) else node
                name = self.context.relation(f"{self.body.owner}'{_plain(alias)}")
                return self._named(self.queries.relation(query, self.body.scope, name, outer=None), alias, node)
            case exp.Lateral() | exp.Unnest():
                hint = "bring the items of lists as rows of a table"
                self.text.refuse("HW117", "LATERAL is not translated", node, hint=hint)
            case _:
                self.text.refuse("HW117", f"`{self.text.written(node)}` in FROM is not translated", node)

    def _table(self, node: exp.Table) -> Table:
        if not isinstance(node.this, exp.Identifier):
            self.text.refuse(
                "HW117",
                f"`{self.text.written(node)}` in FROM is not translated",
                node,
                hint="write a table, a view, a subquery, VALUES, or WINDOW(view, size) around the only table",
            )
        return self.queries.named(node, self.body.scope)

    def _named(self, table: Table, alias: str, node: exp.Expr) -> _Side:
        given = node.args.get("alias")
        columns = given.args.get("columns") if given is not None else None
        if columns:
            table = self._renamed(table, [column.name for column in columns], node)
        self._take(_nothing())
        self.body.add(table, alias, node)
        return self._taken()

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

    def _join(self, left: _Side, join: exp.Join) -> _Side:
        self._refuse_parts(join, _JOIN_PARTS)
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if (join.method or "").upper() not in ("", "NATURAL"):
            self.text.refuse("HW117", f"{join.method} JOIN is not translated", join, hint="write JOIN ... ON")
        if kind in ("SEMI", "ANTI"):
            return self._filtering(left, join, negated=kind == "ANTI")
        if side:
            return self._outer(left, join, side)
        right = self._item(join.this)
        self._take(self._beside(left, right))
        shared = self._shared(join, left.sources, right.sources)
        for condition in self._conditions(join, shared):
            self.body.restrict(self._holds(condition))
        self._show_once([(each, self._in(each.left, each.name, join)) for each in shared])
        return self._taken()

    def _holds(self, condition: exp.Expr, body: Body | None = None) -> Choices:
        body = body or self.body
        return Conditions(Values(body, self.queries.scalar), self.queries).holds(condition)

    def _conditions(self, join: exp.Join, shared: list[_Shared]) -> list[exp.Expr]:
        """What the join asks: its ON, and that columns of equal name are equal."""
        found = [condition for condition in (join.args.get("on"),) if condition is not None]
        for one in shared:
            left, right = (_column(source.alias, one.name, join) for source in (one.left, one.right))
            found.append(exp.EQ(this=left, expression=right))
        return found

    # USING and NATURAL

    def _shared(self, join: exp.Join, left: list[Source], right: list[Source]) -> list[_Shared]:
        using = [column.name for column in join.args.get("using") or []]
        if (join.method or "").upper() == "NATURAL":
            theirs = {name.lower() for source in right for name in source.shown()}
            using = [name for source in left for name in source.shown() if name.lower() in theirs]
        found = []
        for name in using:
            ours, other = self._holder(name, left, "left", join), self._holder(name, right, "right", join)
            found.append(_Shared(name, ours, other))
        return found

    def _holder(self, name: str, sources: list[Source], side: str, join: exp.Join) -> Source:
        holding = [one for one in sources if one.table.place(name) is not None and name.lower() not in one.merged]
        holding = holding or [one for one in sources if one.table.open]
        if len(holding) == 1:
            return holding[0]
        if holding:
            spelt = " and ".join(f"`{one.spelt}`" for one in holding)
            hint = f"write ON {holding[0].spelt}.{name} = ..."
            self.text.refuse("HW231", f"USING ({name}) finds it in {spelt}", join, hint=hint)
        columns = [column for source in sources for column in source.shown()]
        message = f"USING ({name}) finds no such column on the {side}"
        self.text.refuse("HW230", message, join, hint=meant(name, columns))

    def _in(self, source: Source, name: str, join: exp.Join) -> Found:
        return self.body.column(_column(source.alias, name, join))

    def _show_once(self, shared: list[tuple[_Shared, Found]]) -> None:
        """These columns are shown once and first, as a source of their own; each side has its own by its alias."""
        if not shared:
            return
        for one, _ in shared:
            one.left.merged.add(one.name.lower())
            one.right.merged.add(one.name.lower())
        first = shared[0][0].left
        columns = [replace(found.column, name=one.name) for one, found in shared]
        table = Table(first.table.relation, columns, key=())
        alias = f"{first.alias}'{len(self.body.sources)}"
        self.body.sources.insert(0, Source(alias, table, [found.variable for _, found in shared], first.span))

    # Joins that are no plain ones

    def _filtering(self, left: _Side, join: exp.Join, *, negated: bool) -> _Side:
        """LEFT SEMI and LEFT ANTI JOIN: a row stays if the other side has a match, or has none."""
        self._take(left)
        inner = Body(self.context, self.body.scope, self.body.owner, self.body, self.body.names)
        joins = Joins(self.queries, inner)
        joins._take(joins._item(join.this))
        shared = self._shared(join, left.sources, inner.sources)
        for condition in self._conditions(join, shared):
            inner.restrict(self._holds(condition, inner))
        atom = self.queries.asked(inner, [], join)
        self.body.goals.append(Negation(atom, span=atom.span) if negated else atom)
        self._show_once([(each, self._in(each.left, each.name, join)) for each in shared])
        return self._taken()

    def _outer(self, left: _Side, join: exp.Join, side: str) -> _Side:
        for source in left.sources:
            self.queries.refuse_recursive(source.table, side in ("RIGHT", "FULL"), join)
        right = self._item(join.this)
        for source in right.sources:
            self.queries.refuse_recursive(source.table, side in ("LEFT", "FULL"), join)
        together = self._beside(left, right)
        self._take(together)
        shared = self._shared(join, left.sources, right.sources)
        conditions = self._conditions(join, shared)
        span = self.text.span(join)
        name = self.context.relation(f"{self.body.owner}'join")
        ours, theirs = _variables(left.sources), _variables(right.sources)
        on = ALWAYS
        for condition in conditions:
            on = both(on, self._holds(condition))
        # What FULL JOIN ... USING shows is the value of the side that has one.
        whole = shared if side == "FULL" else []
        of_left = [self._in(one.left, one.name, join) for one in whole]
        of_right = [self._in(one.right, one.name, join) for one in whole]
        kept = [one.variable for one in of_left]
        rules = made(name, [*ours, *theirs, *kept], together.goals, both(together.choices, on), span)
        if side in ("LEFT", "FULL"):
            ways = self._unmatched(conditions, left, right, on)
            head = [*ours, *_nulls(theirs), *kept]
            rules += made(name, head, left.goals, both(left.choices, ways), span)
        if side in ("RIGHT", "FULL"):
            ways = self._unmatched(conditions, right, left, on)
            head = [*_nulls(ours), *theirs, *(one.variable for one in of_right)]
            rules += made(name, head, right.goals, both(right.choices, ways), span)
        self.context.rules += rules
        fresh = [self.body.names.variable(one.name) for one in whole]
        self._stand_for(name, left.sources, right.sources, fresh, side, join)
        if whole:
            columns = [
                replace(one.column, nullable=one.column.nullable or other.column.nullable)
                for one, other in zip(of_left, of_right, strict=True)
            ]
            values = [Found(variable, column) for variable, column in zip(fresh, columns, strict=True)]
        else:
            values = [self._in(one.right if side == "RIGHT" else one.left, one.name, join) for one in shared]
        self._show_once(list(zip(shared, values, strict=True)))
        return self._taken()

    def _unmatched(
        self,
        conditions: list[exp.Expr],
        kept: _Side,
        asked: _Side,
        on: Choices,
    ) -> Choices:
        """The ways in which a row of the kept side matches nothing on the other."""
        place = self.body.sources[-1].span
        match = self._split(conditions, kept.sources, asked.sources)
        name = self.context.relation(f"{self.body.owner}'match")
        values = Values(self.body, self.queries.scalar)
        asker = Conditions(values, self.queries)
        if match is None:
            told: list[Term] = list(dict.fromkeys(one for source in kept.sources for one in source.identity()))
            everything = [*kept.goals, *asked.goals]
            self.context.rules += made(name, told, everything, both(both(kept.choices, asked.choices), on), place)
            return [[Negation(Atom(name, tuple(told), span=place), span=place)]]
        theirs = [values.value(each) for each in match.right]
        ways = asked.choices
        for condition in match.right_only:
            ways = both(ways, asker.holds(condition))
        # A null equals nothing, but is found in a relation that holds one: so this one must hold none.
        checks: list[Piece] = [present(each.term, place) for each in theirs if each.nullable]
        terms = [each.term for each in theirs]
        self.context.rules += made(name, terms, [*asked.goals, *checks], ways, place)
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

    def _stand_for(
        self, name: str, left: list[Source], right: list[Source], more: list[Variable], side: str, join: exp.Join
    ) -> None:
        """The joined relation in place of both sides; their columns keep their names."""
        body = self.body
        body.goals, body.choices, body.sources = [], [list(way) for way in ALWAYS], []
        variables = [*_variables(left), *_variables(right), *more]
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
        span = self.text.span(join)
        columns = [Column(variable.name.lower()) for variable in variables]
        self.context.define(Table(name, columns, span=span))
        body.goals.append(Atom(name, tuple(variables), span=span))


def _nothing() -> _Side:
    return _Side([], [], [list(way) for way in ALWAYS])


def _variables(sources: list[Source]) -> list[Variable]:
    return list(dict.fromkeys(variable for source in sources for variable in source.variables))


def _nulls(variables: list[Variable]) -> list[Term]:
    return [Constant(None, None) for _ in variables]


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
