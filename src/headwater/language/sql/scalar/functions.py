"""SQL's functions by the node that sqlglot makes of them: which of its arguments count, and the term they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.sql.scalar.value import SqlValue, called
from headwater.language.sql.text.sql_types import widest

Build = Callable[[list[SqlValue], Span | None], SqlValue]


@dataclass(frozen=True, slots=True)
class Known:
    """`arguments` are read in order."""

    arguments: tuple[str, ...]
    build: Build


def _call(name: str, kind: Type | None = None, *, nullable: bool = False) -> Build:
    """A call of `name`; without a type, the type of its first argument."""

    def build(values: list[SqlValue], span: Span | None) -> SqlValue:
        return called(name, values, kind or (values[0].type if values else None), span, nullable=nullable)

    return build


def _some(name: str) -> Build:
    """A call that is null only where all its arguments are."""

    def build(values: list[SqlValue], span: Span | None) -> SqlValue:
        kind = widest(value.type for value in values if not value.is_null)
        nullable, is_null = (all(each) for each in zip(*((one.nullable, one.is_null) for one in values), strict=True))
        return replace(called(name, values, kind, span), nullable=nullable, is_null=is_null)

    return build


def _best(name: str, rules: str) -> Build:
    """Of times and integers that cannot be null, by the name that rules have for it.

    So the time of a row is made, and a recursion may keep the best of what it computes.
    """

    def build(values: list[SqlValue], span: Span | None) -> SqlValue:
        plain = {value.type for value in values} in ({Type.INT}, {Type.TIMESTAMP}, {Type.DATE})
        return _some(rules if plain and not any(value.nullable for value in values) else name)(values, span)

    return build


_ONE, _TWO = ("this",), ("this", "expression")

CALLS: Mapping[type[exp.Expr], Known] = MappingProxyType(
    {
        exp.Abs: Known(_ONE, _call("abs")),
        exp.Ceil: Known(_ONE, _call("ceil", Type.INT)),
        exp.Floor: Known(_ONE, _call("floor", Type.INT)),
        exp.Round: Known(("this", "decimals"), _call("round_half_up", nullable=True)),
        exp.Sign: Known(_ONE, _call("sign", Type.FLOAT)),
        exp.Sqrt: Known(_ONE, _call("try_sqrt", Type.FLOAT, nullable=True)),
        exp.Exp: Known(_ONE, _call("try_exp", Type.FLOAT, nullable=True)),
        exp.Ln: Known(_ONE, _call("try_log", Type.FLOAT, nullable=True)),
        exp.Pow: Known(_TWO, _call("try_pow", Type.FLOAT, nullable=True)),
        exp.Mod: Known(_TWO, _call("remainder", nullable=True)),
        exp.IntDiv: Known(_TWO, _call("quotient", Type.INT, nullable=True)),
        exp.Upper: Known(_ONE, _call("upper")),
        exp.Lower: Known(_ONE, _call("lower")),
        exp.Length: Known(_ONE, _call("length", Type.INT)),
        exp.Reverse: Known(_ONE, _call("reverse")),
        exp.Replace: Known(("this", "expression", "replacement"), _call("replace")),
        exp.Concat: Known(("expressions",), _call("concat", Type.STRING)),
        exp.ConcatWs: Known(("expressions",), _call("concat_ws", Type.STRING)),
        exp.Like: Known(_TWO, _call("like", Type.BOOL)),
        exp.ILike: Known(_TWO, _call("ilike", Type.BOOL)),
        exp.RegexpLike: Known(_TWO, _call("rlike", Type.BOOL)),
        exp.Substring: Known(("this", "start", "length"), _call("substring")),
        exp.Left: Known(_TWO, _call("left")),
        exp.Right: Known(_TWO, _call("right")),
        exp.Repeat: Known(("this", "times"), _call("repeat")),
        exp.Initcap: Known(_ONE, _call("initcap")),
        exp.StrPosition: Known(("this", "substr"), _call("position", Type.INT)),
        **{
            kind: Known(_ONE, _call(kind.__name__.lower(), Type.INT))
            for kind in (exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second)
        },
        **{kind: Known(_ONE, _call(kind.__name__.lower(), Type.INT)) for kind in (exp.DayOfWeek, exp.DayOfYear)},
        exp.DayOfMonth: Known(_ONE, _call("day", Type.INT)),
        exp.StartsWith: Known(_TWO, _call("starts_with", Type.BOOL)),
        exp.EndsWith: Known(_TWO, _call("ends_with", Type.BOOL)),
        exp.Contains: Known(_TWO, _call("contains", Type.BOOL)),
        exp.ArrayContains: Known(_TWO, _call("contains", Type.BOOL)),
        exp.ArraySize: Known(_ONE, _call("size", Type.INT)),
        exp.ArrayAppend: Known(_TWO, _call("append", Type.LIST)),
        exp.Chr: Known(("expressions",), _call("chr", Type.STRING)),
        exp.Ascii: Known(_ONE, _call("ascii", Type.INT)),
        exp.Space: Known(_ONE, _call("space", Type.STRING)),
        exp.ArrayToString: Known(_TWO, _call("array_join", Type.STRING)),
        exp.Coalesce: Known(("this", "expressions"), _some("coalesce")),
        exp.Greatest: Known(("this", "expressions"), _best("greatest", "largest")),
        exp.Least: Known(("this", "expressions"), _best("least", "smallest")),
    }
)
