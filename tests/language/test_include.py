"""Includes: found beside the file that names them, once each, and no path does harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source, Span
from headwater.language.datalog.parse import parse
from headwater.language.datalog.printer import print_tree
from headwater.language.reading import read_program


def test_a_path_is_relative_to_the_file_that_includes(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "main.dl").write_text('#include "inner/a.dl"\nc(X) :- b(X).')
    (tmp_path / "inner" / "a.dl").write_text('#include "b.dl"\na(1).')
    (tmp_path / "inner" / "b.dl").write_text('#include "../inner/a.dl2"\nb(X) :- a(X).')
    (tmp_path / "inner" / "a.dl2").write_text("z(1).")
    assert print_tree(read_program(tmp_path / "main.dl")) == "z(1).\nb(X) :- a(X).\na(1).\nc(X) :- b(X).\n"


def test_a_file_reached_by_two_ways_comes_in_once(tmp_path: Path) -> None:
    (tmp_path / "base.dl").write_text("relation e(a: int).")
    (tmp_path / "left.dl").write_text('#include "base.dl"\nl(X) :- e(X).')
    (tmp_path / "right.dl").write_text('#include "./base.dl"\nr(X) :- e(X).')
    (tmp_path / "main.dl").write_text('#include "left.dl"\n#include "right.dl"\n')
    printed = print_tree(read_program(tmp_path / "main.dl"))
    assert printed == "relation e(a: int).\nl(X) :- e(X).\nr(X) :- e(X).\n"


def test_mistakes_of_all_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "wrong.dl").write_text("p(a b).")
    (tmp_path / "main.dl").write_text('#include "wrong.dl"\n#include "missing.dl"\nq(c d).')
    with pytest.raises(SyntaxProblem) as caught:
        read_program(tmp_path / "main.dl")
    places = [(Path(d.span.source.name).name, d.code) for d in caught.value.diagnostics if d.span]
    assert places == [("main.dl", "HW101"), ("wrong.dl", "HW101"), ("main.dl", "HW113")]


@pytest.mark.parametrize("path", ["a\\0b", "x" * 5000, "../" * 2000 + "x", "/dev/stdin", "~", "", " ", "//", "con:"])
def test_hostile_paths_are_only_unreadable(path: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse(Source("<text>", f'#include "{path}"'))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["HW113"]


def test_a_long_row_of_files_is_refused_before_the_stack_ends() -> None:
    def read(path: str, directive: Span | None) -> Source | Diagnostic:
        return Source(path, f'#include "{path}x"')

    with pytest.raises(SyntaxProblem) as caught:
        parse(Source("<text>", '#include "x"'), read)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["HW114"]


def test_a_missing_program_file_is_a_syntax_problem_without_a_place(tmp_path: Path) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        read_program(tmp_path / "none.dl")
    assert caught.value.diagnostics[0].span is None
    assert "there is no such file" in str(caught.value)
