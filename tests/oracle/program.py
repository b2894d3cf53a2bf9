"""The oracle's own picture of a program, and its text in Headwater's language.

Both sides of a comparison get the same program: the oracle evaluates these values, Headwater compiles
`to_text` of them. Rows are tuples, lists inside rows are tuples too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tests.oracle.terms import Call, Const, Items, Link, Op, Term, Value, Var, Wild, term_text

Row: TypeAlias = tuple[Value, ...]
State: TypeAlias = dict[str, set[Row]]


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    args: tuple[Term, ...]  # variables, wildcards and constants


@dataclass(frozen=True, slots=True)
class Not:
    atom: Atom


@dataclass(frozen=True, slots=True)
class Compare:
    op: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Assign:
    variable: Var
    term: Term
    sign: str = "="


@dataclass(frozen=True, slots=True)
class Test:
    """A call that must be true; negated, false."""

    call: Call
    negated: bool = False

    __test__ = False  # keeps pytest from collecting it


@dataclass(frozen=True, slots=True)
class Decode:
    """`decd(V, A, B)`: takes apart the pair that `encd(A, B, V)` made; `_` where the value is not needed."""

    pair: Var
    first: Var | Wild
    second: Var | Wild


@dataclass(frozen=True, slots=True)
class Encode:
    """`encd(A, B, V)`: V is the pair of A and B, ordered by A first."""

    first: Term
    second: Term
    pair: Var


@dataclass(frozen=True, slots=True)
class Match:
    """`L = [A, _ | T]`: takes a list apart; `_` where the value is not needed."""

    whole: Var
    items: tuple[Var | Wild, ...]
    rest: Var | Wild | None = None


@dataclass(frozen=True, slots=True)
class Larger:
    """`larger(V, A, B)`: V is the larger of the two."""

    variable: Var
    left: Term
    right: Term


Goal: TypeAlias = Atom | Not | Compare | Assign | Test | Decode | Encode | Match | Larger


@dataclass(frozen=True, slots=True)
class Agg:
    """`min<C>`, `msum<(K, N)>`, `top<k, C>`; `with<P>` behind a `min` or `max` is what goes with the best value."""

    function: str
    args: tuple[Term, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    relation: str
    args: tuple[Term | Agg, ...]
    body: tuple[Goal, ...] = ()
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """A base relation. The types are always known here; `declared` says whether the text has them.

    The columns at the places of `nullable` may hold nulls; only a declaration can say so.
    """

    name: str
    types: tuple[str, ...]
    key: tuple[int, ...] | None = None
    declared: bool = True
    nullable: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """With no `queries`, every derived relation is an output."""

    bases: tuple[Base, ...]
    rules: tuple[Rule, ...]
    queries: tuple[Atom, ...] = ()

    @property
    def derived(self) -> tuple[str, ...]:
        """Heads of at least one rule with a body, in order of appearance."""
        return tuple(dict.fromkeys(rule.relation for rule in self.rules if rule.body))

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(query.relation for query in self.queries)) or self.derived

    def asked(self, relation: str, rows: set[Row]) -> set[Row]:
        """Of a relation's rows those that its queries ask for: constants and repeated variables select."""
        queries = [query for query in self.queries if query.relation == relation]
        return {row for row in rows if not queries or any(_selects(query, row) for query in queries)}

    @property
    def keys(self) -> dict[str, tuple[int, ...]]:
        return {base.name: base.key for base in self.bases if base.key is not None}

    def facts(self) -> State:
        """The rows that the program itself states."""
        rows: State = {}
        for rule in self.rules:
            if not rule.body:
                row = tuple(arg.value for arg in rule.args if isinstance(arg, Const))
                rows.setdefault(rule.relation, set()).add(row)
        return rows


def _selects(query: Atom, row: Row) -> bool:
    named: dict[str, Value] = {}
    for arg, value in zip(query.args, row, strict=True):
        if isinstance(arg, Const) and arg.value != value:
            return False
        if isinstance(arg, Var) and named.setdefault(arg.name, value) != value:
            return False
    return True


def reads(program: Program) -> set[str]:
    """Every relation that some body names."""
    goals = (goal.atom if isinstance(goal, Not) else goal for rule in program.rules for goal in rule.body)
    return {goal.relation for goal in goals if isinstance(goal, Atom)}


