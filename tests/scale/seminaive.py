"""What a program means over many rows: semi-naive evaluation over plain Python sets.

The same least fixpoint as `tests.oracle.evaluate`, for programs of the kind that `tests.scale.reading` reads, and quick
enough for some hundred thousand rows. Each rule becomes a small Python function, one per atom that may bring new rows:
that atom's new rows first, every other atom looked up in all rows there are. A `min` or `max` inside recursion keeps
the best row per group and propagates what improves, which is right where a better row never derives a worse one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.oracle.aggregate import aggregate
from tests.oracle.program import Agg, Assign, Atom, Base, Compare, Not, Program, Row, Rule, State
from tests.oracle.strata import dependencies as direct_dependencies
from tests.oracle.strata import reachable, strata
from tests.oracle.terms import Const, Op, Term, Var

_COMPARE = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Relation:
    """Rows, and indexes over them by the columns that rules ask for."""

    def __init__(self) -> None:
        self.rows: set[Row] = set()
        self.indexes: dict[tuple[int, ...], dict[Any, list[Row]]] = {}

    def index(self, columns: tuple[int, ...]) -> dict[Any, list[Row]]:
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = {}
            self._enter(columns, found, self.rows)
        return found

    def add(self, rows: Iterable[Row]) -> None:
        new = list(rows)
        self.rows.update(new)
        for columns, index in self.indexes.items():
            self._enter(columns, index, new)

    @staticmethod
    def _enter(columns: tuple[int, ...], index: dict[Any, list[Row]], rows: Iterable[Row]) -> None:
        if len(columns) == 1:
            (only,) = columns
            for row in rows:
                index.setdefault(row[only], []).append(row)
            return
        for row in rows:
            index.setdefault(tuple([row[column] for column in columns]), []).append(row)


def evaluate(rules: tuple[Rule, ...], base: Mapping[str, Iterable[Row]]) -> State:
    """Every derived relation over these base rows."""
    program = Program(tuple(Base(name, ()) for name in base), rules)
    relations = {name: Relation() for name in (*base, *program.derived)}
    for name, rows in base.items():
        relations[name].add(set(rows))
    below = reachable(direct_dependencies(program))
    for stratum in strata(program):
        own = [rule for rule in rules if rule.relation in stratum]
        if any(name in below[name] for name in stratum):
            _fixpoint(own, stratum, relations)
        else:
            _once(own, relations)
    return {name: relations[name].rows for name in program.derived}


def _once(rules: list[Rule], relations: dict[str, Relation]) -> None:
    (name,) = {rule.relation for rule in rules}
    aggregates = {at: arg for rule in rules for at, arg in enumerate(rule.args) if isinstance(arg, Agg)}
    out: set[Row] = set()
    for rule in rules:
        _Step(rule, 0, relations, out, bindings=bool(aggregates)).run()
    if not aggregates:
        relations[name].add(out)
        return
    ((place, shape),) = aggregates.items()
    pooled: dict[Row, list[Row]] = {}
    for head, _ in out:  # once per binding
        pooled.setdefault((*head[:place], *head[place + 1 :]), []).append((head[place],))
    relations[name].add(
        {(*group[:place], value, *group[place:]) for group, rows in pooled.items() for value in aggregate(shape, rows)}
    )


def _fixpoint(rules: list[Rule], stratum: frozenset[str], relations: dict[str, Relation]) -> None:
    best = {rule.relation: _Best(rule, relations[rule.relation]) for rule in rules if _pick(rule) is not None}
    found: dict[str, set[Row]] = {name: set() for name in stratum}
    for rule in rules:
        if not any(isinstance(goal, Atom) and goal.relation in stratum for goal in rule.body):
            _Step(rule, 0, relations, found[rule.relation]).run()
    steps = [
        (atom.relation, _Step(rule, at, relations, found[rule.relation], checked=frozenset(best)))
        for rule in rules
        for at, atom in enumerate(goal for goal in rule.body if isinstance(goal, Atom))
        if atom.relation in stratum
    ]
    while any(found.values()):
        new: dict[str, list[Row]] = {}
        for name, rows in found.items():
            if name in best:
                new[name] = best[name].improve(rows)
            else:
                new[name] = [row for row in rows if row not in relations[name].rows]
                relations[name].add(new[name])
            rows.clear()
        for name, step in steps:
            if new[name]:
                step.run(new[name])


def _pick(rule: Rule) -> int | None:
    return next((at for at, arg in enumerate(rule.args) if isinstance(arg, Agg)), None)


class _Best:
    """Of a relation that keeps one row per group, the value that stands in each."""

    def __init__(self, rule: Rule, relation: Relation) -> None:
        place = _pick(rule)
        assert place is not None
        shape = rule.args[place]
        assert isinstance(shape, Agg)
        self._place = place
        self._largest = shape.function == "max"
        self._relation = relation
        self._values: dict[Row, Any] = {}

    def improve(self, rows: Iterable[Row]) -> list[Row]:
        """Take in rows; those that now stand. Rows superseded leave the set, and stay in the indexes unseen."""
        place, values = self._place, self._values
        better: dict[Row, Any] = {}
        for row in rows:
            group, value = (*row[:place], *row[place + 1 :]), row[place]
            held = better.get(group, values.get(group))
            if held is None or (value > held if self._largest else value < held):
                better[group] = value
        gone = [self._row(group, values[group]) for group in better if group in values]
        values.update(better)
        new = [self._row(group, value) for group, value in better.items()]
        self._relation.rows.difference_update(gone)
        self._relation.add(new)
        return new

    def _row(self, group: Row, value: Any) -> Row:
        return (*group[: self._place], value, *group[self._place :])


class _Step:
    """One rule, from the rows of one of its atoms, as a Python function made for it."""

    def __init__(
        self,
        rule: Rule,
        start: int,
        relations: dict[str, Relation],
        out: set[Row],
        *,
        checked: frozenset[str] = frozenset(),
        bindings: bool = False,
    ) -> None:
        self._relations = relations
        self._given: dict[str, Any] = {"out": out}
        self._lines: list[str] = []
        self._depth = 1
        self._bound: set[str] = set()
        atoms = [goal for goal in rule.body if isinstance(goal, Atom)]
        self._first = relations[atoms[start].relation]
        self._tests = [goal for goal in rule.body if not isinstance(goal, Atom)]
        self._loop("rows", atoms[start], ())
        waiting = atoms[:start] + atoms[start + 1 :]
        while waiting:
            waiting.sort(key=lambda atom: -sum(self._is_bound(arg) for arg in atom.args))
            self._meet(waiting.pop(0), checked)
        assert not self._tests, rule
        head = ", ".join(self._value(arg.args[0] if isinstance(arg, Agg) else arg) for arg in rule.args)
        if bindings:
            named = ", ".join(sorted(self._bound))
            self._line(f"out.add((({head},), ({named},)))")
        else:
            self._line(f"out.add(({head},))")
        source = "def step(rows):\n" + "\n".join(self._lines)
        exec(compile(source, f"<{rule.relation}>", "exec"), self._given)

    def run(self, rows: Iterable[Row] | None = None) -> None:
        self._given["step"](self._first.rows if rows is None else rows)

    def _meet(self, atom: Atom, checked: frozenset[str]) -> None:
        relation = self._relations[atom.relation]
        known = tuple(at for at, arg in enumerate(atom.args) if self._is_bound(arg))
        if len(known) == len(atom.args):
            self._line(f"if {self._row(atom)} not in {self._give(relation.rows)}: continue")
            return
        if not known:
            self._loop(self._give(relation.rows), atom, ())
            return
        values = [self._value(atom.args[at]) for at in known]
        key = values[0] if len(values) == 1 else f"({', '.join(values)})"
        self._loop(f"{self._give(relation.index(known))}.get({key}, ())", atom, known)
        if atom.relation in checked:
            self._line(f"if row{self._depth - 1} not in {self._give(relation.rows)}: continue")

    def _loop(self, rows: str, atom: Atom, known: tuple[int, ...]) -> None:
        row = f"row{self._depth}"
        self._line(f"for {row} in {rows}:")
        self._depth += 1
        for at, arg in enumerate(atom.args):
            if at in known:
                continue
            if isinstance(arg, Const) or (isinstance(arg, Var) and arg.name in self._bound):
                self._line(f"if {row}[{at}] != {self._value(arg)}: continue")
            elif isinstance(arg, Var):
                self._line(f"{arg.name} = {row}[{at}]")
                self._bound.add(arg.name)
        self._check()

    def _check(self) -> None:
        """Every test whose variables are known by now."""
        waiting, self._tests = self._tests, []
        for goal in waiting:
            match goal:
                case Assign(Var(name), Op("+", left, right)) if self._is_bound(left) and self._is_bound(right):
                    self._line(f"{name} = {self._value(left)} + {self._value(right)}")
                    self._bound.add(name)
                case Compare(op, left, right) if self._is_bound(left) and self._is_bound(right):
                    self._line(f"if not {self._value(left)} {_COMPARE[op]} {self._value(right)}: continue")
                case Not(atom) if all(self._is_bound(arg) for arg in atom.args):
                    rows = self._give(self._relations[atom.relation].rows)
                    self._line(f"if {self._row(atom)} in {rows}: continue")
                case _:
                    self._tests.append(goal)

    def _is_bound(self, term: Term) -> bool:
        return isinstance(term, Const) or (isinstance(term, Var) and term.name in self._bound)

    def _value(self, term: Term) -> str:
        return repr(term.value) if isinstance(term, Const) else term.name if isinstance(term, Var) else "None"

    def _row(self, atom: Atom) -> str:
        return f"({', '.join(self._value(arg) for arg in atom.args)},)"

    def _give(self, value: Any) -> str:
        name = f"given{len(self._given)}"
        self._given[name] = value
        return name

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)
