"""Every exception Headwater raises on purpose: one root, one subclass per stage.

All of them survive pickling, because Spark workers raise them in other processes.
"""

from __future__ import annotations

from typing import Any

from headwater.core.diagnostics import Diagnostic
from headwater.core.render import render


class HeadwaterError(Exception):
    """The root: catch this to catch everything that Headwater reports."""


class ProgramError(HeadwaterError):
    """A program that cannot be run; `diagnostics` says where and why, all findings of the stage at once."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(render(diagnostic) for diagnostic in self.diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics,)


class SyntaxProblem(ProgramError):
    """The text is not a program."""


class CheckProblem(ProgramError):
    """The text parses, but names, types, safety, strata or network rules do not hold."""


class EvaluationError(HeadwaterError):
    """A rule met values it cannot compute with; the transaction was rolled back."""


class GuardError(HeadwaterError):
    """A recursion grew past its bound; the transaction was rolled back."""


class BudgetSpent(HeadwaterError):
    """Provenance that would need more nodes than its budget; nothing was changed."""


class DataError(HeadwaterError):
    """Rows that do not fit their relation; nothing was applied."""


class UnknownRelation(DataError, KeyError):
    """A relation that there is not, or that is not maintained."""

    __str__ = Exception.__str__  # a KeyError shows its text in quotes


class MissingInputWarning(UserWarning):
    """A view was read before `apply` was given all the base relations that it rests on."""


class FileError(HeadwaterError):
    """A file of rows that cannot be read or written; the message names the file and the way out."""


class StateError(HeadwaterError):
    """A saved database that cannot be read: damaged, foreign, or of another version."""


class ExchangeError(HeadwaterError):
    """Shards that lost, or never found, each other; the transaction was rolled back."""


class NearMissWarning(UserWarning):
    """A view over documents names a label or a name that is not there, and that is nearly one that is."""


class UnionAllWarning(UserWarning):
    """UNION ALL in a recursion of SQL is taken as UNION, always or while the data has a cycle."""
