"""Random SQL with what queries nest: subqueries as values, LATERAL, windows, grouping sets, generators, limits.

A grammar over `random_queries.Grammar`: every construct of that one can stand inside every construct of this one. Drawn
is only what has one answer: windows whose order shows are over all columns, a LIMIT stands behind a whole order, and a
subquery that is a value is an aggregate.
"""

from __future__ import annotations

import random

from tests.sql.random_queries import KINDS, TABLES, Grammar, Scope


class NestedGrammar(Grammar):
    """Queries in which about every second clause is one of those above."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._inside = 0  # how many subqueries deep: they grow fast

    def select(self, depth: int, kinds: list[str] | None) -> tuple[str, list[str]]:
        if self.dice.random() < 0.5:
            return super().select(depth, kinds)
        return self.windowed(depth, kinds) if self.dice.random() < 0.5 else self.limited(depth, kinds)

    def windowed(self, depth: int, kinds: list[str] | None) -> tuple[str, list[str]]:
        """A SELECT with a window, or kept to some rows of it."""
        source, scope = self.source(depth)
        kinds = kinds or [self.kind() for _ in range(self.dice.randint(1, 3))]
        items = []
        for at, kind in enumerate(kinds):
            is_window = kind == "int" and self.dice.random() < 0.6
            items.append(f"{self.window(scope) if is_window else self.value(scope, kind, 1)} AS c{at}")
        last = f" QUALIFY {self.window(scope)} <= {self.number()}" if self.dice.random() < 0.3 else ""
        return f"SELECT {', '.join(items)} FROM {source}{self.where(scope, depth)}{last}", kinds

    def window(self, scope: Scope) -> str:
        """An int for each row that depends on no order among equals."""
        part = f"PARTITION BY {self.column(scope)}" if self.dice.random() < 0.5 else ""
        order = "ORDER BY " + ", ".join(
            f"{name} {self.dice.choice(['ASC', 'DESC'])} NULLS {self.dice.choice(['FIRST', 'LAST'])}"
            for name in self.dice.sample([name for name, _ in scope.columns], min(2, len(scope.columns)))
        )
        match self.dice.randrange(4):
            case 0:
                return f"{self.dice.choice(['rank()', 'dense_rank()'])} OVER ({part} {order})"
            case 1:
                return f"{self.dice.choice(['sum', 'count', 'min', 'max'])}({self.column(scope, 'int')}) OVER ({part})"
            case 2:
                call = f"{self.dice.choice(['sum', 'count', 'max'])}({self.column(scope, 'int')})"
                return f"{call} OVER ({part} {order})"
            case _:
                frame = self.dice.choice(["1 PRECEDING AND CURRENT ROW", "CURRENT ROW AND UNBOUNDED FOLLOWING"])
                return f"count(*) OVER ({part} {order} GROUPS BETWEEN {frame})"

    def limited(self, depth: int, kinds: list[str] | None) -> tuple[str, list[str]]:
        """The first rows of a query, in an order of all its columns."""
        text, kinds = super().select(depth, kinds)
        order = ", ".join(
            f"c{at} {self.dice.choice(['ASC', 'DESC'])} NULLS {self.dice.choice(['FIRST', 'LAST'])}"
            for at in range(len(kinds))
        )
        offset = f" OFFSET {self.dice.randint(0, 2)}" if self.dice.random() < 0.3 else ""
        alias = self.alias()
        columns = ", ".join(f"{alias}.c{at}" for at in range(len(kinds)))
        limit = f"ORDER BY {order} LIMIT {self.dice.randint(1, 4)}{offset}"
        return f"SELECT {columns} FROM ({text} {limit}) AS {alias}", kinds

    def groups(self, keys: list[str]) -> str:
        word = self.dice.choice(["", "", "ROLLUP", "CUBE"])
        return f"{word} ({', '.join(keys)})" if word else ", ".join(keys)

    def item(self, depth: int) -> tuple[str, Scope]:
        if self.dice.random() < 0.08:
            alias = self.alias()
            low = self.dice.randint(-1, 2)
            call = self.dice.choice([f"range({low}, {low + 3})", f"generate_series({low}, {low + 1})"])
            return f"{call} AS {alias}(n)", Scope([(f"{alias}.n", "int")])
        return super().item(depth)

    def source(self, depth: int) -> tuple[str, Scope]:
        text, scope = super().source(depth)
        if depth > 0 and self._inside < 2 and self.dice.random() < 0.25:
            alias = self.alias()
            inner, kind = self.subquery(scope)
            if self.dice.random() < 0.5:
                text = f"{text} CROSS JOIN LATERAL ({inner}) AS {alias}(v)"
            else:
                text = f"{text} LEFT JOIN LATERAL ({inner}) AS {alias}(v) ON true"
            scope = Scope([*scope.columns, (f"{alias}.v", kind)])
        return text, scope

    def subquery(self, scope: Scope, *, single: bool = False) -> tuple[str, str]:
        """A query of one column that may borrow columns of a scope; `single`: of one row."""
        self._inside += 1
        name, alias = self.dice.choice(list(TABLES)), self.alias()
        inner = Scope([(f"{alias}.{column}", kind) for column, kind in TABLES[name]])
        tests = [
            f"{self.dice.choice(inner.of(kind))} {self.dice.choice(['=', '=', '<', '<>'])} "
            f"{self.dice.choice(scope.of(kind))}"
            for kind in KINDS
            if inner.of(kind) and scope.of(kind) and self.dice.random() < 0.6
        ]
        if self.dice.random() < 0.3:
            tests.append(self.comparison(Scope(inner.columns + scope.columns)))
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        kind = "string" if inner.of("string") and self.dice.random() < 0.3 else "int"
        if single or self.dice.random() < 0.4:
            value = self.aggregate(inner, kind)
        else:
            value = self.value(Scope(inner.columns + scope.columns), kind, 1)
            if self.dice.random() < 0.3:
                value = f"DISTINCT {value}"
        self._inside -= 1
        return f"SELECT {value} FROM {name} AS {alias}{where}", kind

    def value(self, scope: Scope, kind: str, size: int) -> str:
        if size > 1 and self._inside < 2 and scope.columns and self.dice.random() < 0.15:
            text, found = self.subquery(scope, single=True)
            if found == kind:
                return f"({text})"
            if kind == "int":
                return f"length(({text}))"
        return super().value(scope, kind, size)

    def subquery_condition(self, scope: Scope) -> str:
        ints = scope.of("int")
        if len(ints) < 2 or self.dice.random() < 0.7:
            return super().subquery_condition(scope)
        if self.dice.random() < 0.5:
            pair = f"({self.dice.choice(ints)}, {self.dice.choice(ints)})"
            return f"{pair} {self.dice.choice(['', 'NOT '])}IN (SELECT x, y FROM w)"
        text, kind = self.subquery(scope)
        word = self.dice.choice(["= ANY", "<> ALL"])
        return f"{self.value(scope, kind, 1)} {word} ({text})"

    def column(self, scope: Scope, kind: str | None = None) -> str:
        found = [name for name, each in scope.columns if kind is None or each == kind]
        return self.dice.choice(found) if found else self.number()
