"""`headwater run view.lorel`: documents in, views and their changes out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from headwater.cli.main import app

VIEW = "define view Cheap as Items = select i from Orders.items i where i.price < 5 with i.sku s, i.price p;"
ORDERS = [
    {"id": 1, "items": [{"id": "a", "sku": "pen", "price": 2}, {"id": "b", "sku": "ink", "price": 9}]},
    {"id": 2, "items": [{"id": "c", "sku": "nib", "price": 3}]},
]
EDITS = [
    {"_key": 1, "_patch": [{"op": "replace", "path": "/items/1/price", "value": 1}]},
    {"id": 4, "items": [{"id": "d", "sku": "cap", "price": "4"}]},
    {"_key": 2, "_change_type": "delete"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "view.lorel").write_text(VIEW)
    (tmp_path / "orders.jsonl").write_text("\n".join(map(json.dumps, ORDERS)))
    (tmp_path / "edits.jsonl").write_text("\n".join(map(json.dumps, EDITS)))
    return tmp_path


def lines(*arguments: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, ["run", "view.lorel", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_documents_patches_and_deletes_are_one_transaction(folder: Path) -> None:
    found = lines("-i", "Orders=orders.jsonl", "-c", "Orders=edits.jsonl")
    assert [line["document"] for line in found] == [
        {"sku": "pen", "price": 2},
        {"sku": "ink", "price": 1},
        {"sku": "cap", "price": "4"},
    ]
    shown = lines("-i", "Orders=orders.jsonl", "-c", "Orders=edits.jsonl", "--show", "changes")
    assert sorted(line["patch"][0]["op"] for line in shown) == ["add", "add", "remove"]  # type: ignore[index]


def test_what_is_not_shown_is_counted(folder: Path) -> None:
    orders = [{"id": at, "items": [{"sku": "s", "price": 1}]} for at in range(30)]
    (folder / "edits.jsonl").write_text("\n".join(map(json.dumps, orders)))
    given = ["run", "view.lorel", "-i", "Orders=orders.jsonl", "-c", "Orders=edits.jsonl"]
    shown = CliRunner().invoke(app, given).stdout.splitlines()
    ends = [at for at, line in enumerate(shown) if line.startswith("  ... ")]
    assert len(ends) == 2
    assert shown[0] == "edits.jsonl: Cheap: 96 changes"
    assert shown[ends[0]] == f"  ... {96 - (ends[0] - 1)} more"
    assert shown[ends[0] + 1] == "Cheap: 30 documents"
    assert shown[ends[1]] == f"  ... {30 - (ends[1] - ends[0] - 2)} more"
    assert not [line for line in CliRunner().invoke(app, [*given, "--rows", "0"]).stdout.splitlines() if "..." in line]


def test_a_change_that_does_not_apply_is_named_with_its_line(folder: Path) -> None:
    (folder / "edits.jsonl").write_text('{"id": 9, "items": []}\n{"_key": 7, "_patch": []}\n')
    result = CliRunner().invoke(app, ["run", "view.lorel", "-i", "Orders=orders.jsonl", "-c", "Orders=edits.jsonl"])
    assert result.exit_code == 1
    assert "error[HW822]: edits.jsonl, line 2: there is no document 7 to patch; nothing was applied" in result.output


@pytest.mark.parametrize("line", ['{"_key": [1], "_patch": []}', '{"_key": {}, "_change_type": "delete"}', "[1]", "{"])
def test_a_line_that_is_no_change_is_an_error(folder: Path, line: str) -> None:
    (folder / "edits.jsonl").write_text(line)
    result = CliRunner().invoke(app, ["run", "view.lorel", "-i", "Orders=orders.jsonl", "-c", "Orders=edits.jsonl"])
    assert result.exit_code == 1
    assert "error[HW822]: edits.jsonl, line 1: " in result.output


def test_views_are_written_as_files(folder: Path) -> None:
    arguments = ["run", "view.lorel", "-i", "Orders=*.jsonl", "-o", "out", "--format", "parquet"]
    (folder / "edits.jsonl").unlink()
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert pq.read_table("out/Cheap.parquet").num_rows == 2
    assert CliRunner().invoke(app, [*arguments[:-1], "json"]).exit_code == 0
    assert len((folder / "out" / "Cheap.jsonl").read_text().splitlines()) == 2


def test_bad_documents_are_set_aside_and_counted_or_refused(folder: Path) -> None:
    (folder / "orders.jsonl").write_text('{"id": 1, "items": []}\n{"id": 2,\n')
    result = CliRunner().invoke(app, ["run", "view.lorel", "-i", "Orders=orders.jsonl"])
    assert result.exit_code == 0
    assert "orders.jsonl, line 2, column 10" in result.output
    assert CliRunner().invoke(app, ["run", "view.lorel", "-i", "Orders=orders.jsonl", "--strict"]).exit_code == 1


def test_an_object_with_many_members_may_not_repeat_one(folder: Path) -> None:
    many = ",".join(f'"m{at}": {at}' for at in range(40))
    (folder / "orders.jsonl").write_text(f'{{"id": 1, {many}, "m30": 1}}')
    result = CliRunner().invoke(app, ["run", "view.lorel", "-i", "Orders=orders.jsonl", "--strict"])
    assert "the object has this member already" in result.output


def test_documents_of_which_some_have_no_id_are_warned_of(folder: Path) -> None:
    arguments = ["run", "view.lorel", "-i", "Orders=orders.jsonl"]
    assert "known by their places" not in CliRunner().invoke(app, arguments).output
    with (folder / "orders.jsonl").open("a") as out:
        out.write('\n{"items": []}')
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "warning: Orders: 1 document without `id`, so that all are known by their places" in result.stderr
    assert "--key Orders=id" in result.stderr


def test_names_without_documents_and_documents_without_a_view_are_refused(folder: Path) -> None:
    (folder / "view.lorel").write_text(VIEW + " define view Who as Them = select c from Customers c;")
    missing = CliRunner().invoke(app, ["run", "view.lorel", "-i", "Orders=orders.jsonl"])
    assert missing.exit_code == 1
    assert "error[HW806]: no documents are given for `Customers`, which the views read" in missing.stderr
    assert "--input Customers=FILE" in missing.stderr
    assert lines("-i", "Orders=orders.jsonl", "--optional", "Customers")
    (folder / "customers.jsonl").write_text('{"id": 7}')
    assert lines("-i", "Orders=orders.jsonl", "-c", "Customers=customers.jsonl")[-1]["view"] == "Who"
    given = ["-i", "Orders=orders.jsonl", "-i", "Customer=customers.jsonl"]
    unused = CliRunner().invoke(app, ["run", "view.lorel", *given, "--optional", "Customers"])
    assert unused.exit_code == 1
    assert "error[HW807]: documents are given for `Customer`, but no view reads it" in unused.stderr


def test_why_an_object_of_a_view_is_there_or_not(folder: Path) -> None:
    (folder / "view.lorel").write_text(VIEW + "define view All as Lists = select o.items from Orders o;")
    given = ["-i", "Orders=orders.jsonl", "-c", "Orders=edits.jsonl"]
    ids = {line["document"]["sku"]: line["oid"] for line in lines(*given) if line["view"] == "Cheap"}  # type: ignore[index]

    def why(*asked: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["why", "view.lorel", *given, *asked])
        return result.exit_code, result.output

    code, text = why(ids["ink"])
    assert code == 0
    assert 'int, "1", 1.0)' in text, "the price after the changes"
    assert text.count("v_All__Lists__objects") == text.count("v_Cheap__Items__objects") > 0, "of each view that has it"
    code, text = why(ids["ink"], "--format", "json", "--rows", "1")
    assert code == 0
    assert json.loads(text.partition("note:")[0])
    code, text = why("--not", "&900'")
    assert code == 0
    assert "is not there" in text
    code, text = why("nonsense")
    assert code == 2
    assert text == "error[HW821]: 'nonsense' is no id of an object; write `&9'` or 9\n"
    assert why("&900'")[0] == 1
    assert why("&9'", "--query", "v(X)")[0] == 2


def test_why_of_rows_takes_no_keys_of_documents(folder: Path) -> None:
    (folder / "p.dl").write_text("v(1).")
    result = CliRunner().invoke(app, ["why", "p.dl", "v(1)", "--key", "v=id"])
    assert result.exit_code == 2
    assert "--key is for views over documents" in result.output
