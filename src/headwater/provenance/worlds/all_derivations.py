"""All derivations of rows: the delta rules of a rule, changed so that they find every derivation.

The engine's own delta rules stop at the first match where any will do, and drop a binding as soon as a negated goal
fails. Provenance needs every derivation and, for a negated goal, the rows that match it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.symbols import encode
from headwater.engine.reading import EVER, Batch, Codes, Context, Rows, RowSet, Runner, TableReader, heads_of
from headwater.language.syntax import Negation, Variable
from headwater.plan import delta_rules
from headwater.plan.drafts import Draft
from headwater.plan.model import DeltaRule, FlatRule, Join, Pattern, Var

Row = tuple[int, ...]
Wanted: TypeAlias = Sequence[tuple[tuple[int, ...], RowSet]]  # columns of a table, and the values wanted there


@dataclass(frozen=True, slots=True)
class RuleDerivations:
    """Derivations by one rule: heads as codes, the row of each positive atom, the rows that match each negated one."""

    heads: Codes
    parents: tuple[list[int], ...]
    against: tuple[list[list[int]], ...]


class DerivationFinder:
    """Finds the derivations of one rule over the rows alive in a context.

    With `wanted`, it finds only derivations of rows that have some of these values.
    """

    def __init__(self, rule: FlatRule, context: Context, wanted: Wanted | None = None) -> None:
        self.rule = rule
        self._wanted = wanted
        self._context = context
        negations = [goal for goal in rule.body if isinstance(goal, Negation)]
        asked = {arg.name: Var(arg.name) for goal in negations for arg in goal.atom.args if isinstance(arg, Variable)}
        draft = Draft(
            rule.origin,
            rule.table,
            (*rule.head, *asked.values()),
            tuple(goal for goal in rule.body if not isinstance(goal, Negation)),
            rule.types,
            rule.nullable,
            defaultdict(int),
        )
        self._against = [delta_rules.pattern(goal.atom.relation, goal.atom.args, asked) for goal in negations]
        self._arrive = [self._runner(delta_rule) for delta_rule in delta_rules.arrive(draft, rule.id)]
        alone = delta_rules.spontaneous(draft, rule.id)
        self._alone = None if alone is None else self._runner(alone)
        types = context.stores[rule.table].table.types
        keyed = [tuple(range(len(types))), *(columns for columns, _ in wanted or ())]
        pulls = [delta_rules.pull(draft, rule.id, columns, types) for columns in keyed]
        self._pull, *self._pulls = (self._runner(pull.delta_rule, pull.columns) for pull in pulls)

    def _runner(self, delta_rule: DeltaRule, columns: tuple[int, ...] | None = None) -> Runner:
        return Runner(with_every_match(delta_rule), self.rule, self._context, columns, searching=True)

    def through(self, atom: int, rows: Rows) -> Iterator[RuleDerivations]:
        """Derivations that use one of these rows at a positive atom."""
        runner = self._arrive[atom]
        for batch in runner.from_rows(rows, EVER):
            if self._wanted is None:
                yield self._found(runner, batch)
            else:
                asked = is_wanted(heads_of(runner, batch), self._wanted)
                if asked.any():
                    yield self._found(runner, batch.take(asked))

    def everything(self) -> Iterator[RuleDerivations]:
        """Every derivation of the rows that are wanted."""
        if self._wanted is not None:
            for runner, (_, values) in zip(self._pulls, self._wanted, strict=True):
                keys = values.codes(values.alive())
                yield from (self._found(runner, batch) for batch in runner.from_keys(keys, None))
        elif self._alone is not None:
            yield from (self._found(self._alone, batch) for batch in self._alone.from_nothing())
        else:
            yield from self.through(0, self._context.stores[self.rule.atoms[0]].alive())

    def of(self, heads: Codes) -> Iterator[RuleDerivations]:
        """Every derivation of these rows."""
        return (self._found(self._pull, batch) for batch in self._pull.from_keys(heads, None))

    def _found(self, runner: Runner, batch: Batch) -> RuleDerivations:
        heads = heads_of(runner, batch)
        parents = tuple(batch.rows[atom].tolist() for atom in range(len(self.rule.atoms)))
        return RuleDerivations(heads, parents, tuple(self._matches(pattern, batch) for pattern in self._against))

    def _matches(self, pattern: Pattern, batch: Batch) -> list[list[int]]:
        """For each binding the rows that match a negated atom."""
        reader = TableReader(self._context.stores[pattern.table])
        keys = np.empty((batch.size, len(pattern.key)), dtype=np.int64)
        for at, (column, source) in enumerate(pattern.key):
            if isinstance(source, Var):
                keys[:, at] = batch.columns[source.name]
            else:
                keys[:, at] = encode(source.value, reader.table.types[column], self._context.symbols)
        if len(pattern.key) == len(reader.table.types):
            return [[row] if row >= 0 else [] for row in reader.find(keys).tolist()]
        found: list[list[int]] = [[] for _ in range(batch.size)]
        lefts, rights = reader.with_keys(tuple(column for column, _ in pattern.key), keys)
        for left, right in zip(lefts.tolist(), rights.tolist(), strict=True):
            found[left].append(right)
        return found


def with_every_match(delta_rule: DeltaRule) -> DeltaRule:
    """The same delta rule, with joins that do not stop at the first match."""
    steps = tuple(replace(step, any=False) if isinstance(step, Join) else step for step in delta_rule.steps)
    return replace(delta_rule, steps=steps)


def is_wanted(rows: Codes, wanted: Wanted) -> npt.NDArray[np.bool_]:
    """Which of some rows of a table have values that are wanted."""
    found = np.zeros(rows.shape[0], dtype=np.bool_)
    for columns, values in wanted:
        found |= values.find(np.ascontiguousarray(rows[:, list(columns)])) >= 0
    return found
