"""Why a row is there, and why not: proofs read off the stored witnesses, and the goals at which rules fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headwater.core.types import Type
from headwater.engine.codes.columns import seen, to_values
from headwater.engine.codes.symbols import Symbols, null_code
from headwater.engine.reading import Batch, Codes, Runner, TableReader, heads_of, tables, tuples
from headwater.engine.shard import Shard
from headwater.language.datalog.printer import print_goal, print_rule, print_term
from headwater.language.syntax import Assign, Atom, Constant, Negation, Variable
from headwater.language.terms import positive_atoms
from headwater.plan.model import Absent, Filter, FlatRule, Join, Let, Owned, Step, Table, Test, Var
from headwater.program.time.program_clock import FOREVER
from headwater.provenance.witness.proof import Proof, Reason

_NEAREST = 3
_TRACED = 10_000


@dataclass(frozen=True, slots=True)
class ProofCrossing:
    """What a proof needs to know where rows of several shards are in one: nothing of it shows in the proof."""

    sent: Mapping[tuple[str, int], tuple[str, int]] = field(default_factory=dict)  # by the row that arrived
    parts: frozenset[str] = frozenset()  # tables that no user knows; their rows stand for those they are derived from
    names: Mapping[str, str] = field(default_factory=dict)  # the tables whose rows others hold, as they are


_NONE = ProofCrossing()


class ProofReader:
    """Answers `why` and `whynot` about the rows of a shard."""

    def __init__(
        self, shard: Shard, moment: Callable[[int], Any] = lambda code: code, crossing: ProofCrossing = _NONE
    ) -> None:
        """`moment` gives a time of the clock as users write it; `crossing` is for rows gathered from several shards."""
        self._shard = shard
        self._crossing = crossing
        self._plan = shard.plan
        self._tables = tables(shard.stores)
        self._moment = moment
        self._labels: dict[int, str] = {}

    # Why

    def proof(self, table: str, row: int) -> Proof:
        """The proof of a stored row."""
        made: dict[tuple[str, int], Proof] = {}
        start = self._stored(table, row)
        root = made[start] = self._node(*start)
        pending = [start]
        facts: dict[tuple[str, tuple[Any, ...]], tuple[str, int]] = {}  # of several shards: any may hold a copy
        while pending:
            name, row = pending.pop()
            node = made[name, row]
            for parent in (self._stored(*used) for used in self._parents(name, row)):
                if parent not in made:
                    found = made[parent] = self._node(*parent)
                    if self._crossing is not _NONE and found.reason in (Reason.FACT, Reason.STATED):
                        made[parent] = made[facts.setdefault((found.relation, found.row), parent)]
                    pending.append(parent)
                node.children.append(made[parent])
            node.children.extend(self._absences(name, row))
        ends = {
            key: self._tables[key[0]].lease(key[1])
            for key, node in made.items()
            if node.until is not None and node.reason in (Reason.FACT, Reason.STATED)
        }
        for key, end in ends.items():
            made[key].decides = end == min(ends.values())
        return root

    def _stored(self, table: str, row: int) -> tuple[str, int]:
        """Where the row's own witness is: a relation that shows the best rows of another names the row there."""
        kept = f"{table}'kept"
        return self._sent((kept, self._tables[table].witness(row).rows[0]) if kept in self._tables else (table, row))

    def _sent(self, found: tuple[str, int]) -> tuple[str, int]:
        """Where a row was derived that has arrived from another shard."""
        while self._crossing.sent:
            witness = self._tables[found[0]].witness(found[1])
            atoms = () if witness.rule is None else self._plan.rules[witness.rule].atoms
            sent = self._crossing.sent.get((atoms[0], witness.rows[0])) if len(atoms) == 1 else None
            if sent is None:
                break
            found = sent
        return found

    def _node(self, name: str, row: int) -> Proof:
        reader = self._tables[name]
        name = self._crossing.names.get(name, name)
        table, witness = self._tables[name].table, reader.witness(row)
        values = self._values(reader, row, table)
        relation, text = table.stands_for or name, _atom(table, values)
        if table.bag:
            bound = (f"{column} = {_shown(value)}" for column, value in zip(table.columns, values, strict=True))
            node = Proof(name.partition("'")[0], values, Reason.BINDING, text=f"for {', '.join(bound)}")
        elif witness.aggregation is not None:
            label = self._label(self._plan.aggregations[witness.aggregation].rule)
            node = Proof(relation, values, Reason.AGGREGATE, label, text=text)
        elif witness.rule is None:
            node = Proof(relation, values, Reason.FACT, text=text)
        else:
            rule = self._plan.rules[witness.rule]
            reason = Reason.RULE if rule.body else Reason.STATED
            node = Proof(relation, values, reason, self._label(rule.origin), text=text)
        lease = reader.lease(row)
        if lease < FOREVER:
            node.until = self._moment(lease)
        return node

    def _label(self, origin: int) -> str:
        if origin not in self._labels:
            rule = self._plan.program_rules[origin]
            shown = rule.origin or rule
            self._labels[origin] = rule.label or print_rule(shown) + (f"  % {shown.note}" if shown.note else "")
        return self._labels[origin]

    def _values(self, reader: TableReader, row: int, table: Table) -> tuple[Any, ...]:
        """The row as written; a time that is not kept is None, a value that all rows have stands in the table."""
        symbols, nullable = self._shard.symbols, table.nullable
        codes = reader.row(row)
        return tuple(
            column.value
            if column.at is None
            else None
            if (column.at in nullable and codes[column.at] == null_code(column.type))
            else codes[column.at]
            if column.type is Type.INT
            else seen(symbols.values[codes[column.at]], column.type)
            if column.type.is_symbolic
            else _value(codes[column.at], column.type, symbols)
            for column in table.written
        )

    def _parents(self, table: str, row: int) -> Iterator[tuple[str, int]]:
        """The rows that a row's witness names; of an aggregate, all bindings of its group."""
        reader = self._tables[table]
        witness = reader.witness(row)
        if witness.rule is not None:
            yield from self._used(table, row)
        elif witness.aggregation is not None:
            plan = self._plan.aggregations[witness.aggregation]
            key = reader.codes([row])[:, list(plan.group)]
            for source in plan.contributions:
                for at in np.sort(self._tables[source.table].with_keys(source.group, key)[1]).tolist():
                    yield source.table, at

    def _used(self, table: str, row: int) -> Iterator[tuple[str, int]]:
        """The rows that a derivation uses, in order; in the place of a part's row those that it stands for."""
        waiting = [*reversed(self._below(table, row))]
        while waiting:
            name, at = waiting.pop()
            if self._is_part(name):
                waiting += reversed(self._below(name, at))
            elif not self._tables[name].table.asks:
                yield name, at

    def _below(self, table: str, row: int) -> list[tuple[str, int]]:
        """The rows that a row's own rule has met."""
        name, at = self._sent((table, row))
        witness = self._tables[name].witness(at)
        assert witness.rule is not None
        return [*zip(self._plan.rules[witness.rule].atoms, witness.rows, strict=False)]

    def _is_part(self, name: str) -> bool:
        return self._tables[name].table.part or name in self._crossing.parts

    def _absences(self, table: str, row: int) -> Iterator[Proof]:
        """The negated goals of a derivation, and of the parts that it uses."""
        waiting = [(table, row)]
        while waiting:
            name, at = self._sent(waiting.pop())
            witness = self._tables[name].witness(at)
            if witness.rule is None:
                continue
            rule = self._plan.rules[witness.rule]
            used = zip(rule.atoms, witness.rows, strict=False)
            waiting += reversed([(name, at) for name, at in used if self._is_part(name)])
            batch = self._bindings(rule, witness.rows) if rule.negated else None
            for goal in rule.body:
                if isinstance(goal, Negation) and batch is not None:
                    negated = self._tables[goal.atom.relation].table
                    shown = [self._argument(arg, rule, batch) for arg in goal.atom.args]
                    for at, column in enumerate(negated.written):
                        if column.value is not None:
                            shown.insert(at, _shown(column.value))
                    relation = self._crossing.names.get(goal.atom.relation, goal.atom.relation)
                    yield Proof(relation, (), Reason.ABSENT, text=f"{relation}({', '.join(shown)})")

    def _argument(self, arg: Any, rule: FlatRule, batch: Batch) -> str:
        if isinstance(arg, Variable) and arg.name in batch.columns:
            return _shown(self._decoded(batch, arg.name, rule, 1)[0])
        return print_term(arg)

    def _decoded(self, batch: Batch, name: str, rule: FlatRule, most: int) -> list[Any]:
        codes, symbols = batch.columns[name][:most], self._shard.symbols
        return to_values(codes, rule.types[name], symbols, nullable=name in rule.nullable)

    def _bindings(self, rule: FlatRule, used: Sequence[int]) -> Batch:
        """The variables of a rule under the derivation that uses these rows."""
        batch = Batch(1)
        for atom, row in zip((goal for goal in rule.body if isinstance(goal, Atom)), used, strict=False):
            codes = self._tables[atom.relation].codes([row])
            for column, arg in enumerate(atom.args):
                if isinstance(arg, Variable):
                    batch.columns[arg.name] = codes[:, column]
        expressions = self._shard.context.expressions(rule)
        for goal in rule.body:
            if isinstance(goal, Assign):
                kind = rule.types[goal.variable.name]
                value = expressions.cast(expressions.value(goal.term, batch, kind), kind)
                batch.columns[goal.variable.name] = value.codes
        return batch

    # Why not

    def attempts(self, table: str, key: Codes) -> list[Attempt]:
        """For each rule that could have derived a row, the first goal that fails and the bindings that came closest."""
        found: list[Attempt] = []
        table = f"{table}'kept" if f"{table}'kept" in self._tables else table
        for rule in self._plan.rules:
            if rule.table != table:
                continue
            written = self._plan.program_rules[rule.origin]
            text = print_rule(written.origin or written)
            pull = next((pull for pull in rule.pulls if len(pull.columns) == key.shape[1]), rule.pulls[0])
            runner = Runner(pull.delta_rule, rule, self._shard.context, pull.columns)
            at, batch = runner.trace(key[:, list(pull.columns)], _TRACED)
            if at is None:
                found.append(self._other_value(runner, batch, key, text))
            elif at < 0:
                found.append(Attempt(text, "the rule's head does not match the row", []))
            else:
                goal = self._goal(pull.delta_rule.steps[at], rule)
                found.append(Attempt(text, goal, list(self._nearest(batch, rule))))
        return found

    def standing(self, table: str, key: Codes) -> list[str]:
        """The rows that the group of the row asked about has in its place."""
        reader = self._tables[table]
        groups = [pick.group for pick in reader.table.picks]
        groups += [plan.group for plan in self._plan.aggregations if plan.table == table]
        rows = {row for group in groups for row in reader.with_keys(group, key[:, list(group)])[1].tolist()}
        return [_atom(reader.table, self._values(reader, row, reader.table)) for row in sorted(rows)]

    def _other_value(self, runner: Runner, batch: Batch, key: Codes, text: str) -> Attempt:
        """A rule that derives rows of the same group: this one, which is not among the best, or others."""
        heads, table = heads_of(runner, batch), self._tables[runner.rule.table].table
        identity = list(table.identity)
        if (heads[:, identity] == key[0, identity]).all(axis=1).any():
            return Attempt(text, None, [])
        rows = [_atom(table, row) for row in tuples(table, heads[:_NEAREST], self._shard.symbols)]
        return Attempt(text, f"its head: it derives {', '.join(dict.fromkeys(rows))}", [])

    def _goal(self, step: Step, rule: FlatRule) -> str:
        match step:
            case Join(pattern=meet) | Filter(pattern=meet) if self._tables[meet.table].table.asks:
                return "nothing asks for it"
            case Join(atom=atom) | Filter(atom=atom) if any(self._tables[name].table.part for name in rule.atoms):
                stored = [goal for goal in rule.body if isinstance(goal, Atom)]
                return ", ".join(map(print_goal, self._opened(stored[atom])))
            case Join(atom=atom) | Filter(atom=atom):
                origin = self._plan.program_rules[rule.origin]
                written = [goal for goal in (origin.origin or origin).body if isinstance(goal, Atom)]
                stored = [goal for goal in rule.body if isinstance(goal, Atom)]
                return print_goal(written[atom] if atom < len(written) else stored[atom])
            case Absent(pattern=pattern):
                for goal in rule.body:
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

    def _opened(self, atom: Atom) -> Iterator[Atom]:
        """The goals that an atom of a part stands for, in the variables of its own rule."""
        if not self._tables[atom.relation].table.part:
            yield atom
            return
        own = (rule for rule in self._plan.program_rules if rule.head.relation == atom.relation)
        defined = next(rule for rule in own if all(goal.relation != atom.relation for goal in positive_atoms(rule)))
        called = {
            own.name: arg for own, arg in zip(defined.head.args, atom.args, strict=True) if isinstance(own, Variable)
        }
        for goal in positive_atoms(defined):
            if not self._tables[goal.relation].table.asks:
                args = tuple(called.get(arg.name, arg) if isinstance(arg, Variable) else arg for arg in goal.args)
                yield from self._opened(replace(goal, args=args))

    def _nearest(self, batch: Batch, rule: FlatRule) -> Iterator[dict[str, Any]]:
        names = [name for name in batch.columns if "'" not in name]
        columns = [self._decoded(batch, name, rule, _NEAREST) for name in names]
        return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


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
            nearest = ((f"{name} = {_shown(value)}" for name, value in found.items()) for found in attempt.nearest)
            lines.extend(f"    with {', '.join(binding)}" for binding in nearest)
        return "\n".join(lines)


def _value(code: int, kind: Type, symbols: Symbols) -> Any:
    return to_values(np.array([code], dtype=np.int64), kind, symbols, nullable=False)[0]


def _atom(table: Table, values: tuple[Any, ...]) -> str:
    """A row as text; a time that is not kept is `_`."""
    pairs = zip(table.written, values, strict=True)
    shown = ("_" if column.at is None and column.value is None else _shown(value) for column, value in pairs)
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
