"""Delta rules: the ways through a rule, with the order of its goals chosen.

Whatever can be tested or computed is done at once. The order of the atoms is *structural* unless the data says
otherwise (`ranks`, `join_order`). A join that gives nothing that a later step needs has to find only one match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from headwater.core.types import Type
from headwater.core.widening import keeps
from headwater.language import syntax
from headwater.language.terms import goal_names, names
from headwater.plan.drafts import Draft
from headwater.plan.equations import equations_of, solved
from headwater.plan.join_order import Choice, Costed, Origin
from headwater.plan.model import (
    Absent,
    DeltaRule,
    Filter,
    Join,
    Let,
    Literal,
    Owned,
    Pattern,
    Pull,
    Reads,
    Source,
    Step,
    Test,
    Var,
    literal,
)
from headwater.plan.ranks import Ranks

Choose: TypeAlias = Callable[[Choice], Costed]


def structural(choice: Choice) -> Costed:
    """The order that needs no statistics."""
    return Costed(choice.structural)


def pattern(table: str, args: Sequence[syntax.Term], bound: Iterable[str]) -> Pattern:
    """How an atom's arguments meet a row when `bound` variables are known."""
    known = set(bound)
    key: list[tuple[int, Source]] = []
    binds: list[tuple[int, str]] = []
    equal: list[tuple[int, int]] = []
    first: dict[str, int] = {}
    for column, arg in enumerate(args):
        match arg:
            case syntax.Variable(name=name) if name in known:
                key.append((column, Var(name)))
            case syntax.Variable(name=name) if name in first:
                equal.append((first[name], column))
            case syntax.Variable(name=name):
                first[name] = column
                binds.append((column, name))
            case syntax.Constant() | syntax.ListTerm():
                key.append((column, literal(arg)))
            case syntax.Wildcard():
                pass
            case _:
                raise AssertionError(f"a checked atom has no argument {arg!r}")
    return Pattern(table, tuple(key), tuple(binds), tuple(equal))


