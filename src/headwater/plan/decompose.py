"""Decomposition: a program taken apart so that shards work side by side and nothing travels.

Every shard holds all base rows. Of a derived relation it holds either its own part, by a *kept* column, or all rows. A
relation can be kept by a column if every rule for it hands that column on: all goals of the body that are
kept have, in their kept columns, the very variable that the head has in its own. Then whatever a rule meets on a
shard is there, and what it derives stays there. A closure keeps the node it starts from, or the node it leads to:

    reach(X, Y) :- link(X, Y).
    reach(X, Y) :- link(X, Z), reach(Z, Y).      % keeps Y

Where no goal of the body is kept, all shards find the same bindings, and each follows those that it owns.

A recursion that keeps no column gains nothing this way: that is for an exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.language.syntax import Aggregate, Constant, ListTerm, Rule, Term, Variable
from headwater.language.terms import body_atoms
from headwater.plan.model import Source, Var, literal
from headwater.program.model import Program, Relation
from headwater.program.recursion.aggregates import aggregate_columns
from headwater.program.recursion.strata import Stratum, strata
from headwater.rewrite.localise import location_of

_PATIENCE = 20_000  # columns tried before the search gives up


@dataclass(frozen=True, slots=True)
class Decomposition:
    """How the rows of a program are kept so that every shard evaluates it for itself."""

    kept: Mapping[str, int | None]  # per derived relation its kept column; None: every shard derives all of it
    owned: Mapping[int, Source]  # per rule that finds the same on all shards: the value whose owner follows it


def decompose(program: Program) -> Decomposition | str:
    """How a program is taken apart, or why it cannot be."""
    layers = strata(program)
    return _Search(program, layers).run()


class _Search:
    """Tries columns relation by relation, lower strata first, and turns back where a rule does not hand them on."""

    def __init__(self, program: Program, layers: tuple[Stratum, ...]) -> None:
        self.rules = program.rules
        self.relations = {relation.name: relation for relation in program.relations}
        self.order = [name for stratum in layers for name in stratum.relations]
        self.derived = frozenset(self.order)
        self.recursive = {name for stratum in layers if stratum.recursive for name in stratum.relations}
        self.columns = {name: self._columns(self.relations[name]) for name in self.order}
        self.kept: dict[str, int | None] = {}
        self.tries = 0
        self.deepest = 0
        place = {name: at for at, name in enumerate(self.order)}
        self.closing: dict[str, list[Rule]] = {name: [] for name in self.order}
        for rule in program.rules:
            if rule.head.relation in self.derived:
                named = [rule.head.relation, *self._derived_in(rule)]
                self.closing[max(named, key=lambda name: place[name])].append(rule)

    def run(self) -> Decomposition | str:
        if not self.order:
            return "it derives nothing"
        for name in self.order:
            if name in self.recursive and not self.columns[name]:
                return f"the recursion of `{name}` keeps no column"
        if not self._place(0):
            name = self.order[self.deepest]
            if name in self.recursive:
                return f"the recursion of `{name}` keeps no column"
            return f"`{name}` needs rows that the relations it reads do not keep together"
        if not self.recursive and None in self.kept.values():
            everywhere = next(name for name, column in self.kept.items() if column is None)
            return f"`{everywhere}` keeps no column"
        return Decomposition(dict(self.kept), dict(self._owned()))

    def _columns(self, relation: Relation) -> list[int]:
        """The columns that a relation might be kept by, where it lives first."""
        own = [rule for rule in self.rules if rule.head.relation == relation.name]
        fixed = {at for rule in own for at in aggregate_columns(rule.head)}
        fixed |= {at for rule in own if rule.body for at, arg in enumerate(rule.head.args) if not _is_variable(arg)}
        free = [at for at in range(relation.arity) if at not in fixed and at not in (relation.time, relation.lease)]
        for selection in relation.selections:
            free = [at for at in free if at in selection.group]
        location = location_of(relation)
        return sorted(free, key=lambda at: at != location)

    def _place(self, at: int) -> bool:
        self.deepest = max(self.deepest, min(at, len(self.order) - 1))
        if at == len(self.order):
            return True
        name = self.order[at]
        choices: list[int | None] = [*self.columns[name]]
        if name not in self.recursive:
            choices.append(None)
        for column in choices:
            self.tries += 1
            if self.tries > _PATIENCE:
                return False
            self.kept[name] = column
            if all(map(self._hands_on, self.closing[name])) and self._place(at + 1):
                return True
        self.kept.pop(name, None)
        return False

    def _hands_on(self, rule: Rule) -> bool:
        column = self.kept[rule.head.relation]
        head = None if column is None else _plain(rule.head.args[column])
        return all(head is not None and arg == head for arg in self._kept_in(rule))

    def _kept_in(self, rule: Rule) -> Iterator[Variable | Constant | ListTerm | None]:
        """What the kept goals of a body, negated ones too, have in their kept columns."""
        for atom, _ in body_atoms(rule):
            column = self.kept[atom.relation] if atom.relation in self.derived else None
            if column is not None:
                yield _plain(atom.args[column])

    def _derived_in(self, rule: Rule) -> list[str]:
        return [atom.relation for atom, _ in body_atoms(rule) if atom.relation in self.derived]

    def _owned(self) -> Iterator[tuple[int, Source]]:
        for number, rule in enumerate(self.rules):
            column = self.kept.get(rule.head.relation)
            if column is None:
                continue
            positive = [atom for atom, negated in body_atoms(rule) if not negated]
            if not any(self.kept.get(atom.relation) is not None for atom in positive):
                arg = _plain(rule.head.args[column])
                assert arg is not None, "no aggregate is kept"
                yield number, Var(arg.name) if isinstance(arg, Variable) else literal(arg)


def _is_variable(arg: Term | Aggregate) -> bool:
    return isinstance(arg, Variable | Aggregate)


def _plain(arg: Term | Aggregate) -> Variable | Constant | ListTerm | None:
    """An argument without its mark, to be compared; None for what is never the same."""
    match arg:
        case Variable(name=name):
            return Variable(name)
        case Constant(value=value, type=kind):
            return Constant(value, kind)
        case ListTerm():
            return arg
    return None
