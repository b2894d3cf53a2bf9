"""Time in the oracle: programs over streams, what is alive at a moment, and what that means.

A timed case is an ordinary program whose base relations have become streams. What it means at a moment is what the
ordinary program means over the rows that are alive then; time is not data. Where heads carry a time, that of a row is
the earliest over its derivations of the latest time they join. A negated goal sees what had come by the time of the
head (004, Definition 3): there snapshots are evaluated one after the other, and what held once is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.oracle.evaluate import Binding, bindings, evaluate, value_of
from tests.oracle.program import Agg, Assign, Atom, Base, Goal, Larger, Not, Program, Row, Rule, State, to_text
from tests.oracle.strata import dependencies, reachable
from tests.oracle.terms import Call, Const, Op, Term, Var, Wild

Alive: TypeAlias = dict[str, dict[Row, int]]
"""Rows that are alive, with their times (0 where a relation has none)."""

SIZE = 8_000
TOTALS = frozenset({"count", "sum", "avg", "mcount", "msum"})


@dataclass(frozen=True, slots=True)
class Life:
    """How the rows of a base relation live: with a time of their own, by the clock, or for ever."""

    kind: str = "stream"  # stream, ttl, static
    ttl: int | None = None
    lateness: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Rows of streams begin with their time; `advance` comes first."""

    insert: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    delete: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    advance: int | None = None


@dataclass(frozen=True, slots=True)
class TimedCase:
    program: Program
    lives: Mapping[str, Life]
    script: tuple[Step, ...]
    window: tuple[int, int | None] | None = None
    timed_heads: bool = False
    asks: bool = False  # whether queries name the time
    facts: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)  # of the program, as they are written

    @property
    def negates(self) -> bool:
        return any(isinstance(goal, Not) for rule in self.program.rules for goal in rule.body)

    def keeps_time(self, relation: str) -> bool:
        """Whether rows of a view show their time: if they have one, and are no totals nor rest on any."""
        if not self.timed_heads or (self.program.queries and not self.asks):
            return False
        below = {relation, *reachable(dependencies(self.program))[relation]}
        return all(steady(self.program, name) for name in below)


def steady(program: Program, relation: str) -> bool:
    """Whether rows of a relation can have one time each: they are no totals, and no recursion through a best value.

    Except one in which a better value below always makes a better one above: it is copied, or added to.
    """
    rules = [rule for rule in program.rules if rule.relation == relation]
    if any(sum(isinstance(arg, Agg) and arg.function != "with" for arg in rule.args) > 1 for rule in rules):
        return False
    if any(isinstance(arg, Agg) and arg.function in TOTALS for rule in rules for arg in rule.args):
        return False
    below = reachable(dependencies(program))
    cycle = {name for name in below[relation] if relation in below[name]}
    own = [rule for rule in program.rules if rule.relation in cycle]
    if not any(isinstance(arg, Agg) for rule in own for arg in rule.args):
        return True
    if any(isinstance(arg, Agg) and arg.function == "with" for rule in own for arg in rule.args):
        return False
    return cycle == {relation} and all(_adds_up(rule) for rule in own)


def _adds_up(rule: Rule) -> bool:
    own = [goal for goal in rule.body if isinstance(goal, Atom) and goal.relation == rule.relation]
    at = next(at for at, arg in enumerate(rule.args) if isinstance(arg, Agg))
    made: dict[str, Term] = {goal.variable.name: goal.term for goal in rule.body if isinstance(goal, Assign)}
    shape = rule.args[at]
    assert isinstance(shape, Agg)
    waiting, leaves = list(shape.args), []
    while waiting:
        term = waiting.pop()
        if isinstance(term, Var) and term.name in made:
            waiting.append(made[term.name])
        elif isinstance(term, Var):
            leaves.append(term)
        elif isinstance(term, Op) and term.op == "+":
            waiting += (term.left, term.right)
        elif own and not isinstance(term, Const):
            return False
    bound = {goal.variable for goal in rule.body if isinstance(goal, Larger)}
    return not own or (not bound & set(leaves) and all(goal.args[at] in leaves for goal in own))


# What is alive