_Other: TypeAlias = syntax.Assign | syntax.Comparison | syntax.Condition | syntax.Negation


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A goal that is no atom, and the variables that must be known before it can be taken."""

    goal: _Other
    asks: frozenset[str]


class _Goals:
    """The goals of one rule that a delta rule has still to take."""

    def __init__(self, draft: Draft, bound: set[str], reads: dict[int, Reads]) -> None:
        self.bound = bound
        self.reads = reads
        self.types = draft.types
        self.draft = draft
        self.atoms: dict[int, syntax.Atom] = {}
        self.owned = draft.owned
        self.mine = draft.mine
        others: list[_Waiting] = []
        for goal in draft.body:
            if isinstance(goal, syntax.Atom):
                self.atoms[len(self.atoms)] = goal
            else:
                others.append(_Waiting(goal, _asks(goal)))
        self.others = sorted(others, key=lambda each: isinstance(each.goal, syntax.Assign))  # tests first
        self.equations = equations_of(draft)
        self.ranks = Ranks(draft, self.atoms, self.equations)

    def copy(self) -> _Goals:
        made = _Goals(self.draft, set(self.bound), self.reads)
        made.atoms, made.others, made.owned = dict(self.atoms), list(self.others), self.owned
        return made

    def take_ready(self) -> Iterable[Step]:
        """Steps for all goals whose variables are known: tests first, and of the assignments only those that a goal
        asks for, so that nothing is computed for bindings that a later goal excludes."""
        progress = True
        while progress:
            progress = False
            yield from self._take_owned()
            for waiting in self.others:
                goal = waiting.goal
                if not waiting.asks <= self.bound:
                    continue
                if isinstance(goal, syntax.Assign) and self.atoms and not self._asked_for(goal.variable.name):
                    continue
                self.others.remove(waiting)
                progress = True
                yield self._step(goal)
                break

    def _take_owned(self) -> Iterable[Step]:
        match self.owned:
            case Var(name=name) if name in self.bound:
                yield Owned(Var(name), self.types[name], self.mine)
            case Literal(type=kind) as constant:
                yield Owned(constant, kind, self.mine)
            case _:
                return
        self.owned = None

    def _asked_for(self, name: str) -> bool:
        """Whether a goal that is not taken yet needs a variable, or can be looked up by it."""
        if name in self.bound or self.owned == Var(name):
            return True
        atoms = any(
            isinstance(arg, syntax.Variable) and arg.name == name for atom in self.atoms.values() for arg in atom.args
        )
        return atoms or any(name in each.asks for each in self.others if not _assigns(each.goal, name))

    def _step(self, goal: _Other) -> Step:
        """The step of a goal whose variables are known."""
        match goal:
            case syntax.Assign(variable=variable, term=term):
                if variable.name in self.bound:
                    return Test(syntax.Comparison("=", variable, term, span=goal.span))
                self.bound.add(variable.name)
                return Let(variable.name, self.types[variable.name], term)
            case syntax.Comparison() | syntax.Condition():
                return Test(goal)
            case syntax.Negation(atom=atom):
                return Absent(pattern(atom.relation, atom.args, self.bound))
            case other:
                assert_never(other)

    def solve(self, atom: syntax.Atom) -> Iterable[Step]:
        """Compute the variables of an atom that nothing but equations tells."""
        for equation in solved(self.equations, atom, self.bound):
            left = [each for each in self.others if each.goal != equation.goal]
            if len(left) < len(self.others):  # else another of its equations has used it
                self.others = left
                name = equation.variable.name
                self.bound.add(name)
                yield Let(name, self.types[name], equation.term)

    def filter(self, slot: int) -> Filter:
        """A look for rows of an atom that is joined later; raises ValueError if nothing of them is known yet."""
        atom = self.atoms[slot]
        meet = pattern(atom.relation, atom.args, self.bound)
        if not any(isinstance(source, Var) for _, source in meet.key):
            raise ValueError(f"nothing is known yet of the rows of {atom.relation} that are to be met")
        return Filter(slot, replace(meet, binds=(), equal=()), self.reads[slot])

    def next_slot(self) -> int:
        """The atom that the structural order takes next."""
        turns = {slot: atom.turn or 0 for slot, atom in self.atoms.items()}
        if any(turns.values()):  # the program says so
            return min(turns, key=lambda slot: (turns[slot], slot))
        return min(self.atoms) if self.draft.ordered else self.ranks.first(self.atoms, self.bound)


def _asks(goal: _Other) -> frozenset[str]:
    """The variables that a goal needs."""
    match goal:
        case syntax.Assign(term=term):
            return frozenset(names(term))
        case syntax.Comparison() | syntax.Condition() | syntax.Negation():
            return frozenset(goal_names(goal))
        case other:
            assert_never(other)


def _assigns(goal: syntax.Goal, name: str) -> bool:
    return isinstance(goal, syntax.Assign) and goal.variable.name == name


def _finish(
    draft: Draft,
    rule: int,
    start: Pattern | None,
    atom: int | None,
    goals: _Goals,
    choose: Choose,
    columns: tuple[int, ...] | None = None,
) -> DeltaRule:
    """The delta rule with its order; `columns` are those of the head that a pull's start counts within."""
    if choose is structural:
        steps, expected = _steps(goals, None), None
    else:
        usual = [step.atom for step in _steps(goals.copy(), None) if isinstance(step, Join)]
        known: dict[str, Origin] = {}
        if start is not None:
            known = {name: (start.table, at if columns is None else columns[at]) for at, name in start.binds}
        chosen = choose(Choice(draft, known, dict(goals.atoms), tuple(usual), goals.equations))
        steps, expected = _steps(goals, chosen.order), chosen.made
    assert not goals.atoms, "an order takes every atom"
    assert not goals.others, "a safe rule leaves no goal behind"
    assert goals.owned is None, "a safe rule binds its head"
    needed = {source.name for source in draft.head if isinstance(source, Var)}
    return DeltaRule(rule, start, atom, _keep_needed(steps, needed), expected=expected)


def _steps(goals: _Goals, order: Sequence[int] | None) -> list[Step]:
    """All goals as steps, the atoms in an order (see `DeltaRule.order`) or, if that is None, in the structural one."""
    steps: list[Step] = list(goals.take_ready())
    turns = iter(order or ())
    while goals.atoms:
        slot = goals.next_slot() if order is None else next(turns)
        if slot < 0:
            steps.append(goals.filter(~slot))
            continue
        atom = goals.atoms[slot]
        steps.extend(goals.solve(atom))
        steps.extend(goals.take_ready())
        del goals.atoms[slot]
        meet = pattern(atom.relation, atom.args, goals.bound)
        goals.bound.update(name for _, name in meet.binds)
        steps.append(Join(slot, meet, goals.reads[slot], ()))
        steps.extend(goals.take_ready())
    return steps


def _keep_needed(steps: list[Step], needed: set[str]) -> tuple[Step, ...]:
    """Tell each join which variables to carry on: those that a later step or the head asks for."""
    out: list[Step] = []
    for step in reversed(steps):
        match step:
            case Join(atom=atom, pattern=meet, reads=reads):
                given = {name for _, name in meet.binds}
                out.append(Join(atom, meet, reads, tuple(sorted(needed)), any=not (given & needed) and not meet.equal))
                needed = (needed - given) | _names(meet.key)
            case Absent(pattern=meet) | Filter(pattern=meet):
                out.append(step)
                needed = needed | _names(meet.key)
            case Let(variable=variable, term=term):
                out.append(step)
                needed = (needed - {variable}) | names(term)
            case Test(goal=syntax.Comparison(left=left, right=right)):
                out.append(step)
                needed = needed | names(left) | names(right)
            case Test(goal=syntax.Condition(call=call)):
                out.append(step)
                needed = needed | names(call)
            case Owned(source=source):
                out.append(step)
                needed = needed | ({source.name} if isinstance(source, Var) else set())
            case other:
                raise AssertionError(other)
    return tuple(reversed(out))


