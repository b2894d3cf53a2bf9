"""`headwater run view.lorel --engine spark`: documents of files, and of files that arrive."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from headwater.cli.main import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "documents"
VIEW = str(EXAMPLE / "held_orders.lorel")
CUSTOMERS = f"Customers={EXAMPLE / 'customers.jsonl'}"


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["run", VIEW, "--engine", "spark", "--shards", "2", *words])
    return result.exit_code, result.stdout, result.stderr


def test_documents_of_files_and_of_files_that_arrive(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run("--input", f"Orders={EXAMPLE / 'orders' / 'monday.jsonl'}", "--input", CUSTOMERS)
    assert status == 0, err
    assert out.splitlines()[0] == "HeldOrders: 2 rows"
    Path("in").mkdir()
    for number, day in enumerate(("monday", "tuesday")):
        Path(f"in/{number}.jsonl").write_text((EXAMPLE / "orders" / f"{day}.jsonl").read_text())
        os.utime(f"in/{number}.jsonl", (1_000_000 + number,) * 2)
    Path("in/2.jsonl").write_text('{"_key": 1003, "_change_type": "delete"}\n{"id": 7\n')
    words = ("--input", CUSTOMERS, "--stream", "Orders=in", "--checkpoint", "state", "--once", "--output", "out")
    status, out, err = run(*words)
    assert status == 0, err
    assert "HeldOrders +2 -0" in err
    assert "batch 1: 2 rows in; HeldOrders +1 -1; 1 row set aside" in err  # a patch is no document
    assert "batch 2: 1 row in; HeldOrders +0 -1; 1 row set aside" in err
    table = pq.read_table("out/HeldOrders/current")
    assert [json.loads(text) for text in table.column("document").to_pylist()] == [
        {"order": 1004, "customer": "Cy", "city": "Graz", "sku": "nib"}
    ]


def test_misuse_is_told(tmp_path: Path) -> None:
    status, _, err = run("--input", CUSTOMERS, "--changes", "Orders=x.jsonl")
    assert status == 2
    assert "embedded" in err
    status, _, err = run("--stream", f"Orders={tmp_path}")
    assert status == 2
    assert "--checkpoint" in err
