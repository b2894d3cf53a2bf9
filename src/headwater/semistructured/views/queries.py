"""Queries as bodies of rules: from clauses, where clauses, operands and subqueries.

A query is a list of bodies: alternatives that share the variables of its scope. Conditions extend them one after the
other. A negation and an aggregate need a relation of their own; what was bound before them becomes a relation first,
so that both look only at the objects in question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

from headwater.core.diagnostics import Diagnostic
from headwater.language.lorel import tree
from headwater.language.syntax import (
    Aggregate,
    Atom,
    Binary,
    Call,
    Condition,
    Negation,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.terms import variables as term_variables
from headwater.semistructured.schema import ATOM, NAME, TIME
from headwater.semistructured.views.comparisons import (
    LiteralValue,
    NumberValue,
    StoredValue,
    TextValue,
    ViewValue,
    atom_goal,
    columns_of,
    compare,
)
from headwater.semistructured.views.ranging import ViewRoot
from headwater.semistructured.views.scoping import label_variables, roots
from headwater.semistructured.views.walk import PathRules
from headwater.semistructured.views.writer import MOST_BODIES, Body, RuleWriter, compared, integer, number, text

Scope: TypeAlias = Mapping[str, Term]
"""The variables of a query, and what stands for them in the rules."""


class QueryRules:
    """Extends bodies by the clauses of a query; what it refuses is in `problems`."""

    def __init__(self, writer: RuleWriter, views: Mapping[str, ViewRoot]) -> None:
        self.writer = writer
        self.walker = PathRules(writer)
        self._views = views  # names that stand for the objects of another view
        self.problems: list[Diagnostic] = []
        self._labels: set[Term] = set()  # the variables that stand for a label

    # Clauses

    def stands_for_label(self, term: Term) -> bool:
        """Whether a term of a rule stands for a label, not for an object."""
        return term in self._labels

    def sources(self, bodies: list[Body], scope: Scope, items: tuple[tree.FromItem, ...]) -> tuple[list[Body], Scope]:
        """The from clause: each item binds its variable for the items behind it."""
        found = dict(scope)
        own: set[str] = set()
        for item in items:
            hint = item.variable.name if item.variable is not None else "X"
            end = self.writer.variable(hint)
            found |= self._label_variables(item.source, found)
            bodies = self.objects(bodies, found, item.source, end)
            if item.variable is not None:
                if item.variable.name in own or found.get(item.variable.name) in self._labels:
                    message = f"the variable `{item.variable.name}` is defined twice"
                    self._refuse("HW250", message, item.variable, hint="give one of them another name")
                own.add(item.variable.name)
                found[item.variable.name] = end
        return bodies, found

    def _label_variables(self, source: tree.ObjectSource, scope: Scope) -> dict[str, Term]:
        """The label variables that a path binds. One that is bound already is compared instead."""
        found: dict[str, Term] = {}
        for variable in label_variables(source):
            if variable.name not in scope and variable.name not in found:
                found[variable.name] = self.writer.variable(variable.name)
                self._labels.add(found[variable.name])
            elif {**scope, **found}[variable.name] not in self._labels:
                message = f"the variable `{variable.name}` stands for objects"
                self._refuse("HW250", message, variable, hint="give the label another name")
        return found

    def is_label(self, scope: Scope, operand: tree.Operand) -> bool:
        """Whether an operand is a label variable alone."""
        match operand:
            case tree.PathExpression(tree.Identifier(name), ()):
                return scope.get(name) in self._labels
            case _:
                return False

    def where(self, bodies: list[Body], scope: Scope, condition: tree.LorelCondition | None) -> list[Body]:
        """The bodies for which a condition holds."""
        match condition:
            case None:
                return bodies
            case tree.AllOf(parts):
                for part in parts:
                    bodies = self.where(bodies, scope, part)
                return bodies
            case tree.AnyOf(parts):
                return self._limited([each for part in parts for each in self.where(bodies, scope, part)], scope)
            case tree.NotSo(tree.NotSo(part)):
                return self.where(bodies, scope, part)
            case tree.NotSo(part):
                return self._without(bodies, scope, part)
            case tree.Compared(op, left, right):
                return self._compared(bodies, scope, op, left, right)
            case tree.MemberOf(item, source):
                return self._compared(bodies, scope, "=", item, source)
            case tree.Exists(source):
                return self.objects(bodies, scope, source, self.writer.variable("Some"))
            case tree.ExistsIn(variable, source, inner):
                if isinstance(variable, tree.ObjectId):
                    return self.where(self.objects(bodies, scope, source, integer(variable.oid)), scope, inner)
                end = self.writer.variable(variable.name)
                return self.where(self.objects(bodies, scope, source, end), {**scope, variable.name: end}, inner)
            case tree.ForAll(variable, source, inner):
                return self._without(bodies, scope, tree.ExistsIn(variable, source, tree.NotSo(inner)))
            case _:
                assert_never(condition)

    def objects(self, bodies: list[Body], scope: Scope, source: tree.ObjectSource, end: Term) -> list[Body]:
        """The bodies, with `end` bound to each of the objects of a path or a subquery."""
        match source:
            case tree.PathExpression(root, steps):
                if not self._is_walkable(scope, source):
                    return []
                self.walker.labels = scope
                found = []
                for body in bodies:
                    extended, start = self._root(body, scope, root)
                    found += self.walker.walk(extended, start, steps, end, self._kept(scope))
                return self._limited(found, scope, end)
            case tree.Subquery(query):
                return self._subquery_objects(bodies, scope, query, end)
            case tree.UnionOf() | tree.OldPath():
                hint = "only the maintenance statements of a view have it; the engine needs none of them"
                self._refuse("HW254", "this speaks of the state before an update", source, hint=hint)
                return bodies
            case _:
                assert_never(source)

    def values(self, bodies: list[Body], scope: Scope, operand: tree.Operand) -> list[tuple[Body, ViewValue]]:
        """The bodies with each value of an operand."""
        match operand:
            case tree.LorelLiteral(value):
                return [(body, LiteralValue(value)) for body in bodies]
            case tree.PathExpression(tree.Identifier(name), ()) if self.is_label(scope, operand):
                return [(body, TextValue(scope[name])) for body in bodies]
            case tree.PathExpression(tree.Identifier(name), ()) if name in scope:
                return [(body, StoredValue(scope[name])) for body in bodies]
            case tree.Subquery(tree.SelectQuery((tree.SelectItem(item, None),)) as query):
                if isinstance(item, tree.PathExpression | tree.Subquery) and not self._selects_label(scope, query):
                    end = self.writer.variable("Item")
                    return [(body, StoredValue(end)) for body in self._subquery_objects(bodies, scope, query, end)]
                self._check_subquery(query)
                inner, inner_scope = self.sources(bodies, scope, query.sources)
                return self.values(self.where(inner, inner_scope, query.where), inner_scope, item)
            case tree.PathExpression() | tree.Subquery() | tree.UnionOf() | tree.OldPath():
                end = self.writer.variable(_hint(operand))
                return [(body, StoredValue(end)) for body in self.objects(bodies, scope, operand, end)]
            case tree.AggregateOf(function, source):
                return self._aggregate(bodies, scope, function, source)
            case tree.Arithmetic(op, left, right):
                return self._arithmetic(bodies, scope, op, left, right)
            case tree.OldValue():
                hint = "only the maintenance statements of a view have it; the engine needs none of them"
                self._refuse("HW254", "this speaks of the state before an update", operand, hint=hint)
                return []
            case _:
                assert_never(operand)

    def anchored(self, bodies: list[Body], scope: Scope) -> Body:
        """One body for several: what is bound so far as a relation, unless it is one already."""
        if len(bodies) == 1 and len(bodies[0]) <= 1:
            return bodies[0]
        return (self.writer.derive("bound", self._kept(scope), bodies),)

    # Conditions

    def _without(self, bodies: list[Body], scope: Scope, part: tree.LorelCondition) -> list[Body]:
        if not bodies:
            return bodies
        body = self.anchored(bodies, scope)
        inside = self.where([body], scope, part)
        if not inside:
            return [body]
        free = tuple(dict.fromkeys(scope[name] for name in roots(part) if name in scope))
        found = self.writer.derive("not", free, inside)
        return [(*body, Negation(found))]

    def _compared(
        self, bodies: list[Body], scope: Scope, op: str, left: tree.Operand, right: tree.Operand
    ) -> list[Body]:
        if op == "like":
            return self._like(bodies, scope, left, right)
        if op == "==" and not (_has_objects(left) and _has_objects(right)):
            self._refuse("HW255", "`==` compares objects", left, hint="values are compared with `=`")
        found = []
        for body, first in self.values(bodies, scope, left):
            for both, second in self.values([body], _remembering(scope, first), right):
                found += [(*both, *goals) for goals in compare(self.writer, op, first, second)]
        return self._limited(found, scope)

    def _like(self, bodies: list[Body], scope: Scope, left: tree.Operand, right: tree.Operand) -> list[Body]:
        if not isinstance(right, tree.LorelLiteral) or not isinstance(right.value, str):
            hint = 'as in `r.Name like "Bag%"`'
            self._refuse("HW255", "behind `like` stands a text in quotes", right, hint=hint)
            return bodies
        found = []
        for body, value in self.values(bodies, scope, left):
            match value:
                case StoredValue(oid):
                    _, _, words, _ = atom_goal(self.writer, oid)
                    row: Body = (Atom(ATOM, (oid, Wildcard(), words, Wildcard())),)
                    term: Term = words
                case TextValue(term):
                    row = ()
                case LiteralValue(known):
                    row, term = (), text(columns_of(known)[1] or "")
                case NumberValue():
                    continue
                case _:
                    assert_never(value)
            found.append((*body, *row, Condition(Call("like", (term, text(right.value))))))
        return found

    # Operands

    def _root(self, body: Body, scope: Scope, root: tree.Identifier | tree.ObjectId) -> tuple[Body, Term]:
        if isinstance(root, tree.ObjectId):
            return body, integer(root.oid)
        if root.name in scope:
            return body, scope[root.name]
        view = self._views.get(root.name)
        if view is not None:
            selected = self.writer.variable(view.view)
            self.walker.range_over(selected, view.edges)
            return (*body, Atom(view.objects, (selected,))), selected
        start = self.writer.variable(root.name)
        return (*body, Atom(NAME, (text(root.name), start))), start

    def _selects_label(self, scope: Scope, query: tree.SelectQuery) -> bool:
        own = {each.name for item in query.sources for each in label_variables(item.source)}
        match query.items[0].operand:
            case tree.PathExpression(tree.Identifier(name), ()) as operand:
                return name in own or self.is_label(scope, operand)
            case _:
                return False

    def _is_walkable(self, scope: Scope, path: tree.PathExpression) -> bool:
        """Whether a path begins with objects, and binds labels only where the from clause has declared them."""
        if isinstance(path.root, tree.Identifier) and scope.get(path.root.name) in self._labels:
            hint = "compare it, or select it as a value"
            self._refuse("HW262", f"`{path.root.name}` is a label, not an object", path.root, hint=hint)
            return False
        loose = [each for each in label_variables(path) if scope.get(each.name) not in self._labels]
        for variable in loose:
            hint = 'as in `(select x from r.%@L x where L like "a%")`'
            self._refuse("HW262", "a label variable is bound in a from clause", variable, hint=hint)
        return not loose

    def _subquery_objects(self, bodies: list[Body], scope: Scope, query: tree.SelectQuery, end: Term) -> list[Body]:
        self._check_subquery(query)
        inner, inner_scope = self.sources(bodies, scope, query.sources)
        inner = self.where(inner, inner_scope, query.where)
        item = query.items[0].operand
        if not isinstance(item, tree.PathExpression | tree.Subquery):
            hint = "select a variable or a path"
            self._refuse("HW256", "this subquery selects a value where objects are needed", query, hint=hint)
            return inner
        return self.objects(inner, inner_scope, item, end)

    def _check_subquery(self, query: tree.SelectQuery) -> None:
        if len(query.items) != 1 or query.items[0].label is not None:
            self._refuse("HW256", "a subquery selects one item without a label", query.items[-1])
        if query.limit is not None and not query.order:
            self._refuse("HW256", "a subquery has no `limit`", query, hint="only the statements of a view have it")
        if query.adjuncts or query.order:
            clause = "with" if query.adjuncts else "order by"
            item = (*query.adjuncts, *query.order)[0]
            self._refuse("HW256", f"a subquery has no `{clause}`", item, hint="only the statements of a view have it")

    def _aggregate(
        self, bodies: list[Body], scope: Scope, function: str, source: tree.ObjectSource
    ) -> list[tuple[Body, ViewValue]]:
        """The value of an aggregate for each group: what the source uses of the scope."""
        if not bodies:
            return []
        body = self.anchored(bodies, scope)
        group = tuple(dict.fromkeys(scope[name] for name in roots(source) if name in scope))
        item = self.writer.variable("Item")
        inside = self.objects([body], scope, source, item)
        if not inside:
            return [(body, LiteralValue(0))] if function in ("count", "sum") else []
        members = self.writer.derive("items", (*group, item), inside)
        if function == "count":
            return self._counted(body, members, group, item)
        return self._best(body, members, group, item, function)

    def _counted(self, body: Body, members: Atom, group: tuple[Term, ...], item: Term) -> list[tuple[Body, ViewValue]]:
        relation = self.writer.relation("count")
        self.writer.rule(relation, (*group, Aggregate("count", (item,))), [(members,)])
        total = self.writer.variable("Count")
        none = Negation(Atom(members.relation, (*group, Wildcard())))
        return [
            ((*body, Atom(relation, (*group, total))), NumberValue(Call("to_float", (total,)))),
            ((*body, none), LiteralValue(0)),
        ]

    def _best(
        self, body: Body, members: Atom, group: tuple[Term, ...], item: Term, function: str
    ) -> list[tuple[Body, ViewValue]]:
        _, kind, words, amount = atom_goal(self.writer, item)
        relation = self.writer.relation(function)
        row = Atom(ATOM, (item, kind, Wildcard(), amount))
        known = (members, row, Condition(Call("is_not_null", (amount,))), compared(kind, "!=", text(TIME)))
        self.writer.rule(relation, (*group, Aggregate(function, (amount,))), [known])
        result = self.writer.variable(function)
        found: list[tuple[Body, ViewValue]] = [((*body, Atom(relation, (*group, result))), NumberValue(result))]
        none = Negation(Atom(relation, (*group, Wildcard())))
        if function == "sum":
            found.append(((*body, none), LiteralValue(0)))
        if function in ("min", "max"):
            texts = self.writer.relation(f"{function}_text")
            as_text = (
                members,
                Atom(ATOM, (item, Wildcard(), words, Wildcard())),
                Condition(Call("is_not_null", (words,))),
            )
            self.writer.rule(texts, (*group, Aggregate(function, (words,))), [(*as_text, none)])
            best = self.writer.variable("Text")
            found.append(((*body, Atom(texts, (*group, best))), TextValue(best)))
        return found

    def _arithmetic(
        self, bodies: list[Body], scope: Scope, op: str, left: tree.Operand, right: tree.Operand
    ) -> list[tuple[Body, ViewValue]]:
        found: list[tuple[Body, ViewValue]] = []
        for body, first in self.values(bodies, scope, left):
            for both, second in self.values([body], _remembering(scope, first), right):
                sides = (self._as_number(first), self._as_number(second))
                if None not in sides:
                    (goals, one), (more, other) = sides  # type: ignore[misc]
                    result = self.writer.variable("Result")
                    computed = compared(result, "=", Binary(op, one, other))
                    found.append(((*both, *goals, *more, computed), NumberValue(result)))
        return found

    def _as_number(self, value: ViewValue) -> tuple[Body, Term] | None:
        match value:
            case NumberValue(term):
                return (), term
            case LiteralValue(known):
                amount = columns_of(known)[2]
                return None if amount is None else ((), number(amount))
            case StoredValue(oid):
                _, _, _, column = atom_goal(self.writer, oid)
                row = Atom(ATOM, (oid, Wildcard(), Wildcard(), column))
                return (row, Condition(Call("is_not_null", (column,)))), column
            case TextValue():
                return None
            case _:
                assert_never(value)

    # Scope

    def _kept(self, scope: Scope) -> tuple[Term, ...]:
        return tuple(dict.fromkeys(term for term in scope.values() if isinstance(term, Variable)))

    def _limited(self, bodies: list[Body], scope: Scope, end: Term | None = None) -> list[Body]:
        """Few alternatives, or one relation that has them all."""
        if len(bodies) <= MOST_BODIES:
            return bodies
        kept = self._kept(scope)
        if isinstance(end, Variable) and end not in kept:
            kept = (*kept, end)
        return [(self.writer.derive("any", kept, bodies),)]

    def _refuse(self, code: str, message: str, node: Any, *, hint: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, node.span, hint=hint))


def _remembering(scope: Scope, value: ViewValue) -> Scope:
    """The scope with the variables of a value, under names that no view has: a comparison needs them."""
    match value:
        case StoredValue(term) | NumberValue(term) | TextValue(term):
            return {**scope, **{f" {each.name}": each for each in term_variables(term)}}
        case LiteralValue():
            return scope
        case _:
            assert_never(value)


def _hint(operand: tree.Operand) -> str:
    match operand:
        case tree.PathExpression(_, (*_, tree.ByLabel(label))):
            return label
        case _:
            return "X"


def _has_objects(operand: tree.Operand) -> bool:
    return isinstance(operand, tree.PathExpression | tree.Subquery | tree.UnionOf | tree.OldPath)
