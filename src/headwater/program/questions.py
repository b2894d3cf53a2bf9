"""Queries with parameters: `query fastest($From, To, Path, Ms)` is asked again and again, each time for other values.

A question is a row of a base relation that the query has for itself, with one column for each of its parameters; rules
make of it what is asked of the relation (`headwater.rewrite.demand.magic_sets`). While the row is there, its answers
are maintained like any view.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.core.errors import DataError
from headwater.language.syntax import (
    Atom,
    Constant,
    Declaration,
    Goal,
    Head,
    Negation,
    Query,
    Rule,
    Statement,
    Term,
    Tree,
    Variable,
    Wildcard,
)

_VARIABLE = re.compile(r"[A-Z]\w*")
_WHOLE = "'whole"


def is_parameter(arg: Term, query: Query) -> bool:
    return isinstance(arg, Variable) and arg.name in query.parameters


def questions_of(query: Query) -> str:
    """The name of the relation that holds the questions of a query with parameters."""
    return f"{query.atom.relation}'questions_{'_'.join(query.parameters)}"


def question_columns(query: Query) -> tuple[int, ...]:
    """For each parameter the first column of the queried relation in which it stands."""
    names = [arg.name if isinstance(arg, Variable) else None for arg in query.atom.args]
    return tuple(names.index(each) for each in query.parameters)


def filled(query: Query, values: Sequence[Any]) -> Query:
    """The query with values in the place of its parameters."""
    given = dict(zip(query.parameters, values, strict=True))
    args = tuple(
        Constant(given[arg.name], None) if isinstance(arg, Variable) and arg.name in given else arg
        for arg in query.atom.args
    )
    return replace(query, atom=replace(query.atom, args=args), parameters=())


def query_for(queries: Sequence[Query], view: str, given: Mapping[str, Any]) -> Query:
    """The query of a view that has exactly these parameters; raises DataError (HW824) that names those there are."""
    own = [query for query in queries if query.atom.relation == view and query.parameters]
    for query in own:
        if set(query.parameters) == given.keys():
            return query
    if not own:
        raise DataError(
            f"error[HW824]: no query of `{view}` has parameters; write `query {view}($X, ...)` for a column that "
            "each question gives a value for, or read rows()"
        )
    wanted = " or ".join(_listed(query.parameters) for query in own)
    known = {name for query in own for name in query.parameters}
    unknown = [name for name in given if name not in known]
    if unknown:
        what = f"{_listed(unknown)} {'is' if len(unknown) == 1 else 'are'} not among them"
    else:
        what = f"{_listed(given) if given else 'none'} {'were' if len(given) > 1 else 'was'} given"
    raise DataError(f"error[HW824]: a question about `{view}` gives {wanted}; {what}")


def refuse_unasked(queries: Sequence[Query], view: str) -> None:
    """Raise DataError (HW825) for a view that can only be read by asking."""
    own = [query for query in queries if query.atom.relation == view]
    if own and all(query.parameters for query in own):
        names = own[0].parameters
        values = ", ".join(f"{name}=..." for name in names)
        raise DataError(
            f'error[HW825]: `{view}` is asked with {_listed(names)}; read it by ask("{view}", {values}), '
            "or put values in the place of the parameters (on the command line by --query)"
        )


def is_questions(relation: str) -> bool:
    """Whether a relation holds questions: no user can write such a name."""
    return "'questions_" in relation


def spoken(relation: str) -> str:
    """What a relation of an answered program is in a message: users know the view alone."""
    view, mark, _ = relation.partition("'questions_")
    return f"the questions about `{view}`" if mark else f"`{relation.removesuffix(_WHOLE)}`"


def answered(tree: Tree, columns: Mapping[str, Sequence[str]]) -> Tree:
    """The program in which the answers to all questions are a view, for engines where rows of questions are an input.

    `fastest` becomes `fastest'whole`, and its rows for which there is a question are the new `fastest`, with these
    columns. Statements that are not as they were written have no span, so that they are printed as they are now.
    """
    asked = {each.atom.relation for each in tree.statements if isinstance(each, Query) and each.parameters}
    renamed = {view: f"{view}{_WHOLE}" for view in asked}
    statements: list[Statement] = []
    for statement in tree.statements:
        match statement:
            case Rule(head, body):
                head = replace(head, relation=renamed.get(head.relation, head.relation))
                made = replace(statement, head=head, body=tuple(_renamed(goal, renamed) for goal in body))
                statements.append(statement if made == statement else replace(made, span=None))
            case Declaration(relation=name):
                statements.append(replace(statement, relation=renamed.get(name, name)))
            case Query(atom) if atom.relation in renamed:
                named = columns[atom.relation]
                statements.append(_answers(statement, renamed[atom.relation], named))
                free = tuple(Variable(name) if _VARIABLE.fullmatch(name) else Wildcard() for name in named)
                shown = replace(statement, atom=replace(atom, args=free), parameters=(), span=None)
                statements += [] if shown in statements else [shown]
            case _:
                statements.append(statement)
    return replace(tree, statements=tuple(statements))


def _answers(query: Query, whole: str, columns: Sequence[str]) -> Rule:
    """The rule for what a query asks for, its variables named after the columns."""
    names: dict[str, Variable] = {}
    args: list[Term] = []
    for at, (arg, column) in enumerate(zip(query.atom.args, columns, strict=True)):
        word = column[:1].upper() + column[1:]
        named = Variable(word if _VARIABLE.fullmatch(word) and Variable(word) not in args else f"V{at}")
        match arg:
            case Variable(name):
                args.append(names.setdefault(name, named))
            case Wildcard():
                args.append(named)
            case _:
                args.append(arg)
    question = Atom(questions_of(query), tuple(names[each] for each in query.parameters))
    given = (question,) if query.parameters else ()
    return Rule(Head(query.atom.relation, tuple(args)), (*given, replace(query.atom, relation=whole, args=tuple(args))))


def _renamed(goal: Goal, renamed: Mapping[str, str]) -> Goal:
    match goal:
        case Atom(name):
            return replace(goal, relation=renamed.get(name, name))
        case Negation(atom):
            return replace(goal, atom=replace(atom, relation=renamed.get(atom.relation, atom.relation)))
        case _:
            return goal


def _listed(names: Collection[str]) -> str:
    return " and ".join(f"`${name}`" for name in names)
