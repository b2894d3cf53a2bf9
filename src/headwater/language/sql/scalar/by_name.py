"""Functions that sqlglot has a node of its own for, as calls by the names that they have here."""

from __future__ import annotations

from sqlglot import exp

from headwater.core.functions.time_functions import UNITS

_FIELDS = {
    **{name: name.lower() for name in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE")},
    "WEEK": "weekofyear",
    "DAYOFWEEK": "dayofweek",
    "DOW": "dayofweek",
    "DOY": "dayofyear",
}
_TRIMS = {None: "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def as_named(node: exp.Expr) -> exp.Anonymous | None:
    """The call that a node stands for; None if it is none of these, or says more than the function can do."""
    match node:
        case exp.Trim():
            position = node.args.get("position")
            name, letters = _TRIMS[None if position is None else str(position).upper()], node.args.get("expression")
            return _call(name if letters is None else f"{name}_of", node.this, letters)
        case exp.Pad():
            name = "lpad" if node.args.get("is_left") else "rpad"
            return _call(name, node.this, node.expression, node.args.get("fill_pattern"))
        case exp.DateDiff() if _is_day(node):
            return _call("datediff", _bare(node.this), _bare(node.expression))
        case exp.TsOrDsAdd() if _is_day(node):
            return _call("date_add", _bare(node.this), node.expression)
        case exp.AddMonths():
            return _call("add_months", _bare(node.this), node.expression)
        case exp.LastDay():
            return _call("last_day", _bare(node.this))
        case exp.WeekOfYear():
            return _call("weekofyear", _bare(node.this))
        case exp.TimestampAdd() if node.args.get("unit") is not None and node.args["unit"].name.upper() in UNITS:
            unit = exp.Literal.string(node.args["unit"].name.upper())
            return _call("time_later", unit, node.expression, node.this)
        case exp.Extract() if node.this.name.upper() in _FIELDS:
            return _call(_FIELDS[node.this.name.upper()], node.expression)
        case exp.RegexpSplit():
            name = "regexp_split" if node.args.get("limit") is None else "regexp_split_to"
            return _call(name, node.this, node.expression, node.args.get("limit"))
        case exp.RegexpReplace():
            return _call("regexp_replace", node.this, node.expression, node.args["replacement"])
        case exp.RegexpExtract():
            return _call("regexp_extract", node.this, node.expression, node.args.get("group"))
        case exp.Translate():
            return _call("translate", node.this, node.args["from_"], node.args["to"])
        case exp.Log():
            return _call("try_log_of", node.this, node.expression)
        case exp.TimestampTrunc():
            return _call("date_trunc", exp.Literal.string(node.args["unit"].name), node.this)
        case exp.DateTrunc():
            return _call("trunc_date", node.args["unit"], node.this)
    return None


def _call(name: str, *arguments: exp.Expr | None) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments if argument is not None])


def _is_day(node: exp.Expr) -> bool:
    unit = node.args.get("unit")
    return unit is None or unit.name.upper() == "DAY"


def _bare(node: exp.Expr) -> exp.Expr:
    """Days are counted of moments as they are: nothing to convert."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node
