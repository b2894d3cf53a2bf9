"""`make mutants` runs for an hour: what it names must be there, and its mistakes must be ones that a file can hold."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from tests.mutants.__main__ import AREAS, KERNELS, STATE, WARM, candidates, drawn
from tests.mutants.killers import BY_FILE, BY_FOLDER, killers
from tests.mutants.plant import mutants

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "headwater"
EVERY = {one.name: one for those in candidates().values() for one in those}


@pytest.mark.parametrize("path", sorted({one.path for one in EVERY.values()}))
def test_the_tests_that_look_at_a_file_are_there(path: str) -> None:
    for name in killers(path):
        file, _, function = name.partition("::")
        assert (ROOT / file).is_file(), file
        assert not function or f"def {function}(" in (ROOT / file).read_text(), name


def test_the_files_that_are_named_are_there() -> None:
    assert all((SRC / path).is_file() for path in BY_FILE), [path for path in BY_FILE if not (SRC / path).is_file()]
    assert all((SRC / folder).is_dir() for folder in (*BY_FOLDER, *AREAS))
    assert all((ROOT / path).is_file() for path in WARM)
    assert set(STATE) == {path.stem for path in (SRC / "spark").rglob("*.py") if path.stem in STATE}
    assert all(importlib.util.find_spec(name) is not None for name in KERNELS)


def test_what_is_compiled_is_loaded_once() -> None:
    compiled = {one.path for one in EVERY.values() if one.compiled}
    assert {f"headwater.{path.removesuffix('.py').replace('/', '.')}" for path in compiled} <= set(KERNELS)


def test_every_mistake_is_python_and_another_text() -> None:
    for one in drawn(200, 13):
        text = (SRC / one.path).read_text()
        planted = one.planted(text)
        assert planted != text
        ast.parse(planted)


def test_messages_and_assertions_are_left_alone() -> None:
    text = "def f(a, b):\n    assert a < b\n    for one, other in zip(a, b, strict=True):\n        raise E(a + b)\n"
    assert not mutants("some.py", text)
