"""The clock of a program: what its time is measured in, how long base rows live, and whether that makes sense.

All streams of a program share one clock, which `advance` and newer rows move. A row of a stream is alive from its
time on, until its window or its ttl has passed, whichever is first. A `relation` with a ttl has no time of its own:
its rows live from the moment of the clock at which they were last inserted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Constant, Duration, Kind
from headwater.program.model import Program, Relation

FOREVER = 2**62
"""The end of a row that never ends. Every moment of a clock comes before it."""

TOO_FAR = "time goes up to 2**62 - 1"


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long the rows of a base relation live, in units of the clock."""

    ttl: int | None = None
    size: int | None = None  # of the window
    slide: int | None = None  # None: the window moves with every moment
    lateness: int | None = None  # None: no row is too late

    @property
    def ends(self) -> bool:
        return self.ttl is not None or self.size is not None


def lifetime(relation: Relation) -> Lifetime | None:
    """The lifetime of the rows of a base relation; None if time means nothing to it."""
    if relation.derived or (relation.time is None and relation.ttl is None):
        return None
    window = relation.window
    return Lifetime(
        _units(relation.ttl),
        _units(window.size) if window else None,
        _units(window.slide) if window else None,
        _units(relation.lateness),
    )


def follows_wall(program: Program) -> bool:
    """Whether the wall clock alone can move a program's time: a ttl is in units of time, and no stream tells it."""
    streams = any(relation.kind is Kind.STREAM for relation in program.relations)
    return clock_type(program) is Type.TIMESTAMP and not streams


def clock_type(program: Program) -> Type | None:
    """What the clock shows, a timestamp or an int; None if the program knows no time."""
    kinds = [kind for one in program.relations if (kind := _time_type(one)) is not None]
    if kinds:
        return kinds[0]
    spans = [one.ttl for one in program.relations if one.ttl is not None]
    if not spans:
        return None
    return Type.TIMESTAMP if any(isinstance(span, Duration) for span in spans) else Type.INT


def _time_type(relation: Relation) -> Type | None:
    if relation.kind is not Kind.STREAM or not relation.columns:
        return None
    kind = relation.columns[0].type
    return kind if kind in (Type.INT, Type.TIMESTAMP) else None


def _units(span: Duration | int | None) -> int | None:
    return span.microseconds if isinstance(span, Duration) else span


def time_problems(program: Program) -> Iterator[Diagnostic]:
    """Spans of time that fit no clock or cannot be lived by, and streams whose times cannot be compared."""
    clock = clock_type(program)
    for relation in program.relations:
        if clock is not None and _time_type(relation) not in (None, clock):
            message = f"the time of stream `{relation.name}` is not {clock.value}, the type of the first stream's time"
            note = "all streams of a program share one clock"
            hint = "declare the first column of all streams with one type"
            yield Diagnostic("HW411", message, relation.span, note=note, hint=hint)
        yield from _extents(relation, clock)
    streams = {relation.name for relation in program.relations if relation.kind is Kind.STREAM}
    for rule in program.rules:
        time = rule.head.args[0] if not rule.body and rule.head.relation in streams else None
        if isinstance(time, Constant) and isinstance(time.value, int) and time.value >= FOREVER:
            message = f"the time of this fact of `{rule.head.relation}` is later than the largest time"
            hint = "give it an earlier one; a row that is always there can be a fact of a `relation`"
            yield Diagnostic("HW412", message, time.span or rule.span, note=TOO_FAR, hint=hint)


def _extents(relation: Relation, clock: Type | None) -> Iterator[Diagnostic]:
    if relation.kind is Kind.STREAM and relation.key is not None and 0 in relation.key:
        message = f"the time of stream `{relation.name}` cannot be part of its key"
        note = "a newer row takes the place of an older one with its key, so the time tells them apart anyway"
        hint = "leave it out of the key; if rows of all times are to stay, leave out the key"
        yield Diagnostic("HW221", message, relation.span, note=note, hint=hint)
    if relation.lateness is not None and relation.kind is not Kind.STREAM:
        message = f"`{relation.name}` has a lateness, but its rows have no time"
        hint = f"declare `stream {relation.name}(...)` with the time in the first column"
        yield Diagnostic("HW219", message, relation.span, hint=hint)
    window = relation.window
    place = (window.span if window else None) or relation.span
    spans: list[tuple[str, Duration | int | None, Span | None]] = [
        ("ttl", relation.ttl, relation.span),
        ("lateness", relation.lateness, relation.span),
        ("window", window.size if window else None, place),
        ("slide", window.slide if window else None, place),
    ]
    for word, span, where in spans:
        if isinstance(span, Duration) and clock is Type.INT:
            yield Diagnostic(
                "HW409",
                f"this {word} is in units of time, but the time of `{relation.name}` is an int",
                where,
                hint=f"give the {word} as a bare number in the same unit as the column, "
                "or declare the column a timestamp",
            )
        elif span is not None and _units(span) == 0 and word != "lateness":
            hint = "give it a length, or leave it out if rows are never to expire"
            yield Diagnostic("HW220", f"a {word} of 0 keeps no row", where, hint=hint)
    if window is not None and type(window.slide) is type(window.size):
        size, slide = _units(window.size), _units(window.slide)
        if size is not None and slide is not None and slide > size:
            yield Diagnostic(
                "HW220",
                f"the window on `{relation.name}` moves by more than its size, so that it would never show some rows",
                place,
                hint="give it a slide no longer than its size",
            )