def _names(key: tuple[tuple[int, Source], ...]) -> set[str]:
    return {source.name for _, source in key if isinstance(source, Var)}


def _everything(draft: Draft) -> dict[int, Reads]:
    return dict.fromkeys(range(sum(isinstance(goal, syntax.Atom) for goal in draft.body)), Reads.ALL)


def arrive(draft: Draft, rule: int, choose: Choose = structural, last: int | None = None) -> tuple[DeltaRule, ...]:
    """One delta rule per positive atom: atoms before it read all rows, atoms after it the old ones.

    Where all rows come at once, there are no old ones, and all derivations are found by the delta rule of the `last`
    atom. That is the last one written, or another that is cheaper to start from.
    """
    atoms = [goal for goal in draft.body if isinstance(goal, syntax.Atom)]
    turns = [len(atoms) if slot == last else slot for slot in range(len(atoms))]
    delta_rules = []
    for slot, atom in enumerate(atoms):
        start = pattern(atom.relation, atom.args, ())
        reads = {other: Reads.ALL if turns[other] < turns[slot] else Reads.OLD for other in range(len(atoms))}
        goals = _Goals(draft, {name for _, name in start.binds}, reads)
        del goals.atoms[slot]
        delta_rules.append(_finish(draft, rule, start, slot, goals, choose))
    return tuple(delta_rules)


def forbid(draft: Draft, rule: int, choose: Choose = structural) -> tuple[DeltaRule, ...]:
    """A row of a negated atom came: the derivations that held while it was absent.

    Other negated atoms are not asked: theirs may have come in the same transaction, and the witness of the head tells
    whether the derivation held.
    """
    return tuple(_from_negated(draft, rule, goal, choose, still_absent=False) for goal in _negations(draft))


def allow(draft: Draft, rule: int, choose: Choose = structural) -> tuple[DeltaRule, ...]:
    """A row of a negated atom went: the derivations that hold if no row matches now."""
    return tuple(_from_negated(draft, rule, goal, choose, still_absent=True) for goal in _negations(draft))


def _negations(draft: Draft) -> list[syntax.Negation]:
    return [goal for goal in draft.body if isinstance(goal, syntax.Negation)]


def _from_negated(draft: Draft, rule: int, goal: syntax.Negation, choose: Choose, *, still_absent: bool) -> DeltaRule:
    start = pattern(goal.atom.relation, goal.atom.args, ())
    goals = _Goals(draft, {name for _, name in start.binds}, _everything(draft))
    if not still_absent:
        goals.others = [other for other in goals.others if not isinstance(other.goal, syntax.Negation)]
    return _finish(draft, rule, start, None, goals, choose)


def spontaneous(draft: Draft, rule: int) -> DeltaRule | None:
    """The delta rule of a rule without positive atoms: it starts from nothing."""
    if any(isinstance(goal, syntax.Atom) for goal in draft.body):
        return None
    return _finish(draft, rule, None, None, _Goals(draft, set(), {}), structural)


def pull(
    draft: Draft, rule: int, columns: tuple[int, ...], types: tuple[Type, ...], choose: Choose = structural
) -> Pull:
    """From values of some head columns to derivations of such rows. The start's columns count within `columns`.

    Who owns a row that is pulled is known: it is there.

    A column that holds its variable's value under another type (an int in a float column) binds nothing.
    """
    start = _head_pattern(draft, columns, types)
    goals = _Goals(replace(draft, owned=None), {name for _, name in start.binds}, _everything(draft))
    return Pull(columns, _finish(draft, rule, start, None, goals, choose, columns))


def _head_pattern(draft: Draft, columns: tuple[int, ...], types: tuple[Type, ...]) -> Pattern:
    key: list[tuple[int, Source]] = []
    first: dict[str, int] = {}
    equal: list[tuple[int, int]] = []
    for at, column in enumerate(columns):
        source = draft.head[column]
        if not isinstance(source, Var):
            key.append((at, source))
        elif not keeps(types[column], draft.types[source.name]):
            continue
        elif source.name in first:
            equal.append((first[source.name], at))
        else:
            first[source.name] = at
    return Pattern(draft.table, tuple(key), tuple((at, name) for name, at in first.items()), tuple(equal))
