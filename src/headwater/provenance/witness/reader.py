"""Reads proofs and absences off a shard: witnesses down to base rows, and rules that lead nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater.core.types import Type
from headwater.engine.best.selection import rows_with
from headwater.engine.codes.batch import Batch
from headwater.engine.codes.columns import seen, to_values
from headwater.engine.codes.symbols import Codes, Symbols, null_code
from headwater.engine.rules.delta_rule import Runner
from headwater.engine.shard import Shard
from headwater.engine.store.states import BASE
from headwater.engine.store.store import Store
from headwater.language.datalog.printer import print_goal, print_rule, print_term
from headwater.language.syntax import Assign, Atom, Constant, Negation, Variable
from headwater.plan.model import Absent, FlatRule, Join, Let, Owned, Step, Table, Test, Var
from headwater.program.time.program_clock import FOREVER
from headwater.provenance.witness.proof import Proof, Reason

_NEAREST = 3
_TRACED = 10_000


class Reader:
    def __init__(self, shard: Shard, moment: Callable[[int], Any] = lambda code: code) -> None:
        """`moment` gives a time of the clock as users write it."""
        self._shard = shard
        self._moment = moment
        self._labels: dict[int, str] = {}

    # Why

    def proof(self, table: str, row: int) -> Proof:
        """The proof of a stored row."""
        store, row = self._kept(self._shard.stores[table], row)
        made: dict[tuple[str, int], Proof] = {}
        pending = [(store, row)]
        root = self._node(store, row, made)
        while pending:
            store, row = pending.pop()
            node = made[store.name, row]
            for parent, at in (self._kept(*one) for one in self._parents(store, row)):
                known = (parent.name, at) in made
                node.children.append(self._node(parent, at, made))
                if not known:
                    pending.append((parent, at))
            node.children.extend(self._absences(store, row))
        self._decide(made)
        return root

    def _kept(self, store: Store, row: int) -> tuple[Store, int]:
        """Where the row's own proof is: of a relation that shows the best of what it keeps, among what it keeps."""
        kept = self._shard.stores.get(f"{store.name}'kept")
        return (store, row) if kept is None else (kept, int(store.proof[row, 0]))

    def _decide(self, made: dict[tuple[str, int], Proof]) -> None:
        """Point out the facts that end first."""
        ends = {
            key: self._lease(self._shard.stores[key[0]], key[1]) for key, node in made.items() if node.until is not None
        }
        facts = {key: end for key, end in ends.items() if made[key].reason in (Reason.FACT, Reason.STATED)}
        for key, end in facts.items():
            made[key].decides = end == min(facts.values())

    def _lease(self, store: Store, row: int) -> int:
        lease = store.table.lease
        return FOREVER if lease is None else int(store.data[row, lease])

    def _node(self, store: Store, row: int, made: dict[tuple[str, int], Proof]) -> Proof:
        found = made.get((store.name, row))
        if found is None:
            values = self._values(store, row)
            rule = int(store.rules[row])
            name = store.table.stands_for or store.name
            if store.table.bag:
                text = ", ".join(
                    f"{name} = {_shown(value)}" for name, value in zip(store.table.columns, values, strict=True)
                )
                found = Proof(store.name.partition("'")[0], values, Reason.BINDING, text=f"for {text}")
            elif rule == BASE:
                found = Proof(name, values, Reason.FACT, text=_atom(store.table, values))
            elif rule < BASE:
                origin = self._shard.plan.aggregations[-2 - rule].rule
                found = Proof(name, values, Reason.AGGREGATE, self._label(origin), text=_atom(store.table, values))
            else:
                flat = self._shard.plan.rules[rule]
                reason = Reason.RULE if flat.body else Reason.STATED
                found = Proof(name, values, reason, self._label(flat.origin), text=_atom(store.table, values))
            lease = self._lease(store, row)
            if lease < FOREVER:
                found.until = self._moment(lease)
            made[store.name, row] = found
        return found

    def _label(self, origin: int) -> str:
        if origin not in self._labels:
            rule = self._shard.plan.program_rules[origin]
            self._labels[origin] = rule.label or print_rule(rule.origin or rule)
        return self._labels[origin]

    def _values(self, store: Store, row: int) -> tuple[Any, ...]:
        """The row as written; a time that is not kept is None."""
        symbols = self._shard.symbols
        codes = store.data[row].tolist()
        return tuple(
            None
            if one.at is None or (one.at in store.table.nullable and codes[one.at] == null_code(one.type))
            else codes[one.at]
            if one.type is Type.INT
            else seen(symbols.values[codes[one.at]], one.type)
            if one.type.is_symbolic
            else _value(codes[one.at], one.type, symbols)
            for one in store.table.written
        )

    def _parents(self, store: Store, row: int) -> Iterator[tuple[Store, int]]:
        rule = int(store.rules[row])
        if rule >= 0:
            for position, table in enumerate(self._shard.plan.rules[rule].atoms):
                yield self._shard.stores[table], int(store.proof[row, position])
        elif rule < BASE:
            plan = self._shard.plan.aggregations[-2 - rule]
            key = store.data[row : row + 1, list(plan.group)].astype(np.int64)
            for one in plan.contributions:
                source = self._shard.stores[one.table]
                for at in np.sort(rows_with(source.index(one.group), key, source)[1]).tolist():
                    yield source, at

    def _absences(self, store: Store, row: int) -> Iterator[Proof]:
        rule = int(store.rules[row])
        if rule < 0 or not self._shard.plan.rules[rule].negated:
            return
        flat = self._shard.plan.rules[rule]
        batch = self._bindings(flat, store, row)
        for goal in flat.body:
            if isinstance(goal, Negation):
                shown = [self._argument(arg, flat, batch) for arg in goal.atom.args]
                yield Proof(goal.atom.relation, (), Reason.ABSENT, text=f"{goal.atom.relation}({', '.join(shown)})")

    def _argument(self, arg: Any, flat: FlatRule, batch: Batch) -> str:
        if isinstance(arg, Variable) and arg.name in batch.columns:
            return _shown(self._decoded(batch, arg.name, flat, 1)[0])
        return print_term(arg)

    def _decoded(self, batch: Batch, name: str, flat: FlatRule, most: int) -> list[Any]:
        codes, symbols = batch.columns[name][:most], self._shard.symbols
        return to_values(codes, flat.types[name], symbols, nullable=name in flat.nullable)

    def _bindings(self, flat: FlatRule, store: Store, row: int) -> Batch:
        """The variables of a rule under the derivation that a row's witness names."""
        batch = Batch(1)
        atoms = [goal for goal in flat.body if isinstance(goal, Atom)]
        for position, atom in enumerate(atoms):
            parent = self._shard.stores[atom.relation]
            used = int(store.proof[row, position])
            for column, arg in enumerate(atom.args):
                if isinstance(arg, Variable):
                    batch.columns[arg.name] = parent.data[used : used + 1, column].astype(np.int64)
        expressions = self._shard.context.expressions(flat)
        for goal in flat.body:
            if isinstance(goal, Assign):
                kind = flat.types[goal.variable.name]
                value = expressions.cast(expressions.value(goal.term, batch, kind), kind)
                batch.columns[goal.variable.name] = value.codes
        return batch

    # Why not

    def attempts(self, table: str, key: Codes) -> list[Attempt]:
        """For each rule that could have derived a row, the first goal that fails and the bindings that came closest."""
        found: list[Attempt] = []
        table = f"{table}'kept" if f"{table}'kept" in self._shard.stores else table
        for flat in self._shard.plan.rules:
            if flat.table != table:
                continue
            rule = self._shard.plan.program_rules[flat.origin]
            text = print_rule(rule.origin or rule)
            pull = next((one for one in flat.pulls if len(one.columns) == key.shape[1]), flat.pulls[0])
            runner = Runner(pull.delta_rule, flat, self._shard.context, pull.columns)
            at, batch = runner.trace(key[:, list(pull.columns)], _TRACED)
            if at is None:
                found.append(self._other_value(runner, batch, key, text))
            elif at < 0:
                found.append(Attempt(text, "the rule's head does not match the row", []))
            else:
                goal = self._goal(pull.delta_rule.steps[at], flat)
                found.append(Attempt(text, goal, list(self._nearest(batch, flat))))
        return found

    def standing(self, table: str, key: Codes) -> list[str]:
        """The rows that the group of an aggregate has, where the one asked about would stand."""
        store = self._shard.stores[table]
        groups = [pick.group for pick in store.table.picks]
        groups += [one.group for one in self._shard.plan.aggregations if one.table == table]
        rows: list[int] = []
        for group in groups:
            rows += rows_with(store.index(group), np.ascontiguousarray(key[:, list(group)]), store)[1].tolist()
        return [_atom(store.table, self._values(store, row)) for row in sorted(set(rows))]

    def _other_value(self, runner: Runner, batch: Batch, key: Codes, text: str) -> Attempt:
        """A rule that derives rows of the same group: this one, which is not among the best, or others."""
        columns = runner.head_columns(batch)
        table = self._shard.stores[runner.rule.table].table
        same = np.ones(batch.size, dtype=np.bool_)
        for at in table.identity:
            same &= columns[at] == key[0, at]
        if same.any():
            return Attempt(text, None, [])
        count = min(_NEAREST, batch.size)
        shown = [
            [None] * count
            if one.at is None
            else to_values(columns[one.at][:count], one.type, self._shard.symbols, nullable=one.at in table.nullable)
            for one in table.written
        ]
        rows = [_atom(table, row) for row in zip(*shown, strict=True)]
        return Attempt(text, f"its head: it derives {', '.join(dict.fromkeys(rows))}", [])

    def _goal(self, step: Step, flat: FlatRule) -> str:
        match step:
            case Join(atom=atom):
                rule = self._shard.plan.program_rules[flat.origin]
                written = [goal for goal in (rule.origin or rule).body if isinstance(goal, Atom)]
                stored = [goal for goal in flat.body if isinstance(goal, Atom)]
                return print_goal(written[atom] if atom < len(written) else stored[atom])
            case Absent(pattern=pattern):
                for goal in flat.body:
                    if isinstance(goal, Negation) and goal.atom.relation == pattern.table:
                        return print_goal(goal)
                raise AssertionError("an absence stems from a negated goal")
            case Let(variable=variable, term=term):
                return f"{variable} = {print_term(term)}"
            case Test(goal=goal):
                return print_goal(goal)
            case Owned(source=source, mine=mine):
                whose = "this shard" if mine else "another shard"
                return f"{source.name if isinstance(source, Var) else source.value} belongs to {whose}"

    def _nearest(self, batch: Batch, flat: FlatRule) -> Iterator[dict[str, Any]]:
        names = [name for name in batch.columns if "'" not in name]
        columns = [self._decoded(batch, name, flat, _NEAREST) for name in names]
        for at in range(min(_NEAREST, batch.size) if names else 0):
            yield {name: column[at] for name, column in zip(names, columns, strict=True)}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One rule that did not derive the row: its text, the goal that failed, and bindings that got that far."""

    rule: str
    failed: str | None
    nearest: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a row is not there."""

    relation: str
    row: tuple[Any, ...]
    attempts: list[Attempt]
    note: str | None = None
    instead: tuple[str, ...] = ()  # what its group has in its place

    def __str__(self) -> str:
        lines = [f"{self.relation}({', '.join(map(_shown, self.row))}) is not there"]
        if self.instead:
            shown = ", ".join(self.instead[:_NEAREST])
            lines.append(f"  in its place: {shown}" + (", ..." if len(self.instead) > _NEAREST else ""))
        if self.note:
            lines.append(f"  {self.note}")
        for attempt in self.attempts:
            lines.append(f"  {attempt.rule}")
            if attempt.failed is None:
                lines.append("    holds, but a better row of the same group is kept")
            else:
                lines.append(f"    fails at: {attempt.failed}")
            lines.extend(f"    with {_binding(one)}" for one in attempt.nearest)
        return "\n".join(lines)


def _value(code: int, kind: Type, symbols: Symbols) -> Any:
    return to_values(np.array([code], dtype=np.int64), kind, symbols, nullable=False)[0]


def _binding(one: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in one.items())


def _atom(table: Table, values: tuple[Any, ...]) -> str:
    """A row as text; a time that is not kept is `_`."""
    shown = ("_" if one.at is None else _shown(value) for one, value in zip(table.written, values, strict=True))
    return f"{table.stands_for or table.name}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return print_term(Constant(value, Type.STRING))
    return str(value)
