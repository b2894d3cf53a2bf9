"""Where a variable and a column keep their values differently: one of them is of type `any`, the other is a number.

Values of mixed columns are kept by symbol, numbers as they are, so a lookup by one would miss the other. Such an atom
gets a variable of its own, and the two are tied by calls that go both ways: `q(V), m(V)` with a mixed `q` and a `m` of
ints becomes `q(V'any), m(V), V'any = as_any(V), V = as_int(V'any)`, of which a delta rule takes what it can use.

A negated atom over numbers cannot hold for a mixed value that is no number. Its rule becomes two: one for values that
are, one, without the atom, for those that are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from headwater.core.types import Type
from headwater.language.syntax import Assign, Atom, Call, Condition, Constant, Goal, Negation, Term, Variable
from headwater.plan.model import Table


def boxed(
    body: tuple[Goal, ...], kinds: Mapping[str, Type], tables: Mapping[str, Table]
) -> Iterator[tuple[tuple[Goal, ...], dict[str, Type], dict[str, str]]]:
    """The bodies that a body becomes, with the types of their variables, and what each new variable stands for."""
    bodies: list[list[Goal]] = [[]]
    found = dict(kinds)
    stands: dict[str, str] = {}
    tied: dict[str, Goal] = {}
    for goal in body:
        if not isinstance(goal, Atom | Negation):
            for body_so_far in bodies:
                body_so_far.append(goal)
            continue
        atom = goal if isinstance(goal, Atom) else goal.atom
        args: list[Term] = []
        others: list[Goal] = []
        for arg, column in zip(atom.args, tables[atom.relation].types, strict=True):
            if not isinstance(arg, Variable) or kinds[arg.name].is_symbolic is column.is_symbolic:
                args.append(arg)
                continue
            other = Variable(f"{arg.name}'{'any' if column.is_symbolic else column.value}", span=arg.span)
            args.append(other)
            found[other.name] = column
            stands[other.name] = arg.name
            tied[other.name] = Assign(other, Call(f"as_{column.value}", (arg,)))
            if column.is_symbolic:
                tied[f"{other.name}'back"] = Assign(arg, Call(f"as_{kinds[arg.name].value}", (other,)))
            else:
                of_it = Call("has_type", (arg, Constant(column.value, Type.STRING)))
                others.append(Condition(of_it, negated=True))
        met = replace(atom, args=tuple(args))
        kept: Goal = met if isinstance(goal, Atom) else replace(goal, atom=met)
        bodies = [*([*goals, kept] for goals in bodies), *([*goals, other] for goals in bodies for other in others)]
    for goals in bodies:
        used = {arg.name for goal in goals if isinstance(goal, Atom | Negation) for arg in _args(goal)}
        ties = [goal for name, goal in tied.items() if name.removesuffix("'back") in used]
        yield (*goals, *ties), found, stands


def _args(goal: Atom | Negation) -> Iterator[Variable]:
    atom = goal if isinstance(goal, Atom) else goal.atom
    return (arg for arg in atom.args if isinstance(arg, Variable))
