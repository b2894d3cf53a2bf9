"""Headwater keeps recursive views correct while the data changes.

These are the public names, and nothing else. Each is imported when it is first asked for, so that
`import headwater` stays quick and brings in neither pyspark nor numba nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.core.diagnostics import Diagnostic, Severity
    from headwater.core.errors import (
        BudgetSpent,
        CheckProblem,
        DataError,
        EvaluationError,
        FileError,
        GuardError,
        HeadwaterError,
        MissingInputWarning,
        NearMissWarning,
        ProgramError,
        StateError,
        SyntaxProblem,
        UnionAllWarning,
        UnknownRelation,
    )
    from headwater.core.functions.registry import register
    from headwater.core.progress import show_progress
    from headwater.database import Database
    from headwater.engine.guard import Guard
    from headwater.pipeline import compile, compile_file, compile_sql  # noqa: A004
    from headwater.semistructured.documents import Documents

__version__ = "0.1.0"

__all__ = [
    "BudgetSpent",
    "CheckProblem",
    "DataError",
    "Database",
    "Diagnostic",
    "Documents",
    "EvaluationError",
    "FileError",
    "Guard",
    "GuardError",
    "HeadwaterError",
    "MissingInputWarning",
    "NearMissWarning",
    "ProgramError",
    "Severity",
    "StateError",
    "SyntaxProblem",
    "UnionAllWarning",
    "UnknownRelation",
    "__version__",
    "compile",
    "compile_file",
    "compile_sql",
    "register",
    "show_progress",
]

_HOMES = {
    "BudgetSpent": "headwater.core.errors",
    "CheckProblem": "headwater.core.errors",
    "DataError": "headwater.core.errors",
    "Database": "headwater.database",
    "Diagnostic": "headwater.core.diagnostics",
    "Documents": "headwater.semistructured.documents",
    "EvaluationError": "headwater.core.errors",
    "FileError": "headwater.core.errors",
    "Guard": "headwater.engine.guard",
    "GuardError": "headwater.core.errors",
    "HeadwaterError": "headwater.core.errors",
    "MissingInputWarning": "headwater.core.errors",
    "ProgramError": "headwater.core.errors",
    "Severity": "headwater.core.diagnostics",
    "StateError": "headwater.core.errors",
    "SyntaxProblem": "headwater.core.errors",
    "NearMissWarning": "headwater.core.errors",
    "UnionAllWarning": "headwater.core.errors",
    "UnknownRelation": "headwater.core.errors",
    "compile": "headwater.pipeline",
    "compile_file": "headwater.pipeline",
    "compile_sql": "headwater.pipeline",
    "register": "headwater.core.functions.registry",
    "show_progress": "headwater.core.progress",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headwater' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext headwater` in a notebook: the cell magic `%%headwater`, and bars of progress."""
    import_module("headwater.notebook").load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