class Clock:
    """The base rows of a case as time goes by and steps are made."""

    def __init__(self, case: TimedCase) -> None:
        self.case = case
        self.now: int | None = None
        self.late = 0
        self._keys = {name: tuple(at for at in key) for name, key in case.program.keys.items()}
        self._rows: dict[str, list[tuple[Row, int]]] = {base.name: [] for base in case.program.bases}
        self._facts: dict[str, dict[Row, int]] = {}
        times = [row[0] for name, rows in case.facts.items() if self._kind(name) == "stream" for row in rows]
        self._move(max(times, default=None))

    def _move(self, now: int | None) -> None:
        """The clock moves; facts of the program come with the first time that is known, and are never deleted."""
        if self.now is None and now is not None:
            for name, rows in self.case.facts.items():
                for row in rows:
                    row, time = (row[1:], row[0]) if self._kind(name) == "stream" else (row, now)
                    known = self._facts.setdefault(name, {})
                    known[row] = max(time, known.get(row, time))
        self.now = now

    def apply(self, step: Step) -> None:
        moments = [one for one in (self.now, step.advance) if one is not None]
        before = max(moments, default=None)
        moments += [row[0] for name, rows in step.insert.items() if self._kind(name) == "stream" for row in rows]
        self._move(max(moments, default=None))
        self._settle()
        for name, rows in step.delete.items():
            for row in rows:
                identity = row[1:] if self._kind(name) == "stream" else row
                self._rows[name] = [one for one in self._rows[name] if one[0] != identity]
        self._settle()
        for name, rows in step.insert.items():
            life = self.case.lives[name]
            for row in rows:
                if life.kind != "stream":
                    self._rows[name].append((row, self.now if life.kind == "ttl" and self.now is not None else 0))
                elif life.lateness is not None and before is not None and row[0] < before - life.lateness:
                    self.late += 1
                else:
                    self._rows[name].append((row[1:], row[0]))
        self._settle()

    def alive(self, moment: int | None = None) -> Alive:
        """The rows alive now, or at a later moment if nothing more begins."""
        when = self.now if moment is None else moment
        found: Alive = {}
        for name, rows in self._rows.items():
            found[name] = {}
            for row, time in (*self._facts.get(name, {}).items(), *rows):
                if self._begun(name, time) and self._lives(name, time, when):
                    found[name][row] = max(time, found[name].get(row, time))
        return found

    def ends(self) -> list[int]:
        """The moments at which rows that are alive end."""
        found = {self._end(name, time) for name, rows in self.alive().items() for time in rows.values()}
        return sorted(one for one in found if one is not None)

    def _kind(self, name: str) -> str:
        return self.case.lives[name].kind

    def _settle(self) -> None:
        """Of rows that have begun, and of each key, only the newest stays; what is over goes."""
        for name, rows in self._rows.items():
            waiting = [one for one in rows if not self._begun(name, one[1])]
            begun = [one for one in rows if self._begun(name, one[1]) and self._lives(name, one[1], self.now)]
            key = self._keys.get(name)
            newest: dict[Row, tuple[Row, int]] = {}
            for row, time in begun:
                group = row if key is None else tuple(row[at] for at in key)
                if group not in newest or newest[group][1] <= time:
                    newest[group] = (row, time)
            self._rows[name] = list(newest.values()) + waiting

    def _begun(self, name: str, time: int) -> bool:
        if self._kind(name) != "stream" or self.case.window is None or self.case.window[1] is None:
            return True
        assert self.now is not None
        return _step(time, self.case.window[1]) <= self.now

    def _lives(self, name: str, time: int, when: int | None) -> bool:
        end = self._end(name, time)
        return end is None or when is None or when < end

    def _end(self, name: str, time: int) -> int | None:
        life = self.case.lives[name]
        ends = [] if life.ttl is None else [time + life.ttl]
        if life.kind == "stream" and self.case.window is not None:
            size, slide = self.case.window
            ends.append(time + size if slide is None else _step(time + size, slide))
        return min(ends, default=None)


