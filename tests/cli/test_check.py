"""`headwater check`: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app

GOOD = "reach(X, Y) :- link(X, Y).\nreach(X, Y) :- link(X, Z), reach(Z, Y).\n"
BAD = "reach(X, Z) :- link(X, Y).\nout(A) :- link(B, _).\n"
WARNED = "n(Y) :- n(X), Y = X + 1.\nn(0).\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"good.dl": GOOD, "bad.dl": BAD, "warned.dl": WARNED}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.dl").write_bytes(b"p(\xe4).")
    return tmp_path


def test_a_good_program(files: Path) -> None:
    result = run("check", str(files / "good.dl"))
    assert result.exit_code == 0
    assert result.stdout == f"{files / 'good.dl'}: ok (2 relations, 2 rules, 1 stratum)\n"
    assert result.stderr == ""


def test_errors_of_every_file_are_reported(files: Path) -> None:
    result = run("check", str(files / "bad.dl"), str(files / "good.dl"))
    assert result.exit_code == 1
    assert result.stderr.count("error[HW301]") == 2
    assert f"{files / 'bad.dl'}: 2 errors\n" in result.stderr
    assert "good.dl: ok" in result.stdout


def test_warnings_are_shown_and_are_no_failure(files: Path) -> None:
    result = run("check", str(files / "warned.dl"))
    assert result.exit_code == 0
    assert "warning[HW701]" in result.stderr
    assert "ok (1 relation, 2 rules, 1 stratum, 1 warning)" in result.stdout


@pytest.mark.parametrize("name", ["missing.dl", "latin.dl", "."])
def test_files_that_cannot_be_read(files: Path, name: str) -> None:
    result = run("check", str(files / name), str(files / "bad.dl"))
    assert result.exit_code == 2
    assert "cannot read" in result.stderr
    assert "HW301" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_include_that_cannot_be_read_is_an_error_of_the_program(files: Path) -> None:
    (files / "includes.dl").write_text('#include "nowhere.dl"\n')
    assert run("check", str(files / "includes.dl")).exit_code == 1


def test_json_for_editors(files: Path) -> None:
    result = run("check", "--format", "json", *(str(files / name) for name in ("good.dl", "bad.dl", "warned.dl")))
    assert result.exit_code == 1
    good, bad, warned = json.loads(result.stdout)
    assert (good["ok"], good["relations"], good["rules"], good["strata"]) == (True, 2, 2, 1)
    assert (good["outputs"], good["diagnostics"]) == (["reach"], [])
    assert [(each["code"], each["line"], each["column"], each["length"]) for each in bad["diagnostics"]] == [
        ("HW301", 1, 10, 1),
        ("HW301", 2, 5, 1),
    ]
    assert bad["diagnostics"][0]["file"] == str(files / "bad.dl")
    assert bad["diagnostics"][0]["hint"] == "did you mean `Y`?"
    assert [each["severity"] for each in warned["diagnostics"]] == ["warning"]


def test_no_file_and_wrong_options_are_errors_of_use() -> None:
    assert run("check").exit_code == 2
    assert run("check", "--format", "xml", "a.dl").exit_code == 2
    assert run("chek", "a.dl").exit_code == 2


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("headwater ")
    for arguments in (["--help"], ["check", "--help"], ["plan", "--help"]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "headwater" in result.stdout.lower()
    assert "headwater check paths.dl" in run("check", "--help").stdout


def test_what_spark_would_do_with_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run("check", "--spark", str(tmp_path / "nowhere.sql"))
    assert result.exit_code == 2
    assert "there is no such file" in result.stderr
    assert isinstance(result.exception, SystemExit)
