"""The program that maintains views over documents on several shards.

It is that of the embedded store, with `document` in the place of `name`, and with a query for every relation that
documents are read from. An object of the store that a view shows lives where its document does, with everything below
it. An object that a view makes of several others lives by its own id. Rules bring it what it holds: which objects are
inside it, and their edges and values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.syntax import Atom, Goal, Negation, Query, Rule, Statement, Tree, Variable, Wildcard
from headwater.pipeline import CompiledProgram, compile_tree, uncollected
from headwater.semistructured.schema import ATOM, NAME
from headwater.semistructured.sharded.output import DocumentViews
from headwater.semistructured.sharded.relations import DECLARATIONS, DOCUMENT, MadeObjects, ShownView
from headwater.semistructured.views import ViewPart, ViewProgram, names_read, parse_views


@dataclass(frozen=True, slots=True)
class ShardedProgram:
    """Views over documents for several shards: the program, and which relations show the documents."""

    program: CompiledProgram
    views: DocumentViews
    names: tuple[str, ...]  # that the views read documents of
    warnings: tuple[Diagnostic, ...]


def compile_for_shards(source: Source | str) -> ShardedProgram:
    """The views that a text of Lorel defines; raises ProgramError."""
    with uncollected():
        found = parse_views(source)
        shown = tuple(_shown(view) for view in found)
        rules = [_on_documents(rule) for view in found for rule in view.rules]
        text = "\n".join((DECLARATIONS, *(_inside(made, view.edges) for view in shown for made in view.made)))
        own = parse(Source("<documents>", text)).statements
        widths = {name: width for view in found for name, width in view.widths}
        queries = [_query(name, widths.get(name, 5)) for view in shown for name in view.relations]
        statements: tuple[Statement, ...] = (*own, *rules, *queries)
        program = compile_tree(Tree(statements))
    warnings = (*(each for view in found for each in view.warnings), *program.warnings)
    return ShardedProgram(program, DocumentViews(shown), names_read(found), warnings)


def _shown(view: ViewProgram) -> ShownView:
    return ShownView(
        view.name,
        tuple(part.objects for part in view.parts if part.objects is not None),
        tuple(part.values for part in view.parts if part.values is not None),
        tuple(_made(part, view.edges) for part in view.parts if part.made is not None),
        view.edges,
    )


def _made(part: ViewPart, edges: str | None) -> MadeObjects:
    made = part.made
    assert made is not None
    inner_edges = f"{made}_inner_edges" if part.made_edges is not None and edges is not None else None
    inner_atoms = f"{made}_inner_atoms" if part.made_edges is not None else None
    return MadeObjects(made, part.made_edges, part.made_values, inner_edges, inner_atoms)


def _inside(made: MadeObjects, edges: str | None) -> str:
    """Rules for what is inside the objects that a statement makes; `edges` are those of the view."""
    if made.edges is None:
        return ""
    inside = f"{made.made}_inside"
    rules = [
        f"{inside}(Made, O) :- {made.edges}(Made, _, O, _).",
        f"{made.inner_atoms}(Made, O, K, T, N) :- {inside}(Made, O), {ATOM}(O, K, T, N).",
    ]
    if edges is not None:
        rules += [
            f"{inside}(Made, O) :- {inside}(Made, P), {edges}(P, _, O, _).",
            f"{made.inner_edges}(Made, P, L, O, N) :- {inside}(Made, P), {edges}(P, L, O, N).",
        ]
    return "\n".join(rules)


def _on_documents(rule: Rule) -> Rule:
    return replace(rule, body=tuple(map(_goal, rule.body)))


def _goal(goal: Goal) -> Goal:
    """`name(N, O)` as `document(O, N, _)`: roots are found by their ids."""
    match goal:
        case Atom(relation, (name, oid)) if relation == NAME:
            return Atom(DOCUMENT, (oid, name, Wildcard()))
        case Negation(atom):
            changed = _goal(atom)
            assert isinstance(changed, Atom)
            return replace(goal, atom=changed)
        case _:
            return goal


def _query(relation: str, width: int) -> Query:
    return Query(Atom(relation, tuple(Variable(f"C{place}") for place in range(width))))
