"""What does not fit: every place of a program where a type clashes, with a way out.

Runs once the types are worked out, so that each clash is reported where it stands and only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from headwater.core.diagnostics import Diagnostic
from headwater.core.functions.function import Registry, lookup
from headwater.core.functions.regex import problem
from headwater.core.source import Span
from headwater.core.types import ONE_WORD, Type
from headwater.core.widening import comparable, flows, same
from headwater.language import syntax
from headwater.language.terms import goal_terms, subterms
from headwater.program.model import Program
from headwater.program.questions import spoken
from headwater.program.types.literals import coerced
from headwater.program.types.typing import adds_up, aggregate_type, aggregates, term_type

_CONVERSIONS = {
    (Type.FLOAT, Type.INT): "convert it with `to_int`",
    (Type.TIMESTAMP, Type.DATE): "take its day with `date_of`",
}
_COMPUTED = frozenset({"count", "sum", "avg", "msum", "mcount"})
Variables = Mapping[str, Type | None]
Columns = Mapping[str, tuple[Type | None, ...]]


def rule_problems(rule: syntax.Rule, columns: Columns, types: Variables, registry: Registry) -> Iterator[Diagnostic]:
    """Clashes inside the body and the aggregates of one rule."""
    places: dict[str, tuple[Type, str]] = {}
    for goal in rule.body:
        if isinstance(goal, syntax.Assign) and (known := types.get(goal.variable.name)) is not None:
            places[goal.variable.name] = known, "by its assignment"
    for goal in rule.body:
        match goal:
            case syntax.Atom():
                yield from _atom(goal, columns, places)
            case syntax.Negation(atom):
                yield from _atom(atom, columns, places)
            case syntax.Comparison(op, left, right):
                yield from _terms(goal_terms(goal), types, registry)
                yield from _comparison(op, left, right, types, registry, goal.span)
            case syntax.Assign(_, term):
                yield from _terms((term,), types, registry)
            case syntax.Condition(call):
                yield from _terms((call,), types, registry)
            case _:
                assert_never(goal)
    for arg in rule.head.args:
        if isinstance(arg, syntax.Aggregate):
            value = term_type(arg.args[-1], types, registry)
            if not aggregates(arg.function, value) and value is not None:
                hint = "take them as numbers, `to_float(X)`, or declare what the list holds, `list<int>`"
                message = f"`{arg.function}` cannot add up values of type {value.value}"
                yield Diagnostic("HW406", message, arg.span, hint=hint if value is Type.ANY else None)


def query_problems(query: syntax.Query, columns: Columns) -> Iterator[Diagnostic]:
    yield from _atom(query.atom, columns, {})


def _atom(atom: syntax.Atom, columns: Columns, places: dict[str, tuple[Type, str]]) -> Iterator[Diagnostic]:
    for place, (arg, column) in enumerate(zip(atom.args, columns[atom.relation], strict=True)):
        if column is None:
            continue
        where = f"by column {place + 1} of {spoken(atom.relation)}"
        match arg:
            case syntax.Constant():
                yield from _literal(arg, column, atom.relation, place)
            case syntax.Variable(name):
                known, origin = places.get(name, (column, where))
                if same(known, column):
                    if name not in places or known is Type.ANY:
                        places[name] = column, where
                else:
                    message = f"variable `{name}` is {known.value} and {column.value} at once"
                    note = f"it is {known.value} {origin} and {column.value} {where}"
                    hint = _mixed(name, known, column)
                    yield Diagnostic("HW402", message, arg.span or atom.span, note=note, hint=hint)
            case _:
                pass


def _mixed(name: str, left: Type, right: Type) -> str | None:
    if left.is_numeric and right.is_numeric:
        return f"use two variables and compare them: `{name} = {name}2`, or declare both columns with the same type"
    return None


def _literal(constant: syntax.Constant, column: Type, relation: str, place: int) -> Iterator[Diagnostic]:
    if constant.type is None or flows(coerced(constant, column).type, column):
        return
    if column is Type.TIMESTAMP and constant.type is Type.STRING:
        yield Diagnostic(
            "HW408", "this is not a moment in time", constant.span, hint='write it as "2026-01-31 08:00:00" (ISO 8601)'
        )
        return
    if column is Type.DATE and constant.type in (Type.STRING, Type.TIMESTAMP):
        yield Diagnostic("HW408", "this is not a date", constant.span, hint='write it as "2026-01-31" (ISO 8601)')
        return
    message = f"column {place + 1} of `{relation}` is {column.value}, but this is {_kind(constant.type)}"
    yield Diagnostic("HW401", message, constant.span)


def _kind(given: Type) -> str:
    return ("an " if given.value[0] in "aeiou" else "a ") + given.value


def _terms(terms: Sequence[syntax.Term], types: Variables, registry: Registry) -> Iterator[Diagnostic]:
    for term in terms:
        for part in subterms(term):
            match part:
                case syntax.Binary(op, left, right):
                    sides = term_type(left, types, registry), term_type(right, types, registry)
                    if not adds_up(op, *sides):
                        yield _arithmetic(op, sides, (left, right), part.span)
                case syntax.Call():
                    yield from _call(part, types, registry)
                case _:
                    pass


def _arithmetic(
    op: str, sides: tuple[Type | None, Type | None], terms: tuple[syntax.Term, syntax.Term], span: Span | None
) -> Diagnostic:
    shown = [side.value if side else "unknown" for side in sides]
    hint = None
    if Type.STRING in sides or Type.ADDRESS in sides:
        lower = next((term for term in terms if is_symbol(term)), None)
        if lower is not None and isinstance(lower, syntax.Constant):
            hint = f"`{lower.value}` is a constant; a variable is written `{capital(str(lower.value))}`"
        elif op == "+":
            hint = "texts are joined by `concat(A, B)`"
    elif Type.DATE in sides and Type.INT in sides:
        hint = "write `date_add(D, 5)`, or give the number a unit, as in `5 hours`, for a timestamp"
    elif Type.TIMESTAMP in sides and Type.INT in sides:
        hint = "give the number a unit, as in `5 minutes`"
    elif any(side is not None and side.is_list for side in sides) and op == "+":
        hint = "lists are joined by `concat(A, B)`"
    return Diagnostic("HW403", f"`{op}` does not work on {shown[0]} and {shown[1]}", span, hint=hint)


def is_symbol(term: syntax.Term) -> bool:
    """Whether a literal is a bare lower-case word, such as a variable written by mistake in lower case."""
    if not isinstance(term, syntax.Constant) or term.type is not Type.STRING or not str(term.value).isidentifier():
        return False
    span = term.span
    if span is None:
        return True
    return span.source.text[span.start : span.end].lstrip("@").startswith(str(term.value))


def capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _call(call: syntax.Call, types: Variables, registry: Registry) -> Iterator[Diagnostic]:
    function = lookup(registry, call.function)
    if function is None:
        return
    for place, arg in enumerate(call.args):
        given, wanted = term_type(arg, types, registry), function.parameter(place)
        if isinstance(arg, syntax.Constant) and wanted is not None and wanted.is_moment:
            given = coerced(arg, wanted).type
        if given is not None and wanted is not None and not flows(given, wanted):
            message = f"argument {place + 1} of `{call.function}` is {given.value}, but it takes {_kind(wanted)}"
            yield Diagnostic("HW405", message, arg.span or call.span)
    if function.pattern is not None and function.pattern < len(call.args):
        yield from _pattern(call, call.args[function.pattern])
    if function.name == "has_type" and isinstance(call.args[-1], syntax.Constant) and not _names_type(call.args[-1]):
        known = ", ".join(kind.value for kind in ONE_WORD)
        yield Diagnostic(
            "HW405", "argument 2 of `has_type` names no type", call.args[-1].span, note=f"they are {known}"
        )
    if function.alike is not None:
        yield from _unlike(call, call.args[function.alike :], types, registry)


def _pattern(call: syntax.Call, arg: syntax.Term) -> Iterator[Diagnostic]:
    """A constant regular expression is looked at before it meets any text."""
    if isinstance(arg, syntax.Constant) and isinstance(arg.value, str) and (reason := problem(arg.value)) is not None:
        message = f"`{arg.value}` is not a regular expression that can be run"
        yield Diagnostic("HW413", message, arg.span or call.span, note=reason)


def _names_type(constant: syntax.Constant) -> bool:
    try:
        return Type(str(constant.value)) is not None
    except ValueError:
        return False


def _unlike(
    call: syntax.Call, args: Sequence[syntax.Term], types: Variables, registry: Registry
) -> Iterator[Diagnostic]:
    """Arguments that go together, and are of kinds that do not."""
    kinds = [term_type(arg, types, registry) for arg in args]
    if any(kind is not None and kind.is_moment for kind in kinds):
        texts = [isinstance(arg, syntax.Constant) and arg.type is Type.STRING for arg in args]
        kinds = [
            coerced(arg, Type.TIMESTAMP).type if text and isinstance(arg, syntax.Constant) else kind
            for arg, kind, text in zip(args, kinds, texts, strict=True)
        ]
    known = [kind for kind in kinds if kind is not None]
    other = next((kind for kind in known if not comparable(known[0], kind)), None)
    if other is not None:
        message = f"{known[0].value} and {other.value} cannot stand for each other"
        yield Diagnostic("HW404", message, call.span, hint="convert one of them: `to_string(X)`, or CAST in SQL")


def _comparison(
    op: str, left: syntax.Term, right: syntax.Term, types: Variables, registry: Registry, span: Span | None
) -> Iterator[Diagnostic]:
    sides = [term_type(term, types, registry) for term in (left, right)]
    for place, term in ((0, left), (1, right)):
        if isinstance(term, syntax.Constant):
            other = sides[1 - place]
            sides[place] = coerced(term, Type.TIMESTAMP if other is Type.DATE else other).type
    if comparable(*sides) or sides[0] is None or sides[1] is None:
        return
    hint = None
    word = next((term for term in (left, right) if is_symbol(term)), None)
    if word is not None and isinstance(word, syntax.Constant):
        hint = f"`{word.value}` is a constant; a variable is written `{capital(str(word.value))}`"
    elif Type.STRING in sides and any(side is not None and side.is_moment for side in sides):
        hint = 'write the moment as "2026-01-31 08:00:00" (ISO 8601)'
    yield Diagnostic("HW404", f"`{op}` cannot compare {sides[0].value} with {sides[1].value}", span, hint=hint)


def head_problems(
    program: Program,
    columns: Columns,
    variables: tuple[dict[str, Type | None], ...],
    declared: set[str],
    registry: Registry,
) -> Iterator[Diagnostic]:
    """Clashes between what a rule puts into a column and what the column is, by declaration or by another rule."""
    for rule, types in zip(program.rules, variables, strict=True):
        name = rule.head.relation
        for place, (arg, column) in enumerate(zip(rule.head.args, columns[name], strict=True)):
            if column is None:
                continue
            if isinstance(arg, syntax.Constant) and name in declared:
                yield from _literal(arg, column, name, place)
                continue
            if isinstance(arg, syntax.Aggregate) and arg.function in _COMPUTED and column is Type.ANY:
                hint = f"declare what the list holds, or take the values of all rules of `{name}` as numbers: to_int(X)"
                message = f"`{arg.function}` gives a number, but column {place + 1} of `{name}` may hold anything"
                yield Diagnostic("HW406", message, arg.span, hint=hint)
                continue
            given = _given(arg, types, column, registry)
            if given is None or flows(given, column):
                continue
            why = "is declared" if name in declared else "is, by another rule,"
            yield Diagnostic(
                "HW407",
                f"column {place + 1} of `{name}` {why} {column.value}, but here it is {given.value}",
                arg.span or rule.head.span,
                hint=_CONVERSIONS.get((given, column)),
            )


def _given(arg: syntax.Term | syntax.Aggregate, types: Variables, column: Type, registry: Registry) -> Type | None:
    if isinstance(arg, syntax.Aggregate):
        return aggregate_type(arg.function, tuple(term_type(each, types, registry) for each in arg.args))
    if isinstance(arg, syntax.Constant):
        return coerced(arg, column).type
    return term_type(arg, types, registry)
