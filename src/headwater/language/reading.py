"""A program's text in either language: its first words show whether it is Datalog or SQL."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.datalog.include import Reader, read_file
from headwater.language.datalog.parse import parse
from headwater.language.sql.text.recognise import is_sql
from headwater.language.syntax import Tree


def read_text(
    source: Source, tables: Mapping[str, Mapping[str, Type | None]] | None = None, read: Reader = read_file
) -> Tree:
    """The tree of a text; `tables` has the columns of tables that an SQL text does not declare, and `read` finds
    the files that a Datalog text includes."""
    return read_sql(source, tables) if is_sql(source.text) else parse(source, read)


def read_sql(source: Source, tables: Mapping[str, Mapping[str, Type | None]] | None = None) -> Tree:
    from headwater.language.sql.program import translate  # sqlglot takes a while to import, and Datalog needs none

    return translate(source, tables)


def read_program(path: str | PathLike[str], tables: Mapping[str, Mapping[str, Type | None]] | None = None) -> Tree:
    """The tree of a file: SQL if it is called `.sql` or begins like SQL, else Datalog with its includes."""
    found = read_source(path)
    if found.name.lower().endswith(".sql"):
        return read_sql(found, tables)
    return read_text(found, tables)


def read_source(path: str | PathLike[str]) -> Source:
    """The text of a file; raises SyntaxProblem if it cannot be read."""
    found = read_file(fspath(path), None)
    if isinstance(found, Diagnostic):
        raise SyntaxProblem((found,))
    return found
