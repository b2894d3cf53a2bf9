"""A view to rules.

`translate` gives the rules of one view, or raises CheckProblem with everything that is wrong with it. The rules
say what 001, section 2.4 computes: the selected objects, and the edges of the with clause. Because they are
ordinary rules, the engine maintains them under every change, with wildcards, closures, negation, subqueries and
aggregates too, which the paper's own algorithm leaves out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.language.lorel import tree
from headwater.language.lorel.parse import MOST_FINDINGS
from headwater.language.syntax import Atom, Call, Constant, ListTerm, Term, Variable, Wildcard
from headwater.semistructured.schema import ATOM, EDGE, INT, REAL, STRING
from headwater.semistructured.views.adjuncts import AdjunctRules
from headwater.semistructured.views.comparisons import (
    LiteralValue,
    NumberValue,
    StoredValue,
    TextValue,
    ViewValue,
    atom_goal,
    columns_of,
)
from headwater.semistructured.views.known import KnownNames, near_misses
from headwater.semistructured.views.model import ViewOrder, ViewPart, ViewProgram
from headwater.semistructured.views.queries import QueryRules, Scope
from headwater.semistructured.views.scoping import item_label, roots, shared
from headwater.semistructured.views.writer import Body, RuleWriter, integer, never, number, text

_WHOLE = 2**53  # below this, every whole float is an int


def translate(view: tree.ViewDefinition, known: KnownNames | None = None) -> ViewProgram:
    """The rules of a view. With the names and labels of the store, warnings tell of those that nearly match one."""
    return _ViewTranslation(view).run(known)


def translate_all(views: Collection[tree.ViewDefinition], known: KnownNames | None = None) -> tuple[ViewProgram, ...]:
    """The rules of several views for one program; two views of one name are an error."""
    seen: set[str] = set()
    problems = []
    for view in views:
        if view.name in seen:
            problems.append(Diagnostic("HW251", f"the view `{view.name}` is defined twice", view.span))
        seen.add(view.name)
    if problems:
        raise CheckProblem(tuple(problems[:MOST_FINDINGS]))
    return tuple(translate(view, known) for view in views)


@dataclass(frozen=True, slots=True)
class _Bound:
    """The bindings of one statement: bodies, and the variables they bind."""

    bodies: list[Body]
    scope: Scope


class _ViewTranslation:
    """The rules of one view so far."""

    def __init__(self, view: tree.ViewDefinition) -> None:
        self._view = view
        self._writer = RuleWriter(view.name)
        self._queries = QueryRules(self._writer)
        self._edges = self._writer.part_relation("", "edges")
        self._adjuncts = AdjunctRules(self._writer, self._queries.walker, self._edges)
        self._shapes: dict[str, tuple[str, ...]] = {}

    def run(self, known: KnownNames | None) -> ViewProgram:
        seen: set[str] = set()
        for part in self._view.parts:
            if part.name in seen:
                self._refuse("HW251", f"`{part.name}` is defined twice in this view", part.span)
            seen.add(part.name)
        parts = tuple(self._part(place, part) for place, part in enumerate(self._view.parts, 1))
        if self._queries.problems:
            raise CheckProblem(tuple(dict.fromkeys(self._queries.problems))[:MOST_FINDINGS])
        imports = any(part.query.adjuncts for part in self._view.parts)
        adjuncts = self._close_adjuncts() if imports else None
        self._keep_empty()
        return ViewProgram(
            self._view.name,
            parts,
            self._edges if imports else None,
            adjuncts,
            tuple(self._writer.rules),
            tuple((relation, len(columns)) for relation, columns in self._shapes.items()),
            self._view,
            near_misses(self._view, known) if known is not None else (),
        )

    def _close_adjuncts(self) -> str:
        child = self._writer.variable("Child")
        relation = self._writer.part_relation("", "adjuncts")
        self._writer.rule(relation, (child,), [(Atom(self._edges, (Wildcard(), Wildcard(), child, Wildcard())),)])
        self._shapes |= {self._edges: ("oid", "label", "oid", "place"), relation: ("oid",)}
        return relation

    def _part(self, place: int, part: tree.NamedQuery) -> ViewPart:
        found = shared(part.query)
        self._queries.problems += found.problems
        query = found.query
        bodies, scope = self._queries.sources([()], {}, query.sources)
        bound = _Bound(self._queries.where(bodies, scope, query.where), scope)
        match query.items:
            case (tree.SelectItem(tree.PathExpression() | tree.Subquery() as source, None),):
                result = self._objects(part.name, bound, source)
                key: Term | None = None
            case (tree.SelectItem(operand, None),):
                bound = self._settled(bound)
                key = _made_id(place, bound.scope, query)
                result = self._values(part.name, bound, key, operand)
            case _:
                bound = self._settled(bound)
                key = _made_id(place, bound.scope, query)
                result = self._made(part.name, bound, key, query)
        self._with(bound, query, result)
        return replace(result, order=self._order(part.name, bound, key, query))

    def _settled(self, bound: _Bound) -> _Bound:
        """The bindings as one relation, where several rules read them."""
        return _Bound([self._queries.anchored(bound.bodies, bound.scope)] if bound.bodies else [], bound.scope)

    def _shown(self, part: str, what: str, columns: str) -> str:
        """A relation to read, with its columns by kind."""
        relation = self._writer.part_relation(part, what)
        self._shapes[relation] = tuple(columns.split())
        return relation

    def _keep_empty(self) -> None:
        """A relation to read that no rule derives, because its conditions never hold, is empty but there."""
        derived = {rule.head.relation for rule in self._writer.rules}
        row = {column: self._writer.variable(column) for column in ("oid", "label", "place", "kind", "text", "number")}
        edge = Atom(EDGE, (row["oid"], row["label"], Wildcard(), row["place"]))
        atom = Atom(ATOM, (row["oid"], row["kind"], row["text"], row["number"]))
        terms: dict[str, Term] = {**row, "id": ListTerm((integer(0), row["oid"]))}
        for relation, columns in self._shapes.items():
            if relation not in derived:
                args = tuple(terms[column] for column in columns)
                self._writer.rule(relation, args, [(edge, atom, *never(row["oid"]))])

    def _objects(self, name: str, bound: _Bound, source: tree.PathExpression | tree.Subquery) -> ViewPart:
        relation = self._shown(name, "objects", "oid")
        match source:
            case tree.PathExpression(tree.Identifier(variable), ()) if variable in bound.scope:
                self._writer.rule(relation, (bound.scope[variable],), bound.bodies)
            case _:
                end = self._writer.variable("Item")
                self._writer.rule(relation, (end,), self._queries.objects(bound.bodies, bound.scope, source, end))
        return ViewPart(name, objects=relation)

    def _values(self, name: str, bound: _Bound, key: Term, operand: tree.Operand) -> ViewPart:
        relation = self._shown(name, "values", "id kind text number")
        for body, value in self._queries.values(bound.bodies, bound.scope, operand):
            goals, columns = self._columns(value)
            self._writer.rule(relation, (key, *columns), [(*body, *goals)])
        return ViewPart(name, values=relation)

    def _made(self, name: str, bound: _Bound, key: Term, query: tree.SelectQuery) -> ViewPart:
        made = self._shown(name, "made", "id")
        self._writer.rule(made, (key,), bound.bodies)
        edges = values = None
        for item in query.items:
            label = text(item_label(item))
            if isinstance(item.operand, tree.PathExpression | tree.Subquery):
                edges = edges or self._shown(name, "made_edges", "id label oid place")
                self._made_edges(edges, bound, key, label, item.operand)
            else:
                values = values or self._shown(name, "made_values", "id label kind text number")
                for body, value in self._queries.values(bound.bodies, bound.scope, item.operand):
                    goals, columns = self._columns(value)
                    self._writer.rule(values, (key, label, *columns), [(*body, *goals)])
        return ViewPart(name, made=made, made_edges=edges, made_values=values)

    def _made_edges(
        self, relation: str, bound: _Bound, key: Term, label: Constant, source: tree.PathExpression | tree.Subquery
    ) -> None:
        """An edge to every object of an item. The last step keeps its place, so that arrays keep their order."""
        end = self._writer.variable("Item")
        match source:
            case tree.PathExpression(root, (*before, tree.ByLabel() | tree.ByPattern() as last)):
                parent, place = self._writer.variable("Parent"), self._writer.variable("Place")
                start = tree.PathExpression(root, tuple(before))
                bodies = self._queries.objects(bound.bodies, bound.scope, start, parent)
                step = self._queries.walker.edge(parent, last, end, place)
                self._writer.rule(relation, (key, label, end, place), [(*body, *step) for body in bodies])
            case _:
                bodies = self._queries.objects(bound.bodies, bound.scope, source, end)
                self._writer.rule(relation, (key, label, end, integer(0)), bodies)

    def _columns(self, value: ViewValue) -> tuple[Body, tuple[Term, Term, Term]]:
        """Kind, text and number of a value to show. A computed number that is whole is an int."""
        match value:
            case StoredValue(oid):
                row, kind, words, amount = atom_goal(self._writer, oid)
                return (row,), (kind, words, amount)
            case LiteralValue(known):
                kind_of, words_of, amount_of = columns_of(known)
                shown = text(words_of) if words_of is not None else Constant(None, None)
                return (), (text(kind_of), shown, number(amount_of) if amount_of is not None else Constant(None, None))
            case TextValue(term):
                return (), (text(STRING), term, Call("try_to_float", (text(""),)))
            case NumberValue(term):
                small = Call("is_less", (Call("abs", (term,)), number(_WHOLE)))
                is_whole = Call("all_true", (small, Call("is_equal", (Call("mod", (term, number(1))), number(0)))))
                kind_term = Call("if", (is_whole, text(INT), text(REAL)))
                near = Call("smaller", (Call("larger", (term, number(-_WHOLE))), number(_WHOLE)))
                as_int = Call("to_string", (Call("to_int", (near,)),))
                words_term = Call("if", (is_whole, as_int, Call("to_string", (term,))))
                return (), (kind_term, words_term, term)

    def _with(self, bound: _Bound, query: tree.SelectQuery, part: ViewPart) -> None:
        selected = {
            item.operand.root.name
            for item in query.items
            if isinstance(item.operand, tree.PathExpression)
            and isinstance(item.operand.root, tree.Identifier)
            and not item.operand.steps
            and item.operand.root.name in bound.scope
        }
        positions: dict[str, str] = {}
        for item in query.adjuncts:
            root = item.path.root
            name = root.name if isinstance(root, tree.Identifier) else ""
            if name not in positions and name in selected:
                positions[name] = self._position(bound, name, part)
            if name not in positions or not item.path.steps:
                self._refuse_with(item, sorted(selected))
                continue
            after = self._adjuncts.follow(positions[name], item.path.steps)
            if item.variable is not None:
                if item.variable.name in positions or item.variable.name in bound.scope:
                    message = f"the variable `{item.variable.name}` is defined twice"
                    self._refuse("HW250", message, item.variable.span, "give one of them another name")
                positions[item.variable.name] = after

    def _position(self, bound: _Bound, name: str, part: ViewPart) -> str:
        if part.objects is not None:
            return part.objects
        return self._writer.derive("with", (bound.scope[name],), bound.bodies).relation

    def _refuse_with(self, item: tree.WithItem, selected: list[str]) -> None:
        if item.path.steps or not selected:
            message = "a path of the with clause begins with a selected variable"
            shown = f"begin it with `{selected[0]}`" if selected else "name the selected path in the from clause"
            self._refuse("HW252", message, item.path.root.span, shown)
        else:
            message = "a path of the with clause has at least one step"
            self._refuse(
                "HW252", message, item.span, f"as in `{selected[0]}.Name`, or `{selected[0]}.#` for everything"
            )

    def _order(self, name: str, bound: _Bound, key: Term | None, query: tree.SelectQuery) -> tuple[ViewOrder, ...]:
        """A relation of sort keys per item. Selected objects are told apart by their variable."""
        found = []
        for place, item in enumerate(query.order, 1):
            subject = key
            if subject is None:
                match query.items[0].operand:
                    case tree.PathExpression(tree.Identifier(variable), ()) if variable in bound.scope:
                        subject = bound.scope[variable]
                    case _:
                        hint = "name the selected path in the from clause, and select the variable"
                        self._refuse("HW257", "only a selected variable has an order", item.span, hint)
                        return ()
            relation = self._shown(name, f"order{place}", f"{'oid' if key is None else 'id'} kind text number")
            scope = {**bound.scope, " key": subject} if isinstance(subject, Variable) else bound.scope
            for body, value in self._queries.values(bound.bodies, scope, item.operand):
                goals, columns = self._columns(value)
                self._writer.rule(relation, (subject, *columns), [(*body, *goals)])
            found.append(ViewOrder(relation, item.descending))
        return tuple(found)

    def _refuse(self, code: str, message: str, span: object, hint: str | None = None) -> None:
        self._queries.problems.append(Diagnostic(code, message, span, hint=hint))  # type: ignore[arg-type]


def _made_id(place: int, scope: Scope, query: tree.SelectQuery) -> ListTerm:
    used = dict.fromkeys(scope[name] for name in roots(query.items) if name in scope)
    return ListTerm((integer(place), *used))
