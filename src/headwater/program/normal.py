"""Rules in normal form, as `headwater.program.model` promises it, and safety on the way.

Every `=` becomes an `Assign` where it binds a variable and a `Comparison` where it does not; goals that call a
function become assignments, comparisons or conditions; list patterns become calls of list functions; arguments
that are no plain terms move into goals of their own. What can be bound is bound first: a goal keeps its place
unless it has to wait for an assignment behind it. `ListTerm`s that remain have no tail and build a list.

What cannot be bound is an error: variables of the head (HW301), of negated goals (HW302), of everything else
(HW303), and assignments that wait for each other (HW304). Linear in the size of the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import TypeAlias, assert_never

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import goal_terms, names, subterms, variables
from headwater.program.lowering import built, canonical, has_hole, pieces, stray_wildcards, takes_value
from headwater.program.names import Names
from headwater.program.nearest import nearest
from headwater.program.recursion.aggregates import AGGREGATES
from headwater.program.types.constants import fold


@dataclass(frozen=True, slots=True)
class _Equation:
    """`left = right`, not yet known to bind or to compare."""

    left: syntax.Term
    right: syntax.Term
    span: Span | None


_Step: TypeAlias = syntax.Atom | syntax.Negation | syntax.Comparison | syntax.Condition | _Equation


def normalise(rule: syntax.Rule, known: Names) -> tuple[syntax.Rule, list[Diagnostic]]:
    """The rule in normal form, with everything that is unsafe about it."""
    if not rule.body:
        return _fact(rule, known)
    work = _Normaliser(known)
    work.goals(rule.body)
    head = work.head(rule.head)
    body = work.order()
    work.check_head(head)
    if rule.plan is not None:
        body = list(_in_turn(body, rule.plan, work.diagnostics))
    return replace(rule, head=head, body=tuple(body), plan=None), work.diagnostics


def _in_turn(body: list[syntax.Goal], plan: syntax.JoinOrder, found: list[Diagnostic]) -> Iterator[syntax.Goal]:
    """The body, with the turn that a `plan` gives to each atom."""
    count = sum(isinstance(goal, syntax.Atom) for goal in body)
    if sorted(plan.places) != list(range(1, count + 1)):
        example = ", ".join(map(str, range(1, count + 1)))
        message = "`plan` must name each relation of the body once"
        note = f"the body joins {count} relation{'s' * (count != 1)}; negated ones and comparisons do not count"
        hint = f"write the numbers from 1 to {count} in the order that you want: `plan({example})`"
        if count < 2:
            hint = "remove it: there is nothing to put in order"
        found.append(Diagnostic("HW222", message, plan.span, note=note, hint=hint))
        yield from body
        return
    turns = {place: turn for turn, place in enumerate(plan.places, 1)}
    place = 0
    for goal in body:
        if isinstance(goal, syntax.Atom):
            place += 1
            yield replace(goal, turn=turns[place])
        else:
            yield goal


def _fact(rule: syntax.Rule, known: Names) -> tuple[syntax.Rule, list[Diagnostic]]:
    diagnostics: list[Diagnostic] = []
    args: list[syntax.Term | syntax.Aggregate] = []
    for arg in rule.head.args:
        args.append(arg)
        if isinstance(arg, syntax.Aggregate):
            diagnostics.append(
                Diagnostic("HW306", "a fact has nothing to aggregate", arg.span, hint="give the rule a body")
            )
            continue
        unbound = next((part for part in subterms(arg) if isinstance(part, syntax.Variable | syntax.Wildcard)), None)
        if unbound is not None:
            diagnostics.append(_unbound_in_fact(unbound))
            continue
        if isinstance(arg, syntax.Constant):
            continue
        value = fold(canonical(arg, known), known.registry)
        if value is None:
            diagnostics.append(Diagnostic("HW308", "this argument of a fact has no value", arg.span))
        else:
            args[-1] = value
    return replace(rule, head=replace(rule.head, args=tuple(args))), diagnostics


def _unbound_in_fact(term: syntax.Variable | syntax.Wildcard) -> Diagnostic:
    if isinstance(term, syntax.Wildcard):
        return Diagnostic("HW305", "`_` cannot be used in a fact", term.span)
    hint = f"constants are written in lower case or quoted: `{term.name.lower()}`"
    message = f"variable `{term.name}` in the rule head is not bound"
    return Diagnostic("HW301", message, term.span, note="a fact has no body that could bind it", hint=hint)


class _Normaliser:
    def __init__(self, known: Names) -> None:
        self.known = known
        self.diagnostics: list[Diagnostic] = []
        self.steps: list[_Step] = []
        self.bound: set[str] = set()
        self.excused: set[str] = set()  # already reported, or waiting for one that was
        self.uses: dict[str, int] = {}
        self.fresh_count = 0

    # Taking the rule apart.

    def goals(self, body: tuple[syntax.Goal, ...]) -> None:
        for goal in body:
            for term in goal_terms(goal):
                self._count_uses(term)
        for goal in body:
            self._goal(goal)
        for step in self.steps:
            if isinstance(step, syntax.Atom):
                self.bound.update(arg.name for arg in step.args if isinstance(arg, syntax.Variable))
        self.bound |= self.excused

    def _count_uses(self, term: syntax.Term | syntax.Aggregate) -> None:
        for variable in variables(term):
            self.uses[variable.name] = self.uses.get(variable.name, 0) + 1

    def _goal(self, goal: syntax.Goal) -> None:
        match goal:
            case syntax.Atom():
                self._atom(goal)
            case syntax.Negation(atom):
                self._negation(goal, atom)
            case syntax.Comparison(op, left, right):
                left, right = canonical(left, self.known), canonical(right, self.known)
                if op == "=":
                    self._equate(left, right, goal.span)
                else:
                    self._filter(replace(goal, left=built(left), right=built(right)))
            case syntax.Assign(variable, term):
                self._equate(variable, canonical(term, self.known), goal.span)
            case syntax.Condition(call):
                self._filter(replace(goal, call=self._call(call)))
            case _:
                assert_never(goal)

    def _call(self, call: syntax.Call) -> syntax.Call:
        value = built(canonical(call, self.known))
        assert isinstance(value, syntax.Call)
        return value

    def _filter(self, goal: syntax.Comparison | syntax.Condition) -> None:
        for term in goal_terms(goal):
            self._no_wildcard(term)
        self.steps.append(goal)

    def _no_wildcard(self, term: syntax.Term | syntax.Aggregate) -> None:
        for part in subterms(term):
            if isinstance(part, syntax.Wildcard):
                self.diagnostics.append(
                    Diagnostic("HW305", "`_` has no value that could be used here", part.span, hint="name the variable")
                )

    def _atom(self, atom: syntax.Atom) -> None:
        called = self.known.goal_function(atom.relation)
        if called is None:
            place = len(self.steps)
            args = tuple(self._plain(arg) for arg in atom.args)
            self.steps.insert(place, replace(atom, args=args))  # before the goals that hold what its arguments were
            return
        equation = self._equation(called, atom)
        if equation is not None:
            self._equate(equation.left, equation.right, equation.span)
        else:
            self._filter(syntax.Condition(self._call(syntax.Call(called, atom.args, span=atom.span)), span=atom.span))

    def _equation(self, called: str, atom: syntax.Atom) -> _Equation | None:
        """A goal that gives a value to some of its arguments, as an equation; None: it is a condition."""
        args = tuple(canonical(arg, self.known) for arg in atom.args)
        if called == "encd":
            return _Equation(args[2], syntax.ListTerm(args[:2], span=atom.span), atom.span)
        if called == "decd":
            return _Equation(args[0], syntax.ListTerm(args[1:], span=atom.span), atom.span)
        if self.known.registry[called].output_first:
            return _Equation(args[0], syntax.Call(called, args[1:], span=atom.span), atom.span)
        return None

    def _negation(self, goal: syntax.Negation, atom: syntax.Atom) -> None:
        called = self.known.goal_function(atom.relation)
        if called is None:
            self.steps.append(replace(goal, atom=replace(atom, args=tuple(self._plain(arg) for arg in atom.args))))
            return
        equation = self._equation(called, atom)
        if equation is not None:
            self._filter(syntax.Comparison("!=", built(equation.left), built(equation.right), span=goal.span))
        else:
            call = self._call(syntax.Call(called, atom.args, span=atom.span))
            self._filter(syntax.Condition(call, negated=True, span=goal.span))

    def _plain(self, arg: syntax.Term) -> syntax.Variable | syntax.Wildcard | syntax.Constant:
        if isinstance(arg, syntax.Variable | syntax.Wildcard | syntax.Constant):
            return arg
        term = canonical(arg, self.known)
        variable = self._fresh(term)
        self._equate(variable, term, arg.span)
        return variable

    def _equate(self, left: syntax.Term, right: syntax.Term, span: Span | None) -> None:
        """Add an equation, unless a `_` stands in it where it needs a value."""
        stray = [*stray_wildcards(left), *stray_wildcards(right)]
        if not stray and has_hole(left) and has_hole(right):
            stray = [part for part in subterms(right) if isinstance(part, syntax.Wildcard)]
        if not stray:
            self.steps.append(_Equation(left, right, span))
            return
        for wildcard in stray:
            self._no_wildcard(wildcard)
        self.excused |= names(left) | names(right)

    def _fresh(self, term: syntax.Term) -> syntax.Variable:
        self.fresh_count += 1
        stem = next((variable.name for variable in variables(term)), "X")
        return syntax.Variable(f"{stem.partition(chr(39))[0]}'{self.fresh_count}", span=term.span)

    def head(self, head: syntax.Head) -> syntax.Head:
        args: list[syntax.Term | syntax.Aggregate] = []
        for arg in head.args:
            self._count_uses(arg)
            for part in arg.args if isinstance(arg, syntax.Aggregate) else (arg,):
                if isinstance(part, syntax.Wildcard):
                    self._no_wildcard(part)
            if isinstance(arg, syntax.Aggregate):
                inner = tuple(self._plain(each) for each in arg.args)
                kind = AGGREGATES.get(arg.function)
                if kind is not None and kind.pairs and len(inner) == 1:
                    inner = (*inner, syntax.Constant(1, Type.INT, span=arg.span))
                args.append(replace(arg, args=inner))
            else:
                args.append(self._plain(arg))
        return replace(head, args=tuple(args))

    # Putting the goals in order.

    def order(self) -> list[syntax.Goal]:
        """The goals, each in its place unless it has to wait for an assignment behind it."""
        self.body: list[syntax.Goal] = []
        self.waiting: dict[int, None] = {}
        self.waiters: dict[str, list[int]] = {}
        self.missing: dict[int, tuple[set[str], set[str]]] = {}
        self.ready: list[int] = []
        for index in range(len(self.steps)):
            self._enter(index)
        heapify(self.ready)
        while True:
            while self.ready:
                self._emit(heappop(self.ready))
            if not self._report_unbound():
                return self.body

    def _enter(self, index: int) -> None:
        step = self.steps[index]
        if isinstance(step, _Equation):
            sides = (self._unbound((step.left,)), self._unbound((step.right,)))
        elif isinstance(step, syntax.Atom):
            sides = (set(), set())
        else:
            goal = step
            sides = (self._unbound(goal_terms(goal)), set())
        self.missing[index] = sides
        if self._is_ready(index):
            heappush(self.ready, index)
            return
        self.waiting[index] = None
        for name in sides[0] | sides[1]:
            self.waiters.setdefault(name, []).append(index)

    def _unbound(self, terms: Iterable[syntax.Term]) -> set[str]:
        return {name for term in terms for name in names(term) if name not in self.bound}

    def _is_ready(self, index: int) -> bool:
        step = self.steps[index]
        left, right = self.missing[index]
        if not isinstance(step, _Equation):
            return not left
        left_has_value = not left and not has_hole(step.left)
        right_has_value = not right and not has_hole(step.right)
        return (left_has_value and (right_has_value or takes_value(step.right))) or (
            right_has_value and takes_value(step.left)
        )

    def _bind(self, name: str) -> None:
        self.bound.add(name)
        for index in self.waiters.pop(name, ()):
            left, right = self.missing[index]
            left.discard(name)
            right.discard(name)
            if index in self.waiting and self._is_ready(index):
                del self.waiting[index]
                heappush(self.ready, index)

    def _emit(self, index: int) -> None:
        step = self.steps[index]
        if not isinstance(step, _Equation):
            self.body.append(step)
            return
        left, right = step.left, step.right
        if isinstance(left, syntax.Wildcard) or isinstance(right, syntax.Wildcard):
            return  # `larger(_, A, B)` holds whatever the value is
        left_open = has_hole(left) or bool(self._unbound((left,)))
        right_open = has_hole(right) or bool(self._unbound((right,)))
        if not left_open and not right_open:
            self.body.append(syntax.Comparison("=", built(left), built(right), span=step.span))
        elif left_open:
            self._solve(left, right, step.span)
        else:
            self._solve(right, left, step.span)

    def _solve(self, target: syntax.Term, value: syntax.Term, span: Span | None) -> None:
        """Bind what is open in `target` so that it equals `value`."""
        if isinstance(target, syntax.Variable):
            self.body.append(syntax.Assign(target, built(value), span=span))
            self._bind(target.name)
            return
        assert isinstance(target, syntax.ListTerm)
        if not isinstance(value, syntax.Variable):
            whole = self._fresh(value)
            self.body.append(syntax.Assign(whole, built(value), span=span))
            self._bind(whole.name)
            value = whole
        count = syntax.Constant(len(target.items), Type.INT, span=span)
        op = "=" if target.tail is None else ">="
        self.body.append(syntax.Comparison(op, syntax.Call("length", (value,), span=span), count, span=span))
        for part, piece in pieces(target, value):
            if not isinstance(part, syntax.Wildcard):
                self.steps.append(_Equation(part, piece, span))
                self._enter(len(self.steps) - 1)

    # What cannot be bound.

    def _report_unbound(self) -> bool:
        """Report why goals are still waiting and excuse their variables; False when none is waiting."""
        if not self.waiting:
            return False
        promised = {name for index in self.waiting for name in self._targets(index)}
        roots: dict[str, tuple[syntax.Variable, _Step]] = {}
        for index in self.waiting:
            step = self.steps[index]
            for variable in _step_variables(step):
                if variable.name not in self.bound and variable.name not in promised:
                    roots.setdefault(variable.name, (variable, step))
        if not roots:
            self._report_cycle()
            return False
        for variable, step in roots.values():
            self._report(variable, step)
            self.excused.add(variable.name)
            self._bind(variable.name)
        return True

    def _targets(self, index: int) -> Iterator[str]:
        """The variables that a waiting equation would bind if its other side were bound."""
        step = self.steps[index]
        if isinstance(step, _Equation):
            for side, other in ((step.left, step.right), (step.right, step.left)):
                if takes_value(side) and not has_hole(other):
                    yield from names(side)

    def _report(self, variable: syntax.Variable, step: _Step) -> None:
        name = variable.name
        guess = nearest(name, sorted(self.bound - self.excused))
        hint = f"did you mean `{guess}`?" if guess else None
        if isinstance(step, syntax.Negation):
            self.diagnostics.append(
                Diagnostic(
                    "HW302",
                    f"variable `{name}` in a negated goal is not bound",
                    variable.span,
                    note="a negated goal can only test values that other goals have found",
                    hint="write `_` if any value will do" if self.uses.get(name) == 1 else hint,
                )
            )
            return
        hole = _hole(step)
        if hole is not None:
            self._no_wildcard(hole)
            return
        if isinstance(step, syntax.Condition) and hint is None:
            hint = f"`{step.call.function}` is a built-in function; to use a relation of that name, declare it"
        self.diagnostics.append(Diagnostic("HW303", f"variable `{name}` is not bound", variable.span, hint=hint))

    def _report_cycle(self) -> None:
        stuck = [index for index in self.waiting if isinstance(self.steps[index], _Equation)]
        step = self.steps[stuck[0] if stuck else next(iter(self.waiting))]
        wanting = sorted({name for index in self.waiting for side in self.missing[index] for name in side})
        self.excused.update(wanting)
        shown = [name for name in wanting if chr(39) not in name]
        listed = " and ".join(f"`{name}`" for name in shown[:4])
        message = f"{listed} depend on each other" if len(shown) > 1 else f"{listed} depends on itself"
        self.diagnostics.append(
            Diagnostic("HW304", message, step.span, note="no goal gives any of them a value to start from")
        )

    def check_head(self, head: syntax.Head) -> None:
        reported: set[str] = set()
        for arg in head.args:
            for variable in variables(arg):
                name = variable.name
                if name in self.bound or name in self.excused or name in reported or chr(39) in name:
                    continue
                reported.add(name)
                message = f"variable `{name}` in the rule head is not bound"
                self.diagnostics.append(Diagnostic("HW301", message, variable.span, hint=self._head_hint(name)))

    def _head_hint(self, name: str) -> str | None:
        guess = nearest(name, sorted(each for each in self.bound if chr(39) not in each))
        if guess is None:
            idle = [each for each in self.bound if self.uses.get(each) == 1]
            guess = idle[0] if len(idle) == 1 else None
        return f"did you mean `{guess}`?" if guess else "name it in a positive goal of the body"


def _hole(step: _Step) -> syntax.Wildcard | None:
    """The `_` that keeps an equation from having a value to bind with."""
    if not isinstance(step, _Equation):
        return None
    return next(
        (part for side in (step.left, step.right) for part in subterms(side) if isinstance(part, syntax.Wildcard)), None
    )


def _step_variables(step: _Step) -> Iterator[syntax.Variable]:
    terms = (step.left, step.right) if isinstance(step, _Equation) else goal_terms(step)
    for term in terms:
        yield from variables(term)
