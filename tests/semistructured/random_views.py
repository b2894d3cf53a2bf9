"""Random graphs, views and updates, each a function of one seed."""

from __future__ import annotations

from typing import Any

from tests.oracle.dice import Dice
from tests.semistructured.lorel_values import Moment, Store

COMPLEX = range(1, 6)
ATOMIC = range(20, 27)
LABELS = ("a", "b", "ab")
EXACT: tuple[Any, ...] = (2**53, 2**53 + 1, str(2**53 + 1), float(2**53))
VALUES: tuple[Any, ...] = (
    *(1, 2, "x") * 4,
    *(1, 2, 3, 1.0, 2.5, "1", "2.0", "02", "x", "xy", "y", "", True, False, "true", None, -0.0, "1e0", 10, "10"),
    Moment("2026-01-31T08:00:00+00:00"),
    Moment("2026-02-01T00:00:00+00:00"),
    "2026-01-31",
    "2026-01-31T08:00:00+00:00",
)


def random_store(dice: Dice) -> Store:
    store = Store()
    for oid in ATOMIC:
        store.atoms[oid] = value(dice)
    for _ in range(dice.number(20, 60)):
        store.edges.add(random_edge(dice))
    store.names = {"N": {1}, "M": set(dice.picks(COMPLEX, 1, 2))}
    return store


def value(dice: Dice) -> Any:
    return dice.pick(EXACT if dice.chance(8) else VALUES)


def random_edge(dice: Dice) -> tuple[int, str, int, int]:
    child = dice.pick(COMPLEX if dice.chance(55) else ATOMIC)
    parent = 1 if dice.chance(30) else dice.pick(COMPLEX)
    return parent, dice.pick(LABELS), child, dice.number(0, 2) if dice.chance(20) else 0


def random_update(dice: Dice, store: Store) -> Store:
    """The store after one to three elementary updates."""
    after = store.copy()
    for _ in range(dice.number(1, 3)):
        kind = dice.number(0, 9)
        if kind < 4:
            after.edges.add(random_edge(dice))
        elif kind < 7 and after.edges:
            after.edges.remove(dice.pick(sorted(after.edges)))
        elif kind == 9 and dice.chance(30):
            after.names["M"] = set(dice.picks(COMPLEX, 0, 2))
        else:
            after.atoms[dice.pick(ATOMIC)] = value(dice)
    return after


