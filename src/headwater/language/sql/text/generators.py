"""Generators of a query give several rows for one: `explode`, `unnest`, `range` and their like, in all spellings.

    FROM t, unnest(t.tags) AS u(tag)            FROM t LATERAL VIEW explode(tags) u AS tag
    SELECT id, explode(tags) AS tag FROM t      FROM range(1, 10) AS r(n)

`generator` reads one that stands in a FROM; `in_from` moves those of a SELECT list there.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

_EXPLODING = (exp.Explode, exp.Posexplode)


@dataclass(frozen=True, slots=True)
class Generator:
    """Items of a list, or numbers and times from `start` to `end`. One that is `outer` has a row of nulls for none.

    `position` is the number that the first item has in a column of its own, which comes `first` or last; None: there
    is no such column.
    """

    items: exp.Expr | None
    start: exp.Expr | None = None
    end: exp.Expr | None = None
    step: exp.Expr | None = None
    closed: bool = True  # `end` itself belongs to it
    both_ways: bool = False  # without a step it goes down where `end` is smaller
    outer: bool = False
    position: int | None = None
    first: bool = True
    alias: str = ""
    columns: tuple[str, ...] = ()


def generator(node: exp.Expr) -> Generator | None:
    """The generator that stands in a FROM; None if it is none."""
    alias, names = _named(node)
    if isinstance(node, exp.Unnest):
        offset = node.args.get("offset")
        numbered = isinstance(offset, exp.Expr)
        names = (*names, offset.name) if isinstance(offset, exp.Expr) else names
        if len(node.expressions) != 1:
            return None
        names = names or ((alias,) if alias else ("unnest",))
        return Generator(node.expressions[0], position=1 if numbered else None, first=False, alias=alias, columns=names)
    if not isinstance(node, exp.Table | exp.Lateral):
        return None
    made = node.this
    if isinstance(made, _EXPLODING):
        inner = made.this
        numbered = isinstance(made, exp.Posexplode)
        outer = isinstance(made, exp.ExplodeOuter) or bool(node.args.get("outer"))
        names = names or (("pos", "col") if numbered else ("col",))
        if isinstance(inner, exp.GenerateSeries) and not numbered:
            return _series(inner, alias, names, outer=outer, both_ways=True)
        return Generator(inner, outer=outer, position=0 if numbered else None, alias=alias, columns=names)
    if isinstance(made, exp.GenerateSeries):
        return _series(made, alias, names or (alias or "generate_series",), outer=False, both_ways=False)
    if isinstance(made, exp.Unnest) and len(made.expressions) == 1:
        return Generator(made.expressions[0], alias=alias, columns=names or (alias or "unnest",))
    if isinstance(made, exp.Anonymous) and str(made.this).lower() == "range" and 1 <= len(made.expressions) <= 3:
        start, end, step = _bounds(made.expressions)
        return Generator(None, start, end, step, closed=False, alias=alias, columns=names or ("id",))
    return None


def generates(node: exp.Expr) -> bool:
    """Whether a FROM gets rows from it that no table has."""
    return generator(node) is not None


def in_from(select: exp.Select) -> None:
    """Move the generators of a SELECT list behind its FROM, where they do the same; `explode_outer` is OUTER there."""
    for node in (*(select.args.get("laterals") or ()), select.args.get("from_"), *(select.args.get("joins") or ())):
        _spell_outer(node.this if isinstance(node, exp.From | exp.Join) else node)
    for at, item in enumerate(select.expressions):
        bare = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
        if not isinstance(bare, (*_EXPLODING, exp.Unnest)) or (
            isinstance(bare, exp.Unnest) and len(bare.expressions) != 1
        ):
            continue
        numbered = isinstance(bare, exp.Posexplode)
        alias = f"generated{at + 1}'"
        if isinstance(item, exp.Aliases):
            names = [each.name for each in item.expressions]
        else:
            names = ["pos", "col"] if numbered else [item.alias or "col"]
        columns = [exp.to_identifier(name, quoted=True) for name in names]
        made = exp.Explode(this=bare.expressions[0].copy()) if isinstance(bare, exp.Unnest) else bare.copy()
        named = exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns)
        lateral = exp.Lateral(this=made, view=True, outer=False, alias=named)
        shown = [exp.column(name, table=alias, quoted=True) for name in names]
        place = next((each.meta for each in bare.walk() if each.meta and each.meta.get("start") is not None), {})
        for column in shown:
            column.this.meta.update(place)
        select.append("laterals", lateral)
        _spell_outer(lateral)
        item.replace(exp.alias_(shown[0], names[0], quoted=True) if len(shown) == 1 else shown[0])
        for more in reversed(shown[1:]):
            select.expressions.insert(at + 1, more)
            more.parent = select


def _spell_outer(node: exp.Expr | None) -> None:
    """`explode_outer(...)` in a FROM as `explode(...)` that is OUTER."""
    made = None if node is None else node.this
    if not isinstance(node, exp.Lateral | exp.Table) or not isinstance(made, exp.ExplodeOuter):
        return
    kind = exp.Posexplode if isinstance(made, exp.Posexplode) else exp.Explode
    plain = kind(this=made.this.copy())
    plain.meta.update(made.meta)
    node.replace(exp.Lateral(this=plain, alias=node.args.get("alias"), outer=True, view=True))


def _series(node: exp.GenerateSeries, alias: str, names: tuple[str, ...], *, outer: bool, both_ways: bool) -> Generator:
    start, end, step = (node.args.get(part) for part in ("start", "end", "step"))
    return Generator(None, start, end, step, outer=outer, both_ways=both_ways, alias=alias, columns=names)


def _bounds(given: list[exp.Expr]) -> tuple[exp.Expr, exp.Expr, exp.Expr | None]:
    if len(given) == 1:
        return exp.Literal.number(0), given[0], None
    return given[0], given[1], given[2] if len(given) == 3 else None


def _named(node: exp.Expr) -> tuple[str, tuple[str, ...]]:
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return "", ()
    return alias.name, tuple(column.name for column in alias.args.get("columns") or ())
