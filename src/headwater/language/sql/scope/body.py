"""The FROM and WHERE of one SELECT while they are turned into goals: its sources, and what a column's name means."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NoReturn

from sqlglot import exp

from headwater.language.sql.scope.context import Scope, Translation
from headwater.language.sql.scope.rules import ALWAYS, Choices, FreshNames, Piece, Same, both
from headwater.language.sql.scope.sources import FromItem, SqlColumn, SqlTable
from headwater.language.sql.text.parsed import Place
from headwater.language.syntax import Atom, Variable

BORROWED = "borrowed"  # the variable that a column of a query around it stands for
AT = "column"  # the place of a column that `*` stands for: several may have its name


@dataclass(slots=True)
class Found:
    """A column of a source, as a variable."""

    variable: Variable
    column: SqlColumn


@dataclass(slots=True)
class Body:
    """Sources, goals and names of one SELECT, inside those of the queries around it."""

    context: Translation
    scope: Scope
    owner: str  # the relation it defines: helpers are named after it
    outer: Body | None = None
    names: FreshNames = field(default_factory=FreshNames)
    sources: list[FromItem] = field(default_factory=list)
    goals: list[Piece] = field(default_factory=list)
    choices: Choices = field(default_factory=lambda: [list(way) for way in ALWAYS])
    borrowed: dict[str, Found] = field(default_factory=dict)  # columns of the queries around this one

    def inside(self, owner: str | None = None) -> Body:
        """The body of a subquery, which may borrow columns of this one."""
        return Body(self.context, self.scope, owner or self.owner, self, self.names)

    def add(self, table: SqlTable, alias: str, place: Place) -> FromItem:
        """One more source, with a variable for each of its columns."""
        span = self.context.text.span(place)
        variables = [self.names.variable(column.name, alias) for column in table.columns]
        variables += [self.names.variable("copy" if table.base else "hidden", alias) for _ in range(table.hidden)]
        source = FromItem(alias, table, variables, span)
        self.sources.append(source)
        self.goals.append(Atom(table.relation, tuple(variables), span=span))
        return source

    def restrict(self, ways: Choices) -> None:
        if len(ways) == 1:
            self.goals += ways[0]
        else:
            self.choices = both(self.choices, ways)

    def identity(self) -> list[Variable]:
        """What identifies the rows of this FROM."""
        return list(dict.fromkeys(variable for source in self.sources for variable in source.identity()))

    # Names

    def column(self, node: exp.Column) -> Found:
        found = self.looked_up(node)
        if found is None:
            self._refuse_unknown(node)
        return found

    def looked_up(self, node: exp.Column) -> Found | None:
        """The column here or in a query around this one; then every body between borrows it."""
        found = self._own(node)
        if found is None and self.outer is not None:
            found = self.outer.looked_up(node)
            if found is not None:
                self.borrowed[found.variable.name] = found
                node.meta[BORROWED] = found.variable.name
        return found

    def _own(self, node: exp.Column) -> Found | None:
        name, alias = node.name, node.table
        if alias:
            sources = [source for source in self.sources if source.alias.lower() == alias.lower()]
            if not sources:
                return None
            found = self._in(sources[0], name, node)
            if found is None:
                columns = [column.name for column in sources[0].table.columns]
                hint = meant(name, columns) or f"its columns are {', '.join(columns) or 'none'}"
                self.context.text.refuse("HW230", f"`{sources[0].alias}` has no column `{name}`", node, hint=hint)
            return found
        holding = [source for source in self.sources if source.shows(name)]
        if len(holding) > 1:
            self.context.text.refuse(
                "HW231",
                f"column `{name}` is ambiguous: {' and '.join(f'`{each.spelt}`' for each in holding)} have it",
                node,
                hint=f"write {holding[0].spelt}.{name} or {holding[1].spelt}.{name}",
            )
        if holding:
            return self._in(holding[0], name, node)
        unsure = [source for source in self.sources if source.table.open]
        if len(unsure) > 1:
            self.context.text.refuse(
                "HW231",
                f"column `{name}` may belong to {' or '.join(f'`{each.alias}`' for each in unsure)}",
                node,
                note="these tables are not declared, so their columns are not known",
                hint=f"write {unsure[0].alias}.{name}, or declare the tables with CREATE TABLE",
            )
        return self._in(unsure[0], name, node) if unsure else None

    def _in(self, source: FromItem, name: str, node: exp.Column) -> Found | None:
        place = node.meta.get(AT) if node.meta else None
        if place is None:
            place = source.table.place(name)
            self._refuse_two(source, name, node)
        if place is None and source.table.open:
            source.table.columns.append(SqlColumn(name))
            place = len(source.table.columns) - 1
        if place is None:
            return None
        while len(source.variables) <= place:  # only in the pass that finds out columns; its rules are not used
            source.variables.append(self.names.variable(name, source.alias))
        variable = source.variables[place]
        return Found(Variable(variable.name, span=self.context.text.span(node)), source.table.columns[place])

    def _refuse_two(self, source: FromItem, name: str, node: exp.Column) -> None:
        if sum(column.name.lower() == name.lower() for column in source.table.columns) > 1:
            message = f"column `{name}` is ambiguous: `{source.spelt}` has it twice"
            hint = f"give one of them another name where `{source.spelt}` is made: ... AS {name}2"
            self.context.text.refuse("HW231", message, node, hint=hint)

    def _refuse_unknown(self, node: exp.Column) -> NoReturn:
        text = self.context.text
        if node.table:
            aliases = list(dict.fromkeys(source.spelt for source in self.sources))
            tables = meant(node.table, aliases) or f"the tables here are {', '.join(aliases) or 'none'}"
            text.refuse("HW230", f"there is no table `{node.table}` in this FROM", node, hint=tables)
        columns = [column for source in self.sources for column in source.shown()]
        hint = meant(node.name, columns)
        if hint is None and not self.sources:
            hint = f"write '{node.name}' in single quotes if a text is meant, or add FROM"
        text.refuse(
            "HW230", f"there is no column `{node.name}` here", node, hint=hint or f"there are {listed(columns)}"
        )

    def same(self, left: Found, right: Found, place: Place) -> Same:
        known = not left.column.is_null and not right.column.is_null
        if known and left.column.opaque != right.column.opaque:
            kinds = " and ".join(each.column.opaque or "another type" for each in (left, right))
            hint = "cast both to one type before the recursion"
            self.context.text.refuse("HW404", f"{kinds} cannot be compared inside a recursion", place, hint=hint)
        check = left.column.nullable or right.column.nullable
        return Same(left.variable, right.variable, check, self.context.text.span(place))


def meant(name: str, known: list[str]) -> str | None:
    spelt = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), list(spelt), 1)
    return f"did you mean `{spelt[close[0]]}`?" if close else None


def listed(names: list[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "") if names else "none"


def column_at(alias: str, name: str, place: exp.Expr) -> exp.Column:
    """A column that the text does not have, as if it were written at a place of it."""
    made = exp.column(name, table=alias, quoted=True)
    inside = next((node.meta for node in place.walk() if node.meta and node.meta.get("start") is not None), None)
    made.this.meta.update(inside or {})
    return made
