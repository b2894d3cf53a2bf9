"""`maintain_documents`: views over documents that arrive; the feed, the tables, restarts, kills, what is set aside."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import headwater as hw
from headwater import spark as hws
from headwater.core.errors import StateError
from tests.semistructured.sharded_store import canonical
from tests.semistructured.sharded_store import expected as oracle
from tests.spark.conftest import PATIENCE, SRC
from tests.spark.documents_driver import CHEAP, HELD, TOTALS, maintained, write_batches
from tests.spark.test_maintain import NOW, finish

DRIVER = Path(__file__).with_name("documents_driver.py")
TEXTS = {"Cheap": CHEAP, "Held": HELD, "Totals": TOTALS}


def shown(view: str, there: dict[tuple[str, int], Any]) -> list[Any]:
    """What the embedded store shows, which is what the oracle shows."""
    docs = hw.Documents()
    for name in ("Orders", "Customers"):
        docs.add([document for (of, _), document in there.items() if of == name], name=name, key="id")
    found = sorted((canonical(one) for one in docs.define(TEXTS[view]).documents().values()), key=repr)
    assert found == oracle(TEXTS[view], there)
    return found


def replayed(output: Path, view: str) -> dict[int, dict[str, str]]:
    """The documents after each batch in which some changed, from the feed alone."""
    changes = [row for path in (output / view / "changes").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    held: dict[str, str] = {}
    after: dict[int, dict[str, str]] = {}
    for row in sorted(changes, key=lambda row: (row["_batch_id"], row["_change_type"])):
        if row["_change_type"] == "delete":
            assert held.pop(row["oid"]) == row["document"]
        else:
            assert row["oid"] not in held
            held[row["oid"]] = row["document"]
        after[row["_batch_id"]] = dict(held)
    return after


def assert_follows(output: Path, after: list[dict[tuple[str, int], Any]], views: Iterable[str]) -> None:
    for view in views:
        held = replayed(output, view)
        now: dict[str, str] = {}
        for batch, there in enumerate(after):
            now = held.pop(batch, now)
            said = sorted((canonical(json.loads(one)) for one in now.values()), key=repr)
            assert said == shown(view, there), f"{view}, batch {batch}"
        assert not held


def test_agree_a_stream_of_documents_across_restarts(spark: Any, tmp_path: Path) -> None:
    after = write_batches(tmp_path, random.Random(3), 5)
    later = [path for path in tmp_path.glob("*/*.json") if int(path.stem) > 1]
    for path in later:
        path.rename(path.with_name(f"_{path.name}"))  # Spark reads no such file
    finish(maintained(spark, tmp_path, shards=3))
    for path in later:
        path.with_name(f"_{path.name}").rename(path)
    told: list[dict[str, Any]] = []
    finish(maintained(spark, tmp_path, shards=3, on_batch=told.append, current="always"))
    assert [figures["batch"] for figures in told] == [2, 3, 4]
    assert told[0]["kind"] == "exchange"
    assert_follows(tmp_path / "out", after, TEXTS)
    for view in TEXTS:
        held = {row["oid"]: row["document"] for row in hws.view(str(tmp_path / "state"), view).collect()}
        table = spark.read.parquet(str(tmp_path / "out" / view / "current")).collect()
        assert {row["oid"]: row["document"] for row in table} == held
        latest = replayed(tmp_path / "out", view)
        assert held == latest[max(latest)]


def test_agree_a_stream_of_documents_in_shuffles(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    orders = [{"id": at, "items": [{"id": 0, "sku": "pen", "price": at}]} for at in range(8)]
    (tmp_path / "in" / "0.txt").write_text("".join(json.dumps(one) + "\n" for one in orders))
    options = {"checkpoint": str(tmp_path / "state"), "trigger": NOW, "shards": 2, "exchange": "shuffle"}
    got: list[list[Any]] = []

    def keep(changes: dict[str, Any], _: int) -> None:
        got.append(sorted(map(tuple, changes["Cheap"].drop("oid", "_batch_id").collect())))

    def run() -> None:
        texts = spark.readStream.text(str(tmp_path / "in"))
        finish(hws.maintain_documents(CHEAP, {"Orders": texts}, foreach_changes=keep, **options))

    run()
    orders[1]["items"][0]["price"] = 7
    orders[7]["items"].append({"id": 1, "sku": "ink", "price": "2"})
    (tmp_path / "in" / "1.txt").write_text("".join(json.dumps(orders[at]) + "\n" for at in (1, 2, 7)))
    run()
    assert got[0] == [(f'{{"sku": "pen", "price": {at}}}', "insert") for at in range(5)]
    assert got[1] == [('{"sku": "ink", "price": "2"}', "insert"), ('{"sku": "pen", "price": 1}', "delete")]


def test_documents_of_any_form_and_those_set_aside(spark: Any, tmp_path: Path) -> None:
    """Rows with structs and arrays, a key path, VARIANT out; what cannot be read is set aside, and counted."""
    (tmp_path / "in").mkdir()
    lines = [
        {"no": {"of": 1}, "items": [{"sku": "pen", "price": 1}], "tags": {"a": "b"}, "_change_type": "insert"},
        {"no": {"of": 1}, "items": [{"sku": "pen", "price": 2}], "_change_type": "update_postimage"},
        {"no": {"of": 2}, "items": [{"sku": "nib", "price": 3}], "_change_type": "insert"},
        {"no": {"of": 2}, "_change_type": "delete"},
        {"no": {}, "_change_type": "insert"},
        {"no": {"of": 3}, "_change_type": "upsert"},
    ]
    (tmp_path / "in" / "0.json").write_text("".join(json.dumps(one) + "\n" for one in lines) + "{broken\n")
    schema = "no struct<of long>, items array<struct<sku string, price long>>, tags map<string, string>, "
    schema += "_change_type string, _corrupt_record string"
    rows = spark.readStream.schema(schema).json(str(tmp_path / "in"))
    told: list[dict[str, Any]] = []
    finish(
        hws.maintain_documents(
            CHEAP, {"Orders": rows}, key="no.of", schema="variant", checkpoint=str(tmp_path / "state"),
            output=str(tmp_path / "out"), trigger=NOW, on_batch=told.append, shards=2,
        )
    )  # fmt: skip
    out = spark.read.parquet(str(tmp_path / "out" / "Cheap" / "changes"))
    assert out.schema["document"].dataType.typeName() == "variant"
    read = out.selectExpr("document:sku::string sku", "document:price::long price", "_change_type").collect()
    assert list(map(tuple, read)) == [("pen", 2, "insert")]
    table = hws.view(str(tmp_path / "state"), "Cheap", schema="price double, none string").select("document.*")
    assert list(map(tuple, table.collect())) == [(2.0, None)]
    assert told[0]["rejected"] == 3
    files = (tmp_path / "state" / "headwater" / "rejected").glob("*.jsonl")
    aside = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert sorted(row["reason"] for row in aside) == [
        "`_change_type` is 'upsert', not one of insert, delete, update_preimage, update_postimage",
        "it cannot be parsed",
        "it has no int or string `no.of`, which is its key",
    ]
    assert {row["relation"] for row in aside} == {"Orders"}


def test_documents_that_cannot_be_read_are_set_aside_with_their_place(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    deep = "[" * 1100 + "]" * 1100
    bad = ['{"id": 1, "id": 2}', '{"id": 1', f'{{"id": 1, "x": {deep}}}', '{"id": 1.5}', '{"id": 4, "x": NaN}', "7"]
    (tmp_path / "in" / "0.txt").write_text("\n".join([*bad, '{"id": 9, "items": {"price": 1, "sku": "ok"}}']))
    texts = spark.readStream.text(str(tmp_path / "in"))
    options = {"checkpoint": str(tmp_path / "state"), "trigger": NOW, "shards": 2}
    finish(hws.maintain_documents(CHEAP, {"Orders": texts}, **options))
    rejected = (tmp_path / "state" / "headwater" / "rejected").glob("*.jsonl")
    aside = [json.loads(line) for path in rejected for line in path.read_text().splitlines()]
    assert sorted(row["row"] for row in aside) == sorted(bad)
    assert "the object has this member already (line 1, column 11)" in {row["reason"] for row in aside}
    assert [row["document"] for row in hws.view(str(tmp_path / "state"), "Cheap").collect()] == [
        '{"price": 1, "sku": "ok"}'
    ]
    with pytest.raises(StateError, match="knows the documents of `Orders` by `id`, not by `no`"):
        hws.maintain_documents(CHEAP, {"Orders": texts}, key="no", **options)
    with pytest.raises(StateError, match="belongs to another query"):
        hws.maintain_documents(CHEAP.replace("< 5", "< 6"), {"Orders": texts}, **options)


def test_misuse_is_told(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    texts = spark.readStream.text(str(tmp_path / "in"))
    static = spark.createDataFrame([("{}",)], "t string")
    options = {"checkpoint": str(tmp_path / "state")}
    with pytest.raises(hw.DataError, match=r"error\[HW806\]: no documents are given for `Orders`.*mean `Order`"):
        hws.maintain_documents(CHEAP, {"Order": texts}, **options)
    with pytest.raises(hw.UnknownRelation, match=r"error\[HW807\]: documents are given for `Names`"):
        hws.documents(CHEAP, {"Orders": static, "Names": static})
    with pytest.raises(hw.DataError, match=r"is a stream; documents takes .* maintain_documents takes streams"):
        hws.documents(CHEAP, {"Orders": texts})
    with pytest.raises(ValueError, match="for static ones alone take documents"):
        hws.maintain_documents(CHEAP, {"Orders": static}, **options)
    with pytest.raises(hw.DataError, match="cannot be inferred, because they are not there yet"):
        hws.maintain_documents(CHEAP, {"Orders": texts}, schema="infer", **options)
    with pytest.raises(hw.DataError, match="key= says nothing of `Orders`"):
        hws.maintain_documents(CHEAP, {"Orders": texts}, key={"Order": "id"}, **options)
    with pytest.raises(hw.ProgramError, match=r"error\[HW260\]"):
        hws.documents("-- nothing", {"Orders": static})


def run(folder: Path, step: int) -> tuple[int, str]:
    """A driver in a process group of its own, so that its JVM and workers go with it."""
    env = os.environ | {"PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    told, problems = folder / "told", folder / "problems"
    with told.open("w") as out, problems.open("w") as err:
        command = [sys.executable, str(DRIVER), str(folder), str(step)]
        driver = subprocess.Popen(command, env=env, stdout=out, stderr=err, start_new_session=True)
        try:
            code = driver.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)
    assert code in (0, -signal.SIGKILL), problems.read_text()[-3000:]
    return code, told.read_text()


@pytest.mark.parametrize("steps", [[11], pytest.param([6, 11], marks=pytest.mark.soak)])
def test_kills_of_the_driver(tmp_path: Path, steps: list[int]) -> None:
    """Killed in the midst of batches and started again: nothing twice, nothing lost."""
    after = write_batches(tmp_path, random.Random(8), 3)
    assert {run(tmp_path, step)[0] for step in steps} == {-9}
    code, told = run(tmp_path, -1)
    assert code == 0
    assert_follows(tmp_path / "out", after, ["Held"])
    found = sorted((canonical(json.loads(one)) for one in json.loads(told.splitlines()[-1])), key=repr)
    assert found == shown("Held", after[-1])
