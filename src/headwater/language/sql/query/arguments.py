"""What of a parsed query is translated: for every kind of node, the arguments that the translation reads.

    for problem in unread(text, query, outermost=True): ...

A parser knows far more of SQL than is translated here, and hangs each clause on its node as one more argument. The
translation asks for the arguments it knows; one that it does not ask for would be dropped, and the rows would be those
of another query. So this table is the whole of what is accepted, and it is asked before anything is translated: an
argument or a kind of node that is not in it is refused. `READ` names arguments that change the rows, `IDLE` those that
cannot, with the reason. LIMIT and OFFSET are read on the outermost query alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from headwater.core.diagnostics import Diagnostic
from headwater.language.sql.query.groups import AGGREGATES, KNOWN
from headwater.language.sql.scalar.functions import CALLS
from headwater.language.sql.scalar.scalars import OTHER_FUNCTIONS
from headwater.language.sql.text.parsed import SqlText

Arguments = Mapping[type[exp.Expr], frozenset[str]]

_ENDS = frozenset({"limit", "offset"})
_NONE: frozenset[str] = frozenset()
_THIS = frozenset({"this"})
_BOTH = frozenset({"this", "expression"})
_MANY = frozenset({"expressions"})
_SET = frozenset({"with_", "this", "expression", "distinct", "order", *_ENDS})

READ: Arguments = MappingProxyType(
    {
        # Queries
        exp.Select: frozenset(
            {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", *_ENDS}
            | {"laterals", "qualify", "windows"}
        ),
        exp.Union: _SET,
        exp.Except: _SET,
        exp.Intersect: _SET,
        exp.Values: frozenset({"expressions", "alias", "order", *_ENDS}),
        exp.Subquery: frozenset({"this", "alias", "joins"}),
        exp.With: frozenset({"expressions", "recursive"}),
        exp.CTE: frozenset({"this", "alias"}),
        exp.From: _THIS,
        exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
        exp.Table: frozenset({"this", "alias", "joins"}),
        exp.Unnest: frozenset({"expressions", "alias", "offset"}),
        exp.Lateral: frozenset({"this", "alias", "outer"}),
        **dict.fromkeys((exp.Explode, exp.Posexplode), _THIS),
        exp.GenerateSeries: frozenset({"start", "end", "step"}),
        exp.TableAlias: frozenset({"this", "columns"}),
        exp.Where: _THIS,
        exp.Having: _THIS,
        exp.Group: frozenset({"expressions", "all"}),
        exp.Order: _MANY,
        exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
        exp.Limit: frozenset({"expression"}),
        exp.Offset: frozenset({"expression"}),
        exp.Distinct: _MANY,
        exp.Tuple: _MANY,
        exp.Star: frozenset({"except_", "replace"}),
        exp.Alias: frozenset({"this", "alias"}),
        exp.Paren: _THIS,
        # Values
        exp.Column: frozenset({"this", "table"}),
        exp.Identifier: _THIS,
        exp.Literal: frozenset({"this", "is_string"}),
        exp.Boolean: _THIS,
        exp.Null: _NONE,
        exp.Var: _THIS,
        **dict.fromkeys((exp.Neg, exp.Not), _THIS),
        **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.DPipe, exp.BitwiseOr, exp.Escape), _BOTH),
        **dict.fromkeys((exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BOTH),
        **dict.fromkeys((exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif), _BOTH),
        exp.Between: frozenset({"this", "low", "high"}),
        exp.In: frozenset({"this", "expressions", "query"}),
        exp.Exists: _THIS,
        exp.Interval: frozenset({"this", "unit"}),
        **dict.fromkeys((exp.Cast, exp.TryCast), frozenset({"this", "to"})),
        exp.DataType: frozenset({"this", "expressions"}),
        exp.DataTypeParam: _THIS,
        exp.Case: frozenset({"this", "ifs", "default"}),
        **dict.fromkeys((exp.If, exp.Nvl2), frozenset({"this", "true", "false"})),
        exp.DecodeCase: _MANY,
        exp.Bracket: frozenset({"this", "expressions", "offset"}),
        exp.Array: _MANY,
        exp.Filter: _BOTH,
        # Window functions
        exp.Qualify: _THIS,
        exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias"}),
        exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
        **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls, exp.FirstValue, exp.LastValue, exp.First, exp.Last), _THIS),
        **dict.fromkeys((exp.Lag, exp.Lead), frozenset({"this", "offset", "default"})),
        exp.Ntile: _THIS,
        exp.NthValue: frozenset({"this", "offset"}),
        **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist), _NONE),
        **dict.fromkeys(AGGREGATES, _THIS),
        exp.Anonymous: frozenset({"this", "expressions"}),
        # Functions that `times` and `by_name` see to
        **dict.fromkeys(
            (exp.TsOrDsToDate, exp.StrToTime, exp.StrToUnix, exp.UnixToStr, exp.TimeToStr),
            frozenset({"this", "format"}),
        ),
        exp.TimeStrToTime: _THIS,
        exp.Trim: frozenset({"this", "expression", "position"}),
        exp.Pad: frozenset({"this", "expression", "fill_pattern", "is_left"}),
        **dict.fromkeys((exp.DateDiff, exp.TsOrDsAdd, exp.TimestampAdd), frozenset({"this", "expression", "unit"})),
        **dict.fromkeys((exp.AddMonths, exp.Extract, exp.Log), _BOTH),
        **dict.fromkeys((exp.LastDay, exp.WeekOfYear), _THIS),
        exp.RegexpSplit: frozenset({"this", "expression", "limit"}),
        exp.RegexpReplace: frozenset({"this", "expression", "replacement"}),
        exp.RegexpExtract: frozenset({"this", "expression", "group"}),
        exp.Translate: frozenset({"this", "from_", "to"}),
        **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), frozenset({"this", "unit"})),
        **{kind: frozenset(known.arguments) for kind, known in CALLS.items()},
        **dict.fromkeys((exp.Like, exp.ILike), frozenset({"this", "expression", "negate"})),
    }
)

IDLE: Mapping[type[exp.Expr], Mapping[str, str]] = MappingProxyType(
    {
        exp.Select: {"hint": "a hint says how to run a query, not what it gives"},
        exp.CTE: {"materialized": "whether a view is stored changes no row"},
        exp.Table: {
            "db": "a table goes by its own name; one name in two databases is refused",
            "catalog": "a table goes by its own name; one name in two catalogs is refused",
        },
        exp.Column: {
            "db": "a FROM holds one table of a name, be it of any database",
            "catalog": "a FROM holds one table of a name, be it of any catalog",
        },
        exp.Lateral: {"view": "LATERAL VIEW and LATERAL mean the same of a generator"},
        exp.Identifier: {"quoted": "names are compared without their capitals, quoted or not"},
        exp.Count: {"big_int": "every count has 64 bits"},
        exp.Window: {"over": "how it was spelt"},
        exp.TryCast: {"safe": "every cast gives null where there is no value"},
        exp.Div: {"safe": "every division by zero gives null"},
        exp.DPipe: {"safe": "what is joined is made text"},
        exp.DataType: {"nested": "set for ARRAY<...> and its like"},
        exp.TsOrDsToDate: {"safe": "what spells no date gives null"},
        exp.RegexpExtract: {"null_if_pos_overflow": "set for every call; a position itself is refused"},
        exp.Concat: {"safe": "set for every call"},
        exp.ConcatWs: {
            "safe": "set for every call",
            "coalesce": "set for every call: nulls are left out",
            "flatten": "set for every call",
        },
        exp.Chr: {"charset": "set for every call"},
        exp.Initcap: {"expression": "set for every call: the marks between words, which Spark fixes"},
        exp.ArrayAppend: {"null_propagation": "set for every call: no list gives none"},
        **{kind: {"ignore_nulls": "set for every call: nulls are left out"} for kind in (exp.Greatest, exp.Least)},
        exp.Coalesce: {"is_nvl": "how it was spelt", "is_null": "how it was spelt"},
    }
)

_ORDERLESS = "leave it out, or write ORDER BY at the end of the whole query"
_SAID: Mapping[tuple[type[exp.Expr], str], tuple[str, str]] = MappingProxyType(
    {
        (exp.CTE, "key_expressions"): ("USING KEY", "keep the best row of a key in the head: name(a, min() AS cost)"),
        (exp.With, "search"): ("SEARCH or CYCLE", "count the steps in a column; a recursion ends on cyclic data"),
        (exp.With, "cycle"): ("CYCLE", "leave it out: a recursion ends on cyclic data without it"),
        (exp.Between, "symmetric"): ("SYMMETRIC", "write BETWEEN least(a, b) AND greatest(a, b)"),
        (exp.Distinct, "on"): ("DISTINCT ON", "keep the best of each group with min or max"),
        (exp.Table, "sample"): ("TABLESAMPLE", "keep the rows of a hash: WHERE id % 10 = 0"),
        (exp.Select, "sample"): ("TABLESAMPLE", "keep the rows of a hash: WHERE id % 10 = 0"),
        **{(exp.Select, part): (f"{part.upper()} BY", _ORDERLESS) for part in ("cluster", "distribute", "sort")},
        (exp.Select, "locks"): ("FOR UPDATE", "leave it out: a query changes nothing"),
        (exp.Table, "pivots"): ("PIVOT", "write one aggregate with FILTER (WHERE ...) per column"),
        **{(exp.Group, part): (part.upper(), "write one view per grouping") for part in ("cube", "rollup", "totals")},
        (exp.Group, "grouping_sets"): ("GROUPING SETS", "write one view per grouping"),
        **{
            (kind, "by_name"): ("BY NAME", "name the columns in the same order in every part")
            for kind in (exp.Union, exp.Except, exp.Intersect)
        },
    }
)
_CALL = re.compile(r"[^\W\d]\w*\s*\(")
_NAME = re.compile(r"([^\W\d]\w*)\s*\(\s*(?:DISTINCT\s+)?\Z", re.IGNORECASE)
_SAME = "views must give the same answer for the same data; put the {} into a column of the data"
_KINDS: Mapping[type[exp.Expr], tuple[str, str]] = MappingProxyType(
    {
        exp.Any: ("a comparison with ANY", "write IN (SELECT ...), or compare with a subquery of min(...) or max(...)"),
        exp.All: ("a comparison with ALL", "compare with a subquery of min(...) or max(...), or write NOT EXISTS"),
        exp.Rand: ("`RAND`", _SAME.format("number")),
        exp.CurrentTimestamp: ("`CURRENT_TIMESTAMP`", _SAME.format("time")),
        exp.CurrentDate: ("`CURRENT_DATE`", _SAME.format("date")),
    }
)


def unread(text: SqlText, query: exp.Expr, *, outermost: bool) -> Iterator[Diagnostic]:
    """Everything in a query that the translation does not read; an `outermost` one may have LIMIT and OFFSET."""
    top = bare(query) if outermost else None
    waiting = [query]
    while waiting:
        node = waiting.pop()
        known = READ.get(type(node))
        if known is None:
            yield _unknown(text, node)
            continue
        idle = IDLE.get(type(node), {})
        for name, value in node.args.items():
            if not is_set(value) or name in idle:
                continue
            if name in _ENDS and node is not top and isinstance(node, exp.Query | exp.Values):
                yield _limited(text, name, value)
            elif name not in known:
                yield _refused(text, node, name, value)
            else:
                waiting += [each for each in (value if isinstance(value, list) else [value]) if _is_node(each)]


def bare(query: exp.Expr) -> exp.Expr:
    """The query in brackets that say nothing more."""
    while isinstance(query, exp.Subquery) and not any(
        is_set(query.args[name]) for name in query.args if name != "this"
    ):
        query = query.this
    return query


def is_set(value: Any) -> bool:
    """Whether an argument says anything."""
    return value is not None and value is not False and value not in ([], "")


def _limited(text: SqlText, name: str, place: exp.Expr) -> Diagnostic:
    message = f"{name.upper()} is not translated here"
    note = "it is on the outermost query, and on a SELECT without QUALIFY that does not read its own recursion"
    hint = "put it at the end of the whole query, or behind a SELECT: SELECT ... FROM (...) LIMIT 10"
    return text.problem("HW117", message, place, note=note, hint=hint)


def _unknown(text: SqlText, node: exp.Expr) -> Diagnostic:
    spelt = _spelt(text, node)
    if isinstance(node, exp.AggFunc):
        hint = f"the aggregates are {', '.join(KNOWN)}"
        return text.problem("HW217", f"`{spelt}` is not an aggregate that Headwater supports", node, hint=hint)
    word, way_out = _KINDS.get(type(node), (f"`{spelt}`", OTHER_FUNCTIONS))
    known = isinstance(node, exp.Func) or type(node) in _KINDS
    return text.problem("HW117", f"{word} is not translated", node, hint=way_out if known else None)


def _spelt(text: SqlText, node: exp.Expr) -> str:
    """A node as it is written; a call, of which only the arguments have a place, with the name in front of them."""
    span = text.span(node)
    if span is None:
        return node.key.upper()
    written = text.written(node)
    if isinstance(node, exp.GroupingSets):
        return "GROUPING SETS"
    grouping = isinstance(node, exp.Rollup | exp.Cube)
    if not grouping and (not isinstance(node, exp.Func) or _CALL.match(written)):
        return written
    name = _NAME.search(text.source.text, 0, span.start)
    return f"{name[1]}({written})" if name else written


def _refused(text: SqlText, node: exp.Expr, name: str, value: Any) -> Diagnostic:
    if name == "pivots" and value[0].args.get("unpivot"):
        hint = "write LATERAL (VALUES ('a', a), ('b', b)) AS v(name, value) in FROM"
        return text.problem("HW117", "UNPIVOT is not translated here", node, hint=hint)
    word, hint = _SAID.get((type(node), name), (name.strip("_").replace("_", " ").upper(), ""))
    first = next((each for each in (value if isinstance(value, list) else [value]) if _is_node(each)), node)
    place = first if text.span(first) is not None else node
    return text.problem("HW117", f"{word} is not translated here", place, hint=hint or f"write it without {word}")


def _is_node(value: Any) -> bool:
    return isinstance(value, exp.Expr)
