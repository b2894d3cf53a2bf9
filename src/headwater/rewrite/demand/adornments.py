"""Which relations are asked by which columns, from the queries down: the fixpoint of `sideways` over all rules.

A relation is asked *whole* (by no column) where some use knows nothing of it. Questions by different columns are
brought together: by those that all of them know, if there are any, so that several uses share one set of questions.
Where they know nothing in common, a relation is asked in up to three ways; each gets its own copy of the rules, so one
whose aggregates count bindings is asked in one way or whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.language.syntax import Aggregate, Query, Rule
from headwater.program.model import Program
from headwater.program.questions import is_parameter
from headwater.program.recursion.aggregates import AGGREGATES
from headwater.program.recursion.cycles import cycles
from headwater.rewrite.demand.bindable import Columns, bindable_columns, can_be_asked, fixed_columns
from headwater.rewrite.demand.computed_values import kinds_of
from headwater.rewrite.demand.sideways import GoalUse, uses, variables_at

_WHOLE: Columns = ()
_MOST = 3
BELOW = "a recursion would ask for it row by row"
ENDLESS = "what its recursion computes would be asked for, and lead to ever new values"
TOO_MANY = "it is asked for by too many different columns"


@dataclass(frozen=True, slots=True)
class RuleUse:
    """What a rule with this question on its head leads to."""

    rule: Rule
    columns: Columns
    use: GoalUse


class Adornments:
    """The questions of a program; relations in `whole` are asked whole, for the reason given."""

    def __init__(self, program: Program, whole: Mapping[str, str]) -> None:
        self.program = program
        self.whole = dict(whole)
        self.refused: dict[str, str] = {}  # why relations are asked whole by those who know some of it
        self.fixed = fixed_columns(program)
        self.bindable, self._refused = bindable_columns(program, self.fixed)
        self.derived = frozenset(self.bindable) | {rule.head.relation for rule in program.rules if rule.body}
        self.asked: dict[str, frozenset[Columns]] = {}
        self._own = {name: cycle.relations for cycle in cycles(program) for name in cycle.relations}
        relations = {relation.name: relation for relation in program.relations}
        self._kinds = {rule: kinds_of(rule, relations) for rule in program.rules}
        self._rules_of: dict[str, list[Rule]] = {}
        self._counts: set[str] = set()
        for rule in program.rules:
            if rule.body:
                self._rules_of.setdefault(rule.head.relation, []).append(rule)
            if any(isinstance(arg, Aggregate) and not AGGREGATES[arg.function].picks for arg in rule.head.args):
                self._counts.add(rule.head.relation)
        self._spread()

    @property
    def restricted(self) -> dict[str, frozenset[Columns]]:
        """The relations that need not be derived whole, and by which columns they are asked."""
        return {name: ways for name, ways in self.asked.items() if _WHOLE not in ways}

    def query_columns(self, query: Query) -> Columns:
        """The columns of a queried relation whose values the query names."""
        return tuple(at for at in self._named(query) if at in self.bindable.get(query.atom.relation, ()))

    def _named(self, query: Query) -> Columns:
        args = enumerate(query.atom.args)
        return tuple(at for at, arg in args if can_be_asked(arg) or is_parameter(arg, query))

    def _note(self, name: str, named: Columns, columns: Columns) -> None:
        """Keep why a relation is derived whole although values are named."""
        reasons = self._refused.get(name, {})
        if named and not columns and named[0] in reasons:
            self.refused.setdefault(name, reasons[named[0]])

    def questions(self) -> Iterator[RuleUse]:
        """What follows from every way to ask a relation, through each of its rules."""
        for name in self.asked:
            yield from self._questions_of(name)

    def _questions_of(self, name: str) -> Iterator[RuleUse]:
        own = self._own.get(name, frozenset())
        for columns in sorted(self.asked[name]):
            for rule in self._rules_of.get(name, ()):
                given = variables_at(rule.head.args, columns)
                for use in uses(rule, given, own=own, derived=self.derived, fixed=self.fixed, kinds=self._kinds[rule]):
                    yield RuleUse(rule, columns, use)

    def known(self, use: GoalUse) -> Columns:
        """The columns by which a use asks."""
        return tuple(at for at in sorted(use.known) if at in self.bindable.get(use.relation, ()))

    def way(self, name: str, columns: Columns) -> Columns:
        """The way of asking that serves one who knows these columns."""
        return max((way for way in self.asked[name] if set(way) <= set(columns)), key=len)

    def _spread(self) -> None:
        for query in self.program.queries:
            columns = self.query_columns(query)
            self._note(query.atom.relation, self._named(query), columns)
            self._ask(query.atom.relation, columns)
        pending = list(self.asked)
        while pending:
            found = [each.use for each in self._questions_of(pending.pop())]
            for use in found:
                self._note(use.relation, use.named, self.known(use))
                if use.endless and not self.known(use):
                    self.refused.setdefault(use.relation, ENDLESS)
                if use.wider and not self.known(use):
                    self.whole.setdefault(use.relation, BELOW)
            pending += [use.relation for use in found if self._ask(use.relation, self.known(use))]

    def _ask(self, name: str, columns: Columns) -> bool:
        """Take up one more way of asking; whether anything changed."""
        before = self.asked.get(name)
        after = self._together(name, before or frozenset(), columns)
        self.asked[name] = after
        return after != before

    def _together(self, name: str, ways: frozenset[Columns], columns: Columns) -> frozenset[Columns]:
        if name in self.whole or columns == _WHOLE or _WHOLE in ways:
            return frozenset({_WHOLE})
        for way in ways:
            common = tuple(sorted(set(way) & set(columns)))
            if common == way:
                return ways
            if common:
                return self._together(name, ways - {way}, common)
        if ways and (len(ways) == _MOST or name in self._counts):
            self.whole[name] = TOO_MANY
            return frozenset({_WHOLE})
        return ways | {columns}


def asked_one_way(program: Program) -> list[tuple[str, Columns]]:
    """The relations that recur through themselves alone and are asked by the same columns everywhere; and these."""
    recursive = [next(iter(cycle.relations)) for cycle in cycles(program) if len(cycle.relations) == 1]
    if not program.queries or not recursive:
        return []
    asked = Adornments(program, {}).restricted
    return [(name, next(iter(asked[name]))) for name in recursive if len(asked.get(name, ())) == 1]