class Writer:
    """Writes the text of one view."""

    def __init__(self, dice: Dice, plain: bool = False) -> None:
        self.dice = dice
        self.plain = plain  # only what 001's own algorithm maintains
        self.count = 0
        self.labels: list[str] = []  # label variables of this query

    def view(self) -> str:
        parts = [f"P{number} = {self.query()}" for number in range(1 if self.plain else self.dice.number(1, 2))]
        return f"define view V as {'; '.join(parts)};"

    def query(self) -> str:
        dice = self.dice
        if not self.plain and dice.chance(12):
            return self.without_from()
        variables: list[str] = []
        self.labels = []
        sources = []
        for _ in range(dice.number(1, 3)):
            root = dice.pick(variables) if variables and dice.chance(75) else dice.pick(("N", "N", "M"))
            name = self.fresh()
            least = 0 if root == "M" else 1
            sources.append(f"{root}{self.steps(least, 1 if self.plain else 2)}{self.label_step()} {name}")
            variables.append(name)
        where = f" where {self.condition(variables, dice.number(0, 2))}" if dice.chance(75) else ""
        order = f" order by {self.value(variables, 1)}" if not self.plain and dice.chance(15) else ""
        items, selected = self.items(variables)
        adjuncts = self.adjuncts(selected) if selected and dice.chance(60) else ""
        order = order if selected else ""
        limit = f" limit {dice.number(1, 4)}" if not self.plain and dice.chance(20) else ""
        if limit and selected and dice.chance(60):
            keys = (f"{self.value(variables, 1)}{dice.pick(('', ' desc'))}" for _ in range(dice.number(1, 2)))
            order = f" order by {', '.join(keys)}"
        return f"select {items} from {', '.join(sources)}{where}{adjuncts}{order}{limit}"

    def label_step(self) -> str:
        """Now and then, a step that binds a label, or joins with one that is bound."""
        if self.plain or not self.dice.chance(12):
            return ""
        name = self.dice.pick(self.labels) if self.labels and self.dice.chance(40) else f"L{len(self.labels)}"
        if name not in self.labels:
            self.labels.append(name)
        return f".{self.dice.pick(('%', '%', 'a%', 'a'))}@{name}"

    def without_from(self) -> str:
        label = self.dice.pick((f"N.{self.dice.pick(LABELS)}", "M"))
        tail = self.steps(1, 1)
        where = f"{label}{self.steps(1, 1)} {self.op()} {self.literal()}"
        if self.dice.chance(50):
            return f"select {label}{tail} where {where}"
        return f"select {label}{tail}, n: {label}{self.steps(1, 1)} where {where}"

    def items(self, variables: list[str]) -> tuple[str, str | None]:
        dice = self.dice
        if self.plain or dice.chance(55):
            chosen = dice.pick(variables)
            return chosen, chosen
        match dice.number(0, 3):
            case 0:
                return f"{dice.pick(variables)}{self.steps(1, 2)}", None
            case 1:
                return self.aggregate(variables), None
            case 2 if self.labels and dice.chance(50):
                return dice.pick(self.labels), None
            case _:
                chosen = dice.pick(variables)
                value = self.value(variables, 1).replace("N.", f"{chosen}.").replace("M.", f"{chosen}.")
                more = f"k: {dice.pick(variables)}{self.steps(1, 1)}, m: {value}"
                more += f", l: {dice.pick(self.labels)}" if self.labels and dice.chance(50) else ""
                return f"{chosen}, {more}", chosen

    def adjuncts(self, selected: str) -> str:
        dice = self.dice
        roots, found = [selected], []
        for _ in range(dice.number(1, 2)):
            name = self.fresh()
            found.append(f"{dice.pick(roots)}{self.steps(1, 2)} {name}")
            roots.append(name)
        return f" with {', '.join(found)}"

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def steps(self, least: int, most: int) -> str:
        return "".join(f".{self.step()}" for _ in range(self.dice.number(least, most)))

    def step(self) -> str:
        dice = self.dice
        if self.plain:
            return dice.pick("ab")
        label = dice.pick(LABELS)
        if dice.chance(60):
            return label
        other = dice.pick(LABELS)
        return dice.pick(
            (
                "%",
                "a%",
                "#",
                f"({label}|{other})",
                f"({label})*",
                f"({label}|{other}.{label})*",
                f"({label}.{other})+",
                f"({label})?",
                f"{label}[{dice.number(0, 2)}]",
                f"{label}[0-1]",
                f"({label}.#.{other})*",
            )
        )

    def condition(self, variables: list[str], depth: int) -> str:
        dice = self.dice
        choice = dice.number(0, 11) if depth else 0
        if self.plain:
            choice = dice.pick((0, 0, 1, 3, 4, 4)) if depth else 0
        variable = dice.pick(variables)
        match choice:
            case 1 | 2:
                return f"({self.condition(variables, depth - 1)} and {self.condition(variables, depth - 1)})"
            case 3:
                return f"({self.condition(variables, depth - 1)} or {self.condition(variables, depth - 1)})"
            case 4:
                name = self.fresh()
                inner = self.condition([*variables, name], 0 if self.plain else depth - 1)
                return f"exists {name} in {variable}{self.steps(1, 1)}: ({inner})"
            case 5:
                return f"not ({self.condition(variables, depth - 1)})"
            case 6:
                name = self.fresh()
                inner = self.condition([*variables, name], depth - 1)
                return f"for all {name} in {variable}{self.steps(1, 1)}: ({inner})"
            case 7:
                return f"exists {variable}{self.steps(1, 2)}"
            case 8:
                return f"{self.value(variables, 1)} in {variable}{self.steps(1, 2)}"
            case 9:
                name = self.fresh()
                inner = self.condition([*variables, name], depth - 1)
                subquery = f"(select {name} from {dice.pick((variable, 'N'))}{self.steps(1, 1)} {name} where {inner})"
                return dice.pick((f"exists {subquery}", f"{self.value(variables, 0)} = {subquery}"))
            case 10:
                return f'{variable}{self.steps(0, 1)} like "{dice.pick(("x%", "%y", "1_", "%", "2026%", "_"))}"'
            case _:
                return self.comparison(variables)

    def comparison(self, variables: list[str]) -> str:
        if self.plain:
            return f"{self.dice.pick(variables)}{self.steps(0, 1)} {self.op()} {self.literal()}"
        left = self.value(variables, 1)
        if self.dice.chance(50):
            return f"{left} {self.op()} {self.literal()}"
        return f"{left} {self.op()} {self.value(variables, 1)}"

    def value(self, variables: list[str], depth: int) -> str:
        dice = self.dice
        choice = dice.number(0, 9) if depth else 0
        if self.labels and depth and dice.chance(30):
            return dice.pick(self.labels)
        if choice < 6:
            return f"{dice.pick(variables)}{self.steps(0, 2)}"
        if choice < 7:
            return f"{dice.pick('NM')}.{dice.pick(LABELS)}{self.steps(0, 1)}"
        if choice < 9:
            return self.aggregate(variables)
        return f"{self.value(variables, 0)} {dice.pick('+-*/')} {self.value(variables, 0)}"

    def aggregate(self, variables: list[str]) -> str:
        dice = self.dice
        function = dice.pick(("count", "min", "max", "sum", "avg"))
        return f"{function}({dice.pick([*variables, 'N'])}{self.steps(1, 2)})"

    def op(self) -> str:
        return self.dice.pick(("=", "=", "!=", "<", "<=", ">", ">="))

    def literal(self) -> str:
        if self.plain and self.dice.chance(80):
            return self.dice.pick(("1", "2", '"x"'))
        return self.dice.pick(
            ("1", "2", '"x"') * 3
            + (
                "1",
                "2",
                "2.5",
                '"1"',
                '"2.0"',
                '"x"',
                '"y"',
                "true",
                '"true"',
                "null",
                '""',
                '"2026-01-31"',
                "10",
                '"10"',
            )
            + (str(2**53 + 1), f'"{2**53}"')
        )
