"""RapidNet's events, timers and deletions as actions on nodes: `event_program` reads a program whole.

    p1 ping(@Y,X,E) :- periodic(@X,E,5), link(@X,Y,C).      % ping is an event
    p2 seen(@Y,X) :- ping(@Y,X,E).                          % seen is a table
    p3 delete seen(@X,Y) :- forget(@X,Y).

becomes rules that derive what is to be done, and a list of what to do with their rows:

    p1_does(@X, Moment, Y, X, E) :- periodic_now(@X, E, Moment), link(@X, Y, C).
    p2_does(@Y, Moment, Y, X) :- ping_now(@Y, X, E, Moment).

A table is *stored* if a rule with an event derives it, a rule deletes from it, or it is limited in size: then its rows
are put there, and stay until they expire, are replaced or deleted. A table that tables alone derive is a view.

Every rule with an event reads rows of one node: an event has one place. A minimum or a count ranges over the rows that
meet one event; a count is 0 where none meets it, if the event names its groups.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.core.errors import SyntaxProblem
from headwater.network.rapidnet.kinds import ColumnKinds
from headwater.network.rapidnet.model import Action, ActionKind, EventProgram, EventTimer, StoredTable
from headwater.network.rapidnet.syntax import AGGREGATE, CLOCKS, RapidAtom, RapidProgram, RapidRule, bare, parse
from headwater.network.rapidnet.views import (
    column_names,
    condition,
    declaration,
    head_args,
    joining_link,
    merged_minima,
    printed,
    query,
    unknown_functions,
)
from headwater.pipeline import compile  # noqa: A004

MOMENT = "Moment"
_PERIOD = re.compile(r"[0-9]+(\.[0-9]+)?")


def acts(text: str, name: str) -> bool:
    """Whether a program has events, timers, deletions, or tables that forget rows."""
    program = parse(text, name)
    return any(rule.deletes or program.events_of(rule) for rule in program.rules) or any(
        table.lifetime is not None or table.size is not None for table in program.tables.values()
    )


def event_program(
    text: str, *, name: str = "<text>", types: Mapping[str, tuple[str, ...]] | None = None
) -> EventProgram:
    """A program as nodes run it; raises SyntaxProblem (HW815), or ProgramError where a rule of ours would."""
    program = parse(text, name)
    unknown_functions(program)
    _check(program)
    if program.found:
        raise SyntaxProblem(tuple(program.found))
    return _Translation(program, types or {}).result(name)


def _check(program: RapidProgram) -> None:
    for rule in program.rules:
        events = program.events_of(rule)
        places = {atom.place for atom in rule.atoms}
        if len(events) > 1:
            program.refuse(
                f"two events, `{events[0].name}` and `{events[1].name}`, would have to come at one moment",
                rule.span,
                "store one of them in a table",
            )
        if events and len(places) > 1:
            program.refuse(
                f"a rule with the event `{events[0].name}` reads rows of two places",
                rule.span,
                "send the event to the other place by a rule of its own",
            )
        if any(atom.negated for atom in events):
            program.refuse("an event is asked not to be there", rule.span, "ask for a row of a table instead")
        if rule.head.name == "periodic":
            program.refuse("`periodic` is made by a clock alone", rule.span, "name the event otherwise")
        if rule.deletes and program.is_event(rule.head.name):
            program.refuse(f"`{rule.head.name}` is an event and has no rows to delete", rule.span, "materialize it")
        if rule.deletes and any(AGGREGATE.match(arg) for arg in rule.head.args):
            program.refuse("a rule that deletes has an aggregate", rule.span, "compute it by a rule of its own")
        for goal in rule.conditions:
            if not events and (called := CLOCKS.search(goal)):
                program.refuse(
                    f"`{called[0]}` is another value at each moment, and no event says at which",
                    rule.span,
                    "let an event take part in the rule",
                )
        _check_period(program, rule, events)


def _check_period(program: RapidProgram, rule: RapidRule, events: list[RapidAtom]) -> None:
    for atom in events:
        if atom.name == "periodic":
            rest = atom.args[2:]
            fits = len(rest) in (1, 2) and _PERIOD.fullmatch(rest[0]) and all(_PERIOD.fullmatch(each) for each in rest)
            if not fits or (float(rest[0]) == 0 and len(rest) == 1):
                program.refuse(
                    f"`{atom.text()}` says no period", rule.span, "write periodic(@X, E, SECONDS), or with TIMES behind"
                )


@dataclass(slots=True)
class _Translation:
    """The parts of a program of ours while rules are read."""

    source: RapidProgram
    types: Mapping[str, tuple[str, ...]]
    taken: set[str] = field(default_factory=set)
    events: dict[str, str] = field(default_factory=dict)
    timers: dict[tuple[float, int | None], EventTimer] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    clock: str | None = None
    chances: str | None = None
    chance_count: int = 0

    def result(self, name: str) -> EventProgram:
        source = self.source
        self.taken = {atom.name for rule in source.rules for atom in (rule.head, *rule.atoms)} | set(source.tables)
        stored = self._stored()
        over = [
            rule
            for rule in source.rules
            if not source.events_of(rule) and not rule.deletes and not self._acts(rule, stored)
        ]
        rules = merged_minima(over, source.tables)
        kinds = ColumnKinds(source.rules, self.types)
        arities = {atom.name: len(atom.args) for rule in source.rules for atom in (rule.head, *rule.atoms)}
        derived = {rule.head.name: rule.head for rule in rules}
        for event in arities:
            if event != "periodic" and source.is_event(event):
                self.events[event] = self._fresh(f"{event}_now")
        for number, rule in enumerate(source.rules, 1):
            if rule.deletes or self._acts(rule, stored):
                self._act(rule, number)
        lines = [self._declared(each, arities[each], kinds) for each in arities if each not in derived]
        lines += self._helpers()
        lines += [printed(rule, source.tables) for rule in rules]
        shown = [RapidAtom(each, [""] * arities[each]) for each in arities if each in source.tables and each in stored]
        outputs = [*(query(head) for head in derived.values()), *(query(each) for each in shown)]
        views = (*derived, *(each.name for each in shown))
        outputs += [self._asked(action, arities) for action in self.actions]
        text = "\n".join([*(line for line in lines if line), *self.lines, *outputs]) + "\n"
        given = [each for each in arities if each in source.tables and each not in derived and each not in stored]
        tables = {each: self._table(each, arities[each], given=False) for each in stored if each in arities}
        for each in given:
            table = self._table(each, arities[each], given=True)
            if table.lifetime is not None or table.size is not None:
                tables[each] = table
        links = tuple(each for each in given if each.startswith("link"))
        return EventProgram(
            compile(text, name=f"{name}, as read"),
            tuple(self.actions),
            self.events,
            tables,
            tuple(self.timers.values()),
            self.clock,
            self.chances,
            self.chance_count,
            links,
            views,
        )

    def _asked(self, action: Action, arities: Mapping[str, int]) -> str:
        """A query for what is to be done, so that it is derived."""
        return query(RapidAtom(action.derived, [""] * (action.first + arities[action.relation])))

    def _stored(self) -> set[str]:
        source = self.source
        found = set()
        for rule in source.rules:
            name = rule.head.name
            if source.is_event(name):
                continue
            elsewhere = {atom.place for atom in rule.atoms} != {rule.head.place}
            limited = source.tables[name].size is not None if name in source.tables else False
            unlinked = elsewhere and joining_link(rule, source.tables) is None
            if rule.deletes or source.events_of(rule) or limited or unlinked:
                found.add(name)
        return found

    def _acts(self, rule: RapidRule, stored: set[str]) -> bool:
        return rule.head.name in stored or self.source.is_event(rule.head.name) or bool(self.source.events_of(rule))

    def _table(self, name: str, arity: int, *, given: bool) -> StoredTable:
        table = self.source.tables[name]
        return StoredTable(self.source.key(name, arity), table.lifetime, table.size, given)

    def _declared(self, name: str, arity: int, kinds: ColumnKinds) -> str:
        if name == "periodic":
            return ""
        source = self.source
        heads = {rule.head.name for rule in source.rules if not rule.deletes}
        own = declaration(name, arity, source, kinds, optional=source.is_event(name) or name in heads)
        if not source.is_event(name):
            return own
        columns = [f"{column}: {kinds.of(name, at)}" for at, column in enumerate(column_names(name, arity))]
        return f"{own}\nrelation {self.events[name]}({', '.join([*columns, 'moment: int'])}) optional."

    def _helpers(self) -> list[str]:
        lines = [f"relation {timer.moments}(c1: string, c2: int, moment: int) optional." for timer in self._timers()]
        if self.clock is not None:
            lines.append(f"relation {self.clock}(c1: string, seconds: float, moment: int) optional.")
        if self.chances is not None:
            lines.append(f"relation {self.chances}(c1: string, number: int, value: int, moment: int) optional.")
        return lines

    def _timers(self) -> list[EventTimer]:
        return list(self.timers.values())

    def _fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _act(self, rule: RapidRule, number: int) -> None:
        """A rule that derives what is to be done."""
        momentary = bool(self.source.events_of(rule))
        label = rule.label or f"rule_{number}"
        does = self._fresh(f"{label}_does")
        here = rule.atoms[0].place if rule.atoms else rule.head.place
        goals = self._goals(rule, here)
        args = head_args(rule.head, self.source.tables, lambda arg: _marked(bare(arg), here))
        begin = [f"@{here}", MOMENT] if momentary else [f"@{here}"]
        self.lines.append(f"{label}: {does}({', '.join([*begin, *args])}) :- {', '.join(goals)}.")
        deed = (
            ActionKind.DELETE
            if rule.deletes
            else ActionKind.STORE
            if rule.head.name in self.source.tables
            else ActionKind.HAPPEN
        )
        self.actions.append(Action(does, deed, rule.head.name, momentary, label))
        if momentary:
            self._count_none(rule, self.actions[-1], here, goals)

    def _count_none(self, rule: RapidRule, action: Action, here: str, goals: list[str]) -> None:
        """A count over the rows that meet an event is 0 where none does, if the event names the groups."""
        event = self.source.events_of(rule)[0]
        known = {bare(arg) for arg in event.args}
        counted = [at for at, arg in enumerate(rule.head.args) if arg.startswith("a_COUNT")]
        groups = [bare(arg) for at, arg in enumerate(rule.head.args) if at not in counted]
        if not counted or len(rule.atoms) < 2 or not all(arg in known for arg in groups if arg[:1].isupper()):
            return
        met, none = self._fresh(f"{action.label}_meets"), self._fresh(f"{action.label}_meets_none")
        variables = list(dict.fromkeys(arg for arg in groups if arg[:1].isupper() and arg != here))
        key = ", ".join([f"@{here}", MOMENT, *variables])
        self.lines.append(f"{met}({key}) :- {', '.join(goals)}.")
        args = ["0" if at in counted else _marked(bare(arg), here) for at, arg in enumerate(rule.head.args)]
        alone = self._atom(event, here)
        self.lines.append(f"{none}({', '.join([f'@{here}', MOMENT, *args])}) :- {alone}, !{met}({key}).")
        self.actions.append(replace(action, derived=none))

    def _goals(self, rule: RapidRule, here: str) -> list[str]:
        found = []
        for goal in rule.goals:
            if isinstance(goal, RapidAtom):
                found.append(self._atom(goal, here))
                continue
            while called := CLOCKS.search(goal):
                goal = goal[: called.start()] + self._moment_value(called[0], found, here) + goal[called.end() :]
            found.append(condition(goal))
        return found

    def _moment_value(self, call: str, found: list[str], here: str) -> str:
        """The variable with a value of the moment; the atom that binds it is added to the body."""
        if call.startswith("f_now"):
            self.clock = self.clock or self._fresh("clock_now")
            atom = f"{self.clock}(@{here}, Now, {MOMENT})"
            if atom not in found:
                found.append(atom)
            return "Now"
        self.chances = self.chances or self._fresh("chance_now")
        self.chance_count += 1
        found.append(f"{self.chances}(@{here}, {self.chance_count}, Chance{self.chance_count}, {MOMENT})")
        return f"Chance{self.chance_count}"

    def _atom(self, atom: RapidAtom, here: str) -> str:
        args = [_marked(bare(arg), here) for arg in atom.args]
        if not self.source.is_event(atom.name):
            return RapidAtom(atom.name, args, negated=atom.negated).text()
        if atom.name != "periodic":
            return f"{self.events[atom.name]}({', '.join([*args, MOMENT])})"
        period = (float(args[2]), int(float(args[3])) if len(args) > 3 else None)
        if period not in self.timers:
            self.timers[period] = EventTimer(self._fresh("periodic_now"), *period)
        return f"{self.timers[period].moments}({', '.join([*args[:2], MOMENT])})"


def _marked(arg: str, here: str) -> str:
    return f"@{here}" if arg == here else arg
