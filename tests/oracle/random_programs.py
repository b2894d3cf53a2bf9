"""Random programs that keep every rule of the language: safe, stratified, typed, and sure to end.

Derived relations come in components, each reading the base relations and the components before it:

- plain: one relation, no recursion, free to compute;
- recursive: one to three relations that read each other (linear, non-linear, mutual), numbers bounded;
- pooled: an aggregate over what lies below;
- best: min, max or top inside the recursion, with weights that are never negative and only monotone use.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.bodies import Body, Signature, items_of
from tests.oracle.dice import Dice
from tests.oracle.program import Agg, Assign, Atom, Base, Compare, Larger, Program, Rule
from tests.oracle.terms import Const, Op, Term, Var

PALETTES = (("int",), ("string",), ("int", "string"), ("int", "int", "float"), ("int", "string", "float"))
"""Column types of one program: few, so that relations have something to join by."""


NUMBERS = (("int",), ("float",), ("int", "int", "float"))
"""The same for programs with equations."""

PAIRED = ("count", "min", "sum", "max", "avg")
"""Aggregates that may stand side by side in one head."""


@dataclass(frozen=True, slots=True)
class Pool:
    """An aggregate column: its function, the types of what it ranges over and of what it gives, and of its keys."""

    function: str
    source: str
    result: str
    keys: str
    limit: int | None


LISTS = (
    ("int", "list<int>"),
    ("int", "list<int>", "string", "list<string>"),
    ("int", "bool", "list<bool>", "list<int>"),
    ("int", "float", "list<float>"),
    ("int", "list<list<int>>", "list<int>"),
    ("string", "int", "list<int>", "bool"),
)
"""The same for programs about lists: of numbers, truth values, texts, and of lists."""


def random_program(dice: Dice, *, nulls: bool = False, lists: bool = False, equations: bool = False) -> Program:
    """With `nulls`, one that meets nulls in base rows, constants and goals; with `lists`, one about lists.

    With `equations`, goals are often joined by what one of them gives, computed.
    """
    maker = Maker(dice, nulls=nulls, lists=lists, equations=equations)
    for number in range(dice.number(1, 3)):
        maker.base(f"b{number}")
    wanted = dice.number(2, 6)
    kinds = (maker.plain, maker.recursive, maker.pooled, maker.best, maker.plain, maker.recursive)
    if equations:
        kinds = (maker.plain, maker.recursive, maker.looked_up, maker.looked_up)
    while len(maker.derived) < wanted:
        dice.pick(kinds)()
    asked = dict.fromkeys(dice.picks(maker.derived, 1, 2)) if dice.chance(25) else ()
    # A program is a set of rules: one that is written twice is one rule, whatever its aggregate counts.
    return Program(tuple(maker.bases), tuple(dict.fromkeys(maker.rules)), tuple(maker.query(one) for one in asked))


class Maker:
    """A program while it grows, component by component."""

    def __init__(self, dice: Dice, *, nulls: bool, lists: bool = False, equations: bool = False) -> None:
        self.dice = dice
        self.equations = equations
        self.nulls = nulls
        self.lists = lists
        self.palette: tuple[str, ...] = dice.pick(LISTS if lists else NUMBERS if equations else PALETTES)
        self.bases: list[Base] = []
        self.below: list[Signature] = []
        self.derived: list[Signature] = []
        self.rules: list[Rule] = []

    def base(self, name: str) -> None:
        dice = self.dice
        arity = dice.pick((2, 2, 3, 1, 3, 2, 1, 0))
        types = tuple(dice.pick(self.palette) for _ in range(arity))
        key = (0,) if arity > 1 and dice.chance(15) else None
        declared = key is not None or not dice.chance(30)
        maybe = tuple(at for at in range(arity) if dice.chance(60)) if self.nulls and declared else ()
        never = tuple(at for at in range(arity) if at not in maybe)
        self.bases.append(Base(name, types, key, declared, maybe))
        self.below.append(Signature(name, types, steady=True, never=never))
        if key is None and dice.chance(12):
            self.fact(self.below[-1])

    def fact(self, relation: Signature) -> None:
        body = self.empty_body()
        row = [
            body.value(type_) if at in relation.never else body.constant(type_)
            for at, type_ in enumerate(relation.types)
        ]
        self.rules.append(Rule(relation.name, tuple(row)))

    def empty_body(self) -> Body:
        return Body(self.dice, self.palette[0], nulls=self.nulls)

    def name(self) -> str:
        return f"d{len(self.derived)}"

    def types(self, *more: str) -> tuple[str, ...]:
        arity = self.dice.pick((2, 2, 1, 3, 2, 1, 2, 2, 3, 0))
        return tuple(self.dice.pick((*self.palette, *more)) for _ in range(arity))

    def add(self, *relations: Signature) -> None:
        self.below.extend(relations)

    def body(self, *own: Signature, atoms: int = 3) -> Body:
        """Atoms over the relations below, and over those of `own` in random places between them."""
        body = self.empty_body()
        chosen = [self.dice.pick(self.below) for _ in range(self.dice.pick((1, 2, 1, 2, atoms)) - len(own))]
        for relation in self.dice.shuffled([*chosen, *own]):
            if self.equations and self.dice.chance(60):
                body.join_by_value(relation)
            else:
                body.join(relation)
            if self.lists and self.dice.chance(60):
                body.take_item()
        return body

    def restrict(self, body: Body) -> None:
        if self.dice.chance(25):
            body.forbid(self.dice.pick(self.below))
            if self.dice.chance(40):
                body.forbid(self.dice.pick(self.below))
        if self.dice.chance(25):
            body.compare()
        if body.lists() and self.dice.chance(40):
            body.test_member()
        if self.nulls and self.dice.chance(25):
            body.ask_for_nulls()

    def query(self, relation: Signature) -> Atom:
        """Mostly all of the relation; sometimes what a constant or a repeated variable selects."""
        body, args = self.empty_body(), list[Term]()
        for type_ in relation.types:
            selects = type_ in self.palette and items_of(type_) is None and self.dice.chance(15)
            args.append(body.known_or_constant(type_) if selects else body.variable(type_))
        return Atom(relation.name, tuple(args))

    def plain(self) -> None:
        made = f"list<{self.palette[0]}>"
        name, types = self.name(), self.types(*((made,) if self.dice.chance(20) else ()))
        relation = Signature(name, types)
        self.derived.append(relation)
        for _ in range(self.dice.pick((1, 2, 1, 3))):
            body = self.body(atoms=4)
            if self.dice.chance(35):
                body.compute()
            if made in types and (body.known(made) is None or self.dice.chance(60)):
                body.collect()
            if self.lists and self.dice.chance(30):
                body.change_list()
            self.restrict(body)
            self.rules.append(Rule(name, tuple(body.head(type_) for type_ in types), body.finished()))
        if self.dice.chance(8):
            self.fact(relation)
        if self.dice.chance(8):
            self.unless(relation)
        self.add(relation)

    def unless(self, relation: Signature) -> None:
        """A row that is there where some relation is empty: a body without any atom."""
        body = self.empty_body()
        body.forbid(self.dice.pick(self.below))
        self.rules.append(Rule(relation.name, tuple(body.constant(type_) for type_ in relation.types), body.finished()))

    def looked_up(self) -> None:
        """Rows of a base relation, and what another one has for a number that follows from them."""
        relation, body = Signature(self.name(), self.types()), self.empty_body()
        self.derived.append(relation)
        above = [each for each in self.below if not each.steady] or self.below
        body.join(self.dice.pick([each for each in self.below if each.steady]))
        body.join_by_value(self.dice.pick(above))
        self.restrict(body)
        self.rules.append(Rule(relation.name, tuple(body.head(type_) for type_ in relation.types), body.finished()))
        self.add(relation)

    def recursive(self) -> None:
        component: list[Signature] = []
        for _ in range(self.dice.pick((1, 1, 2, 1, 2, 3))):
            component.append(Signature(self.name(), self.types()))
            self.derived.append(component[-1])
        for relation in component:
            for turn in range(self.dice.pick((2, 2, 3, 1))):
                own = [self.dice.pick(component) for _ in range(self.dice.pick((1, 1, 2)))] if turn else []
                body = self.body(*own)
                if own and self.dice.chance(20):
                    body.count_up()
                self.restrict(body)
                self.rules.append(
                    Rule(relation.name, tuple(body.head(type_) for type_ in relation.types), body.finished())
                )
        if self.dice.chance(10):
            self.fact(self.dice.pick(component))
        self.add(*component)

    def pooled(self) -> None:
        """One aggregate, or two of them side by side."""
        dice = self.dice
        name, group = self.name(), self.types()[:2]
        alone = [self.pool((*PAIRED, "top", "mcount", "msum"))]
        pools = [self.pool(PAIRED), self.pool(PAIRED)] if dice.chance(20) else alone
        if len(pools) == 1 and pools[0].function in ("min", "max") and dice.chance(40):
            kind = dice.pick(self.palette)
            pools.append(Pool("with", kind, kind, kind, None))
        at = dice.number(0, len(group)) if dice.chance(15) else len(group)
        results = tuple(pool.result for pool in pools)
        relation = Signature(name, (*group[:at], *results, *group[at:]))
        self.derived.append(relation)
        for turn in range(dice.pick((1, 1, 2))):
            body = self.body()
            if dice.chance(20):
                body.compute()
            self.restrict(body)
            plain = turn and len(pools) == 1 and pools[0].function in ("min", "max", "sum", "top") and dice.chance(40)
            values = tuple(body.head(pool.source) if plain else self.measure(pool, body) for pool in pools)
            columns = [body.head(type_) for type_ in group]
            self.rules.append(Rule(name, (*columns[:at], *values, *columns[at:]), body.finished()))
        self.add(relation)

    def pool(self, functions: tuple[str, ...]) -> Pool:
        function = self.dice.pick(functions)
        source = "float" if "float" in self.palette and function != "mcount" else "int"
        if function in ("min", "max", "top") and "string" in self.palette and self.dice.chance(40):
            source = "string"
        result = {"count": "int", "avg": "float"}.get(function, source)
        limit = self.dice.number(1, 3) if function == "top" else None
        return Pool(function, source, result, self.dice.pick(self.palette), limit)

    def measure(self, pool: Pool, body: Body) -> Agg:
        if pool.function in ("mcount", "msum"):
            return Agg(pool.function, (body.head(pool.keys), body.head(pool.source)))
        if pool.function == "count":
            named = [type_ for type_ in sorted(body.bound) if body.bound[type_]] or [pool.source]
            return Agg("count", (body.head(self.dice.pick(named)),))
        return Agg(pool.function, (body.head(pool.source),), pool.limit)

    def best(self) -> None:
        """`r(G, min<C>)` with exit rules, and rules that add a weight to the value of `r` itself."""
        dice = self.dice
        name, group = self.name(), tuple(dice.pick(self.palette) for _ in range(dice.pick((2, 1, 2, 0))))
        function = dice.pick(("min", "mmin", "top", "max", "mmax"))
        source = "float" if "float" in self.palette else "int"
        limit = dice.number(1, 3) if function == "top" else None
        carried = tuple(dice.pick(self.palette) for _ in range(dice.pick((1, 0, 0)))) if function != "top" else ()
        relation = Signature(name, (*group, source, *carried))
        self.derived.append(relation)
        relay = self.relay(relation, function, limit, len(group)) if dice.chance(25) else None
        for turn in range(dice.pick((2, 2, 3))):
            body = self.body(atoms=2)
            value: Term = body.known_or_constant(source)
            beside: tuple[Term, ...] = ()
            if turn:
                read = relay if relay is not None and (turn == 1 or dice.chance(50)) else relation
                value, beside = self.own_value(body, read, len(group))
                if dice.chance(50):
                    beside = ()  # what is carried comes from elsewhere
                value = self.step(body, function, value, relation, source, strictly=bool(beside), width=len(group))
            self.restrict(body)
            columns = tuple(body.head(type_) for type_ in group)
            along = beside or tuple(body.head(type_) for type_ in carried)
            best = (Agg(function, (value,), limit), *(Agg("with", (one,)) for one in along))
            self.rules.append(Rule(name, (*columns, *best), body.finished()))
        self.add(relation, *(() if relay is None else (relay,)))

    def relay(self, relation: Signature, function: str, limit: int | None, width: int) -> Signature:
        """A second relation inside the recursion that hands the best rows on, as best rows."""
        made = Signature(self.name(), relation.types)
        self.derived.append(made)
        args = tuple(Var(f"G{position}") for position in range(len(relation.types)))
        along = (Agg("with", (one,)) for one in args[width + 1 :])
        head: tuple[Term | Agg, ...] = (*args[:width], Agg(function, (args[width],), limit), *along)
        self.rules.append(Rule(made.name, head, (Atom(relation.name, args),)))
        return made

    def own_value(self, body: Body, relation: Signature, width: int) -> tuple[Var, tuple[Var, ...]]:
        """Joins the recursive relation; its value and what is carried stay hidden, so that nothing else uses them."""
        value, *along = (body.hidden() for _ in relation.types[width:])
        args = body.arguments(relation.types[:width])
        body.goals.append(Atom(relation.name, (*args, value, *along)))
        return value, tuple(along)

    def step(
        self, body: Body, function: str, value: Var, relation: Signature, source: str, *, strictly: bool, width: int
    ) -> Term:
        dice = self.dice
        if function in ("max", "mmax"):
            return value
        kind = dice.number(0, 4)
        if kind == 0:
            return value
        made = body.hidden()
        if kind == 1 and function != "top" and not strictly:
            body.goals.append(Larger(made, value, self.weight(body, source)))
        elif kind == 2:
            body.goals.append(Assign(made, Op("+", value, self.own_value(body, relation, width)[0])))
        else:
            body.goals.append(Assign(made, Op("+", value, self.weight(body, source))))
        if kind > 1 and dice.chance(30):
            before, made = made, body.hidden()
            more = value if dice.chance(50) else self.weight(body, source)
            body.goals.append(Assign(made, Op("+", before, more)))
        if dice.chance(25):
            body.goals.append(Compare("<", made, Const({"int": 6, "float": 4.0}[source])))
        return made

    def weight(self, body: Body, source: str) -> Term:
        """A number that is never negative: a base relation's, or a constant."""
        steady = [relation for relation in self.below if relation.steady and source in relation.types]
        if not steady or self.dice.chance(20):
            return Const({"int": 1, "float": 0.5}[source])
        relation = self.dice.pick(steady)
        at = relation.types.index(source)
        made = body.hidden()
        args = body.arguments((*relation.types[:at], *relation.types[at + 1 :]))
        body.goals.append(Atom(relation.name, (*args[:at], made, *args[at:])))
        return made
