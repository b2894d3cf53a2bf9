"""From text to a program ready to be planned: every stage a line, every line a folder. Read this file first."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from types import MappingProxyType
from typing import TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import ProgramError, SyntaxProblem
from headwater.core.python_warnings import tell
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.datalog.depth import deepest
from headwater.language.datalog.include import read_nothing
from headwater.language.datalog.printer import as_written, print_tree
from headwater.language.reading import read_program, read_sql, read_text
from headwater.language.sql.text.wording import TOO_DEEP, in_sql
from headwater.language.syntax import Tree
from headwater.plan.build import build
from headwater.plan.explain import explain
from headwater.program.check import check, with_warnings
from headwater.program.model import Program
from headwater.program.recursion.termination import termination_warnings
from headwater.program.text import print_program
from headwater.program.types.inference import infer
from headwater.rewrite.kept_times import kept_times
from headwater.rewrite.leases import endless, leases
from headwater.rewrite.progressive import progressive
from headwater.rewrite.rules import rewrite

Tables: TypeAlias = Mapping[str, Mapping[str, Type | str | None]]
"""Columns of tables by name, in order, with their types where these are known."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program with every stage it went through; a value, so it can be compared, pickled and sent to workers."""

    tree: Tree
    checked: Program
    rewritten: Program
    disabled: tuple[str, ...] = ()  # rewrites that were left out

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the queried views, in order; all derived relations if none is queried."""
        return self.checked.outputs

    @property
    def maintained(self) -> Program:
        """The program to run: rewritten, with every base relation that a user may write to."""
        unread = self._unread(self.rewritten)
        return replace(self.rewritten, relations=self.rewritten.relations + leases(unread).relations)

    @property
    def unleased(self) -> Program:
        """The same without leases, for whoever rewrites it further: `leases` comes last."""
        program = _timed(rewrite(self.checked, disabled=self.disabled))
        return replace(program, relations=program.relations + self._unread(program).relations)

    @property
    def endless(self) -> Program:
        """The same for whoever takes rows away himself when their time is over: no row ends, and no stream is one."""
        return endless(self.unleased)

    def _unread(self, program: Program) -> Program:
        """The base relations that no rule reads any more."""
        present = {relation.name for relation in program.relations}
        extra = tuple(one for one in self.checked.relations if not one.derived and one.name not in present)
        return replace(self.checked, relations=extra, rules=(), queries=())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self.checked.warnings

    @property
    def text(self) -> str:
        """The program as it was written, with its includes in place."""
        if self.tree.text is not None:
            return self.tree.text
        return "\n".join(as_written(statement) for statement in self.tree.statements)

    def explain(self, stage: str = "rewritten") -> str:
        """One stage as text."""
        if stage not in STAGES:
            raise ValueError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
        return STAGES[stage](self)


STAGES: Mapping[str, Callable[[CompiledProgram], str]] = MappingProxyType(
    {
        "parsed": lambda program: print_tree(program.tree),
        "checked": lambda program: print_program(program.checked),
        "rewritten": lambda program: print_program(program.rewritten),
        "plan": lambda program: _explain_plan(program.rewritten),
    }
)


def _explain_plan(program: Program) -> str:
    types = infer(program)
    return explain(build(program, types), types)


@contextmanager
def uncollected() -> Iterator[None]:
    """Trees hold no cycles: searching them for garbage again and again would cost more than making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def compile(  # noqa: A001
    text: str, *, name: str = "<text>", disabled: Iterable[str] = (), tables: Tables | None = None
) -> CompiledProgram:
    """A program from its text, Datalog or SQL; raises ProgramError. Rewrites named in `disabled` are left out.

    `tables` tells an SQL text the columns of tables that it does not declare: `{"link": {"src": "string"}}`.
    """
    with uncollected():
        return _told(compile_tree(read_text(Source(name, text), _typed(tables)), disabled=disabled))


def compile_sql(
    text: str, *, name: str = "<text>", disabled: Iterable[str] = (), tables: Tables | None = None
) -> CompiledProgram:
    """A program from a text that is SQL, whatever it looks like; raises ProgramError."""
    with uncollected():
        return _told(compile_tree(read_sql(Source(name, text), _typed(tables)), disabled=disabled))


def compile_saved(text: str, *, name: str, disabled: Iterable[str] = ()) -> CompiledProgram:
    """A program from a text that `CompiledProgram.text` gave, and that was kept in a file: it includes no files."""
    with uncollected():
        return compile_tree(read_text(Source(f"<{name}>", text), None, read_nothing), disabled=disabled)


def compile_file(
    path: str | PathLike[str], *, disabled: Iterable[str] = (), tables: Tables | None = None
) -> CompiledProgram:
    """A program from a file, its includes found beside it; raises ProgramError, also if it cannot be read."""
    with uncollected():
        return _told(compile_tree(read_program(path, _typed(tables)), disabled=disabled))


def _told(program: CompiledProgram) -> CompiledProgram:
    tell(program.warnings)
    return program


def _typed(tables: Tables | None) -> dict[str, dict[str, Type | None]]:
    return {
        name: {column: Type(kind) if isinstance(kind, str) else kind for column, kind in columns.items()}
        for name, columns in (tables or {}).items()
    }


def compile_tree(tree: Tree, *, disabled: Iterable[str] = ()) -> CompiledProgram:
    left_out = tuple(disabled)
    try:
        checked = check(tree) if tree.text is None else _check_sql(tree)
        rewritten = rewrite(checked, disabled=left_out)
        endless_ones = termination_warnings(checked, rewritten)
        checked = with_warnings(checked, endless_ones if tree.text is None else map(in_sql, endless_ones))
        return CompiledProgram(tree, checked, leases(_timed(rewritten)), left_out)
    except RecursionError:
        if tree.text is None:  # Datalog's parser bounds the depth of its terms
            raise
        raise SyntaxProblem((replace(TOO_DEEP, span=deepest(tree.statements)),)) from None


def _timed(rewritten: Program) -> Program:
    return kept_times(progressive(rewritten))


def _check_sql(tree: Tree) -> Program:
    """The checked program; what is found is told in the words of SQL."""
    try:
        found = check(tree)
    except ProgramError as problem:
        raise type(problem)(tuple(map(in_sql, problem.diagnostics))) from None
    return replace(found, warnings=tuple(map(in_sql, found.warnings)))
