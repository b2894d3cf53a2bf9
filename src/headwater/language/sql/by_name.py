"""Functions that sqlglot has a node of its own for, as calls by the names that they have here."""

from __future__ import annotations

from sqlglot import exp

_TRIMS = {None: "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def as_named(node: exp.Expr) -> exp.Anonymous | None:
    """The call that a node stands for; None if it is none of these, or says more than the function can do."""
    match node:
        case exp.Trim() if not node.args.get("expression"):
            position = node.args.get("position")
            return _call(_TRIMS[None if position is None else str(position).upper()], node.this)
        case exp.Pad():
            name = "lpad" if node.args.get("is_left") else "rpad"
            return _call(name, node.this, node.expression, node.args.get("fill_pattern"))
        case exp.DateDiff() if _is_day(node):
            return _call("datediff", _bare(node.this), _bare(node.expression))
        case exp.TsOrDsAdd() if _is_day(node):
            return _call("date_add", _bare(node.this), node.expression)
        case exp.TimestampTrunc():
            return _call("date_trunc", exp.Literal.string(node.args["unit"].name), node.this)
        case exp.DateTrunc():
            return _call("date_trunc", node.args["unit"], node.this)
    return None


def _call(name: str, *arguments: exp.Expr | None) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[one.copy() for one in arguments if one is not None])


def _is_day(node: exp.Expr) -> bool:
    unit = node.args.get("unit")
    return unit is None or unit.name.upper() == "DAY"


def _bare(node: exp.Expr) -> exp.Expr:
    """Days are counted of moments as they are: nothing to convert."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node
