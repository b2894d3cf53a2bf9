"""Recursions that follow one kind of step again and again: which they are, and how to write them from the other side.

    path(X, Y, C) :- link(X, Y, C).
    path(X, Y, C) :- link(X, Z, C1), path(Z, Y, C2), C = C1 + C2.      right-linear: the step comes first
    path(X, Y, C) :- path(X, Z, C1), link(Z, Y, C2), C = C1 + C2.      left-linear: the step comes last
    path(X, Y, C) :- path(X, Z, C1), path(Z, Y, C2), C = C1 + C2.      doubled: two ways make one

All three hold the same rows if what a way carries (its cost, its list of nodes, its first hop) is put together from its
steps by an operation that does not care how they are bracketed. `JoinedValue` lists the known ones. The body of the
rule without recursion is the step; the step of a linear rule must be the same up to the names of its variables.

A recursion that keeps the best value of its ways (`path(X, Y, min<C>)`) is one too: sums, `larger` and `smaller` never
turn a better value into a worse one, so the best way is found from either side. The ends of ways may have to differ
(`X != Y`), where a way that comes past one of its ends on the way is of no use: without values, with steps that all
count the same, or for the widest way.

Guarantees: `turned` derives the same rows, given that sums are not of floats, which depend on their order by rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import permutations

from headwater.language.datalog.printer import print_rule
from headwater.language.syntax import (
    Aggregate,
    Assign,
    Atom,
    Binary,
    Call,
    Comparison,
    Constant,
    Goal,
    Head,
    ListTerm,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.terms import assigned, goal_names, goal_terms, names, variables, with_terms
from headwater.program.recursion.aggregates import PICK_ONE
from headwater.rewrite.demand.readable import readable
from headwater.rewrite.substitution import substitute_term

_FAR, _VALUE, _JOINED = "Far'1", "Value", "Joined"


class Side(Enum):
    """Where the recursive goal of a linear rule stands as seen from its step; doubled rules have one on both sides."""

    LEFT = "left-linear"
    RIGHT = "right-linear"
    DOUBLED = "doubled"


class JoinedValue(Enum):
    """How a value of a way follows from those of its parts."""

    SUM = "+"
    LARGER = "larger"
    SMALLER = "smaller"
    PATH = "concatPath"
    LIST = "concat"  # [X | P], and the other way round [P..., Y]
    FIRST = "first"
    LAST = "last"


_OF_TWO = {
    "larger": JoinedValue.LARGER,
    "largest": JoinedValue.LARGER,
    "smaller": JoinedValue.SMALLER,
    "smallest": JoinedValue.SMALLER,
}

_ISOTONE = (JoinedValue.SUM, JoinedValue.LARGER, JoinedValue.SMALLER)
"""Of two values, the better one stays at least as good when the same is joined to both."""


@dataclass(frozen=True, slots=True)
class Closure:
    """Ways from the `source` column to the `target` column of a relation; `values` says how the others are joined."""

    side: Side
    source: int
    target: int
    values: Mapping[int, JoinedValue]
    steps: tuple[Rule, ...]  # the rules without recursion
    best: str | None = None  # the aggregate that keeps the best value of a way
    apart: bool = False  # of longer ways, the ends must differ

    @property
    def sums(self) -> tuple[int, ...]:
        return tuple(at for at, joined in self.values.items() if joined is JoinedValue.SUM)


def find_closure(name: str, rules: Sequence[Rule]) -> Closure | None:
    """The closure that all rules for a relation make; None if they make none."""
    if not all(rule.body for rule in rules):
        return None
    found = _best_closure(name, rules)
    if found is not None:
        return found
    around = [rule for rule in rules if _recursive_goals(rule, name)]
    if not all(any(_ends_differ(goal, rule) for goal in rule.body) for rule in around):
        return None
    found = _best_closure(name, [_any_ends(rule) for rule in rules])
    if found is None or not _gains_nothing(found) or not all(_tells_apart(rule, found) for rule in rules):
        return None
    return replace(found, steps=tuple(rule for rule in rules if rule not in around), apart=True)


def _ends_differ(goal: Goal, rule: Rule) -> bool:
    """Whether a goal says that two values of the head differ."""
    heads = [_bare(arg) for arg in rule.head.args if isinstance(arg, Variable)]
    return isinstance(goal, Comparison) and goal.op == "!=" and goal.left in heads and goal.right in heads


def _any_ends(rule: Rule) -> Rule:
    return replace(rule, body=tuple(goal for goal in rule.body if not _ends_differ(goal, rule)))


def _tells_apart(rule: Rule, closure: Closure) -> bool:
    """Whether the values that a rule wants to differ are the ends of a way."""
    ends = {_bare(_plain(rule.head.args[at])) for at in (closure.source, closure.target)}
    found = [goal for goal in rule.body if isinstance(goal, Comparison) and _ends_differ(goal, rule)]
    return all({goal.left, goal.right} == ends for goal in found)


def _gains_nothing(closure: Closure) -> bool:
    """Whether a way that comes past one of its ends on the way is never better than one that does not."""
    if not closure.values:
        return True
    match closure.best, list(closure.values.items()):
        case "min" | "mmin", [(at, JoinedValue.SUM)]:
            steps = [_meant(plain_valued(step), at) for step in closure.steps]
            return all(isinstance(step, Constant) and isinstance(step.value, int) and step.value >= 0 for step in steps)
        case ("min" | "mmin", [(_, JoinedValue.LARGER)]) | ("max" | "mmax", [(_, JoinedValue.SMALLER)]):
            return True
    return False


def _best_closure(name: str, rules: Sequence[Rule]) -> Closure | None:
    """The same for rules that say nothing of both ends of a way."""
    picked = {tuple((at, arg.function) for at, arg in _aggregates(rule.head)) for rule in rules}
    if picked == {()}:
        return _closure(name, rules)
    match list(picked):
        case [((at, function),)] if function in PICK_ONE:
            found = _closure(name, [plain_valued(rule) for rule in rules])
            if found is not None and found.values.get(at) in _ISOTONE:
                steps = tuple(rule for rule in rules if not _recursive_goals(rule, name))
                return replace(found, steps=steps, best=function)
    return None


def plain_valued(rule: Rule) -> Rule:
    """A rule that says which values there are, and not that the best is kept."""
    args = (arg.args[0] if isinstance(arg, Aggregate) else arg for arg in rule.head.args)
    return replace(rule, head=replace(rule.head, args=tuple(args)))


def _aggregates(head: Head) -> list[tuple[int, Aggregate]]:
    return [(at, arg) for at, arg in enumerate(head.args) if isinstance(arg, Aggregate)]


def _closure(name: str, rules: Sequence[Rule]) -> Closure | None:
    """The same for rules without aggregates."""
    steps = [rule for rule in rules if not _recursive_goals(rule, name)]
    around = [rule for rule in rules if _recursive_goals(rule, name)]
    if not steps or not around:
        return None
    for source, target in permutations(range(len(rules[0].head.args)), 2):
        if len(around) == 1 and len(_recursive_goals(around[0], name)) == 2:
            values = _doubled(around[0], steps, source, target)
            if values is not None:
                return Closure(Side.DOUBLED, source, target, values, tuple(steps))
        for side in (Side.RIGHT, Side.LEFT):
            values = _linear(steps, around, name, source, target, side)
            if values is not None:
                return Closure(side, source, target, values, tuple(steps))
    return None


def turned(closure: Closure, side: Side, written: Rule | None) -> Iterator[Rule]:
    """The recursive rules of a closure, from a side, with a note of the one that was `written`, if it was one."""
    seen = None if written is None else written.origin or written
    for step in closure.steps:
        plain = plain_valued(_any_ends(step) if closure.apart else step)
        made = readable(_Turned(closure, plain, side).rule(), plain, seen, _made(closure))
        made = replace(made, head=_with_best(made.head, step.head))
        yield made if seen is None else replace(made, label=seen.label, note=f"turned from {print_rule(seen)}")


def _with_best(head: Head, written: Head) -> Head:
    """A head that keeps the best value where another one does."""
    args = list(head.args)
    for at, arg in _aggregates(written):
        args[at] = replace(arg, args=(_plain(args[at]),))
    return replace(head, args=tuple(args))


# Recognising


def _recursive_goals(rule: Rule, name: str) -> list[Atom]:
    return [goal for goal in rule.body if isinstance(goal, Atom) and goal.relation == name]


def _linear(
    steps: list[Rule], around: list[Rule], name: str, source: int, target: int, side: Side
) -> dict[int, JoinedValue] | None:
    """How values are joined if every recursive rule takes one of the steps, each a different one."""
    left, found = list(around), dict[int, JoinedValue]()
    for step in steps:
        for rule in left:
            goals = _recursive_goals(rule, name)
            values = _Pair(step, rule, goals[0], source, target, side).values() if len(goals) == 1 else None
            if values is not None and all(found.get(at, joined) is joined for at, joined in values.items()):
                found.update(values)
                left.remove(rule)
                break
        else:
            return None
    return None if left else found


class _Pair:
    """A step, and a recursive rule that may take it."""

    def __init__(self, step: Rule, rule: Rule, goal: Atom, source: int, target: int, side: Side) -> None:
        self.step, self.rule, self.goal = step, rule, goal
        self.source, self.target, self.side = source, target, side

    def values(self) -> dict[int, JoinedValue] | None:
        kept, moved = (self.target, self.source) if self.side is Side.RIGHT else (self.source, self.target)
        ends = [self.step.head.args[self.source], self.step.head.args[self.target]]
        beyond = [self.goal.args[kept], self.goal.args[moved], self.rule.head.args[moved]]
        rest = [goal for goal in self.rule.body if goal is not self.goal]
        used = [arg.name for arg in self.goal.args if isinstance(arg, Variable)]
        if _distinct(ends) is None or _distinct(beyond) is None or len(set(used)) != len(used):
            return None
        if not _is_same(self.goal.args[kept], self.rule.head.args[kept]) or _occurs(self.goal.args[kept], rest):
            return None
        here, there = self.rule.head.args[moved], self.goal.args[moved]
        if self.side is Side.LEFT:
            here, there = there, here
        terms = assigned(self.rule)
        columns = [at for at in range(len(self.goal.args)) if at not in (self.source, self.target)]
        own = _value_goals(self.step, columns)
        other = _value_goals(self.rule, columns)
        renamed = {ends[0].name: here, ends[1].name: there}  # type: ignore[union-attr]
        mapped = _unified([g for g in self.step.body if g not in own], [g for g in rest if g not in other], renamed)
        if mapped is None:
            return None
        found: dict[int, JoinedValue] = {}
        for at in columns:
            part = substitute_term(_meant(self.step, at), mapped)
            joined = self._joined(at, _meant(self.rule, at), part, terms)
            if joined is None:
                return None
            found[at] = joined
        return found

    def _joined(self, at: int, whole: Term, part: Term, terms: Mapping[str, Term]) -> JoinedValue | None:
        """How a value of the head follows from that of the recursive goal and that of the step."""
        inner = self.goal.args[at]
        elsewhere = [goal for goal in self.rule.body if goal is not self.goal]
        if isinstance(inner, Wildcard) or not _occurs(inner, elsewhere):
            if isinstance(inner, Variable) and _is_same(whole, inner):
                return JoinedValue.LAST if self.side is Side.RIGHT else JoinedValue.FIRST
            if _bare(whole) == _bare(part) and not _occurs(inner, [], self.rule.head):
                return JoinedValue.FIRST if self.side is Side.RIGHT else JoinedValue.LAST
            return None
        if sum(_bare(inner) in _variables(goal) for goal in elsewhere) != 1:
            return None
        first, last = (part, inner) if self.side is Side.RIGHT else (inner, part)
        return _operation(_bare(whole), _bare(first), _bare(last), _bare(inner), self._ends())

    def _ends(self) -> tuple[Term, Term]:
        """The ends of the step, as the recursive rule calls them."""
        if self.side is Side.RIGHT:
            return _bare(_plain(self.rule.head.args[self.source])), _bare(self.goal.args[self.source])
        return _bare(self.goal.args[self.target]), _bare(_plain(self.rule.head.args[self.target]))


def _operation(whole: Term, first: Term, last: Term, inner: Term, ends: tuple[Term, Term]) -> JoinedValue | None:
    pair = ListTerm(ends)
    match whole:
        case Binary("+", left, right) if {left, right} == {first, last} and left != right:
            return JoinedValue.SUM
        case Call(name, (left, right)) if name in _OF_TWO and {left, right} == {first, last}:
            return _OF_TWO[name]
        case Call("concatPath", (left, right)):
            alone = Call("concatPath", (pair, ListTerm(())))
            step = left if right == inner else right
            if (left, right) in ((pair, inner), (inner, pair)) and step == pair and alone in (first, last):
                return JoinedValue.PATH if (left == inner) == (first == inner) else None
        case Call("concat", (ListTerm((item,)), right)) if last == inner == right and item == ends[0] and first == pair:
            return JoinedValue.LIST
        case Call("concat", (left, ListTerm((item,)))) if first == inner == left and item == ends[1] and last == pair:
            return JoinedValue.LIST
        case _:
            return None
    return None


def _doubled(rule: Rule, steps: list[Rule], source: int, target: int) -> dict[int, JoinedValue] | None:
    """How values are joined if the rule puts two ways together."""
    first, second = _recursive_goals(rule, rule.head.relation)
    if not _is_same(first.args[source], rule.head.args[source]):
        first, second = second, first
    meet = [first.args[source], first.args[target], second.args[target]]
    columns = [at for at in range(len(first.args)) if at not in (source, target)]
    others = [goal for goal in rule.body if goal is not first and goal is not second]
    if _distinct(meet) is None or others != _value_goals(rule, columns):
        return None
    if not (
        _is_same(first.args[source], rule.head.args[source])
        and _is_same(first.args[target], second.args[source])
        and _is_same(second.args[target], rule.head.args[target])
        and all(_distinct([step.head.args[source], step.head.args[target]]) is not None for step in steps)
    ):
        return None
    both = [arg.name for goal in (first, second) for arg in goal.args if isinstance(arg, Variable)]
    if len(set(both)) != len(both) - 1:
        return None
    found: dict[int, JoinedValue] = {}
    for at in columns:
        one, two, whole = _bare(first.args[at]), _bare(second.args[at]), _bare(_meant(rule, at))
        match whole:
            case Variable() if whole in (one, two):
                found[at] = JoinedValue.FIRST if whole == one else JoinedValue.LAST
            case Binary("+", left, right) if {left, right} == {one, two}:
                found[at] = JoinedValue.SUM
            case Call(name, (left, right)) if name in _OF_TWO and {left, right} == {one, two}:
                found[at] = _OF_TWO[name]
            case Call("concatPath", (left, right)) if (left, right) == (one, two) and all(
                _is_path(step, at, source, target) for step in steps
            ):
                found[at] = JoinedValue.PATH
            case _:
                return None
    return found


def _is_path(step: Rule, at: int, source: int, target: int) -> bool:
    pair = ListTerm((_bare(_plain(step.head.args[source])), _bare(_plain(step.head.args[target]))))
    return _bare(_meant(step, at)) == Call("concatPath", (pair, ListTerm(())))


# Writing


def _made(closure: Closure) -> frozenset[str]:
    """The names of variables that `_Turned` makes."""
    return frozenset({_FAR, *(f"{word}'{at}" for word in (_VALUE, _JOINED) for at in closure.values)})


class _Turned:
    """A recursive rule made from a step."""

    def __init__(self, closure: Closure, step: Rule, side: Side) -> None:
        self.closure, self.step, self.side = closure, step, side
        self.args = list(step.head.args)
        self.here = _plain(self.args[closure.source])
        self.there = _plain(self.args[closure.target])

    def rule(self) -> Rule:
        left = self.side is Side.LEFT
        source, target = self.closure.source, self.closure.target
        far = Variable(_FAR, location=self._mark(source if left else target))
        goal: list[Term] = [Wildcard() for _ in self.args]
        head: list[Term | Aggregate] = list(self.args)
        goal[source], goal[target] = (far, self.here) if left else (self.there, far)
        head[source if left else target] = far
        columns = list(self.closure.values)
        body: list[Goal] = [each for each in self.step.body if each not in _value_goals(self.step, columns)]
        for at, joined in self.closure.values.items():
            other = Variable(f"{_VALUE}'{at}", location=self._mark(at))
            term, uses = self._value(joined, _meant(self.step, at), other)
            if uses:
                goal[at] = other
            if isinstance(term, Variable | Constant):
                head[at] = term
            else:
                head[at] = Variable(f"{_JOINED}'{at}")
                body.append(Assign(Variable(f"{_JOINED}'{at}"), term))
        if self.closure.apart:
            body.append(Comparison("!=", _bare(_plain(head[source])), _bare(_plain(head[target]))))
        marked = tuple(_marked(arg, self._mark(at)) for at, arg in enumerate(goal))
        atoms: tuple[Goal, ...] = (Atom(self.step.head.relation, marked),)
        whole = (*atoms, *body) if left else (*_atoms(body), *atoms, *_others(body))
        return Rule(Head(self.step.head.relation, tuple(head)), whole, span=self.step.span)

    def _value(self, joined: JoinedValue, part: Term, other: Variable) -> tuple[Term, bool]:
        """The value of the longer way, and whether it needs that of the shorter one."""
        left = self.side is Side.LEFT
        first, last = (other, part) if left else (part, other)
        bare = _bare(other)
        pair = ListTerm((_bare(self.here), _bare(self.there)))
        match joined:
            case JoinedValue.FIRST:
                return first, left
            case JoinedValue.LAST:
                return last, not left
            case JoinedValue.SUM:
                return Binary("+", _bare(first), _bare(last)), True
            case JoinedValue.LARGER | JoinedValue.SMALLER:
                return Call(joined.value, (_bare(first), _bare(last))), True
            case JoinedValue.PATH:
                return Call("concatPath", (bare, pair) if left else (pair, bare)), True
            case JoinedValue.LIST:
                item = ListTerm((_bare(self.there if left else self.here),))
                return Call("concat", (bare, item) if left else (item, bare)), True

    def _mark(self, at: int) -> bool:
        arg = self.args[at]
        return isinstance(arg, Variable | Constant) and arg.location


def _atoms(body: list[Goal]) -> list[Goal]:
    return [goal for goal in body if isinstance(goal, Atom)]


def _others(body: list[Goal]) -> list[Goal]:
    return [goal for goal in body if not isinstance(goal, Atom)]


def _marked(arg: Term, location: bool) -> Term:
    return replace(arg, location=location) if isinstance(arg, Variable | Constant) else arg


# Terms


def _plain(arg: Term | Aggregate) -> Term:
    assert not isinstance(arg, Aggregate)
    return arg


def _meant(rule: Rule, at: int) -> Term:
    """What stands in a column of the head: a term that is assigned to it, or what is written there."""
    arg = _plain(rule.head.args[at])
    return assigned(rule).get(arg.name, arg) if isinstance(arg, Variable) else arg


def _value_goals(rule: Rule, columns: Sequence[int]) -> list[Goal]:
    """The goals that do nothing but compute these columns of the head."""
    heads = [arg.name for at in columns if isinstance(arg := rule.head.args[at], Variable)]
    found = [goal for goal in rule.body if isinstance(goal, Assign) and heads.count(goal.variable.name) == 1]
    return [goal for goal in found if not _occurs(goal.variable, [g for g in rule.body if g is not goal])]


def _unified(ones: Sequence[Goal], others: Sequence[Goal], start: Mapping[str, object]) -> dict[str, Term] | None:
    """The names under which two bodies are the same, goal by goal."""
    mapped = {name: _bare(term) for name, term in start.items() if isinstance(term, Variable)}
    if len(ones) != len(others):
        return None
    for one, other in zip(ones, others, strict=True):
        if type(one) is not type(other):
            return None
        pairs = zip(_variables(one), _variables(other), strict=False)
        for here, there in pairs:
            mapped.setdefault(here.name, there)
        if _goal(with_terms(one, lambda term: substitute_term(term, mapped)), mapped) != _goal(other, {}):
            return None
    return mapped if len(set(mapped.values())) == len(mapped) else None


def _goal(goal: Goal, mapped: Mapping[str, Term]) -> Goal:
    """A goal as it compares: without marks, its assigned variable renamed."""
    goal = with_terms(goal, _bare)
    if isinstance(goal, Assign):
        name = mapped.get(goal.variable.name, goal.variable)
        return replace(goal, variable=name) if isinstance(name, Variable) else goal
    return replace(goal, link=False) if isinstance(goal, Atom) else goal


def _variables(goal: Goal) -> list[Variable]:
    return [replace(each, location=False) for term in goal_terms(goal) for each in variables(term)]


def _bare(term: Term) -> Term:
    """A term without location marks."""
    if isinstance(term, Variable | Constant):
        return replace(term, location=False) if term.location else term
    if isinstance(term, ListTerm):
        return replace(term, items=tuple(map(_bare, term.items)))
    if isinstance(term, Call):
        return replace(term, args=tuple(map(_bare, term.args)))
    if isinstance(term, Binary):
        return replace(term, left=_bare(term.left), right=_bare(term.right))
    return term


def _is_same(one: Term | Aggregate, other: Term | Aggregate) -> bool:
    return isinstance(one, Variable) and isinstance(other, Variable) and one.name == other.name


def _distinct(args: Sequence[Term | Aggregate]) -> set[str] | None:
    """The names of these arguments, if they are variables and all different."""
    found = {arg.name for arg in args if isinstance(arg, Variable)}
    return found if len(found) == len(args) else None


def _occurs(arg: Term | Aggregate, goals: Sequence[Goal], head: Head | None = None) -> bool:
    if not isinstance(arg, Variable):
        return False
    return any(arg.name in goal_names(goal) for goal in goals) or (
        head is not None and any(arg.name in names(each) for each in head.args)
    )
