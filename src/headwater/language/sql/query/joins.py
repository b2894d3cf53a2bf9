"""FROM and its joins: sources, and what a JOIN asks of them.

An inner join is a goal more in the body. An outer join becomes a relation of its own: the rows that match, and the rows
of the kept side that match nothing, with nulls for the other side. Where the ON only equates columns of the two sides,
"matches nothing" asks the other side alone, so that the kept side may be recursive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from headwater.language.sql.query.conditions import Conditions, holds
from headwater.language.sql.query.generators import Generators, Laterals, is_lateral
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scope.body import Body, Found, column_at, meant
from headwater.language.sql.scope.rules import ALWAYS, Choices, Piece, both, made, present
from headwater.language.sql.scope.sources import FromItem, SqlColumn, SqlTable
from headwater.language.sql.text.generators import generates, generator
from headwater.language.sql.text.shape import conjuncts
from headwater.language.syntax import Atom, Constant, Negation, Term, Variable


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

    sources: list[FromItem]
    goals: list[Piece]
    choices: Choices


@dataclass(frozen=True, slots=True)
class _Shared:
    """A column that USING or NATURAL shows once, and where both sides have it."""

    name: str
    left: FromItem
    right: FromItem


class Joins:
    """The FROM of one body."""

    def __init__(self, translator: Translator, body: Body) -> None:
        self.translator = translator
        self.body = body
        self.context = body.context
        self.text = body.context.text

    def read(self, select: exp.Select) -> None:
        """All of a FROM: what stands between two commas is joined first."""
        first = select.args.get("from_")
        found = None if first is None else self._item(first.this)
        before: _Side | None = None
        for join in select.args.get("joins") or []:
            lateral = generates(join.this) or is_lateral(join.this)
            if lateral and before is not None and found is not None:
                found = self._beside(before, found)  # it may read all that stands before it
                before = None
            if found is not None and self.text.follows_comma(join.this) and not lateral:
                before = found if before is None else self._beside(before, found)
                found = self._item(join.this)
            else:
                found = self._join(found or _nothing(), join)
        if before is not None and found is not None:
            found = self._beside(before, found)
        for lateral in select.args.get("laterals") or []:
            found = self._generated(found or _nothing(), lateral)
        if found is not None:
            self._take(found)

    def read_item(self, node: exp.Expr) -> None:
        """One table, subquery or VALUES alone."""
        self._take(self._item(node))

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

    # Generators

    def _generated(self, left: _Side, node: exp.Expr, *, outer: bool = False) -> _Side:
        """The rows of the left side, each with what a generator or a LATERAL subquery gives for it."""
        found = generator(node)
        if is_lateral(node):
            self._take(left)
            Laterals(self.body, self.translator).add(node, outer=outer)
            return self._beside(self._taken(), _nothing())
        if found is None:
            hint = "write explode(list), unnest(list), range(n), sequence(a, b) or a subquery"
            self.text.refuse("HW117", f"`{self.text.written(node)}` in FROM is not translated", node, hint=hint)
        self._take(left)
        Generators(self.body, self.translator).add(replace(found, outer=True) if outer else found, node)
        return self._beside(self._taken(), _nothing())

    def _generated_join(self, left: _Side, join: exp.Join) -> _Side:
        """A generator or LATERAL subquery behind JOIN: an inner join has any ON, a LEFT JOIN only ON TRUE."""
        side, on = (join.side or "").upper(), join.args.get("on")
        plain = on is None or (isinstance(on, exp.Boolean) and on.this)
        if side not in ("", "LEFT") or (side and not plain) or join.args.get("using") or join.method:
            hint = "write CROSS JOIN, JOIN ... ON, or LEFT JOIN ... ON TRUE with the condition inside the subquery"
            self.text.refuse("HW117", "this join with LATERAL or a generator is not translated", join, hint=hint)
        found = self._generated(left, join.this, outer=bool(side))
        if on is not None and not plain:
            self._take(found)
            self.body.restrict(holds(on, self.body, self.translator))
            found = self._taken()
        return found

    # Tables

    def _item(self, node: exp.Expr) -> _Side:
        """A table, a subquery or VALUES in FROM, with the joins that stand in its brackets."""
        found = self._table_or_query(node)
        for join in node.args.get("joins") or []:
            found = self._join(found, join)
        return found

    def _table_or_query(self, node: exp.Expr) -> _Side:
        if generates(node) or is_lateral(node):
            return self._generated(_nothing(), node)
        match node:
            case exp.Table():
                return self._named(self._table(node), node.alias or node.name, node)
            case exp.Subquery() if isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
                return self._item(node.this)
            case exp.Subquery() | exp.Values():
                alias = node.alias or "subquery"
                query = node.this if isinstance(node, exp.Subquery) else node
                name = self.context.relation(f"{self.body.owner}'{_plain(alias)}")
                return self._named(self.translator.relation(query, self.body.scope, name, outer=None), alias, node)
            case _:
                self.text.refuse("HW117", f"`{self.text.written(node)}` in FROM is not translated", node)

    def _table(self, node: exp.Table) -> SqlTable:
        if not isinstance(node.this, exp.Identifier):
            hint = "write a table, a view, a subquery, VALUES, or WINDOW(view, size) around the only table"
            self.text.refuse("HW117", f"`{self.text.written(node)}` in FROM is not translated", node, hint=hint)
        return self.translator.named(node, self.body.scope)

    def _named(self, table: SqlTable, alias: str, node: exp.Expr) -> _Side:
        given = node.args.get("alias")
        columns = given.args.get("columns") if given is not None else None
        if columns:
            table = self._renamed(table, [column.name for column in columns], node)
        self._take(_nothing())
        self.body.add(table, alias, node)
        return self._taken()

    def _renamed(self, table: SqlTable, names: list[str], node: exp.Expr) -> SqlTable:
        if table.open or len(names) != len(table.columns):
            message = f"{len(names)} names for {len(table.columns)} columns"
            self.text.refuse("HW201", message, node, hint="name every column once, or none")
        columns = [replace(old, name=name) for name, old in zip(names, table.columns, strict=True)]
        return SqlTable(table.relation, columns, table.hidden, table.key, base=table.base)

    # Joins

    def _join(self, left: _Side, join: exp.Join) -> _Side:
        if is_lateral(join.this) or (generates(join.this) and join.this.find(exp.Column) is not None):
            return self._generated_join(left, join)
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if (join.method or "").upper() not in ("", "NATURAL"):
            self.text.refuse("HW117", f"{join.method} JOIN is not translated", join, hint="write JOIN ... ON")
        if kind in ("SEMI", "ANTI"):
            if side not in ("", "LEFT"):
                message, hint = f"{side} {kind} JOIN is not translated", f"change sides, and write LEFT {kind} JOIN"
                self.text.refuse("HW117", message, join, hint=hint)
            return self._filtering(left, join, negated=kind == "ANTI")
        if side:
            return self._outer(left, join, side)
        right = self._item(join.this)
        self._take(self._beside(left, right))
        shared = self._shared(join, left.sources, right.sources)
        for condition in self._conditions(join, shared):
            self.body.restrict(holds(condition, self.body, self.translator))
        self._show_once([(each, self._in(each.left, each.name, join)) for each in shared])
        return self._taken()

    def _conditions(self, join: exp.Join, shared: list[_Shared]) -> list[exp.Expr]:
        """What the join asks: its ON, and that columns of equal name are equal."""
        found = [condition for condition in (join.args.get("on"),) if condition is not None]
        for column in shared:
            left, right = (column_at(source.alias, column.name, join) for source in (column.left, column.right))
            found.append(exp.EQ(this=left, expression=right))
        return found

    # USING and NATURAL

    def _shared(self, join: exp.Join, left: list[FromItem], right: list[FromItem]) -> list[_Shared]:
        using = [column.name for column in join.args.get("using") or []]
        if (join.method or "").upper() == "NATURAL":
            theirs = {name.lower() for source in right for name in source.shown()}
            using = [name for source in left for name in source.shown() if name.lower() in theirs]
        found = []
        for name in using:
            ours, other = self._holder(name, left, "left", join), self._holder(name, right, "right", join)
            found.append(_Shared(name, ours, other))
        return found

    def _holder(self, name: str, sources: list[FromItem], side: str, join: exp.Join) -> FromItem:
        holding = [source for source in sources if source.shows(name)]
        holding = holding or [source for source in sources if source.table.open]
        if len(holding) == 1:
            return holding[0]
        if holding:
            spelt = " and ".join(f"`{source.spelt}`" for source in holding)
            hint = f"write ON {holding[0].spelt}.{name} = ..."
            self.text.refuse("HW231", f"USING ({name}) finds it in {spelt}", join, hint=hint)
        columns = [column for source in sources for column in source.shown()]
        message = f"USING ({name}) finds no such column on the {side}"
        self.text.refuse("HW230", message, join, hint=meant(name, columns))

    def _in(self, source: FromItem, name: str, join: exp.Join) -> Found:
        return self.body.column(column_at(source.alias, name, join))

    def _show_once(self, shared: list[tuple[_Shared, Found]]) -> None:
        """These columns are shown once and first, as a source of their own; each side has its own by its alias."""
        if not shared:
            return
        for column, _ in shared:
            column.left.merged.add(column.name.lower())
            column.right.merged.add(column.name.lower())
        first = shared[0][0].left
        columns = [replace(found.column, name=column.name) for column, found in shared]
        table = SqlTable(first.table.relation, columns, key=())
        alias = f"{first.alias}'{len(self.body.sources)}"
        self.body.sources.insert(0, FromItem(alias, table, [found.variable for _, found in shared], first.span))

    # Joins that are no plain ones

    def _filtering(self, left: _Side, join: exp.Join, *, negated: bool) -> _Side:
        """LEFT SEMI and LEFT ANTI JOIN: a row stays if the other side has a match, or has none."""
        self._take(left)
        inner = self.body.inside()
        Joins(self.translator, inner).read_item(join.this)
        shared = self._shared(join, left.sources, inner.sources)
        for condition in self._conditions(join, shared):
            inner.restrict(holds(condition, inner, self.translator))
        atom = self.translator.asked(inner, [], join)
        self.body.goals.append(Negation(atom, span=atom.span) if negated else atom)
        self._show_once([(each, self._in(each.left, each.name, join)) for each in shared])
        return self._taken()

    def _outer(self, left: _Side, join: exp.Join, side: str) -> _Side:
        right = self._item(join.this)
        lacking = [*(left.sources if side != "LEFT" else ()), *(right.sources if side != "RIGHT" else ())]
        for source in lacking:
            if source.table.relation in self.translator.recursive:
                name = source.table.relation.partition("'")[0]
                message = f"`{name}` is read through an outer join inside its own recursion"
                note = "a row may be unmatched at first and get a match later in the recursion"
                hint = "write an inner JOIN here, and the outer join in a query over the finished view"
                self.text.refuse("HW512", message, join, note=note, hint=hint)
        together = self._beside(left, right)
        self._take(together)
        shared = self._shared(join, left.sources, right.sources)
        conditions = self._conditions(join, shared)
        span = self.text.span(join)
        name = self.context.relation(f"{self.body.owner}'join")
        ours, theirs = _variables(left.sources), _variables(right.sources)
        on = ALWAYS
        for condition in conditions:
            on = both(on, holds(condition, self.body, self.translator))
        # What FULL JOIN ... USING shows is the value of the side that has one.
        whole = shared if side == "FULL" else []
        of_left = [self._in(column.left, column.name, join) for column in whole]
        of_right = [self._in(column.right, column.name, join) for column in whole]
        kept = [found.variable for found in of_left]
        rules = made(name, [*ours, *theirs, *kept], together.goals, both(together.choices, on), span)
        if side in ("LEFT", "FULL"):
            ways = self._unmatched(conditions, left, right, on)
            head = [*ours, *_nulls(theirs), *kept]
            rules += made(name, head, left.goals, both(left.choices, ways), span)
        if side in ("RIGHT", "FULL"):
            ways = self._unmatched(conditions, right, left, on)
            head = [*_nulls(ours), *theirs, *(found.variable for found in of_right)]
            rules += made(name, head, right.goals, both(right.choices, ways), span)
        self.context.rules += rules
        fresh = [self.body.names.variable(column.name) for column in whole]
        self._stand_for(name, left.sources, right.sources, fresh, side, join)
        if whole:
            values = [
                Found(variable, replace(first.column, nullable=first.column.nullable or second.column.nullable))
                for variable, first, second in zip(fresh, of_left, of_right, strict=True)
            ]
        else:
            values = [self._in(each.right if side == "RIGHT" else each.left, each.name, join) for each in shared]
        self._show_once(list(zip(shared, values, strict=True)))
        return self._taken()

    def _unmatched(self, conditions: list[exp.Expr], kept: _Side, asked: _Side, on: Choices) -> Choices:
        """The ways in which a row of the kept side matches nothing on the other."""
        place = self.body.sources[-1].span
        match = self._split(conditions, kept.sources, asked.sources)
        name = self.context.relation(f"{self.body.owner}'match")
        values = Values(self.body, self.translator.scalar)
        asker = Conditions(values, self.translator)
        if match is None:
            identity = list(dict.fromkeys(variable for source in kept.sources for variable in source.identity()))
            everything = [*kept.goals, *asked.goals]
            self.context.rules += made(name, identity, everything, both(both(kept.choices, asked.choices), on), place)
            return [[Negation(Atom(name, tuple(identity), span=place), span=place)]]
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

    def _split(self, conditions: list[exp.Expr], kept: list[FromItem], asked: list[FromItem]) -> _Match | None:
        """The ON by sides; None if a piece of it is about both in another way than by being equal."""
        found = _Match([], [], [], [])
        for condition in (part for each in conditions for part in conjuncts(each)):
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

    def _sides(self, node: exp.Expr, kept: list[FromItem], asked: list[FromItem]) -> set[str]:
        ours = {variable.name for source in kept for variable in source.variables}
        theirs = {variable.name for source in asked for variable in source.variables}
        found = set()
        for column in node.find_all(exp.Column):
            name = self.body.column(column).variable.name
            found.add("kept" if name in ours else "asked" if name in theirs else "outside")
        return found

    def _stand_for(
        self, name: str, left: list[FromItem], right: list[FromItem], more: list[Variable], side: str, join: exp.Join
    ) -> None:
        """The joined relation in place of both sides; their columns keep their names."""
        body = self.body
        body.goals, body.choices, body.sources = [], [list(way) for way in ALWAYS], []
        variables = [*_variables(left), *_variables(right), *more]
        for source in (*left, *right):
            may_lack = side == "FULL" or (side == "LEFT") == (source in right)
            columns = [replace(column, nullable=column.nullable or may_lack) for column in source.table.columns]
            table = source.table  # while its columns are still found out, it takes on more
            if not table.open:
                table = SqlTable(table.relation, columns, table.hidden, table.key)
            body.sources.append(FromItem(source.alias, table, source.variables, source.span, merged=source.merged))
        span = self.text.span(join)
        columns = [SqlColumn(variable.name.lower()) for variable in variables]
        self.context.define(SqlTable(name, columns, span=span))
        body.goals.append(Atom(name, tuple(variables), span=span))


def _nothing() -> _Side:
    return _Side([], [], [list(way) for way in ALWAYS])


def _variables(sources: list[FromItem]) -> list[Variable]:
    return list(dict.fromkeys(variable for source in sources for variable in source.variables))


def _nulls(variables: list[Variable]) -> list[Term]:
    return [Constant(None, None) for _ in variables]


def _plain(alias: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in alias).lower() or "part"
