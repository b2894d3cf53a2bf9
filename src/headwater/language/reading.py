"""A program's text in either language: its first words show whether it is Datalog or SQL.

Views in Lorel are neither: they are refused, and the error names the function that takes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike, fspath
from typing import TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.datalog.include import Reader, read_file
from headwater.language.datalog.parse import parse
from headwater.language.lines import Lines
from headwater.language.sql.text.recognise import is_sql
from headwater.language.syntax import Tree

Known: TypeAlias = Mapping[str, Mapping[str, Type | None]]
"""The columns of tables that an SQL text does not declare."""

_VIEWS = re.compile(r"(?:\s|\ufeff|--[^\n]*|//[^\n]*|/\*.*?\*/)*(define\s+view)\b", re.DOTALL | re.IGNORECASE)


def read_text(
    source: Source, tables: Known | None = None, read: Reader = read_file, *, union_all: str | None = None
) -> Tree:
    """The tree of a text; `tables` and `union_all` are for SQL, and `read` finds the files that a Datalog text
    includes."""
    views = _VIEWS.match(source.text)
    if views is not None:
        raise _lorel(source, views.start(1), views.end(1))
    return read_sql(source, tables, union_all=union_all) if is_sql(source.text) else parse(source, read)


def _lorel(source: Source, start: int, end: int) -> SyntaxProblem:
    hint = "give them to `Documents.define`, or to `headwater run` in a file called `.lorel`"
    span = Lines(source).span(start, max(end, start + 1))
    message = "views in Lorel range over documents, and are no program of their own"
    return SyntaxProblem((Diagnostic("HW156", message, span, hint=hint),))


def read_sql(source: Source, tables: Known | None = None, *, union_all: str | None = None) -> Tree:
    from headwater.language.sql.program import translate  # sqlglot takes a while to import, and Datalog needs none

    return translate(source, tables, union_all)


def read_program(path: str | PathLike[str], tables: Known | None = None, *, union_all: str | None = None) -> Tree:
    """The tree of a file: SQL if it is called `.sql` or begins like SQL, else Datalog with its includes."""
    found = read_source(path)
    if found.name.lower().endswith(".lorel"):
        raise _lorel(found, 0, len(found.text.split("\n", 1)[0]))
    if found.name.lower().endswith(".sql"):
        return read_sql(found, tables, union_all=union_all)
    return read_text(found, tables, union_all=union_all)


def read_source(path: str | PathLike[str]) -> Source:
    """The text of a file; raises SyntaxProblem if it cannot be read."""
    found = read_file(fspath(path), None)
    if isinstance(found, Diagnostic):
        raise SyntaxProblem((found,))
    return found
