"""A checked or rewritten program as text of the same language, for `plan --stage` and for the spec files.

Undeclared relations are listed as comments, with what is known of their types.
"""

from __future__ import annotations

from headwater.language.datalog.printer import print_term, print_tree
from headwater.language.syntax import ColumnDeclaration, Declaration, Tree
from headwater.program.model import Column, Program, Relation


def print_program(program: Program) -> str:
    declared = tuple(_declaration(relation) for relation in program.relations if relation.declared)
    listed = [_listed(relation) for relation in program.relations if not relation.declared]
    marks = [mark for relation in program.relations for mark in _marks(relation)]
    parts = [
        print_tree(Tree(declared)) if declared else "",
        "\n".join(listed + marks),
        print_tree(Tree(program.rules)) if program.rules else "",
        print_tree(Tree(program.queries)) if program.queries else "",
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def _declaration(relation: Relation) -> Declaration:
    columns = tuple(
        ColumnDeclaration(column.name, column.type, column.nullable) for column in relation.columns if column.type
    )
    key = None if relation.key is None else tuple(relation.columns[place].name for place in relation.key)
    return Declaration(relation.kind, relation.name, columns, key, relation.ttl, relation.lateness, relation.optional)


def _listed(relation: Relation) -> str:
    columns = ", ".join(map(_column, relation.columns))
    return f"% {'derived' if relation.derived else 'base'} {relation.name}({columns})"


def _column(column: Column) -> str:
    maybe = "?" if column.nullable else ""
    return f"{column.name}: {column.type.value}{maybe}" if column.type else f"{column.name}{maybe}"


def _marks(relation: Relation) -> list[str]:
    marks = []
    if relation.derived and relation.time is not None:
        marks.append(f"% {relation.name} carries its time in {relation.columns[relation.time].name}")
    for selection in relation.selections:
        group = ", ".join(relation.columns[place].name for place in selection.group)
        per = f" per ({group})" if group else ""
        marks.append(f"% {relation.name} keeps the {selection.best} of {relation.columns[selection.value].name}{per}")
    if relation.replicated:
        marks.append(f"% {relation.name} is held by every shard")
    if relation.gathered:
        marks.append(f"% {relation.name} is held by one shard")
    if relation.part_of is not None:
        marks.append(f"% {relation.name} keeps what some goals of {relation.part_of} give, each once")
    bound = {each.column.name: each.value for each in relation.shown or () if each.value is not None}
    if bound:
        said = " and ".join(f"{name} = {print_term(value)}" for name, value in bound.items())
        columns = "this column" if len(bound) == 1 else "these columns"
        marks.append(f"% {relation.name} is derived only where {said}, and stored without {columns}")
    elif relation.ways:
        asked = " or ".join(f"({', '.join(relation.columns[at].name for at in way)})" for way in relation.ways)
        marks.append(f"% {relation.name} is derived only where {asked} is asked for")
    if relation.made_linear:
        marks.append(
            f"% {relation.name} follows one step at a time, which finds each way fewer times than two halves do"
        )
    if relation.search is not None:
        for given in relation.search.given:
            ends = " and ".join(relation.columns[at].name for at in given)
            where = "from both" if len(given) == 2 else "from there"
            marks.append(f"% ask: {relation.name} of one {ends} is searched {where} along {relation.search.steps}")
    if relation.whole is not None:
        marks.append(f"% {relation.name} is derived whole: {relation.whole}")
    return marks