def _step(time: int, slide: int) -> int:
    return -(-time // slide) * slide


# What it means


def views(case: TimedCase, alive: Alive) -> State:
    """The rows of every view; where heads carry a time, it stands first, None where it is not kept."""
    program = case.program
    rows = {name: set(times) for name, times in alive.items()}
    if not case.timed_heads:
        found = evaluate(program, rows, size=SIZE)
        return {name: program.asked(name, one) for name, one in found.items()}
    firsts = _progressive(case, alive) if case.negates else _firsts(case, alive)
    return {
        name: {(times[row] if case.keeps_time(name) else None, *row) for row in program.asked(name, set(times))}
        for name, times in firsts.items()
    }


def _moments(alive: Alive) -> list[int]:
    return sorted({0, *(time for times in alive.values() for time in times.values())})


def _until(alive: Alive, moment: int) -> State:
    return {name: {row for row, time in times.items() if time <= moment} for name, times in alive.items()}


def _firsts(case: TimedCase, alive: Alive) -> dict[str, dict[Row, int]]:
    """Every row that holds, with the earliest over its derivations of the latest time among what they join."""
    everything = _until(alive, max(_moments(alive)))
    final = evaluate(case.program, everything, size=SIZE)
    times: dict[str, dict[Row, int]] = {name: dict(rows) for name, rows in alive.items()}
    times.update((name, {}) for name in final)
    state = {**everything, **final}
    joined = [(rule, found) for rule in case.program.rules for found in bindings(rule, state, SIZE)]
    moved = any(map(case.keeps_time, final))
    while moved:
        moved = False
        for rule, found in joined:
            row = tuple(value_of(arg.args[-1] if isinstance(arg, Agg) else arg, found) for arg in rule.args)
            latest = [_earliest(goal, found, times) for goal in rule.body if isinstance(goal, Atom)]
            if row in final[rule.relation] and None not in latest:
                time = max((one for one in latest if one is not None), default=0)
                if time < times[rule.relation].get(row, time + 1):
                    times[rule.relation][row] = time
                    moved = True
    return {name: times[name] if case.keeps_time(name) else dict.fromkeys(rows, 0) for name, rows in final.items()}


def _earliest(atom: Atom, found: Binding, times: Mapping[str, Mapping[Row, int]]) -> int | None:
    """The earliest time known of a row that the goal can be about."""

    def fits(row: Row) -> bool:
        pairs = zip(atom.args, row, strict=True)
        return all(isinstance(arg, Wild) or value_of(arg, found) == one for arg, one in pairs)

    return min((time for row, time in times[atom.relation].items() if fits(row)), default=None)


def _progressive(case: TimedCase, alive: Alive) -> dict[str, dict[Row, int]]:
    """The same where rules negate: what held at one moment still holds at the later ones."""
    found: dict[str, dict[Row, int]] = {name: {} for name in case.program.derived}
    for moment in _moments(alive):
        known = tuple(
            Rule(name, tuple(map(Const, row))) for name, times in found.items() for row in sorted(times, key=repr)
        )
        remembered = replace(case.program, rules=case.program.rules + known)
        for name, rows in evaluate(remembered, _until(alive, moment), size=SIZE).items():
            for row in rows:
                found[name].setdefault(row, moment)
    return found


# As text


def timed_text(case: TimedCase) -> str:
    lines = [_declaration(base, case.lives[base.name]) for base in case.program.bases]
    facts = tuple(Rule(name, tuple(map(Const, row))) for name, rows in case.facts.items() for row in rows)
    lines.append(to_text(Program((), facts, ())).rstrip("\n"))
    rules = tuple(_timed_rule(rule, case) for rule in case.program.rules)
    lines.append(to_text(replace(case.program, bases=(), rules=rules, queries=())).rstrip("\n"))
    for query in case.program.queries:
        args = query.args
        if case.timed_heads:
            args = (Var("TimeAsked") if case.asks else Wild(), *args)
        goal = to_text(Program((), (), (Atom(query.relation, args),))).strip().removesuffix(".").removeprefix("Query: ")
        window = "" if case.window is None else f", WINDOW({case.window[0]}{_slide(case.window[1])})"
        lines.append(f"query {goal}{window}.")
    return "\n".join(lines) + "\n"


def _slide(slide: int | None) -> str:
    return "" if slide is None else f", {slide}"


def _declaration(base: Base, life: Life) -> str:
    types = ("int", *base.types) if life.kind == "stream" else base.types
    shift = 1 if life.kind == "stream" else 0
    nullable = {at + shift for at in base.nullable}
    text = ", ".join(f"c{at}: {kind}{'?' if at in nullable else ''}" for at, kind in enumerate(types))
    key = "" if base.key is None else " key(" + ", ".join(f"c{at + shift}" for at in base.key) + ")"
    ttl = "" if life.ttl is None else f" ttl {life.ttl}"
    late = "" if life.lateness is None else f" lateness {life.lateness}"
    return f"{'stream' if life.kind == 'stream' else 'relation'} {base.name}({text}){key}{ttl}{late}."


def _timed_rule(rule: Rule, case: TimedCase) -> Rule:
    """The rule with times: a fresh variable in every positive goal, their largest in the head."""
    times: list[Var] = []
    body: list[Goal] = []
    streams = {name for name, life in case.lives.items() if life.kind == "stream"}
    for goal in rule.body:
        match goal:
            case Atom(relation, args) if case.timed_heads or relation in streams:
                times.append(Var(f"Time{len(times)}"))
                body.append(Atom(relation, (times[-1], *args)))
            case Not(Atom(relation, args)) if case.timed_heads or relation in streams:
                body.append(Not(Atom(relation, (Wild(), *args))))
            case _:
                body.append(goal)
    if not case.timed_heads:
        return replace(rule, body=tuple(body))
    time: Term = Const(0)
    if times:
        time = times[0]
    if len(times) > 1:
        time = Var("TimeHead")
        body.append(Assign(time, Call("largest", tuple(times))))
    return replace(rule, args=(time, *rule.args), body=tuple(body))


def bare(rows: Iterable[Row]) -> set[Row]:
    """Rows without their times."""
    return {row[1:] for row in rows}
