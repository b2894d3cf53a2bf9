"""What one row depends on, by the rules alone: rules that find the questions it leads to.

A table is *asked* by some of its columns: for all rows that have certain values there. One question leads to others
through each rule: every goal of a body is asked by what the goals before it have bound; so are negated goals, and the
bindings of an aggregate by the columns of its group. These are magic sets (with the supplementary tables that let every
goal be looked up by its key), asked in all worlds at once.

Rows differ from world to world, so only fixed columns (see `fixed_columns`) can be asked by. Goals about other values
are left out, which can only make questions wider. They cannot be much narrower: all rows of the group decide what is
best, and all that match a negated goal decide whether it holds. A goal without a bound, fixed column is asked for
whole; so is a table that would be asked by too many different columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import goal_names, names
from headwater.plan.model import Aggregation, FlatRule, Literal, Plan, Source, Table, Var, literal
from headwater.provenance.demand.fixed_columns import assigned, fixed_columns, known_variables

_MOST = 16  # different ways to ask one table


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A table asked by some of its columns; the values wanted make a table of their own."""

    table: str
    columns: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.table}'asked{''.join(f'_{column}' for column in self.columns)}"


class Demand:
    """The questions that lead from one about a table.

    `rules` derive the values asked for, and, of derived tables, the fixed columns of the rows that may be there. The
    bodies in `wholes` are those of the program's rules, each after its question, which stands first: what they meet
    once all is derived is what the row can depend on.

    With `asks_base`, base tables are asked too (`base_questions`), for readers that have to fetch their rows.
    """

    def __init__(self, plan: Plan, table: str, time: int | None = None, *, asks_base: bool = False) -> None:
        """`time`: the column of the table, if any, that is no part of a row's identity."""
        self._asks_base = asks_base
        self.base_questions: dict[str, list[TableQuestion]] = {}
        self._tables = {planned.name: planned for planned in plan.tables}
        self._strata = {name: stratum for stratum in plan.strata for name in stratum.tables}
        self._aggregations = {aggregation.table: aggregation for aggregation in plan.aggregations}
        self._rules_of: dict[str, list[FlatRule]] = {}
        for rule in plan.rules:
            self._rules_of.setdefault(rule.table, []).append(rule)
        self._fixed = fixed_columns(plan)
        self.questions: dict[str, list[TableQuestion]] = {}
        self.tables: dict[str, Table] = {}
        self.bases: dict[str, Table] = {}
        self.rules: list[FlatRule] = []
        self.wholes: list[FlatRule] = []
        self._pending: list[TableQuestion] = []
        self.goal = TableQuestion(table, tuple(at for at in self._fixed[table] if at != time))
        self.holds_nulls = plan.holds_nulls
        if self._tables[table].base and not asks_base:
            self.bases[table] = self._tables[table]
        else:
            self._ask(self.goal)
        while self._pending:
            question = self._pending.pop()
            for rule in self._rules_of.get(question.table, ()):
                self._ask_below(rule, question)
            if question.table in self._aggregations:
                self._ask_bindings(self._aggregations[question.table], question)

    def _ask(self, question: TableQuestion) -> None:
        """Ask a table; those below a derived one are asked later."""
        name = question.table
        base = self._tables[name].base
        asked = (self.base_questions if base else self.questions).setdefault(name, [])
        if question not in asked:
            asked.append(question)
            self.tables[question.name] = _narrowed(self._tables[name], question.name, question.columns)
            if base:
                self.bases[name] = self._tables[name]
            else:
                self._pending.append(question)
                self.tables[name] = _narrowed(self._tables[name], name, self._fixed[name])

    def _ask_below(self, rule: FlatRule, question: TableQuestion) -> None:
        known, fixed = known_variables(rule, self._fixed), self._fixed[rule.table]
        head = tuple(rule.head[column] for column in fixed)
        guard = syntax.Atom(question.name, tuple(_term(rule.head[column]) for column in question.columns))
        goals = self._in_order(rule, guard, known)
        against = [_narrow(goal.atom, known) for goal in rule.body if isinstance(goal, syntax.Negation)]
        last = {source.name for source in head if isinstance(source, Var)}
        last.update(name for atom in against for name in goal_names(atom))
        so_far: list[syntax.Goal] = [guard]
        for at, goal in enumerate(goals):
            bound = {name for before in so_far for name in goal_names(before)}
            if not isinstance(goal, syntax.Atom) or self._tables[goal.relation].base:
                if isinstance(goal, syntax.Atom) and self._asks_base:
                    self._hand_on(rule, goal, self._fixed[goal.relation], bound, so_far)
                so_far.append(goal)
                continue
            later = last.union(*map(goal_names, goals[at + 1 :]))
            stage = f"{question.name}'{rule.id}'{at}"
            if len(so_far) > 1:
                so_far = [self._stage(rule, f"{stage}before", so_far, bound & (later | goal_names(goal)))]
            self._hand_on(rule, goal, self._fixed[goal.relation], bound, so_far)
            so_far = [self._stage(rule, stage, [*so_far, goal], (bound | goal_names(goal)) & later)]
        self._derive(rule, rule.table, head, so_far)
        self._meet(rule, head, (guard, *goals))
        for atom in against:
            base = self._tables[atom.relation].base
            if base:
                self._meet(rule, head, (guard, *goals, atom))
            if not base or self._asks_base:
                columns = self._fixed[atom.relation]
                asked = syntax.Atom(atom.relation, tuple(atom.args[column] for column in columns))
                self._hand_on(rule, asked, columns, known, so_far)

    def _in_order(self, rule: FlatRule, guard: syntax.Atom, known: set[str]) -> list[syntax.Goal]:
        """The fixed part of a body, each goal as soon as it is bound: tests at once, base tables before derived ones,
        the recursion last, so that by then as much as possible is bound, and what is not bound at all after the rest.
        """
        atoms: list[syntax.Atom] = []
        others: list[syntax.Goal] = []
        for goal in rule.body:
            match goal:
                case syntax.Atom(relation=relation, args=args):
                    atoms.append(_narrow(syntax.Atom(relation, tuple(args[at] for at in self._fixed[relation])), known))
                case syntax.Assign() | syntax.Comparison() | syntax.Condition() if goal_names(goal) <= known:
                    others.append(goal)
                case _:
                    pass
        bound, own = goal_names(guard), self._strata[rule.table].tables

        def rank(atom: syntax.Atom) -> tuple[bool, int, float]:
            met = sum(
                isinstance(arg, syntax.Constant | syntax.ListTerm) or not bound.isdisjoint(names(arg))
                for arg in atom.args
            )
            weight = 0 if self._tables[atom.relation].base else 2 if atom.relation in own else 1
            return not met and bool(atom.args), weight, -met / max(1, len(atom.args))

        found: list[syntax.Goal] = []
        while atoms or others:
            ready: list[syntax.Goal] = [goal for goal in others if _needs(goal) <= bound]
            if ready:
                others.remove(ready[0])
            else:
                ready.append(min(atoms, key=rank))
                atoms = [atom for atom in atoms if atom is not ready[0]]
            found.append(ready[0])
            bound |= goal_names(ready[0])
        return found

    def _stage(self, rule: FlatRule, name: str, body: list[syntax.Goal], variables: set[str]) -> syntax.Atom:
        """What the goals so far have bound, as a table."""
        kept = tuple(sorted(variables))
        self.tables[name] = Table(name, tuple(rule.types[variable] for variable in kept), kept)
        self._derive(rule, name, tuple(map(Var, kept)), body)
        return syntax.Atom(name, tuple(map(syntax.Variable, kept)))

    def _hand_on(
        self,
        rule: FlatRule,
        goal: syntax.Atom,
        columns: tuple[int, ...],
        bound: set[str],
        so_far: Iterable[syntax.Goal],
    ) -> None:
        """Ask the table of a goal, given with these columns, by the values that are bound."""
        table, stratum = self._tables[goal.relation], self._strata.get(goal.relation)
        around = stratum is not None and stratum.recursive and rule.table in stratum.tables
        computed = assigned(rule) if around else set()
        asked: list[int] = []
        wanted: list[Source] = []
        for column, arg in zip(columns, goal.args, strict=True):
            match arg:
                case syntax.Variable(name=name):
                    # Values that are computed from question to question might never end.
                    if name in bound - computed and rule.types[name] is table.types[column]:
                        asked.append(column)
                        wanted.append(Var(name))
                case syntax.Constant() | syntax.ListTerm():
                    asked.append(column)
                    wanted.append(literal(arg))
                case _:
                    pass
        question = TableQuestion(goal.relation, tuple(asked))
        others = (self.base_questions if table.base else self.questions).get(goal.relation, ())
        if len(others) >= _MOST and question not in others:
            question, wanted = TableQuestion(goal.relation, ()), []
        self._ask(question)
        self._derive(rule, question.name, tuple(wanted), so_far)

    def _ask_bindings(self, plan: Aggregation, question: TableQuestion) -> None:
        """Ask for the bindings of the groups that are asked for."""
        for source in plan.contributions:
            table, fixed = self._tables[source.table], self._fixed[source.table]
            types = {f"C{place}": kind for place, kind in enumerate(table.types)}
            rule = _bare(plan.rule, plan.table, types)
            group = {at: syntax.Variable(f"C{place}") for at, place in zip(plan.group, source.group, strict=True)}
            guard = syntax.Atom(question.name, tuple(group[at] for at in question.columns))
            args = (syntax.Variable(f"C{at}") if at in source.group else syntax.Wildcard() for at in fixed)
            goal = syntax.Atom(source.table, tuple(args))
            head = tuple(Var(group[at].name) for at in self._fixed[plan.table])
            if not table.base or self._asks_base:
                self._hand_on(rule, goal, fixed, goal_names(guard), [guard])
            self._derive(rule, plan.table, head, [guard, goal])
            self._meet(rule, head, (guard, goal))

    def _derive(self, rule: FlatRule, table: str, head: tuple[Source, ...], body: Iterable[syntax.Goal]) -> None:
        self.rules.append(_flat(rule, len(self.rules), table, head, tuple(body)))

    def _meet(self, rule: FlatRule, head: tuple[Source, ...], body: tuple[syntax.Goal, ...]) -> None:
        met = _flat(rule, len(self.wholes), rule.table, head, body)
        read = (self._tables[name] for name in met.atoms if name in self._tables)
        self.bases.update((table.name, table) for table in read if table.base)
        self.wholes.append(met)


