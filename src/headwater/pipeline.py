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
from headwater.core.errors import CheckProblem, ProgramError, StateError, SyntaxProblem
from headwater.core.pictures.html import card, rows_table
from headwater.core.python_warnings import warn_of
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.datalog.depth import deepest
from headwater.language.datalog.include import read_nothing
from headwater.language.datalog.printer import as_written, print_tree
from headwater.language.reading import read_program, read_sql, read_text
from headwater.language.sql.text.wording import TOO_DEEP, UNION_ALL, in_sql
from headwater.language.syntax import Tree
from headwater.plan.build import build
from headwater.plan.explain import explain
from headwater.program.check import check, with_warnings
from headwater.program.model import Program
from headwater.program.questions import answered
from headwater.program.recursion.strata import strata
from headwater.program.recursion.termination import termination_warnings
from headwater.program.text import print_program
from headwater.program.types.inference import infer
from headwater.rewrite.demand.linear_recursion import linear_recursion
from headwater.rewrite.rules import ALONE_RULES, DEMAND_RULES, LEASE_RULES, RULES, TIME_RULES, RewriteRule, rewrite

Tables: TypeAlias = Mapping[str, Mapping[str, Type | str | None]]
"""Columns of tables by name, in order, with their types where these are known."""


def compile_tree(tree: Tree, *, disabled: Iterable[str] = ()) -> CompiledProgram:
    """The stages. Raises ProgramError; rewrites named in `disabled` are left out."""
    left_out = tuple(disabled)
    with _in_its_words(tree):
        checked = check(tree)
        rewritten = rewrite(checked, rules=RULES, disabled=left_out)
        checked = with_warnings(checked, termination_warnings(checked, rewritten))
        rewritten = rewrite(rewritten, rules=TIME_RULES + LEASE_RULES, disabled=left_out)
    if tree.text is not None:
        checked = replace(checked, warnings=tuple(dict.fromkeys(map(in_sql, checked.warnings))))
    return CompiledProgram(tree, checked, rewritten, left_out)


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program with every stage it went through; a value, so it can be compared, pickled and sent to workers."""

    tree: Tree
    checked: Program
    rewritten: Program  # what runs where rows may be on several shards; `alone` gives what one process runs
    disabled: tuple[str, ...] = ()  # rewrites that were left out

    def rewritten_by(self, rules: tuple[RewriteRule, ...]) -> Program:
        """The program after other rewrites, for engines that run it in another way."""
        return rewrite(self.checked, rules=rules, disabled=self.disabled)

    def unrestricted(self) -> CompiledProgram:
        """The program that derives all of every relation, also where only some of it is asked for."""
        return self._without(rule.__name__ for rule in DEMAND_RULES)

    def _without(self, names: Iterable[str]) -> CompiledProgram:
        left_out = (*self.disabled, *sorted(set(names).difference(self.disabled)))
        rewritten = rewrite(self.checked, rules=RULES + TIME_RULES + LEASE_RULES, disabled=left_out)
        return replace(self, rewritten=rewritten, disabled=left_out)

    def alone(self) -> CompiledProgram:
        """The program for a process that holds all rows."""
        return replace(self, rewritten=rewrite(self.rewritten, rules=ALONE_RULES, disabled=self.disabled))

    def answered(self) -> CompiledProgram:
        """The program that takes questions as an input; see `headwater.program.questions`."""
        if not any(query.parameters for query in self.checked.queries):
            return self
        columns = {relation.name: [column.name for column in relation.columns] for relation in self.checked.relations}
        return compile_tree(answered(self.tree, columns), disabled=self.disabled)

    def fitted(self, known: Mapping[str, tuple[Type | None, ...]]) -> CompiledProgram:
        """The program to run on data of these types; unrestricted where questions and rows would differ in type."""
        relations = self.rewritten.relations
        if not self._has_types_of_values(known):
            rewritten = rewrite(self.checked, rules=RULES + TIME_RULES + LEASE_RULES, disabled=self.disabled)
            return replace(self, rewritten=rewritten).fitted(known)
        if any(relation.asks is not None or relation.exact or relation.made_linear for relation in relations):
            turning = (*(rule.__name__ for rule in DEMAND_RULES), linear_recursion.__name__)
            try:
                types = infer(self.rewritten, known).columns
            except CheckProblem:
                return self._without(turning)
            if any(types[each.name][at] not in (None, Type.INT) for each in relations for at in each.exact):
                return self._without(turning)
        return self

    def _has_types_of_values(self, known: Mapping[str, tuple[Type | None, ...]]) -> bool:
        """Whether columns that are not stored, because all rows have one value there, are of the type of that value."""
        left_out = [
            (relation.name, at, shown.value.type)
            for relation in self.rewritten.relations
            for at, shown in enumerate(relation.shown or ())
            if shown.value is not None and relation.part_of is None
        ]
        if not left_out:
            return True
        try:
            types = infer(self.checked, known).columns
        except CheckProblem:
            return False
        return all(types[name][at] in (None, kind) for name, at, kind in left_out)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the queried views, in order; all derived relations if none is queried."""
        return self.checked.outputs

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

    def _repr_html_(self) -> str:
        """The program in colours, with its strata, for notebooks."""
        from headwater.language.highlighting import highlighted  # late: Pygments is for those who look

        levels = [
            (at, ", ".join(stratum.relations), "recursive" if stratum.recursive else "")
            for at, stratum in enumerate(strata(self.checked), 1)
        ]
        note = f"{len(self.checked.rules)} rules; views: {', '.join(self.outputs)}"
        text = highlighted(self.text, sql=self.tree.text is not None)
        return card("Program", text, rows_table(("stratum", "relations", ""), levels, numbers=(0,)), note=note)


