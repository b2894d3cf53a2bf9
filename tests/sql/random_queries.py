"""Random SQL: queries from a grammar, over tables with nulls and equal rows, that every engine reads the same way.

Left out on purpose is only what SQL engines themselves disagree on: overflow, division of ints, the order of rows.
"""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field

TABLES = {
    "t": (("a", "int"), ("b", "int"), ("s", "string")),
    "u": (("a", "int"), ("c", "int"), ("s", "string"), ("d", "date")),
    "w": (("x", "int"), ("y", "int")),
}
DECLARATIONS = "".join(
    f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns)});\n"
    for name, columns in TABLES.items()
)
WORDS = ("ab", "b", "abc", "")
DAYS = tuple(dt.date(2024, 2, 28) + dt.timedelta(days) for days in range(3))
KINDS = ("int", "string", "date")


def random_rows(dice: random.Random, most: int = 7) -> dict[str, list[tuple[object, ...]]]:
    """Rows with nulls and copies, of values so few that they meet."""

    def value(kind: str) -> object:
        if dice.random() < 0.2:
            return None
        return dice.randint(-1, 3) if kind == "int" else dice.choice(DAYS if kind == "date" else WORDS)

    rows = {}
    for name, columns in TABLES.items():
        some = [tuple(value(kind) for _, kind in columns) for _ in range(dice.randint(0, most))]
        rows[name] = some + [dice.choice(some) for _ in range(dice.randint(0, 3)) if some]
    return rows


@dataclass
class Scope:
    """Columns that an expression may use, as (spelling, type)."""

    columns: list[tuple[str, str]]
    outer: list[tuple[str, str]] = field(default_factory=list)

    def of(self, kind: str) -> list[str]:
        return [name for name, each in self.columns if each == kind]


