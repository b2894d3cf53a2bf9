"""The relations of a program as the rest of Headwater sees them: columns, kind, key, location, time, window.

Time is not data: a stream's first column is the time of the row, and so is the first argument of a derived
relation when every rule for it copies a time there or takes the `larger`/`largest` of times (004, section III).
A query's WINDOW belongs to the streams that the query rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.graph import reachable, reachable_from
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import assigned, positive_atoms, readers, reads
from headwater.program.model import Column, Relation
from headwater.program.names import Mention, Names

_OF_TIMES = frozenset({"larger", "largest"})


def relations(known: Names) -> tuple[tuple[Relation, ...], list[Diagnostic]]:
    """One entry per relation, in order of first mention, before anything is known about time and windows."""
    found: list[Relation] = []
    problems: list[Diagnostic] = []
    for name, mention in known.mentions.items():
        declaration = known.declarations.get(name)
        heading = known.headings.get(name)
        derived = name in known.derived
        hidden = 0 if heading is None else heading.hidden
        if declaration is None:
            columns = tuple(map(Column, heading.columns)) if heading is not None else _columns(mention, derived)
            undeclared = Relation(name, columns, derived=derived, hidden=hidden, span=mention.span)
            ordered = heading is None or heading.ordered
            alarm = None if heading is None else heading.alarm
            found.append(replace(undeclared, named=heading is not None, ordered=ordered, alarm=alarm))
            continue
        columns = tuple(Column(column.name, column.type, column.nullable) for column in declaration.columns)
        places = {column.name: place for place, column in enumerate(declaration.columns)}
        is_stream = declaration.kind is syntax.Kind.STREAM
        found.append(
            Relation(
                name,
                columns,
                kind=declaration.kind,
                derived=derived,
                declared=True,
                key=None if declaration.key is None else tuple(places[key] for key in declaration.key),
                ttl=declaration.ttl,
                lateness=declaration.lateness,
                optional=declaration.optional,
                time=0 if is_stream else None,
                named=True,
                hidden=hidden,
                span=declaration.span,
            )
        )
        if is_stream and (not columns or columns[0].nullable or columns[0].type not in (Type.INT, Type.TIMESTAMP)):
            problems.append(
                Diagnostic(
                    "HW208",
                    f"the first column of stream `{name}` is not a time",
                    declaration.columns[0].span if declaration.columns else declaration.span,
                    note="a stream's rows carry their time first, as a timestamp or an int",
                    hint=f"put the time first, or declare `relation {name}(...)`",
                )
            )
    return tuple(found), problems


def _columns(mention: Mention, derived: bool) -> tuple[Column, ...]:
    """Columns of a view as its queries call them, else as its rules do; where no query names any, in lower case.

    Names that differ only in case are one name to Spark.
    """
    found = [variable and variable.lower() for variable in mention.columns]
    if derived and any(mention.asked):
        found = [asked or variable for asked, variable in zip(mention.asked, mention.columns, strict=True)]
    taken: set[str] = set()
    columns = []
    for place, variable in enumerate(found):
        name = variable or ""
        if not name or name.lower() in taken:
            name = f"c{place}"
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        columns.append(Column(name))
    return tuple(columns)


def with_times(found: tuple[Relation, ...], rules: tuple[syntax.Rule, ...]) -> tuple[Relation, ...]:
    """The relations with the place of the time, for streams and for what is derived with their time."""
    timed = {relation.name for relation in found if relation.time is not None}
    rules_of: dict[str, list[syntax.Rule]] = {}
    for rule in rules:
        rules_of.setdefault(rule.head.relation, []).append(rule)
    # Start from everything that rests on a stream, then take out what has a rule without a time.
    reading = readers(rules, negated=False)
    timed = reachable_from(timed, reading)
    waiting = [relation.name for relation in found if relation.derived and relation.name in timed]
    while waiting:
        name = waiting.pop()
        if name in timed and not all(_carries_time(rule, timed) for rule in rules_of[name]):
            timed.discard(name)
            waiting.extend(reader for reader in reading.get(name, ()) if reader in timed)
    return tuple(replace(relation, time=0 if relation.name in timed else None) for relation in found)


def _carries_time(rule: syntax.Rule, timed: set[str]) -> bool:
    if not rule.head.args:
        return False
    first = rule.head.args[0]
    if not rule.body:
        return isinstance(first, syntax.Constant) and first.type in (Type.INT, Type.TIMESTAMP, Type.STRING)
    firsts = [goal.args[0] for goal in positive_atoms(rule) if goal.relation in timed and goal.args]
    times = {arg.name for arg in firsts if isinstance(arg, syntax.Variable)}
    return not isinstance(first, syntax.Aggregate) and _is_time(first, times, assigned(rule))


def _is_time(term: syntax.Term, times: set[str], terms: dict[str, syntax.Term]) -> bool:
    match term:
        case syntax.Variable(name):
            return name in times or (name in terms and _is_time(terms[name], times, terms))
        case syntax.Call(function, args) if function in _OF_TIMES:
            return all(_is_time(arg, times, terms) for arg in args)
        case _:
            return False


def with_windows(
    found: tuple[Relation, ...], rules: tuple[syntax.Rule, ...], queries: tuple[syntax.Query, ...]
) -> tuple[tuple[Relation, ...], list[Diagnostic]]:
    """The relations with each query's window on the streams it rests on."""
    if all(query.window is None for query in queries):
        return found, []
    reading = reads(rules)
    streams = {relation.name: relation for relation in found if relation.kind is syntax.Kind.STREAM}
    groups: dict[syntax.Window | None, list[syntax.Query]] = {}
    for query in queries:
        groups.setdefault(query.window, []).append(query)
    problems: list[Diagnostic] = []
    windows: dict[str, tuple[syntax.Window | None, syntax.Query]] = {}
    for window, group in groups.items():
        reached = {name: query for name, query in _reached(group, reading).items() if name in streams}
        for name, query in reached.items():
            earlier, first = windows.setdefault(name, (window, query))
            if earlier == window:
                continue
            if earlier is None or window is None:
                problems.append(_partly_windowed(name, query, first))
                windows[name] = (earlier or window, first)
            else:
                message = f"stream `{name}` gets two windows"
                note = f"the queries of `{first.atom.relation}` and `{query.atom.relation}` both rest on it"
                hint = "give both queries the same window, or split the program in two"
                problems.append(Diagnostic("HW215", message, window.span or query.span, note=note, hint=hint))
    problems += _windows_over_nothing(queries, streams, rules)
    done = tuple(
        replace(relation, window=windows[relation.name][0]) if relation.name in windows else relation
        for relation in found
    )
    return done, problems


def _partly_windowed(name: str, query: syntax.Query, first: syntax.Query) -> Diagnostic:
    bare = query if query.window is None else first
    message = f"the query of `{bare.atom.relation}` sees stream `{name}` through the window of another query"
    hint = "give it the same window, so that the program says what it does"
    return Diagnostic("HW218", message, bare.span, hint=hint, severity=Severity.WARNING)


def _windows_over_nothing(
    queries: tuple[syntax.Query, ...], streams: dict[str, Relation], rules: tuple[syntax.Rule, ...]
) -> Iterator[Diagnostic]:
    resting = reachable_from(streams, readers(rules))
    for query in queries:
        if query.window is not None and query.atom.relation not in resting:
            message = f"`{query.atom.relation}` rests on no stream, so there is nothing to window"
            hint = "declare the input with `stream` and its time in the first column"
            yield Diagnostic("HW216", message, query.window.span or query.span, hint=hint)


def _reached(group: list[syntax.Query], reading: dict[str, set[str]]) -> dict[str, syntax.Query]:
    """Every relation that the queries rest on, with the first query that does."""
    found: dict[str, syntax.Query] = {}
    for query in group:
        for name in sorted(reachable(query.atom.relation, reading)):
            found.setdefault(name, query)
    return found
