"""What a stage has to say about a program: numbered, pointing at the text, with a way out.

A diagnostic is a value; `render` turns it into the text a person reads. Codes are never reused:
1xx syntax, 2xx names and declarations, 3xx safety, 4xx types, 5xx strata and aggregates,
6xx network rules, 7xx termination, 8xx data, 9xx running.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from headwater.core.source import Span


class Severity(Enum):
    """How bad a finding is; only an error stops a program."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and what to do."""

    code: str
    message: str
    span: Span | None = None
    note: str | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR

    @property
    def line(self) -> int | None:
        return self.span.line if self.span else None

    @property
    def column(self) -> int | None:
        return self.span.column if self.span else None
