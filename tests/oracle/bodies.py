"""Random rule bodies: atoms that share variables, negation, comparisons, arithmetic; always safe, always typed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tests.oracle.dice import Dice
from tests.oracle.program import Assign, Atom, Compare, Decode, Encode, Goal, Match, Not, Test
from tests.oracle.terms import Call, Const, Items, Op, Term, Var, Wild

CONSTANTS = {"int": (0, 1, 2, 3), "string": ("a", "b", "c"), "float": (0.0, 0.1, 1.0), "bool": (False, True)}


def items_of(type_: str) -> str | None:
    """What a list of this type holds; None: it is not a valid list."""
    return type_[len("list<") : -1] if type_.startswith("list<") else None


@dataclass(frozen=True, slots=True)
class Signature:
    """A relation that a body may read. `steady` marks base relations: their numbers are never negative.

    `never` are the columns declared without nulls: asking for one there is an error.
    """

    name: str
    types: tuple[str, ...]
    steady: bool = False
    never: tuple[int, ...] = ()


@dataclass(slots=True)
class Body:
    """A body while it is being built; `bound` are the variables that goals to come, and the head, may use."""

    dice: Dice
    items: str  # the type of what new lists hold
    goals: list[Goal] = field(default_factory=list)
    bound: dict[str, list[str]] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    fresh: int = 0
    nulls: bool = False  # whether `null` may stand among the constants, and goals be about nulls

    def variable(self, type_: str) -> Var:
        """A new name, bound from now on."""
        made = self.hidden()
        self.bound.setdefault(type_, []).append(made.name)
        return made

    def hidden(self) -> Var:
        """A new name that nothing else will pick up by chance."""
        self.fresh += 1
        return Var(f"X{self.fresh}")

    def known(self, type_: str) -> Var | None:
        names = self.bound.get(type_)
        return Var(self.dice.pick(names)) if names else None

    def constant(self, type_: str) -> Const:
        return Const(None) if self.nulls and self.dice.chance(12) else self.value(type_)

    def value(self, type_: str) -> Const:
        items = items_of(type_)
        if items is not None:
            return Const(tuple(self.value(items).value for _ in range(self.dice.number(0, 2))))
        return Const(self.dice.pick(CONSTANTS[type_]))

    def known_or_constant(self, type_: str) -> Term:
        known = self.known(type_)
        return self.constant(type_) if known is None or self.dice.chance(8) else known

    def arguments(self, types: tuple[str, ...], never: Collection[int] | None = None) -> tuple[Term, ...]:
        """Arguments of one atom: known variables to join by, new ones, now and then a constant or a repeat."""
        earlier = {type_: list(names) for type_, names in self.bound.items()}
        never = range(len(types)) if never is None else never
        return tuple(self._argument(type_, earlier.get(type_, []), at in never) for at, type_ in enumerate(types))

    def _argument(self, type_: str, earlier: list[str], never: bool) -> Term:
        kind = self.dice.number(0, 19)
        if kind <= 8 and earlier:
            return Var(self.dice.pick(earlier))
        if kind == 17 and (repeated := self.known(type_)) is not None:
            return repeated
        if kind == 18:
            return Wild()
        if kind == 19:
            return self.value(type_) if never else self.constant(type_)
        return self.variable(type_)

    def join(self, relation: Signature) -> None:
        self.goals.append(Atom(relation.name, self.arguments(relation.types, relation.never)))

    def forbid(self, relation: Signature) -> None:
        args: list[Term] = []
        for type_ in relation.types:
            known = self.known(type_)
            args.append(known if known is not None and not self.dice.chance(20) else Wild())
        self.goals.append(Not(Atom(relation.name, tuple(args))))

    def compare(self) -> None:
        type_ = self.dice.pick(sorted(self.bound) or ["int"])
        left = self.known(type_)
        if left is None:
            return
        if items_of(type_) is not None and self.dice.chance(60):
            call = Call("length", (left,))
            self.goals.append(Compare(self.dice.pick(("<", ">=", "=")), call, Const(self.dice.number(0, 2))))
            return
        op = self.dice.pick(("!=", "<", "<=", "=", ">", ">="))
        right = self.known_or_constant(type_)
        self.goals.append(Compare(op, left, self.constant(type_) if right == left else right))

    def ask_for_nulls(self) -> None:
        """A goal about nulls, or a value in place of one."""
        type_ = self.dice.pick(sorted(self.bound) or ["int"])
        known = self.known(type_)
        if known is None:
            return
        match self.dice.number(0, 3):
            case 0:
                self.goals.append(Test(Call("is_null", (known,)), self.dice.chance(40)))
            case 1:
                self.goals.append(Test(Call("is_not_null", (known,)), self.dice.chance(40)))
            case _:
                self.assign(type_, Call("coalesce", (known, self.known_or_constant(type_))))

    def test_member(self) -> None:
        for type_ in self.lists():
            path, item = self.known(type_), self.known(items_of(type_) or "")
            if path is not None and item is not None:
                self.goals.append(Test(Call("member", (item, path)), self.dice.chance(40)))
                return

    def lists(self) -> list[str]:
        """The types of lists that variables stand for, in any order."""
        return self.dice.shuffled([type_ for type_ in sorted(self.bound) if items_of(type_) is not None])

    def a_list(self) -> list[tuple[str, Var, str]]:
        """A variable that stands for a list, if there is one: its type, itself and the type of its items."""
        for type_ in self.lists():
            whole, items = self.known(type_), items_of(type_)
            assert whole is not None
            assert items is not None
            return [(type_, whole, items)]
        return []

    def take_item(self) -> None:
        """A value out of a known list, by any of the ways there are; what stands for it may be known already."""
        for type_, whole, items in self.a_list():
            known = self.known(items)
            kind = self.dice.number(0, 9)
            if kind >= 6:
                call = self.dice.pick(
                    (
                        Call("first", (whole,)),
                        Call("last", (whole,)),
                        Call("nth", (whole, Const(self.dice.number(0, 2)))),
                        Call("nth", (whole, self.known("int") or Const(0))),
                    )
                )
                if known is not None and self.dice.chance(30):
                    self.goals.append(Compare(self.dice.pick(("=", "!=")), known, call))
                else:
                    self.assign(items, call)
                continue
            if kind >= 4:  # as a pair, with an item of another type beside it
                other = self.dice.pick(sorted(self.bound))
                beside, pair = self.known(other), self.hidden()
                assert beside is not None
                self.goals.append(Encode(self.assign(items, Call("first", (whole,))), beside, pair))
                again = self.variable(items) if self.dice.chance(60) else Wild()
                self.goals.append(Decode(pair, again, self.variable(other)))
                continue
            part = known if known is not None and self.dice.chance(25) else self.variable(items)
            before: tuple[Var | Wild, ...] = (Wild(),) * self.dice.pick((0, 0, 1))
            if kind <= 1:
                self.goals.append(Match(whole, (*before, part)))
            else:
                rest = self.variable(type_) if self.dice.chance(50) else Wild()
                self.goals.append(Match(whole, (*before, part), rest))

    def change_list(self) -> None:
        """Another list from a known one."""
        for type_, whole, items in self.a_list():
            item = self.known_or_constant(items)
            self.assign(
                type_,
                self.dice.pick(
                    (
                        Call("reverse", (whole,)),
                        Call("rest", (whole,)),
                        Call("append", (whole, item)),
                        Items((item,), whole),
                        Call("concat", (whole, self.known_or_constant(type_))),
                    )
                ),
            )

    def compute(self) -> None:
        """A number from other numbers: only for relations outside any recursion."""
        whole, real = self.known("int"), self.known("float")
        if real is not None and self.dice.chance(30):
            self.assign("float", Op(self.dice.pick(("+", "*", "-")), real, self.known_or_constant("float")))
        elif whole is not None:
            kind = self.dice.number(0, 5)
            if kind <= 2:
                self.assign("int", Op(self.dice.pick(("+", "-")), whole, self.known_or_constant("int")))
            elif kind == 3:
                self.assign("int", Op(self.dice.pick(("*", "%")), whole, Const(self.dice.pick((2, 3)))))
            elif kind == 4:
                self.assign("float", Op("/", whole, self.known_or_constant("int")))
            else:
                self.assign("int", Call("abs", (Op("-", whole, self.known_or_constant("int")),)))

    def join_by_value(self, relation: Signature) -> None:
        """An atom that is joined by a number that follows from those that are known, if there are any."""
        places = [at for at, type_ in enumerate(relation.types) if type_ in ("int", "float") and self.known(type_)]
        if not places:
            self.join(relation)
            return
        at = self.dice.pick(places)
        type_ = relation.types[at]
        term = Op(self.dice.pick(("+", "-", "*")), self.known_or_constant(type_), self.value(type_))
        args, made = self.arguments((*relation.types[:at], *relation.types[at + 1 :])), self.variable(type_)
        self.goals.append(Atom(relation.name, (*args[:at], made, *args[at:])))
        self.goals.append(Compare("=", *self.dice.shuffled([made, term])))

    def count_up(self) -> None:
        """A number that grows around a recursion, but not past its bound."""
        whole = self.known("int")
        if whole is not None:
            made = self.assign("int", Op("+", whole, Const(self.dice.number(1, 2))))
            self.goals.append(Compare("<", made, Const(self.dice.number(4, 8))))

    def collect(self) -> None:
        """A list of known values."""
        self.collect_in(f"list<{self.items}>")

    def collect_in(self, type_: str) -> None:
        items = items_of(type_)
        assert items is not None
        self.assign(type_, Items(tuple(self.known_or_constant(items) for _ in range(self.dice.number(0, 2)))))

    def assign(self, type_: str, term: Term) -> Var:
        made = self.variable(type_)
        self.goals.append(Assign(made, term, self.dice.pick(("=", ":="))))
        return made

    def head(self, type_: str) -> Term:
        """What may stand in a head column of this type: rather a variable that no column has yet."""
        unused = [name for name in self.bound.get(type_, ()) if name not in self.shown]
        if not unused or self.dice.chance(15):
            return self.known_or_constant(type_)
        self.shown.append(chosen := self.dice.pick(unused))
        return Var(chosen)

    def finished(self) -> tuple[Goal, ...]:
        """The goals, sometimes in another order: a body means the same in any."""
        if len(self.goals) > 1 and self.dice.chance(25):
            return tuple(self.dice.shuffled(self.goals))
        return tuple(self.goals)