STAGES: Mapping[str, Callable[[CompiledProgram], str]] = MappingProxyType(
    {
        "parsed": lambda program: print_tree(program.tree),
        "checked": lambda program: print_program(program.checked),
        "rewritten": lambda program: print_program(program.alone().rewritten),
        "plan": lambda program: _explain_plan(program.alone().rewritten),
    }
)


def _explain_plan(program: Program) -> str:
    types = infer(program)
    return explain(build(program, types), types)


def compile(  # noqa: A001
    text: str,
    *,
    name: str = "<text>",
    disabled: Iterable[str] = (),
    tables: Tables | None = None,
    union_all: str | None = None,
) -> CompiledProgram:
    """A program from its text, Datalog or SQL; raises ProgramError. Rewrites named in `disabled` are left out.

    `tables` gives the columns of tables that an SQL text does not declare: `{"link": {"src": "string"}}`. `union_all`
    says what UNION ALL in a recursion of SQL means: "bag" (the default: equal rows are kept, and while the data has a
    cycle they are kept once, with a warning), "set" (kept once), or "refuse" (a cycle in the data is an error).
    """
    with uncollected():
        tree = read_text(Source(name, text), _typed(tables), union_all=known_union_all(union_all))
        return _with_warnings_shown(compile_tree(tree, disabled=disabled))


def compile_sql(
    text: str,
    *,
    name: str = "<text>",
    disabled: Iterable[str] = (),
    tables: Tables | None = None,
    union_all: str | None = None,
) -> CompiledProgram:
    """A program from a text that is SQL, whatever it looks like; raises ProgramError."""
    with uncollected():
        tree = read_sql(Source(name, text), _typed(tables), union_all=known_union_all(union_all))
        return _with_warnings_shown(compile_tree(tree, disabled=disabled))


def compile_file(
    path: str | PathLike[str],
    *,
    disabled: Iterable[str] = (),
    tables: Tables | None = None,
    union_all: str | None = None,
) -> CompiledProgram:
    """A program from a file, its includes found beside it; raises ProgramError, also if it cannot be read."""
    with uncollected():
        tree = read_program(path, _typed(tables), union_all=known_union_all(union_all))
        return _with_warnings_shown(compile_tree(tree, disabled=disabled))


def compile_saved(text: str, *, name: str, disabled: Iterable[str] = ()) -> CompiledProgram:
    """A program from a text that `CompiledProgram.text` gave, and that was kept in a file: it includes no files."""
    try:
        with uncollected():
            return compile_tree(read_text(Source(f"<{name}>", text), None, read_nothing), disabled=disabled)
    except ProgramError as problem:
        raise StateError(
            f"the {name} does not compile here; register the functions it calls first\n{problem}"
        ) from problem


def _with_warnings_shown(program: CompiledProgram) -> CompiledProgram:
    warn_of(program.warnings)
    return program


def known_union_all(union_all: str | None) -> str | None:
    """What a user gave for `union_all`, which must be one of its words."""
    if union_all is not None and union_all not in UNION_ALL:
        raise ValueError(f"union_all is one of {', '.join(map(repr, UNION_ALL))}, not {union_all!r}")
    return union_all


def _typed(tables: Tables | None) -> dict[str, dict[str, Type | None]]:
    return {
        name: {column: Type(kind) if isinstance(kind, str) else kind for column, kind in columns.items()}
        for name, columns in (tables or {}).items()
    }


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


@contextmanager
def _in_its_words(tree: Tree) -> Iterator[None]:
    """Problems of an SQL text are reported in the words of SQL; Datalog's parser bounds the depth of its terms."""
    try:
        yield
    except ProgramError as problem:
        if tree.text is None:
            raise
        raise type(problem)(tuple(dict.fromkeys(map(in_sql, problem.diagnostics)))) from None
    except RecursionError:
        if tree.text is None:
            raise
        raise SyntaxProblem((replace(TOO_DEEP, span=deepest(tree.statements)),)) from None
