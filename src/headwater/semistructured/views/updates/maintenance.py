"""The maintenance statements of 001 (Figures 6 to 10, Appendix A), in Lorel, for the reader.

For a statement of the paper's subset and one update, the statements compute ADD_prim and DEL_prim, the primary objects
to add and to remove, and ADD_adj and DEL_adj, the edges. They are evaluated on the store after the update; `V_prim` is
the set of primary objects once ADD_prim and DEL_prim are installed. The engine does not run them: it maintains rules,
and the tests hold that both agree.

Where the paper's procedures would give a wrong view, these depart from them:

- Identity is written `==`. The paper's `e = &10` would also be true of another atomic object with an equal value.
- Figure 8 simulates the deleted edge at one place of the view at a time. If its label stands at several places, a
  derivation can have used the edge twice; so the other places read `OldPath(r.Entree)`, the path before the update.
- Example 7 uses the old value at one place. The same object may be bound to two variables; so the comparisons of the
  other one read `OldVal(y)`. Both are left plain where RelevantOids shows that the object is not bound there.
- The second part of Figure 7 adds an edge as soon as its parent was bound to a variable, also if that parent did not
  come into the view. Here the statement asks whether it did (as the text of Example 4 does).
- Figure 10 omits the subquery where an example does not need it; here it is omitted only where the edge can have no
  other reason: all paths of the with clause with its label begin at the selected variable itself.
- A disjunct of the where clause in which the updated path does not stand is left out of the statement.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from headwater.language.lorel import tree
from headwater.language.lorel.printer import print_operand, print_query
from headwater.semistructured.views.comparisons import constants_compare
from headwater.semistructured.views.updates.canonical import CanonicalView, OneStepPath
from headwater.semistructured.views.updates.places import view_places
from headwater.semistructured.views.updates.relevance import BindingTest, RelevantOids, StoreLabels
from headwater.semistructured.views.updates.substitution import holds_variable, primed, substituted

ADD_PRIM, DEL_PRIM, ADD_ADJ, DEL_ADJ, V_PRIM = "ADD_prim", "DEL_prim", "ADD_adj", "DEL_adj", "V_prim"


@dataclass(frozen=True, slots=True)
class MaintenanceStatement:
    """`target += query`. For an adjunct edge, the items of the query are its two ends, and `label` is its label."""

    target: str
    query: tree.SelectQuery
    label: str | None = None
    variable: str | None = None

    @property
    def text(self) -> str:
        name = self.target if self.variable is None else f"{self.target}({self.variable})"
        selected = None
        if self.label is not None:
            parent, child = (print_operand(item.operand) for item in self.query.items)
            selected = f"<{parent}, {self.label}, {child}>"
        return f"{name} +=\n  {print_query(self.query, 2, selected)};"


def maintenance_statements(
    view: CanonicalView,
    update: tree.ElementaryUpdate,
    store: StoreLabels | RelevantOids | None = None,
    primary: Collection[int] | None = None,
) -> tuple[MaintenanceStatement, ...]:
    """The statements for one update. What is known of the store, and the primary objects before the update, leave out
    statements that cannot give anything."""
    return tuple(_Statements(view, BindingTest(view_places(view.query), store), primary).of(update))


class _Statements:
    """The statements of one view."""

    def __init__(self, view: CanonicalView, test: BindingTest, primary: Collection[int] | None) -> None:
        self._view = view
        self._test = test
        self._primary = primary

    def of(self, update: tree.ElementaryUpdate) -> Iterator[MaintenanceStatement]:
        match update:
            case tree.InsertEdge(parent, label, child):
                found = [
                    MaintenanceStatement(ADD_PRIM, self._bound_to_edge(place, parent, child))
                    for place in self._places(self._view.primary_paths, label, parent)
                ]
                yield from found
                yield from self._reached_from(ADD_PRIM, ADD_ADJ) if found else ()
                yield from self._added_edges(parent, label, child)
            case tree.DeleteEdge(parent, label, child):
                found = [
                    MaintenanceStatement(DEL_PRIM, self._unbound_from_edge(place, parent, child))
                    for place in self._places(self._view.primary_paths, label, parent)
                ]
                yield from found
                yield from self._reached_from(DEL_PRIM, DEL_ADJ) if found else ()
                yield from self._deleted_edges(parent, label, child)
            case tree.ChangeValue(oid, old, new):
                yield from self._changed(oid, old, new)

    def _places(self, paths: tuple[OneStepPath, ...], label: str, parent: int) -> list[OneStepPath]:
        return [path for path in paths if path.label == label and self._test.may_bind(path.parent, parent)]

    # Primary objects

    def _bound_to_edge(self, place: OneStepPath, parent: int, child: int) -> tree.SelectQuery:
        """GenAddPrim (Figure 6)."""
        return self._specialised({place.parent: parent, place.child: child}, place.child)

    def _unbound_from_edge(self, place: OneStepPath, parent: int, child: int) -> tree.SelectQuery:
        """GenDelPrim (Figure 8)."""
        query = self._specialised({place.parent: parent, place.child: child}, place.child)
        at_place = tree.PathExpression(tree.ObjectId(parent), (tree.ByLabel(place.label),))
        union = tree.UnionOf(at_place, (tree.ObjectId(child),))
        others = [path for path in self._view.primary_paths if path.label == place.label and path != place]
        old = {path.child for path in others if self._test.may_bind(path.parent, parent)}
        return self._unless_still_there(_with_old_paths(query, at_place, union, place.label, old))

    def _changed(self, oid: int, old: tree.AtomicValue, new: tree.AtomicValue) -> Iterator[MaintenanceStatement]:
        """Section 3.3.3: each comparison that the change makes true, or no longer true."""
        adds = deletes = False
        for name in dict.fromkeys(test.variable for test in self._view.tests):
            tests = [each for each in self._view.tests if each.variable == name]
            if not self._test.may_bind(name, oid):
                continue
            before = [constants_compare(test.op, old, test.value) for test in tests]
            after = [constants_compare(test.op, new, test.value) for test in tests]
            if any(now and not was for was, now in zip(before, after, strict=True)):
                adds = True
                yield MaintenanceStatement(ADD_PRIM, self._specialised({name: oid}, name))
            if any(was and not now for was, now in zip(before, after, strict=True)):
                deletes = True
                query = self._specialised({name: oid}, name)
                others = {test.variable for test in self._view.tests if self._test.may_bind(test.variable, oid)}
                query = replace(query, where=_with_old_values(query.where, oid, others))
                yield MaintenanceStatement(DEL_PRIM, self._unless_still_there(query))
        yield from self._reached_from(ADD_PRIM, ADD_ADJ) if adds else ()
        yield from self._reached_from(DEL_PRIM, DEL_ADJ) if deletes else ()

    def _specialised(self, objects: Mapping[str, int], at: str) -> tree.SelectQuery:
        """The statement without its with clause, for given objects. Variables of the from clause, and names, stay where
        they are defined and are compared with their objects; those of the where clause are replaced."""
        query = self._view.query
        defined = {item.variable.name for item in query.sources if item.variable is not None}
        where = query.where if at in defined else _only_with(query.where, at)
        oids = {name: tree.ObjectId(oid) for name, oid in objects.items()}
        sources = tuple(replace(item, source=substituted(item.source, oids)) for item in query.sources)
        conditions = [] if where is None else [substituted(where, oids)]
        for name, oid in oids.items():
            if name in defined or name in self._view.names:
                same = tree.Compared("==", tree.PathExpression(tree.Identifier(name)), tree.PathExpression(oid))
                conditions.append(same)
        return tree.SelectQuery(query.items, sources, _all(conditions))

    def _unless_still_there(self, query: tree.SelectQuery) -> tree.SelectQuery:
        """The duplicate test of Figure 8: a selected object that has another reason stays."""
        whole = primed(tree.SelectQuery(self._view.query.items, self._view.query.sources, self._view.query.where))
        ends = (tree.Identifier(f"{self._view.selected}'"), tree.Identifier(self._view.selected))
        same = tree.Compared("==", tree.PathExpression(ends[0]), tree.PathExpression(ends[1]))
        again = replace(whole, where=_all([*_parts(whole.where), same]))
        return replace(query, where=_all([*_parts(query.where), tree.NotSo(tree.Exists(tree.Subquery(again)))]))

    # Adjunct edges

    def _reached_from(self, source: str, target: str) -> Iterator[MaintenanceStatement]:
        """The first parts of GenAddAdj and GenDelAdj (Figures 7 and 10): edges that follow their primary objects."""
        for path in self._view.with_paths:
            query = self._edge_query(path, (self._start(source), *self._chain(path)))
            if target == DEL_ADJ:
                query = replace(query, where=_all(self._no_other_reason(path)))
            yield MaintenanceStatement(target, query, path.label, path.child)

    def _added_edges(self, parent: int, label: str, child: int) -> Iterator[MaintenanceStatement]:
        """The second part of GenAddAdj: the new edge is an adjunct edge itself, and others follow it."""
        for place in self._places(self._view.with_paths, label, parent):
            if place.parent == self._view.selected and self._primary is not None and parent not in self._primary:
                continue
            for path in (place, *self._behind(place)):
                lead = () if place.parent == self._view.selected else self._chain(self._ending_in(place.parent))
                guard = tree.Compared("==", _variable(place.parent), tree.PathExpression(tree.ObjectId(parent)))
                query = self._behind_edge(place, path, parent, child)
                sources = (self._start(V_PRIM), *lead, *query.sources)
                yield MaintenanceStatement(
                    ADD_ADJ, replace(query, sources=sources, where=guard), path.label, path.child
                )

    def _deleted_edges(self, parent: int, label: str, child: int) -> Iterator[MaintenanceStatement]:
        """The second part of GenDelAdj: the deleted edge leaves the view, and so does what only it led to."""
        for place in self._places(self._view.with_paths, label, parent):
            for path in (place, *self._behind(place)):
                query = self._behind_edge(place, path, parent, child)
                if path is not place:
                    reasons = self._no_other_reason(path, {place.child: tree.ObjectId(child)}, always=True)
                    query = replace(query, where=_all(reasons))
                yield MaintenanceStatement(DEL_ADJ, query, path.label, path.child)

    def _behind_edge(self, place: OneStepPath, path: OneStepPath, parent: int, child: int) -> tree.SelectQuery:
        """One edge of the with clause that a given edge leads to, or that edge itself."""
        oids = {place.parent: tree.ObjectId(parent), place.child: tree.ObjectId(child)}
        if path is place:
            ends = (tree.PathExpression(oids[place.parent]), tree.PathExpression(oids[place.child]))
            return tree.SelectQuery(tuple(map(tree.SelectItem, ends)))
        chain = self._chain(path)
        after = next(at for at, item in enumerate(chain) if item.variable == tree.Identifier(place.child)) + 1
        sources = tuple(substituted(item, oids) for item in chain[after:])
        return substituted(self._edge_query(path, sources), oids)

    def _no_other_reason(
        self, path: OneStepPath, oids: Mapping[str, tree.ObjectId] | None = None, *, always: bool = False
    ) -> list[tree.LorelCondition]:
        """No path of the with clause leads along this edge from an object that is still primary (Appendix A)."""
        alike = [each for each in self._view.with_paths if each.label == path.label]
        if not always and all(each.parent == self._view.selected for each in alike):
            return []
        found: list[tree.LorelCondition] = []
        for other in alike:
            query = primed(self._edge_query(other, (self._start(V_PRIM), *self._chain(other))))
            same = [
                tree.Compared("==", _variable(f"{mine}'"), substituted(_variable(this), oids or {}))
                for mine, this in ((other.parent, path.parent), (other.child, path.child))
            ]
            again = replace(query, items=query.items[1:], where=_all(list(same)))
            found.append(tree.NotSo(tree.Exists(tree.Subquery(again))))
        return found

    def _edge_query(self, path: OneStepPath, sources: tuple[tree.FromItem, ...]) -> tree.SelectQuery:
        items = (tree.SelectItem(_variable(path.parent)), tree.SelectItem(_variable(path.child)))
        return tree.SelectQuery(items, sources)

    def _start(self, source: str) -> tree.FromItem:
        return tree.FromItem(_variable(source), tree.Identifier(self._view.selected))

    def _chain(self, path: OneStepPath) -> tuple[tree.FromItem, ...]:
        """The steps of the with clause from the selected object to the end of a path."""
        step = tree.PathExpression(tree.Identifier(path.parent), (tree.ByLabel(path.label),))
        here = tree.FromItem(step, tree.Identifier(path.child))
        return (here,) if path.parent == self._view.selected else (*self._chain(self._ending_in(path.parent)), here)

    def _ending_in(self, variable: str) -> OneStepPath:
        return next(path for path in self._view.with_paths if path.child == variable)

    def _behind(self, place: OneStepPath) -> Iterator[OneStepPath]:
        for path in self._view.with_paths:
            if path.parent == place.child:
                yield path
                yield from self._behind(path)


def _variable(name: str) -> tree.PathExpression:
    return tree.PathExpression(tree.Identifier(name))


def _parts(condition: tree.LorelCondition | None) -> tuple[tree.LorelCondition, ...]:
    if condition is None:
        return ()
    return condition.parts if isinstance(condition, tree.AllOf) else (condition,)


def _all(conditions: list[tree.LorelCondition]) -> tree.LorelCondition | None:
    flat = [part for each in conditions for part in _parts(each)]
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else tree.AllOf(tuple(flat))


def _only_with(condition: tree.LorelCondition | None, variable: str) -> tree.LorelCondition | None:
    """A condition without the disjuncts in which a variable does not stand."""
    match condition:
        case tree.AllOf(parts):
            return tree.AllOf(
                tuple(
                    cast(tree.LorelCondition, _only_with(p, variable)) if holds_variable(p, variable) else p
                    for p in parts
                )
            )
        case tree.AnyOf(parts):
            kept = [_only_with(part, variable) for part in parts if holds_variable(part, variable)]
            found = [part for part in kept if part is not None]
            return found[0] if len(found) == 1 else tree.AnyOf(tuple(found))
        case tree.ExistsIn(condition=inner) if inner is not None:
            return (
                replace(condition, condition=_only_with(inner, variable))
                if holds_variable(inner, variable)
                else condition
            )
        case _:
            return condition


def _with_old_paths(
    query: tree.SelectQuery, at: tree.PathExpression, union: tree.UnionOf, label: str, old: Collection[str]
) -> tree.SelectQuery:
    """The deleted edge in its place, and the other places with its label as they were before."""

    def before(source: tree.ObjectSource, variable: tree.Identifier | tree.ObjectId | None) -> tree.ObjectSource:
        if source == at:
            return union
        if isinstance(source, tree.PathExpression) and isinstance(variable, tree.Identifier) and variable.name in old:
            return tree.OldPath(source)
        return source

    def walk(condition: tree.LorelCondition) -> tree.LorelCondition:
        match condition:
            case tree.AllOf(parts) | tree.AnyOf(parts):
                return replace(condition, parts=tuple(map(walk, parts)))
            case tree.ExistsIn(variable, source, inner):
                found = None if inner is None else walk(inner)
                return replace(condition, source=before(source, variable), condition=found)
            case _:
                return condition

    sources = tuple(replace(item, source=before(item.source, item.variable)) for item in query.sources)
    return replace(query, sources=sources, where=None if query.where is None else walk(query.where))


def _with_old_values(
    condition: tree.LorelCondition | None, oid: int, variables: Collection[str]
) -> tree.LorelCondition | None:
    """Comparisons of the changed object, and of variables that may be bound to it, with their values before."""
    match condition:
        case tree.AllOf(parts) | tree.AnyOf(parts):
            found = (_with_old_values(part, oid, variables) for part in parts)
            return replace(condition, parts=tuple(part for part in found if part is not None))
        case tree.ExistsIn(condition=inner):
            return replace(condition, condition=_with_old_values(inner, oid, variables))
        case tree.Compared(op, tree.PathExpression(root, ()) as path) if op != "==":
            named = isinstance(root, tree.Identifier) and root.name in variables
            if named or root == tree.ObjectId(oid):
                return replace(condition, left=tree.OldValue(path))
            return condition
        case _:
            return condition
