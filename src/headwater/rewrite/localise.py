"""Make every rule body meet at one location, so that only head rows travel (002, Algorithm 2), for any equi-join.

A relation lives where its location column says: the `@` column, else its first column that is no time. A rule is
local when all its goals have the same location; a rule that is not is rewritten with

- copies: `link_at_z(S, @Z, C) :- link(@S, Z, C).` holds the rows of `link` at another of their columns (002's
  `linkD`); one copy serves all rules, except that a copy inside a recursion which keeps the best of something may hold
  rows that were best for a while: it serves that recursion only;
- parts: where no one location reaches all goals, those that meet are joined first and their result is sent on to the
  next location (002's `hS`, `hD`);
- replicas: goals that share no variable with any other cannot meet anywhere: the cheaper side is held by
  every shard (`Relation.replicated`).

The bindings of an aggregate head are brought together at a column of the group (or, without one, at the constant 0)
before they are aggregated. A head that only keeps the best of its bindings' values needs no such thing: each shard
ships the best that it finds, and the best of these is kept where the head lives. Negated goals come last, at a
location where all their variables are known.

Guarantees: every relation of the program keeps its rows; every body is local; a program without a query gets one
for each of its derived relations, because its outputs do not change either. In a link-restricted rule
`h :- #link(@S, @D, ..), p(@S, ..), .., q(@D, ..), ..` only rows joined with the link are sent, and along it.

Where it departs from Algorithm 2: the paper puts `#link(@D, @S)` into the last body so that the head can travel back,
which drops rows wherever a link has no twin (its SP2b even asks for a twin of equal cost); here the body is left as it
is, and the head may be shipped over the link both ways. The paper's SP2b also turns the ends of the
link round (`linkD(@Z, @S)` inside `f_concatPath`); a copy here keeps the order of columns and moves only the mark.
`hS` and `hD` are one relation, because every head is shipped to its location anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import body_atoms, goal_names, names
from headwater.program.model import Column, Program, Relation
from headwater.program.recursion.aggregates import WITH, aggregate_columns, value_columns
from headwater.program.recursion.strata import strata
from headwater.program.types.inference import inferred

Goals: TypeAlias = tuple[syntax.Goal, ...]
Place: TypeAlias = syntax.Variable | syntax.Constant  # never marked with `@`, so that places compare by name or value

_ONE_PLACE = syntax.Constant(0, Type.INT)
"""Where the bindings of an aggregate without groups are brought together."""

_OF_VALUES = frozenset({"min", "max", "mmin", "mmax", "top", WITH})
"""Aggregates of a set of values: it does not matter how often a value comes."""


def localise(program: Program) -> Program:
    return _Localiser(program).run()


def location_of(relation: Relation) -> int | None:
    """The column that says where a row lives; None for a relation that lives on one shard."""
    if relation.gathered:
        return None
    if relation.location is not None:
        return relation.location
    return next((at for at in range(relation.arity) if at not in (relation.time, relation.lease)), None)


def meets_at_one_location(rule: syntax.Rule, relations: Mapping[str, Relation]) -> bool:
    """Whether all goals of the body are found at one location; where one is negated, a positive goal must name it."""
    fixed = [(atom, negated) for atom, negated in body_atoms(rule) if not relations[atom.relation].replicated]
    if len(fixed) < 2:
        return not any(negated for _, negated in fixed)
    places = [_place(atom, relations) for atom, _ in fixed]
    has_positive = any(not negated for _, negated in fixed)
    return has_positive and places[0] is not None and all(place == places[0] for place in places)


class _Localiser:
    """Rewrites rule by rule and collects the copies, replicas and parts that the rules ask for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.relations = {relation.name: relation for relation in program.relations}
        self.rules: list[syntax.Rule] = []
        self.copies: dict[tuple[str, int | None, bool], str] = {}  # (relation, column or everywhere, passing): copy
        self.types: Mapping[str, Type | None] = {}  # of the variables of the rule at hand
        self.over_all = _ranging_over_all(program)
        self.passing = _passing(program)
        self.head = ""  # the relation of the rule at hand
        self.group_column = _group_columns(program, self.relations)

    def run(self) -> Program:
        found, _ = inferred(self.program, {})
        for rule, types in zip(self.program.rules, found.variables, strict=True):
            self.types, self.head = types, rule.head.relation
            # Rules for copies and parts are added on the way, before the rule that reads them.
            local = self._local(rule)
            self.rules.append(local)
        if tuple(self.rules) == self.program.rules:
            return self.program
        return replace(
            self.program,
            relations=tuple(self.relations.values()),
            rules=tuple(self.rules),
            queries=self.program.queries or self._all_outputs(),
        )

    def _all_outputs(self) -> tuple[syntax.Query, ...]:
        """A query for every derived relation of the program, so that its copies and parts are no outputs."""
        outputs = [self.relations[name] for name in self.program.outputs]
        return tuple(syntax.Query(syntax.Atom(relation.name, _column_variables(relation))) for relation in outputs)

    def _local(self, rule: syntax.Rule) -> syntax.Rule:
        wanted = self._wanted(rule)
        atoms = [goal for goal in rule.body if isinstance(goal, syntax.Atom)]
        places = [_place(atom, self.relations) for atom in atoms]
        if meets_at_one_location(rule, self.relations) and (wanted is None or wanted in places):
            return rule
        negated = tuple(goal for goal in rule.body if isinstance(goal, syntax.Negation))
        rest: Goals = tuple(goal for goal in rule.body if not isinstance(goal, syntax.Atom | syntax.Negation))
        met, place, rest = self._meet(rule, atoms, rest, negated, wanted)
        goals: list[syntax.Goal] = [*met]
        while negated:
            goal, *_ = negated
            if place is None or _column(goal.atom, place) is None:
                place = next(iter(self._choices(goal.atom)), None)
                if place is not None:
                    part, rest = self._part(rule, goals, rest, negated, place)
                    goals = [part]
            goals.append(replace(goal, atom=self._at(goal.atom, place) if place else self._replica(goal.atom)))
            negated = negated[1:]
        if wanted is not None and place != wanted:
            goals, rest = [self._gathered(rule, (*goals, *rest), wanted)], ()
        return replace(rule, body=(*goals, *rest), origin=rule.origin or rule)

    def _wanted(self, rule: syntax.Rule) -> Place | None:
        """Where the bindings of an aggregate must come together; None where any location will do."""
        if not rule.body or rule.head.relation not in self.group_column:
            return None
        column = self.group_column[rule.head.relation]
        if column is None:
            return _ONE_PLACE
        arg = rule.head.args[column]
        assert isinstance(arg, syntax.Variable | syntax.Constant)
        return _unmarked(arg)

    def _meet(
        self, rule: syntax.Rule, atoms: list[syntax.Atom], rest: Goals, negated: Goals, wanted: Place | None
    ) -> tuple[list[syntax.Atom], Place | None, Goals]:
        """The positive goals at one location: at a column they share, else part by part, else with a replica.

        With them, that location, and those of `rest` that no part has dealt with.
        """
        atoms, rest = self._sent_along_link(rule, atoms, rest, negated)
        while True:
            fixed = [atom for atom in atoms if not self.relations[atom.relation].replicated]
            candidates = list(dict.fromkeys(place for atom in fixed for place in self._choices(atom)))
            if len(fixed) < 2 and wanted not in candidates:
                return atoms, _place(fixed[0], self.relations) if fixed else None, rest
            reached = {place: [atom for atom in fixed if _column(atom, place) is not None] for place in candidates}
            shared = [place for place in candidates if len(reached[place]) == len(fixed)]
            if shared:
                place = min(shared, key=lambda place: self._cost(fixed, place, wanted))
                return [self._at(atom, place) for atom in atoms], place, rest
            best = max(candidates, key=lambda place: len(reached[place]), default=None)
            if best is None or len(reached[best]) < 2:
                cheapest = min(fixed, key=self._weight)
                atoms = [self._replica(atom) if atom is cheapest else atom for atom in atoms]
                continue
            inside = [self._at(atom, best) for atom in reached[best]]
            outside = [atom for atom in atoms if atom not in reached[best]]
            onward = [place for atom in outside for place in self._choices(atom) if _is_bound(place, inside)]
            part, rest = self._part(rule, inside, rest, (*negated, *outside), onward[0] if onward else best)
            atoms = [part, *outside]

    def _sent_along_link(
        self, rule: syntax.Rule, atoms: list[syntax.Atom], rest: Goals, negated: Goals
    ) -> tuple[list[syntax.Atom], Goals]:
        """Algorithm 2: what meets at the link's source is joined there and sent over the link to the others."""
        for link in atoms:
            source = _place(link, self.relations)
            ends = [_unmarked(arg) for arg in link.args if isinstance(arg, syntax.Variable) and arg.location]
            if not link.link or source is None or len(ends) != 2 or ends[0] != source:
                continue
            there = [atom for atom in atoms if _place(atom, self.relations) == ends[1]]
            here = [atom for atom in atoms if _place(atom, self.relations) == source]
            if there and len(there) + len(here) == len(atoms):
                if here == [link]:
                    return [self._at(link, ends[1]), *there], rest
                part, rest = self._part(rule, here, rest, (*negated, *there), ends[1])
                return [part, *there], rest
        return atoms, rest

    def _choices(self, atom: syntax.Atom) -> list[Place]:
        """Where an atom can be met, where it lives first."""
        location = location_of(self.relations[atom.relation])
        order = [] if location is None else [location, *(at for at in range(len(atom.args)) if at != location)]
        time = self.relations[atom.relation].time
        return [
            _unmarked(arg)
            for at in order
            if at != time and isinstance(arg := atom.args[at], syntax.Variable | syntax.Constant)
        ]

    def _weight(self, atom: syntax.Atom) -> int:
        """What it costs to copy: a derived relation is larger than what it is derived from, and changes more."""
        return 10 if self.relations[atom.relation].derived else 1

    def _cost(self, atoms: Sequence[syntax.Atom], place: Place, wanted: Place | None) -> int:
        copies = sum(self._weight(atom) for atom in atoms if _place(atom, self.relations) != place)
        return copies + (0 if wanted is None or place == wanted else 15)

    def _at(self, atom: syntax.Atom, place: Place) -> syntax.Atom:
        """The same goal over rows that live at `place`."""
        if _place(atom, self.relations) == place or self.relations[atom.relation].replicated:
            return atom
        column = _column(atom, place)
        assert column is not None
        return marked_at(replace(atom, relation=self._copy(atom, column), link=False), column)

    def _replica(self, atom: syntax.Atom) -> syntax.Atom:
        return marked_at(replace(atom, relation=self._copy(atom, None), link=False), None)

    def _copy(self, atom: syntax.Atom, column: int | None) -> str:
        """The relation that holds the same rows at another column, or, without one, on every shard."""
        original = self.relations[atom.relation]
        inside = (original.name, self.head) in self.passing
        if (original.name, column, inside) not in self.copies:
            where = "everywhere" if column is None else f"at_{original.columns[column].name.lower()}"
            copy = Relation(
                self._new_name(f"{original.name}_{where}"),
                original.columns,
                kind=syntax.Kind.RELATION,
                derived=True,
                location=column,
                replicated=column is None,
            )
            self.relations[copy.name] = copy
            self.copies[original.name, column, inside] = copy.name
            args = _column_variables(original)
            read = marked_at(syntax.Atom(original.name, args, link=atom.link), original.location)
            head = syntax.Head(copy.name, marked_at(syntax.Atom(copy.name, args), column).args)
            self.rules.append(syntax.Rule(head, (read,)))
        return self.copies[original.name, column, inside]

    def _part(
        self, rule: syntax.Rule, goals: Sequence[syntax.Goal], rest: Goals, later: Iterable[syntax.Goal], place: Place
    ) -> tuple[syntax.Atom, Goals]:
        """What `goals` bind, as a relation at `place`, for all that is still to come; and the `rest` still to do."""
        bound = _names(goal for goal in goals if isinstance(goal, syntax.Atom))
        asked = _names(goals) | ({place.name} if isinstance(place, syntax.Variable) else set())
        if asked - bound:  # what the rest computes stands in a negated goal, or names the place
            done: Goals = rest
        else:
            done = tuple(goal for goal in rest if not isinstance(goal, syntax.Assign) and goal_names(goal) <= bound)
        rest = tuple(goal for goal in rest if goal not in done)
        bound |= _names(done)
        needed = _names((*rest, *later)) | {name for arg in rule.head.args for name in names(arg)}
        carried = bound if rule.head.relation in self.over_all else bound & needed
        return self._relation(rule, (*goals, *done), carried, place), rest

    def _gathered(self, rule: syntax.Rule, goals: Sequence[syntax.Goal], place: Place) -> syntax.Atom:
        """The bindings of an aggregate at one place: all named variables, unless what the head names is enough."""
        if rule.head.relation in self.over_all:
            return self._relation(rule, goals, _names(goals), place)
        return self._relation(rule, goals, {name for arg in rule.head.args for name in names(arg)}, place)

    def _relation(
        self, rule: syntax.Rule, goals: Sequence[syntax.Goal], carried: set[str], place: Place
    ) -> syntax.Atom:
        """A new relation at `place` that holds the `carried` variables of `goals`."""
        args: list[Place] = [
            place,
            *(syntax.Variable(name) for name in sorted(carried) if syntax.Variable(name) != place),
        ]
        name = self._new_name(f"{rule.head.relation}_part")
        columns = tuple(
            Column(f"c{at}", self.types.get(arg.name) if isinstance(arg, syntax.Variable) else arg.type)
            for at, arg in enumerate(args)
        )
        self.relations[name] = Relation(name, columns, derived=True, location=0)
        atom = marked_at(syntax.Atom(name, tuple(args)), 0)
        self.rules.append(syntax.Rule(syntax.Head(name, atom.args), tuple(goals)))
        return atom

    def _new_name(self, wish: str) -> str:
        if wish not in self.relations:
            return wish
        number = 2
        while f"{wish}{number}" in self.relations:
            number += 1
        return f"{wish}{number}"


