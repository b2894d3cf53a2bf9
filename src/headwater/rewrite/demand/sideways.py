"""How demand passes through one rule: what each derived goal is asked for when some columns of the head are.

Goals are taken in an order of their own: whatever has a constant or a variable that is known by then, base relations
first, then what can be computed, the rule's own recursion last, so that by then as much as possible is known. A goal
over a derived relation is asked by its known columns; for negated goals all that the positive ones bind is known.

What is below a recursion is not asked by what the recursion finds: it would become part of it, to be worked out row by
row in the same rounds. Such a goal is asked by what is known without the recursion, or whole.

Guarantees: a question holds for every binding of the whole body, because it asks for at least what some of the goals
bind. Only fixed columns (see `bindable`) take part. Values that a rule computes are handed to its own recursion only
where they are computed from rows of base relations, which are among the goals of the question then: otherwise questions
would make ever new questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.language.syntax import (
    Assign,
    Atom,
    Comparison,
    Condition,
    Goal,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.terms import assigned, goal_names, names
from headwater.program.questions import is_questions
from headwater.rewrite.demand.bindable import Columns, can_be_asked
from headwater.rewrite.demand.computed_values import Kinds, solved


@dataclass(frozen=True, slots=True)
class GoalUse:
    """A derived relation, read by a goal that knows some of its columns; the goals `before` make them known."""

    relation: str
    known: Mapping[int, Term]
    before: tuple[Goal, ...]
    given: frozenset[str]  # the variables that the head's question gives
    derived: frozenset[str]
    named: Columns = ()  # where the goal has constants
    wider: bool = False  # more is known, by the rule's own recursion
    endless: bool = False  # more is known, by values that may lead to ever new ones

    def prefix(self, columns: Columns) -> tuple[bool, tuple[Goal, ...]]:
        """What binds these columns: whether the head's question does, and the goals.

        Tests of the same values, and base relations that hold them, narrow the question further.
        """
        needed = {name for at in columns for name in names(self.known[at])}
        kept: list[Goal] = []
        sources: set[str] = set()  # what values are computed from
        for at in reversed(range(len(self.before))):
            goal = self.before[at]
            earlier = self.given.union(*(_binds(each) for each in self.before[:at]))
            is_source = isinstance(goal, Atom) and self._narrows(goal) and not sources.isdisjoint(_binds(goal))
            if is_source or not needed.isdisjoint(_binds(goal) - earlier):
                kept.append(goal)
                needed |= goal_names(goal)
                sources |= names(goal.term) if isinstance(goal, Assign) else set()
        tests = [goal for goal in self.before if self._narrows(goal) and goal_names(goal) <= needed]
        return not needed.isdisjoint(self.given), tuple(g for g in self.before if g in kept or g in tests)

    def _narrows(self, goal: Goal) -> bool:
        return not (isinstance(goal, Atom) and goal.relation in self.derived)


def uses(
    rule: Rule,
    given: frozenset[str],
    *,
    own: frozenset[str],
    derived: frozenset[str],
    fixed: Mapping[str, frozenset[int]],
    kinds: Kinds,
) -> Iterator[GoalUse]:
    """What a rule reads of derived relations when these of its variables are given; `own` is the rule's recursion."""
    endless = set(assigned(rule))  # computed values that may lead to ever new ones
    stored = set[str]()  # what rows of base relations hold, and what is computed from it
    atoms = [goal for goal in rule.body if isinstance(goal, Atom)]
    tests: list[Goal] = [goal for goal in rule.body if isinstance(goal, Assign | Comparison | Condition)]
    known, taken = set(given), list[Goal]()
    below, outside = set(given), list[Goal]()  # the same without the rule's own recursion

    def use(atom: Atom) -> GoalUse:
        asked = dict(_known(atom, known - endless if atom.relation in own else below, fixed))
        more = len(dict(_known(atom, known, fixed))) > len(asked)
        if atom.relation in own:
            return GoalUse(atom.relation, asked, tuple(taken), given, derived, _named(atom), endless=more)
        return GoalUse(atom.relation, asked, tuple(outside), given, derived, _named(atom), wider=more)

    def take(goal: Goal, *, needs: set[str], around: bool) -> None:
        nonlocal known, below
        taken.append(goal)
        known |= goal_names(goal)
        if not around and needs <= below:
            outside.append(goal)
            below |= goal_names(goal)
        if isinstance(goal, Assign):
            (endless.discard if needs <= stored else endless.add)(goal.variable.name)
        if needs <= stored and not (isinstance(goal, Atom) and goal.relation in derived):
            stored.update(_binds(goal))

    while atoms:
        tested = [(test, test) for test in tests if not isinstance(test, Assign) and _needs(test) <= known]
        reached = [atom for atom in atoms if is_questions(atom.relation) or dict(_known(atom, known, fixed))]
        atom = min(reached, key=lambda each: _rank(each, known, own, derived, fixed), default=None)
        # Values are computed once no base relation is left that may hold what they are computed from.
        later = [] if atom is not None and atom.relation not in derived else list(_values(tests, known, kinds))
        for test, goal in (tested or later)[:1]:
            tests.remove(test)
            take(goal, needs=_needs(goal), around=False)
        if tested or later:
            continue
        if atom is None:
            break
        atoms = [each for each in atoms if each is not atom]
        if atom.relation in derived:
            yield use(atom)
        reached_below = is_questions(atom.relation) or bool(dict(_known(atom, below, fixed)))
        take(_narrowed(atom, fixed), needs=set(), around=atom.relation in own or not reached_below)
    for atom in atoms:
        if atom.relation in derived:
            yield GoalUse(atom.relation, {}, (), given, derived, _named(atom))
    for goal in rule.body:
        if isinstance(goal, Negation) and goal.atom.relation in derived:
            yield use(goal.atom)


