"""Lorel's update statements to elementary updates.

`update r.Price := 5 from Guide.Restaurant r where ...` sets the value of every `Price` of every such restaurant;
`update r.Entree += &15 from ...` adds an edge, and `-=` removes edges. What a statement does depends on the store, so
`ground_update` is given its rows; it evaluates the statement's from and where clauses by the rules that a view would
have, once, and returns `Ins`, `Del` and `Chg` in a fixed order. Nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.database import Database
from headwater.language.lorel import parse_lorel, tree
from headwater.pipeline import compile_tree
from headwater.semistructured import schema
from headwater.semistructured.views.known import KnownNames, near_misses
from headwater.semistructured.views.model import program_tree
from headwater.semistructured.views.translate import translate

_PARENT, _CHILD, _VALUE = "parent", "child", "value"


def parse_updates(text: str) -> tuple[tree.UpdateStatement | tree.ElementaryUpdate, ...]:
    """The update statements of a text; raises ProgramError if it has anything else."""
    found = parse_lorel(text)
    if found.views:
        message, hint = "this is a query, not an update", "define a view for it"
        raise CheckProblem((Diagnostic("HW261", message, found.views[0].span, hint=hint),))
    return found.updates


def update_warnings(update: tree.UpdateStatement | tree.ElementaryUpdate, known: KnownNames) -> tuple[Diagnostic, ...]:
    """Warnings about names and labels of a statement that the store does not have."""
    if not isinstance(update, tree.UpdateStatement):
        return ()
    read = tree.PathExpression(update.target.root, update.target.steps[:-1]) if update.op == "+=" else update.target
    values = (tree.SelectItem(update.value),) if isinstance(update.value, tree.PathExpression) else ()
    query = tree.SelectQuery((tree.SelectItem(read), *values), update.sources, update.where)
    return near_misses(tree.ViewDefinition("update", (tree.NamedQuery("found", query),)), known, {}, ())


def ground_update(
    update: tree.UpdateStatement | tree.ElementaryUpdate, rows: Mapping[str, Iterable[tuple[Any, ...]]]
) -> tuple[tree.ElementaryUpdate, ...]:
    """The elementary updates of a statement on a store with these rows of `edge`, `atom` and `name`."""
    if not isinstance(update, tree.UpdateStatement):
        return (update,)
    *before, last = update.target.steps
    assert isinstance(last, tree.ByLabel)  # the parser makes sure
    parent = tree.PathExpression(update.target.root, tuple(before))
    match update.op:
        case ":=":
            return _changed(update, update.target, rows)
        case "+=":
            pairs = _pairs(update, parent, _objects(update), rows)
            return tuple(tree.InsertEdge(one, last.label, other) for one, other in pairs)
        case _:
            pairs = _pairs(update, parent, _objects(update), rows)
            there = {(row[0], row[2]) for row in rows.get("edge", ()) if row[1] == last.label}
            return tuple(tree.DeleteEdge(one, last.label, other) for one, other in pairs if (one, other) in there)


def _objects(update: tree.UpdateStatement) -> tree.PathExpression | tree.Subquery:
    value = update.value
    if not isinstance(value, tree.PathExpression | tree.Subquery):
        _refuse(update, f"`{update.op}` takes an object", "as in `update r.Entree += &15 from Guide.Restaurant r`")
    return value


def _pairs(
    update: tree.UpdateStatement,
    parent: tree.PathExpression,
    child: tree.PathExpression | tree.Subquery,
    rows: Mapping[str, Iterable[tuple[Any, ...]]],
) -> list[tuple[int, int]]:
    """Every parent with every object to attach to it, for the same binding of the from clause."""
    sources = (
        *update.sources,
        tree.FromItem(parent, tree.Identifier(" p")),
        tree.FromItem(child, tree.Identifier(" c")),
    )
    items = tuple(tree.SelectItem(tree.PathExpression(tree.Identifier(name)), label) for name, label in _ENDS)
    found = _evaluated(tree.SelectQuery(items, sources, update.where), rows)
    return sorted({(key[1], key[2]) for key in found["made"]})


_ENDS = ((" p", _PARENT), (" c", _CHILD))


def _changed(
    update: tree.UpdateStatement, target: tree.PathExpression, rows: Mapping[str, Iterable[tuple[Any, ...]]]
) -> tuple[tree.ElementaryUpdate, ...]:
    """Every atomic object of the target with its old value, and the new one. A value that is computed, or that of an
    object, must be one for each."""
    sources = (*update.sources, tree.FromItem(target, tree.Identifier(" t")))
    value = update.value
    if isinstance(value, tree.PathExpression | tree.Subquery):
        sources = (*sources, tree.FromItem(value, tree.Identifier(" v")))
        items = (tree.SelectItem(_variable(" t"), _PARENT), tree.SelectItem(_variable(" v"), _CHILD))
        found = _evaluated(tree.SelectQuery(items, sources, update.where), rows)
        atoms = {row[0]: _value_of(row[1:]) for row in rows.get("atom", ())}
        new = [(key[1], atoms[key[2]]) for key in found["made"] if key[2] in atoms]
    else:
        items = (tree.SelectItem(_variable(" t"), _PARENT), tree.SelectItem(value, _VALUE))
        found = _evaluated(tree.SelectQuery(items, sources, update.where), rows)
        parents = {edge[0]: edge[2] for edge in found["made_edges"]}
        new = [(parents[key], _value_of(columns)) for key, _, *columns in found["made_values"]]
        atoms = {row[0]: _value_of(row[1:]) for row in rows.get("atom", ())}
    changes: dict[int, tree.AtomicValue] = {}
    for oid, found_value in sorted(new, key=lambda each: each[0]):
        if oid in changes and not _same(changes[oid], found_value):
            _refuse(update, f"&{oid} would get two values", "make the from and where clauses choose one")
        changes[oid] = found_value
    return tuple(
        tree.ChangeValue(oid, atoms[oid], value)
        for oid, value in changes.items()
        if oid in atoms and not _same(atoms[oid], value)
    )


def _same(one: tree.AtomicValue, other: tree.AtomicValue) -> bool:
    return type(one) is type(other) and one == other


def _variable(name: str) -> tree.PathExpression:
    return tree.PathExpression(tree.Identifier(name))


def _value_of(columns: Iterable[Any]) -> tree.AtomicValue:
    kind, words, amount = columns
    match kind:
        case schema.NULL:
            return None
        case schema.BOOL:
            return bool(words == "true")
        case schema.INT:
            return int(words)
        case schema.REAL:
            return float(amount)
        case _:
            return str(words)


def _evaluated(query: tree.SelectQuery, rows: Mapping[str, Iterable[tuple[Any, ...]]]) -> dict[str, Any]:
    view = translate(tree.ViewDefinition("update", (tree.NamedQuery("found", query),)))
    database = Database(compile_tree(program_tree((view,))), provenance="none")
    database.apply(insert={name: list(given) for name, given in rows.items()})
    part = view.parts[0]
    return {
        "made": [row[0] for row in database.rows(part.made)] if part.made else [],
        "made_edges": database.rows(part.made_edges) if part.made_edges else set(),
        "made_values": database.rows(part.made_values) if part.made_values else set(),
    }


def _refuse(update: tree.UpdateStatement, message: str, hint: str) -> NoReturn:
    raise CheckProblem((Diagnostic("HW261", message, update.span, hint=hint),))
