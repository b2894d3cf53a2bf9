"""Lorel text to a compiled program: parse, translate, compile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.source import Source
from headwater.language.lorel import parse_lorel
from headwater.pipeline import CompiledProgram, compile_tree, uncollected
from headwater.semistructured.views.known import KnownNames
from headwater.semistructured.views.model import ViewProgram, program_tree
from headwater.semistructured.views.translate import translate_all


@dataclass(frozen=True, slots=True)
class CompiledViews:
    """Views, and one program that maintains them all."""

    views: tuple[ViewProgram, ...]
    program: CompiledProgram

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return (*(each for view in self.views for each in view.warnings), *self.program.warnings)


def compile_views(
    source: Source | str, known: KnownNames | None = None, *, disabled: Iterable[str] = ()
) -> CompiledViews:
    """The views that a text defines; raises ProgramError."""
    with uncollected():
        views = parse_views(source, known)
        return CompiledViews(views, compile_tree(program_tree(views), disabled=disabled))


def parse_views(source: Source | str, known: KnownNames | None = None) -> tuple[ViewProgram, ...]:
    """The rules of the views that a text defines; raises ProgramError."""
    given = source if isinstance(source, Source) else Source("<text>", source)
    found = parse_lorel(given).views
    if not found:
        hint = "as in `define view V as N = select e from Guide.Restaurant r, r.Entree e;`"
        raise CheckProblem((Diagnostic("HW260", f"{given.name} defines no view", hint=hint),))
    return translate_all(found, known)