def _needs(goal: syntax.Goal) -> set[str]:
    """What has to be bound before a goal that is no atom can be taken."""
    return names(goal.term) if isinstance(goal, syntax.Assign) else goal_names(goal)


def _narrow(atom: syntax.Atom, known: set[str]) -> syntax.Atom:
    """An atom that asks for nothing but known variables."""
    args = (
        syntax.Wildcard() if isinstance(arg, syntax.Variable) and arg.name not in known else arg for arg in atom.args
    )
    return syntax.Atom(atom.relation, tuple(args))


def _narrowed(table: Table, name: str, columns: tuple[int, ...]) -> Table:
    return Table(name, tuple(table.types[at] for at in columns), tuple(table.columns[at] for at in columns))


def _term(source: Source) -> syntax.Term:
    match source:
        case Var(name=name):
            return syntax.Variable(name)
        case Literal(value=value, type=kind):
            return syntax.Constant(value, kind)


def _bare(origin: int, table: str, types: dict[str, Type]) -> FlatRule:
    """A rule that is to be given its body."""
    return FlatRule(
        0, origin, table, head=(), body=(), atoms=(), negated=(), types=types, nullable=frozenset(),
        arrive=(), forbid=(), allow=(), spontaneous=None, pulls=(),
    )  # fmt: skip


def _flat(rule: FlatRule, number: int, table: str, head: tuple[Source, ...], body: tuple[syntax.Goal, ...]) -> FlatRule:
    atoms = tuple(goal.relation for goal in body if isinstance(goal, syntax.Atom))
    return replace(rule, id=number, table=table, head=head, body=body, atoms=atoms, negated=(), pulls=())