class Grammar:
    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.aliases = 0
        self.ctes: dict[str, list[tuple[str, str]]] = {}

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def kind(self) -> str:
        return self.dice.choice(["int", "int", "int", "string", "string", "date"])

    # Queries

    def statement(self) -> str:
        """A whole query, perhaps with a WITH."""
        if self.dice.random() < 0.25:
            return self.with_query()
        return self.query(2)[0]

    def with_query(self) -> str:
        parts = []
        for _ in range(self.dice.randint(1, 2)):
            text, kinds = self.query(1)
            name = self.alias()
            columns = [f"k{at}" for at in range(len(kinds))]
            parts.append(f"{name}({', '.join(columns)}) AS ({text})")
            self.ctes[name] = list(zip(columns, kinds, strict=True))
        return f"WITH {', '.join(parts)} {self.query(1)[0]}"

    def query(self, depth: int, kinds: list[str] | None = None) -> tuple[str, list[str]]:
        roll = self.dice.random()
        if depth > 0 and roll < 0.2:
            left, kinds = self.query(depth - 1, kinds)
            right, _ = self.query(depth - 1, kinds)
            word = self.dice.choice(["UNION", "UNION ALL", "UNION ALL", "EXCEPT", "INTERSECT"])
            return f"({left}) {word} ({right})", kinds
        if roll < 0.45:
            return self.grouped(depth, kinds)
        return self.select(depth, kinds)

    def select(self, depth: int, kinds: list[str] | None) -> tuple[str, list[str]]:
        source, scope = self.source(depth)
        kinds = kinds or [self.kind() for _ in range(self.dice.randint(1, 3))]
        items = ", ".join(f"{self.value(scope, kind, 2)} AS c{at}" for at, kind in enumerate(kinds))
        distinct = "DISTINCT " if self.dice.random() < 0.2 else ""
        return f"SELECT {distinct}{items} FROM {source}{self.where(scope, depth)}", kinds

    def grouped(self, depth: int, kinds: list[str] | None) -> tuple[str, list[str]]:
        source, scope = self.source(depth)
        kinds = kinds or [self.kind() for _ in range(self.dice.randint(1, 3))]
        keys: list[tuple[str, str]] = []
        items = []
        for at, kind in enumerate(kinds):
            columns = scope.of(kind)
            if columns and self.dice.random() < 0.4:
                key = self.dice.choice(columns)
                keys.append((key, kind))
                items.append(f"{key} AS c{at}")
            else:
                items.append(f"{self.aggregate(scope, kind)} AS c{at}")
        group = f" GROUP BY {self.groups(list(dict.fromkeys(key for key, _ in keys)))}" if keys else ""
        having = ""
        if self.dice.random() < 0.3:
            having = (
                f" HAVING {self.aggregate(scope, 'int')} {self.dice.choice(['>', '<=', '=', '<>'])} {self.number()}"
            )
        return f"SELECT {', '.join(items)} FROM {source}{self.where(scope, depth)}{group}{having}", kinds

    def groups(self, keys: list[str]) -> str:
        return ", ".join(keys)

    def aggregate(self, scope: Scope, kind: str) -> str:
        if kind != "int":
            return f"{self.dice.choice(['min', 'max'])}({self.value(scope, kind, 1)})"
        word = self.dice.choice(["count", "sum", "min", "max", "count"])
        if word == "count" and self.dice.random() < 0.4:
            return "count(*)"
        distinct = "DISTINCT " if self.dice.random() < 0.25 else ""
        return f"{word}({distinct}{self.value(scope, 'int', 1)})"

    # FROM

    def source(self, depth: int) -> tuple[str, Scope]:
        text, scope = self.item(depth)
        for _ in range(self.dice.choice([0, 0, 1, 1, 2])):
            other, more = self.item(depth)
            kind = self.dice.choice(["JOIN", "JOIN", ",", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
            both = Scope(scope.columns + more.columns)
            if kind in (",", "CROSS JOIN"):
                text = f"{text} {kind} {other}" if kind != "," else f"{text} CROSS JOIN {other}"
            else:
                text = f"{text} {kind} {other} ON {self.on(scope, more)}"
            scope = both
        return text, scope

    def on(self, left: Scope, right: Scope) -> str:
        kinds = [kind for kind in KINDS if left.of(kind) and right.of(kind)]
        if not kinds:
            return "1 = 1"
        kind = self.dice.choice(kinds)
        text = f"{self.dice.choice(left.of(kind))} = {self.dice.choice(right.of(kind))}"
        if self.dice.random() < 0.3:
            both = Scope(self.dice.choice([left.columns, right.columns, left.columns + right.columns]))
            text += f" AND {self.condition(both, 1, 0)}"
        return text

    def item(self, depth: int) -> tuple[str, Scope]:
        alias = self.alias()
        if depth > 0 and self.dice.random() < 0.2:
            text, kinds = self.query(depth - 1)
            return f"({text}) AS {alias}", Scope([(f"{alias}.c{at}", kind) for at, kind in enumerate(kinds)])
        if self.ctes and self.dice.random() < 0.6:
            name = self.dice.choice(list(self.ctes))
            return f"{name} AS {alias}", Scope([(f"{alias}.{column}", kind) for column, kind in self.ctes[name]])
        name = self.dice.choice(list(TABLES))
        return f"{name} AS {alias}", Scope([(f"{alias}.{column}", kind) for column, kind in TABLES[name]])

    # Conditions

    def where(self, scope: Scope, depth: int) -> str:
        return f" WHERE {self.condition(scope, 2, depth)}" if self.dice.random() < 0.7 else ""

    def condition(self, scope: Scope, size: int, depth: int) -> str:
        roll = self.dice.random()
        if size > 0 and roll < 0.3:
            word = self.dice.choice(["AND", "OR"])
            return f"({self.condition(scope, size - 1, depth)} {word} {self.condition(scope, size - 1, depth)})"
        if size > 0 and roll < 0.4:
            return f"NOT ({self.condition(scope, size - 1, depth)})"
        if depth > 0 and roll < 0.6:
            return self.subquery_condition(scope)
        return self.comparison(scope)

    def comparison(self, scope: Scope) -> str:
        kind = self.kind()
        value = self.value(scope, kind, 1)
        roll = self.dice.random()
        if roll < 0.15:
            return f"{value} IS {self.dice.choice(['', 'NOT '])}NULL"
        if roll < 0.25:
            items = [self.constant(kind) for _ in range(self.dice.randint(1, 3))]
            if self.dice.random() < 0.2:
                items.append("NULL")
            return f"{value} {self.dice.choice(['', 'NOT '])}IN ({', '.join(items)})"
        if roll < 0.32 and kind == "int":
            return f"{value} {self.dice.choice(['', 'NOT '])}BETWEEN {self.number()} AND {self.number()}"
        if roll < 0.4 and kind == "string":
            pattern = self.dice.choice(["a%", "%b", "_b%", "%"])
            return f"{value} {self.dice.choice(['', 'NOT '])}LIKE '{pattern}'"
        if roll < 0.45:
            return f"{value} IS {self.dice.choice(['', 'NOT '])}DISTINCT FROM {self.value(scope, kind, 1)}"
        op = self.dice.choice(["=", "=", "<>", "<", "<=", ">", ">="])
        return f"{value} {op} {self.value(scope, kind, 1)}"

    def subquery_condition(self, scope: Scope) -> str:
        alias = self.alias()
        name = self.dice.choice(list(TABLES))
        inner = Scope([(f"{alias}.{column}", kind) for column, kind in TABLES[name]])
        tests = []
        kinds = [kind for kind in KINDS if scope.of(kind) and inner.of(kind)]
        if kinds and self.dice.random() < 0.6:
            kind = self.dice.choice(kinds)
            op = self.dice.choice(["=", "=", "=", "<"])
            tests.append(f"{self.dice.choice(inner.of(kind))} {op} {self.dice.choice(scope.of(kind))}")
        if self.dice.random() < 0.5:
            tests.append(self.comparison(inner))
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        roll = self.dice.random()
        negation = self.dice.choice(["", "NOT "])
        if roll < 0.4:
            return f"{negation}EXISTS (SELECT 1 FROM {name} AS {alias}{where})"
        if roll < 0.8:
            kind = self.dice.choice([kind for kind in KINDS if inner.of(kind)])
            picked = self.dice.choice(inner.of(kind))
            return f"{self.value(scope, kind, 1)} {negation}IN (SELECT {picked} FROM {name} AS {alias}{where})"
        picked = self.dice.choice(inner.of("int"))
        word = self.dice.choice(["min", "max", "sum", "count"])
        return f"{self.value(scope, 'int', 1)} > (SELECT {word}({picked}) FROM {name} AS {alias}{where})"

    # Values

    def value(self, scope: Scope, kind: str, size: int) -> str:
        columns = scope.of(kind)
        roll = self.dice.random()
        if size == 0 or (columns and roll < 0.55):
            return self.dice.choice(columns) if columns and roll < 0.9 else self.constant(kind)
        if roll < 0.65:
            return self.constant(kind)
        if roll < 0.75:
            test = self.condition(scope, 1, 0)
            otherwise = "" if self.dice.random() < 0.4 else f" ELSE {self.value(scope, kind, size - 1)}"
            return f"CASE WHEN {test} THEN {self.value(scope, kind, size - 1)}{otherwise} END"
        if roll < 0.82:
            return f"coalesce({self.value(scope, kind, size - 1)}, {self.value(scope, kind, size - 1)})"
        if roll < 0.86:
            return f"nullif({self.value(scope, kind, size - 1)}, {self.value(scope, kind, size - 1)})"
        if kind == "int":
            if roll < 0.9:
                return f"length({self.value(scope, 'string', size - 1)})"
            op = self.dice.choice(["+", "-", "*"])
            return f"({self.value(scope, 'int', size - 1)} {op} {self.value(scope, 'int', size - 1)})"
        if kind == "date":
            return f"({self.value(scope, 'date', size - 1)} {self.dice.choice('+-')} {self.number()})"
        if roll < 0.93:
            return f"{self.dice.choice(['upper', 'lower'])}({self.value(scope, 'string', size - 1)})"
        return f"({self.value(scope, 'string', size - 1)} || {self.value(scope, 'string', size - 1)})"

    def constant(self, kind: str) -> str:
        if kind == "date":
            return f"DATE '{self.dice.choice(DAYS)}'"
        return self.number() if kind == "int" else f"'{self.dice.choice(WORDS)}'"

    def number(self) -> str:
        return str(self.dice.randint(0, 3))


def recursive_query(dice: random.Random) -> str:
    """A linear recursion with UNION that ends: over the values of a table, or with a bound."""
    text, scope = _recursion(dice, "UNION")
    grammar = Grammar(dice)
    first = scope.columns[0][0]
    if dice.random() < 0.4:
        return f"{text}SELECT * FROM r"
    if dice.random() < 0.5:
        return f"{text}SELECT {first}, {grammar.aggregate(scope, 'int')} FROM r GROUP BY {first}"
    return f"{text}SELECT {grammar.value(scope, 'int', 1)} FROM r{grammar.where(scope, 1)}"


def linear_query(dice: random.Random, union: str) -> str:
    """A linear recursion of which only the distinct rows are looked at, so that any engine's UNION ALL will do."""
    text, scope = _recursion(dice, union)
    grammar = Grammar(dice)
    if dice.random() < 0.4:
        return f"{text}SELECT DISTINCT * FROM r"
    return f"{text}SELECT DISTINCT {grammar.value(scope, 'int', 1)} AS v FROM r{grammar.where(scope, 1)}"


def _recursion(dice: random.Random, union: str) -> tuple[str, Scope]:
    grammar = Grammar(dice)
    if dice.random() < 0.5:
        anchor = "SELECT x, y FROM w"
        step = "SELECT w.x, r.q FROM w JOIN r ON w.y = r.p"
        head = "r(p, q)"
        columns = [("r.p", "int"), ("r.q", "int")]
    else:
        anchor = f"SELECT a, 0 FROM t{grammar.where(Scope([('a', 'int'), ('b', 'int'), ('s', 'string')]), 0)}"
        step = "SELECT w.y, r.n + 1 FROM r JOIN w ON w.x = r.p WHERE r.n < 3"
        head = "r(p, n)"
        columns = [("r.p", "int"), ("r.n", "int")]
    scope = Scope(columns)
    if dice.random() < 0.4:
        extra = grammar.comparison(scope).replace("nullif", "coalesce")
        step += f" {'AND' if 'WHERE' in step else 'WHERE'} {extra}"
    return f"WITH RECURSIVE {head} AS ({anchor} {union} {step}) ", scope


def nested_query(dice: random.Random) -> tuple[str, bool]:
    """A recursion in a subquery, with clauses where they may stand; and whether one of them changes its rows."""
    text, scope = _recursion(dice, "UNION")
    names = [name.removeprefix("r.") for name, _ in scope.columns]
    clause = dice.choice(["", "", "KEY", "SEARCH", "CYCLE", "LIMIT 1", "OFFSET 1", "LIMIT 2 OFFSET 1"])
    ended, last = text.rstrip(), ""
    if clause == "KEY":
        ended = ended.replace(") AS (", f") USING KEY ({names[0]}) AS (", 1)
    elif clause == "SEARCH":
        ended += f" SEARCH {dice.choice(['DEPTH', 'BREADTH'])} FIRST BY {names[0]} SET seen"
    elif clause == "CYCLE":
        ended += f" CYCLE {names[0]} SET again USING way"
    elif clause and dice.random() < 0.5:
        ended = f"{ended[:-1]} {clause})"
    else:
        last = f" ORDER BY {names[0]} NULLS FIRST {clause}" if clause else ""
    query = f"{ended} SELECT {names[0]} FROM r{last}"
    around = dice.choice(
        [
            "SELECT * FROM ({}) AS q",
            "SELECT a FROM t WHERE a {}IN ({{}})".format(dice.choice(["", "NOT "])),
            "SELECT a FROM t WHERE {}EXISTS ({{}})".format(dice.choice(["", "NOT "])),
            "SELECT c FROM u UNION ALL ({})",
        ]
    )
    return around.format(query), bool(clause)
