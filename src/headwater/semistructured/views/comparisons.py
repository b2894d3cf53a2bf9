"""Lorel's forgiving comparisons as comparisons of columns.

A value is three columns of `atom`: kind, text and number. Two values compare

- by number, if at least one of them is an int or a real. A string takes part if it reads as a number. Two ints are
  equal if their texts are, and so are an int from 2^53 on and a string, because floats do not tell them apart;
- as equal, if both are null;
- by text otherwise: strings, booleans, and times, whose texts sort as the times do. A string in the view's own
  text that reads as a time compares with times as one.

Where none of this applies (a number against a string that is not one, anything but null against null), the values
are not equal and neither is smaller: `=` and the orders are false, `!=` is true. An object that has no value is
equal to itself alone, and every other comparison with it is false.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias, assert_never

from headwater.core.types import Type
from headwater.language.lorel.tree import AtomicValue
from headwater.language.syntax import Atom, Call, Condition, Constant, Term, Variable, Wildcard
from headwater.semistructured.schema import ATOM, BOOL, INT, NULL, REAL, STRING, TIME, number_of
from headwater.semistructured.views.writer import Body, RuleWriter, compared, number, text

_EXACT = 2**53 - 1  # up to here no two ints have the same float


@dataclass(frozen=True, slots=True)
class StoredValue:
    """An object of the store, which may have a value."""

    oid: Term


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A value that stands in the view."""

    value: AtomicValue


@dataclass(frozen=True, slots=True)
class NumberValue:
    """A number that was computed; it is never null."""

    term: Term


@dataclass(frozen=True, slots=True)
class TextValue:
    """A text that was computed: the smallest or largest of several."""

    term: Term


ViewValue: TypeAlias = StoredValue | LiteralValue | NumberValue | TextValue


@dataclass(frozen=True, slots=True)
class _Test:
    """What the three columns must be: equal to a constant, or compared with one."""

    column: str
    op: str
    constant: str | float


def compare(writer: RuleWriter, op: str, left: ViewValue, right: ViewValue) -> list[Body]:
    """Goals that hold if the comparison does, in alternatives; none if it never does."""
    match left, right:
        case (StoredValue(one), StoredValue(other)):
            return _objects(writer, op, one, other)
        case (StoredValue(oid), LiteralValue(value)):
            return [_stored(writer, oid, tests) for tests in _against(op, value)]
        case (LiteralValue(), StoredValue()):
            return compare(writer, turned(op), right, left)
        case (LiteralValue(one), LiteralValue(other)):
            return [()] if constants_compare(op, one, other) else []
        case (NumberValue(term), _):
            return _number(writer, op, term, right)
        case (_, NumberValue()):
            return compare(writer, turned(op), right, left)
        case (TextValue(term), _):
            return _text(writer, op, term, right)
        case (_, TextValue()):
            return compare(writer, turned(op), right, left)
        case _:
            raise AssertionError(f"no comparison of {left} and {right}")


def turned(op: str) -> str:
    """The comparison with its sides changed."""
    return {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)


def time_of(value: str) -> float | None:
    """The seconds since 1970 of a text that reads as a time of ISO 8601; a time without a zone is in UTC."""
    if len(value) < 10 or value[4:5] != "-":
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def columns_of(value: AtomicValue) -> tuple[str, str | None, float | None]:
    """Kind, text and number of a value as it stands in a view."""
    match value:
        case None:
            return NULL, None, None
        case bool():
            return BOOL, "true" if value else "false", None
        case int():
            return INT, str(value), float(value)
        case float():
            return REAL, repr(value), value
        case str():
            return STRING, value, number_of(value)
        case _:
            assert_never(value)


def constants_compare(op: str, left: AtomicValue, right: AtomicValue) -> bool:
    """A comparison of two values that are known."""
    kind, words, amount = columns_of(left)
    known: dict[str, str | float | None] = {"kind": kind, "text": words, "number": amount}
    return any(all(_holds(known[test.column], test) for test in tests) for tests in _against(op, right))


