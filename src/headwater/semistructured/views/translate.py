"""A view to rules.

`translate` gives the rules of one view, or raises CheckProblem with everything that is wrong with it. The rules
say what 001, section 2.4 computes: the selected objects, and the edges of the with clause. Because they are
ordinary rules, the engine maintains them under every change, with wildcards, closures, negation, subqueries and
aggregates too, which the paper's own algorithm leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
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
from headwater.semistructured.views.limits import LimitRules
from headwater.semistructured.views.model import ViewOrder, ViewPart, ViewProgram
from headwater.semistructured.views.queries import QueryRules, Scope
from headwater.semistructured.views.ranging import over_views
from headwater.semistructured.views.scoping import HiddenNames, item_label, label_variables, roots, shared
from headwater.semistructured.views.writer import Body, RuleWriter, compared, integer, never, number, text

_WHOLE = 2**53  # below this, every whole float is an int


def translate(
    view: tree.ViewDefinition, known: KnownNames | None = None, earlier: Iterable[ViewProgram] = ()
) -> ViewProgram:
    """The rules of a view, whose paths may range over earlier views. With the names and labels of the store, warnings
    tell of those that nearly match one."""
    return _ViewTranslation(view, {each.name: each for each in earlier}).run(known)


def translate_all(
    views: Collection[tree.ViewDefinition], known: KnownNames | None = None, earlier: Iterable[ViewProgram] = ()
) -> tuple[ViewProgram, ...]:
    """The rules of several views for one program, each after those that it may range over; two views of one name are
    an error."""
    seen: set[str] = set()
    problems = []
    for view in views:
        if view.name in seen:
            problems.append(Diagnostic("HW251", f"the view `{view.name}` is defined twice", view.span))
        seen.add(view.name)
    if problems:
        raise CheckProblem(tuple(problems[:MOST_FINDINGS]))
    before, found = tuple(earlier), list[ViewProgram]()
    for view in views:
        found.append(translate(view, known, (*before, *found)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Bound:
    """The bindings of one statement: bodies, and the variables they bind."""

    bodies: list[Body]
    scope: Scope


class _ViewTranslation:
    """The rules of one view so far."""

    def __init__(self, view: tree.ViewDefinition, earlier: Mapping[str, ViewProgram]) -> None:
        ranging = over_views(view, earlier)
        self._written, self._view = view, ranging.definition
        self._earlier, self._roots = earlier, ranging.roots
        self._writer = RuleWriter(view.name)
        self._queries = QueryRules(self._writer, ranging.roots)
        self._queries.problems += ranging.problems
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
            self._written,
            self._near_misses(known) if known is not None else (),
            tuple(sorted({root.view for root in self._roots.values()})),
        )

    def _near_misses(self, known: KnownNames) -> tuple[Diagnostic, ...]:
        views = {name: [part.name for part in view.parts] for name, view in self._earlier.items()}
        return near_misses(self._view, known, views, self._roots)

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
        if query.limit is not None:
            query = _with_selected_source(query)
        bodies, scope = self._queries.sources([()], {}, query.sources)
        bound = _Bound(self._queries.where(bodies, scope, query.where), scope)
        key: Term | None = None
        if not self._selects_objects(query, scope):
            bound, key = self._with_ids(bound, self._made_id(place, scope, query))
        order: tuple[ViewOrder, ...] = ()
        if query.limit is None:
            order = self._order(part.name, bound, key, query)
        else:
            bound, order = self._first(part.name, bound, key, query)
        match query.items:
            case (tree.SelectItem(tree.PathExpression() | tree.Subquery() as source, None),) if key is None:
                result = self._objects(part.name, bound, source)
            case (tree.SelectItem(operand, None),) if key is not None:
                result = self._values(part.name, bound, key, operand)
            case _:
                assert key is not None
                result = self._made(part.name, bound, key, query)
        self._with(bound, query, result)
        return replace(result, order=order)

    def _selects_objects(self, query: tree.SelectQuery, scope: Scope) -> bool:
        """Whether a statement selects objects of the store, in place of values or objects that it makes."""
        match query.items:
            case (tree.SelectItem(tree.PathExpression() | tree.Subquery() as operand, None),):
                return not self._queries.is_label(scope, operand)
            case _:
                return False

    def _first(
        self, name: str, bound: _Bound, key: Term | None, query: tree.SelectQuery
    ) -> tuple[_Bound, tuple[ViewOrder, ...]]:
        """The bindings of the first objects alone, and their sort keys."""
        assert query.limit is not None
        if not bound.bodies:
            return bound, self._order(name, bound, key, query)
        bound = self._settled(bound)
        subject = key if key is not None else bound.scope[_selected_variable(query, bound.scope) or ""]
        order = self._order(name, bound, key, query, shown=False)
        first = LimitRules(self._writer).first(bound.bodies, subject, order, query.limit)
        chosen = self._writer.variable("Chosen")
        goals = (compared(chosen, "=", subject), Atom(first, (chosen,)))
        limited = _Bound([(*body, *goals) for body in bound.bodies], bound.scope)
        return limited, self._order(name, limited, key, query)

    def _settled(self, bound: _Bound) -> _Bound:
        """The bindings as one relation, where several rules read them."""
        return _Bound([self._queries.anchored(bound.bodies, bound.scope)] if bound.bodies else [], bound.scope)

    def _with_ids(self, bound: _Bound, made: ListTerm) -> tuple[_Bound, Term]:
        """The bindings as one relation, with the id of what is made of each. A row of the view that may be lost is then
        derived again by its id; without it, every binding with the same values was tried, in turn."""
        if not bound.bodies:
            return bound, made
        key, relation = self._writer.variable("Id"), self._writer.relation("bound")
        kept = tuple(dict.fromkeys(term for term in bound.scope.values() if isinstance(term, Variable)))
        self._writer.rule(relation, (*kept, made), bound.bodies)
        return _Bound([(Atom(relation, (*kept, key)),)], {**bound.scope, " key": key}), key

    def _made_id(self, place: int, scope: Scope, query: tree.SelectQuery) -> ListTerm:
        """What an object is made of: ids of objects, and labels, beside which ids are texts as well."""
        used = list(dict.fromkeys(scope[name] for name in roots(query.items) if name in scope))
        if not any(map(self._queries.stands_for_label, used)):
            return ListTerm((integer(place), *used))
        words = (term if self._queries.stands_for_label(term) else Call("to_string", (term,)) for term in used)
        return ListTerm((text(str(place)), *words))

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
            if self._selects_objects(tree.SelectQuery((replace(item, label=None),)), bound.scope):
                assert isinstance(item.operand, tree.PathExpression | tree.Subquery)
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
        """An edge to every object of an item. The last step keeps its place, so that arrays keep their order; a
        variable stands for one object."""
        end = self._writer.variable("Item")
        match source:
            case tree.PathExpression(root, (*before, tree.ByLabel() | tree.ByPattern() as last)):
                parent, place = self._writer.variable("Parent"), self._writer.variable("Place")
                start = tree.PathExpression(root, tuple(before))
                bodies = self._queries.objects(bound.bodies, bound.scope, start, parent)
                step = self._queries.walker.edge(parent, last, end, place)
                self._writer.rule(relation, (key, label, end, place), [(*body, *step) for body in bodies])
            case tree.PathExpression(tree.Identifier(name), ()) if name in bound.scope:
                self._writer.rule(relation, (key, label, bound.scope[name], integer(-1)), bound.bodies)
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
            and not self._queries.is_label(bound.scope, item.operand)
        }
        for item in query.adjuncts:
            for variable in label_variables(item.path):
                hint = "the edges of a with clause keep their labels"
                self._refuse("HW262", "a label variable is bound in a from clause", variable.span, hint)
        if any(True for item in query.adjuncts for _ in label_variables(item.path)):
            return
        positions: dict[str, str] = {}
        beginnings: dict[str, str] = {}  # of a variable of this clause, the selected one that its path begins with
        for item in query.adjuncts:
            root = item.path.root
            name = root.name if isinstance(root, tree.Identifier) else ""
            if name not in positions and name in selected:
                positions[name] = self._position(bound, name, part)
            if name not in positions or not item.path.steps:
                self._refuse_with(item, sorted(selected))
                continue
            like = bound.scope.get(beginnings.get(name, name))
            after = self._adjuncts.follow(positions[name], item.path.steps, like)
            if item.variable is not None:
                if item.variable.name in positions or item.variable.name in bound.scope:
                    message = f"the variable `{item.variable.name}` is defined twice"
                    self._refuse("HW250", message, item.variable.span, "give one of them another name")
                positions[item.variable.name] = after
                beginnings[item.variable.name] = beginnings.get(name, name)

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

    def _order(
        self, name: str, bound: _Bound, key: Term | None, query: tree.SelectQuery, *, shown: bool = True
    ) -> tuple[ViewOrder, ...]:
        """A relation of sort keys per item. Selected objects are told apart by their variable."""
        found = []
        for place, item in enumerate(query.order, 1):
            subject = key
            if subject is None:
                variable = _selected_variable(query, bound.scope)
                if variable is None:
                    hint = "name the selected path in the from clause, and select the variable"
                    self._refuse("HW257", "only a selected variable has an order", item.span, hint)
                    return ()
                subject = bound.scope[variable]
            columns = f"{'oid' if key is None else 'id'} kind text number"
            relation = self._shown(name, f"order{place}", columns) if shown else self._writer.relation("order")
            scope = {**bound.scope, " key": subject} if isinstance(subject, Variable) else bound.scope
            for body, value in self._queries.values(bound.bodies, scope, item.operand):
                goals, cells = self._columns(value)
                self._writer.rule(relation, (subject, *cells), [(*body, *goals)])
            if shown or self._writer.derives(relation):
                found.append(ViewOrder(relation, item.descending))
        return tuple(found)

    def _refuse(self, code: str, message: str, span: object, hint: str | None = None) -> None:
        self._queries.problems.append(Diagnostic(code, message, span, hint=hint))  # type: ignore[arg-type]


def _selected_variable(query: tree.SelectQuery, scope: Scope) -> str | None:
    """The variable that a statement selects, if it selects one alone."""
    match query.items[0].operand:
        case tree.PathExpression(tree.Identifier(variable), ()) if variable in scope:
            return variable
        case _:
            return None


def _with_selected_source(query: tree.SelectQuery) -> tree.SelectQuery:
    """`select o.items from Orders o limit 3` with a variable for the selected path, so that it can be counted."""
    match query.items:
        case (tree.SelectItem(tree.PathExpression(_, steps) as path, None),) if steps and not query.order:
            variable = HiddenNames(query).take()
            source = tree.FromItem(path, variable, span=path.span)
            item = tree.SelectItem(tree.PathExpression(variable, span=path.span), span=path.span)
            return replace(query, items=(item,), sources=(*query.sources, source))
        case _:
            return query
