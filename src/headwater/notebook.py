"""`%load_ext headwater` in Jupyter: the cell magic `%%headwater`, and bars of progress while rows are loaded.

    %%headwater db link=links
    reachable(X, Y) :- link(X, Y).
    reachable(X, Z) :- link(X, Y), reachable(Y, Z).

compiles the cell, fills its relations from variables of the notebook or from files, and leaves a `Database` in `db`.
Mistakes are shown as `headwater check` shows them, without a traceback.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from headwater import pipeline
from headwater.core.errors import HeadwaterError
from headwater.core.progress import show_progress
from headwater.database import Database
from headwater.files.applying import expected_of
from headwater.files.read import SUFFIXES, read
from headwater.pipeline import CompiledProgram

_USAGE = "write %%headwater NAME RELATION=VARIABLE ..., as in %%headwater db link=links; a VARIABLE may be a file too"


def load(shell: Any) -> None:
    """Give a shell the magic."""
    shell.register_magic_function(lambda line, cell: headwater(shell, line, cell), "cell", "headwater")
    show_progress()


def headwater(shell: Any, line: str, cell: str) -> Database:
    """A database of the cell's program, bound to the first word of the line."""
    from IPython.core.error import UsageError

    words = shlex.split(line)
    name, given = words[0] if words and "=" not in words[0] else "", [word.partition("=") for word in words[1:]]
    if not name.isidentifier() or not all(relation and source for relation, _, source in given):
        raise UsageError(_USAGE)
    try:
        program = pipeline.compile(cell, name=f"<cell {name}>")
        unknown = [relation for relation, *_ in given if relation not in _bases(program)]
        if unknown:
            raise UsageError(
                f"`{unknown[0]}` is no base relation of the program; there are {', '.join(_bases(program))}"
            )
        db = Database(program)
        rows = {relation: _rows(shell, program, relation, source) for relation, _, source in given}
        if rows:
            db.apply(insert=rows)
    except HeadwaterError as problem:
        raise UsageError(str(problem)) from None
    shell.push({name: db})
    return db


def _bases(program: CompiledProgram) -> list[str]:
    return [relation.name for relation in program.checked.relations if not relation.derived]


def _rows(shell: Any, program: CompiledProgram, relation: str, source: str) -> Any:
    from IPython.core.error import UsageError

    if source in shell.user_ns:
        return shell.user_ns[source]
    path = Path(source)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise UsageError(f"`{source}` is neither a variable of this notebook nor a csv, jsonl or parquet file")
    found = read(path, expected_of(program.checked.relation(relation)), feed=False, header=True)
    if found.bad:
        raise UsageError(f"{len(found.bad):,} rows do not fit, the first: {found.bad[0]}")
    return found.taken(range(found.size))
