"""Every check says exactly what its spec files say; every code has a case where it fires and one where it must not."""

from __future__ import annotations

import re

import pytest

from headwater.core.errors import ProgramError
from headwater.core.render import render
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.pipeline import compile_tree
from headwater.program.check import check
from headwater.program.recursion.strata import strata
from headwater.program.text import print_program
from tests.spec_file import SPECS, Case, cases, named, paths, settle


def findings(text: str) -> str:
    """What is said of a program: its errors, else its warnings, else `ok`."""
    try:
        program = compile_tree(parse(Source("program.dl", text)))
    except ProgramError as error:
        return str(error)
    return "\n".join(render(warning) for warning in program.warnings) or "ok"


def checked(text: str) -> str:
    return print_program(check(parse(Source("program.dl", text))))


def strata_of(text: str) -> str:
    lines = []
    for stratum in strata(check(parse(Source("program.dl", text)))):
        words = [stratum.mode.value] if stratum.recursive else ["once"]
        if stratum.stage is not None:
            words.append(f"by columns {stratum.stage}")
        rules = ", ".join(str(index) for index in stratum.rules)
        lines.append(f"{', '.join(stratum.relations)}: {' '.join(words)}; rules {rules}")
    return "\n".join(lines)


@pytest.mark.parametrize("case", cases("program/errors"), ids=named)
def test_findings(case: Case) -> None:
    settle(case, findings)


@pytest.mark.parametrize("case", cases("program/normal"), ids=named)
def test_normal_form(case: Case) -> None:
    settle(case, checked)


@pytest.mark.parametrize("case", cases("program/strata"), ids=named)
def test_strata(case: Case) -> None:
    settle(case, strata_of)


@pytest.mark.parametrize("path", paths("program/errors"), ids=lambda path: path.stem)
def test_each_code_fires_and_holds_back(path) -> None:
    told = [case.expected for case in cases("program/errors") if case.path == path]
    assert any(f"[{path.stem}]" in text for text in told), "no case where it fires"
    assert any(f"[{path.stem}]" not in text for text in told), "no case where it must not fire"


def test_every_code_in_the_checks_has_a_spec() -> None:
    source = SPECS.parents[1] / "src" / "headwater" / "program"
    used = {code for path in source.rglob("*.py") for code in re.findall(r'"(HW\d{3})"', path.read_text())}
    assert used == {path.stem for path in paths("program/errors")}