def mentioned(program: Program) -> set[str]:
    """Every relation that some rule names, in its head or its body."""
    return reads(program) | {rule.relation for rule in program.rules}


def variables(node: Term | Goal | Agg) -> Iterator[str]:
    """Names of the variables of a node, in order, repeats included."""
    match node:
        case Var(name):
            yield name
        case Wild() | Const():
            return
        case Items(items, tail):
            for item in items:
                yield from variables(item)
            if tail is not None:
                yield from variables(tail)
        case Link(args=args) | Call(args=args) | Atom(args=args) | Agg(args=args):
            for arg in args:
                yield from variables(arg)
        case Op(left=left, right=right) | Compare(left=left, right=right):
            yield from variables(left)
            yield from variables(right)
        case Not(atom):
            yield from variables(atom)
        case Assign(variable, term):
            yield from variables(variable)
            yield from variables(term)
        case Test(call):
            yield from variables(call)
        case Decode(pair, first, second) | Encode(first, second, pair):
            yield from variables(pair)
            yield from variables(first)
            yield from variables(second)
        case Match(whole, items, rest):
            yield from variables(whole)
            yield from variables(Items(items, rest))
        case Larger(variable, left, right):
            yield from variables(variable)
            yield from variables(left)
            yield from variables(right)
        case _:
            assert_never(node)


def to_text(program: Program) -> str:
    lines = [_declaration(base) for base in program.bases if base.declared]
    lines += [_rule(rule) for rule in program.rules]
    lines += [f"Query: {_goal(query)}." for query in program.queries]
    return "\n".join(lines) + "\n"


def _declaration(base: Base) -> str:
    columns = ", ".join(
        f"c{position}: {type_}{'?' if position in base.nullable else ''}" for position, type_ in enumerate(base.types)
    )
    key = "" if base.key is None else " key(" + ", ".join(f"c{position}" for position in base.key) + ")"
    return f"relation {base.name}({columns}){key}."


def _rule(rule: Rule) -> str:
    label = f"{rule.label}: " if rule.label else ""
    head = f"{rule.relation}({', '.join(_head_arguments(rule.args))})"
    if not rule.body:
        return f"{label}{head}."
    return f"{label}{head} :- {', '.join(_goal(goal) for goal in rule.body)}."


def _head_arguments(args: tuple[Term | Agg, ...]) -> Iterator[str]:
    """A `min<C>` and what is carried right behind it are written as one, `min<(C, P)>`."""
    waiting = list(args)
    while waiting:
        arg = waiting.pop(0)
        while isinstance(arg, Agg) and waiting and isinstance(waiting[0], Agg) and waiting[0].function == "with":
            arg = Agg(arg.function, (*arg.args, *waiting.pop(0).args), arg.limit)
        yield _argument(arg)


def _argument(arg: Term | Agg) -> str:
    if not isinstance(arg, Agg):
        return term_text(arg)
    inside = ", ".join(term_text(term) for term in arg.args)
    if len(arg.args) > 1:
        inside = f"({inside})"
    if arg.limit is not None:
        inside = f"{arg.limit}, {inside}"
    return f"{arg.function}<{inside}>"


def _goal(goal: Goal) -> str:
    match goal:
        case Atom(relation, args):
            return f"{relation}({', '.join(term_text(arg) for arg in args)})"
        case Not(atom):
            return f"!{_goal(atom)}"
        case Compare(op, left, right):
            return f"{term_text(left)} {op} {term_text(right)}"
        case Assign(variable, term, sign):
            return f"{variable.name} {sign} {term_text(term)}"
        case Test(call, negated):
            return f"{'!' if negated else ''}{term_text(call)}"
        case Decode(pair, first, second):
            return f"decd({term_text(pair)}, {term_text(first)}, {term_text(second)})"
        case Encode(first, second, pair):
            return f"encd({term_text(first)}, {term_text(second)}, {term_text(pair)})"
        case Match(whole, items, rest):
            return f"{whole.name} = {term_text(Items(items, rest))}"
        case Larger(variable, left, right):
            return f"larger({variable.name}, {term_text(left)}, {term_text(right)})"
        case _:
            assert_never(goal)