def _holds(value: str | float | None, test: _Test) -> bool:
    match test.op:
        case "=":
            return value == test.constant
        case "!=":
            return value != test.constant
        case _ if value is None:
            return False
        case "<":
            return value < test.constant  # type: ignore[operator]
        case "<=":
            return value <= test.constant  # type: ignore[operator]
        case ">":
            return value > test.constant  # type: ignore[operator]
        case _:
            return value >= test.constant  # type: ignore[operator]


def _against(op: str, value: AtomicValue) -> list[list[_Test]]:
    """The alternatives for a value in the store compared with a constant."""
    match value:
        case None:
            return [[_Test("kind", op, NULL)]] if op in ("=", "!=") else []
        case bool():
            return _against_text(op, "true" if value else "false", None, None)
        case str():
            return _against_text(op, value, number_of(value), time_of(value))
        case int() if abs(value) > _EXACT and op in ("=", "!="):
            exact = [[_Test("kind", "=", kind), _Test("text", op, str(value))] for kind in (INT, STRING)]
            others = [_Test("kind", "!=", INT), _Test("kind", "!=", STRING), _Test("number", op, float(value))]
            return [*exact, others]
        case int() | float():
            return [[_Test("number", op, float(value))]]
        case _:
            assert_never(value)


def _against_text(op: str, words: str, amount: float | None, moment: float | None) -> list[list[_Test]]:
    if op == "=":
        found = [[_Test("text", "=", words)]]
        if amount is not None:
            found.append([_Test("kind", "=", REAL), _Test("number", "=", amount)])
            if abs(amount) <= _EXACT:
                found.append([_Test("kind", "=", INT), _Test("number", "=", amount)])
        return found + ([[_Test("kind", "=", TIME), _Test("number", "=", moment)]] if moment is not None else [])
    if op == "!=" and amount is None and moment is None:
        return [[_Test("text", "!=", words)]]
    as_text = [_Test("text", op, words), _Test("kind", "!=", INT), _Test("kind", "!=", REAL)]
    if moment is not None:
        as_text.append(_Test("kind", "!=", TIME))
    found = [as_text]
    if moment is not None:
        found.append([_Test("kind", "=", TIME), _Test("number", op, moment)])
    if amount is not None:
        found.append([_Test("kind", "=", REAL), _Test("number", op, amount)])
        by_text = op == "!=" and abs(amount) > _EXACT
        found.append([_Test("kind", "=", INT), _Test("text", op, words) if by_text else _Test("number", op, amount)])
    elif op == "!=":
        found += ([_Test("kind", "=", INT)], [_Test("kind", "=", REAL)])
    return found


def _stored(writer: RuleWriter, oid: Term, tests: Iterable[_Test]) -> Body:
    """The row of an atom that passes the tests: constants stand in the row itself, so that an index finds them."""
    columns: dict[str, Term] = {}
    goals = []
    for test in tests:
        constant = text(test.constant) if isinstance(test.constant, str) else number(test.constant)
        if test.op == "=":
            columns[test.column] = constant
        else:
            column = columns.setdefault(test.column, writer.variable(test.column))
            goals.append(compared(column, test.op, constant))
    args = (oid, *(columns.get(name, Wildcard()) for name in ("kind", "text", "number")))
    return (Atom(ATOM, args), *goals)


def atom_goal(writer: RuleWriter, oid: Term) -> tuple[Atom, Variable, Variable, Variable]:
    """The row of an atom, and variables for its kind, text and number."""
    kind, words, amount = (writer.variable(name) for name in ("Kind", "Text", "Number"))
    return Atom(ATOM, (oid, kind, words, amount)), kind, words, amount