def _named(atom: Atom) -> Columns:
    return tuple(at for at, arg in enumerate(atom.args) if can_be_asked(arg))


def _known(
    atom: Atom, known: set[str] | frozenset[str], fixed: Mapping[str, frozenset[int]]
) -> Iterator[tuple[int, Term]]:
    for at, arg in enumerate(atom.args):
        if at in fixed[atom.relation] and (can_be_asked(arg) or (isinstance(arg, Variable) and arg.name in known)):
            yield at, replace(arg, location=False) if isinstance(arg, Variable) and arg.location else arg


def _rank(
    atom: Atom, known: set[str], own: frozenset[str], derived: frozenset[str], fixed: Mapping[str, frozenset[int]]
) -> tuple[int, float]:
    weight = 2 if atom.relation in own else 1 if atom.relation in derived else 0
    return weight, -len(dict(_known(atom, known, fixed))) / len(atom.args)


def _narrowed(atom: Atom, fixed: Mapping[str, frozenset[int]]) -> Atom:
    """The atom with nothing but its fixed columns."""
    args = (arg if at in fixed[atom.relation] else Wildcard() for at, arg in enumerate(atom.args))
    return replace(atom, args=tuple(args), link=False)


def _values(tests: list[Goal], known: set[str], kinds: Kinds) -> Iterator[tuple[Goal, Assign]]:
    """The goals that give a variable its value by now, and how."""
    for goal in tests:
        found = goal if isinstance(goal, Assign) and _needs(goal) <= known else solved(goal, known, kinds)
        if found is not None:
            yield goal, found


def _needs(goal: Goal) -> set[str]:
    return names(goal.term) if isinstance(goal, Assign) else goal_names(goal)


def _binds(goal: Goal) -> set[str]:
    match goal:
        case Atom():
            return goal_names(goal)
        case Assign(variable=variable):
            return {variable.name}
        case _:
            return set()


def variables_at(args: Sequence[object], columns: Columns) -> frozenset[str]:
    """The variables that stand in these columns."""
    return frozenset(arg.name for at in columns if isinstance(arg := args[at], Variable))