def _passing(program: Program) -> set[tuple[str, str]]:
    """Pairs of relations of one recursion in which rows may be best for a while only."""
    found: set[tuple[str, str]] = set()
    selected = {relation.name for relation in program.relations if relation.selections}
    for stratum in strata(program):
        heads = [program.rules[number].head for number in stratum.rules]
        if stratum.recursive and (selected & set(stratum.relations) or any(map(aggregate_columns, heads))):
            found.update(product(stratum.relations, stratum.relations))
    return found


def _ranging_over_all(program: Program) -> set[str]:
    """The aggregate relations for which it matters how often, and with what beside it, a value comes."""
    return {
        rule.head.relation
        for rule in program.rules
        for arg in rule.head.args
        if isinstance(arg, syntax.Aggregate) and arg.function not in _OF_VALUES
    }


def _atoms(rule: syntax.Rule) -> list[syntax.Head | syntax.Atom]:
    return [rule.head, *(atom for atom, _ in body_atoms(rule))]


def _names(goals: Iterable[syntax.Goal]) -> set[str]:
    return {name for goal in goals for name in goal_names(goal)}


def _group_columns(program: Program, relations: Mapping[str, Relation]) -> dict[str, int | None]:
    """For each relation that aggregates bindings, the column where its groups come together: its location, if that
    is one."""
    taken: dict[str, set[int]] = {}
    picked: dict[str, set[int]] = {}
    over_all = _ranging_over_all(program)
    for rule in program.rules:
        columns = aggregate_columns(rule.head)
        if columns:
            taken.setdefault(rule.head.relation, set()).update(columns)
            picked.setdefault(rule.head.relation, set()).update(value_columns(rule.head))
    chosen: dict[str, int | None] = {}
    for name, aggregates in taken.items():
        if name not in over_all and len(picked[name]) == 1:
            continue
        relation = relations[name]
        free = [at for at in range(relation.arity) if at not in aggregates and at != relation.time]
        location = location_of(relation)
        chosen[name] = location if location in free else next(iter(free), None)
    return chosen