def _objects(writer: RuleWriter, op: str, one: Term, other: Term) -> list[Body]:
    same: Body = (compared(one, "=", other),)
    if op == "==":
        return [same]
    first, kind, words, amount = atom_goal(writer, one)
    second, other_kind, other_words, other_amount = atom_goal(writer, other)
    rows: Body = (first, second)
    if op == "=":
        by_text: Body = (
            Atom(ATOM, (one, Wildcard(), words, Wildcard())),
            Atom(ATOM, (other, Wildcard(), words, Wildcard())),
        )
        joined = Atom(ATOM, (other, other_kind, Wildcard(), amount))
        either = Condition(_by_number(kind, amount, other_kind, amount))
        return [same, by_text, (Atom(ATOM, (one, kind, Wildcard(), amount)), joined, either)]
    if op == "!=":
        numeric = _by_number(kind, amount, other_kind, other_amount)
        by_number: Body = (*rows, Condition(numeric), compared(amount, "!=", other_amount))
        return [by_number, (*rows, Condition(numeric, negated=True), compared(words, "!=", other_words))]
    numeric = Call("any_true", tuple(_is(each, name) for each in (kind, other_kind) for name in (INT, REAL)))
    return [
        (*rows, Condition(numeric), compared(amount, op, other_amount)),
        (*rows, Condition(numeric, negated=True), compared(words, op, other_words)),
    ]


def _by_number(kind: Term, amount: Term, other: Term, other_amount: Term) -> Call:
    """Whether two values are equal by their numbers: one of them is a real, or exactly one an int that floats hold."""
    one_int = (
        Call("all_true", (_is(kind, INT), _is_not(other, INT), _is_exact(amount))),
        Call("all_true", (_is(other, INT), _is_not(kind, INT), _is_exact(other_amount))),
    )
    return Call("any_true", (_is(kind, REAL), _is(other, REAL), *one_int))


def _is_exact(amount: Term) -> Call:
    return Call("is_at_most", (Call("abs", (amount,)), number(_EXACT)))


def _is(kind: Term, name: str) -> Call:
    return Call("is_equal", (kind, text(name)))


def _is_not(kind: Term, name: str) -> Call:
    return Call("is_unequal", (kind, text(name)))


def _number(writer: RuleWriter, op: str, term: Term, right: ViewValue) -> list[Body]:
    op = "=" if op == "==" else op
    match right:
        case StoredValue(oid):
            found, _, _, amount = atom_goal(writer, oid)
            row = Atom(ATOM, (found.args[0], Wildcard(), Wildcard(), amount))
            return [(row, compared(term, op, amount))]
        case NumberValue(other):
            return [(compared(term, op, other),)]
        case TextValue():
            return [()] if op == "!=" else []
        case LiteralValue(value):
            _, _, known = columns_of(value)
            if known is None:
                return [()] if op == "!=" else []
            return [(compared(term, op, number(known)),)]
        case _:
            assert_never(right)


def _text(writer: RuleWriter, op: str, term: Term, right: ViewValue) -> list[Body]:
    op = "=" if op == "==" else op
    match right:
        case StoredValue(oid):
            found, kind, words, _ = atom_goal(writer, oid)
            row = Atom(ATOM, (found.args[0], kind, words, Wildcard()))
            no_number = (compared(kind, "!=", text(INT)), compared(kind, "!=", text(REAL)))
            found_bodies: list[Body] = [(row, *no_number, compared(term, op, words))]
            if op == "!=":
                found_bodies += [(row, compared(kind, "=", text(number_kind))) for number_kind in (INT, REAL)]
            return found_bodies
        case TextValue(other):
            return [(compared(term, op, other),)]
        case LiteralValue(value):
            kind_of, known, _ = columns_of(value)
            if known is None or kind_of in (INT, REAL):
                return [()] if op == "!=" else []
            return [(compared(term, op, Constant(known, Type.STRING)),)]
        case NumberValue():
            return [()] if op == "!=" else []
        case _:
            assert_never(right)
