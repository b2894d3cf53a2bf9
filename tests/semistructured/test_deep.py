"""Documents as deep as they may be go in and come out by every way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.main import app
from headwater.semistructured.output.json_text import _pieces, json_text
from tests.semistructured.json_trees import VALUES

DEEPEST = 1000


def deep(levels: int, leaf: str = "1") -> str:
    return '{"a": ' * levels + leaf + "}" * levels


@given(VALUES)
def test_what_is_written_without_a_stack_is_written_as_python_writes_it(value: Any) -> None:
    assert "".join(_pieces(value)) == json.dumps(value, ensure_ascii=False) == json_text(value)


def test_the_deepest_document_is_read_and_a_deeper_one_is_refused_with_its_place() -> None:
    docs = hw.Documents()
    docs.put("N", deep(DEEPEST).encode(), name="N")
    assert json_text(docs.document("N")) == deep(DEEPEST)
    for opening, closing in (('{"a": ', "}"), ("[", "]")):
        docs.put("M", (opening * DEEPEST + closing.replace("}", "1}") + closing * (DEEPEST - 1)).encode(), name="M")
        with pytest.raises(hw.DataError, match=f"line 1, column {len(opening) * DEEPEST + 1}: nested more than 1,000"):
            docs.put("M", (opening * (DEEPEST + 1) + "1" + closing * (DEEPEST + 1)).encode(), name="M")


def test_deep_documents_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text(f'{deep(DEEPEST)}\n{deep(5 * DEEPEST)}\n{{"b": 1}}\n')
    (tmp_path / "v.lorel").write_text("define view V as P = select n from N n with n.#;")
    given_files = [str(tmp_path / "v.lorel"), "--input", f"N={tmp_path / 'n.jsonl'}"]
    for options in ([], ["--format", "json"]):
        result = CliRunner().invoke(app, ["run", *given_files, *options])
        assert result.exit_code == 0, result.output
        assert deep(DEEPEST) in result.output
        assert "line 2, column 6001: nested more than 1,000 levels deep" in result.output