def _column_variables(relation: Relation) -> tuple[syntax.Variable, ...]:
    """One variable per column, named after it where its name makes a variable."""
    names = [column.name[:1].upper() + column.name[1:] for column in relation.columns]
    plain = all(name.isidentifier() and name[0].isupper() for name in names) and len(set(names)) == len(names)
    return tuple(syntax.Variable(name if plain else f"X{at}") for at, name in enumerate(names))


def _place(atom: syntax.Atom, relations: Mapping[str, Relation]) -> Place | None:
    location = location_of(relations[atom.relation])
    arg: syntax.Term = syntax.Wildcard() if location is None else atom.args[location]
    return _unmarked(arg) if isinstance(arg, syntax.Variable | syntax.Constant) else None


def _column(atom: syntax.Atom, place: Place) -> int | None:
    """The first column of an atom that holds the place."""
    for at, arg in enumerate(atom.args):
        if isinstance(arg, syntax.Variable | syntax.Constant) and _unmarked(arg) == place:
            return at
    return None


def _is_bound(place: Place, atoms: Iterable[syntax.Atom]) -> bool:
    return isinstance(place, syntax.Constant) or any(place.name in goal_names(atom) for atom in atoms)


def _unmarked(arg: Place) -> Place:
    return replace(arg, location=False) if arg.location else arg


def marked_at(atom: syntax.Atom, column: int | None) -> syntax.Atom:
    """The atom with `@` at one column alone."""
    return replace(
        atom,
        args=tuple(
            replace(arg, location=at == column) if isinstance(arg, syntax.Variable | syntax.Constant) else arg
            for at, arg in enumerate(atom.args)
        ),
    )
