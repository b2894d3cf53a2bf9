"""A driver of `test_formats`: keeps a closure in a format that its session has, and from a source that is one.

    python formats_driver.py FORMAT FOLDER JARS SERVERS

The files of changes in FOLDER/later are given to the stream step by step. In between a run ends when its changes were
told, but not to the end, and another one before anything was told. What is there in the end is printed, then what a
stream that reads the format leads to, by the definition on the page about Spark.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from connectors import session
from pyspark.sql import functions as sf

import headwater as hw
from headwater import spark as hws

NOW = {"availableNow": True}
PROGRAM = hw.compile("reachable(X, Y) :- link(X, Y). reachable(X, Z) :- link(X, Y), reachable(Y, Z).")
PAGE = Path(__file__).parents[2] / "docs" / "spark.md"

form, folder, jars, servers = sys.argv[1], Path(sys.argv[2]), sys.argv[3].split(","), sys.argv[4]
spark = session(form, jars, folder)
OUTPUT = {"delta": f"{folder}/views", "iceberg": "lake.db", "kafka": "feed"}[form]
OPTIONS = {"kafka.bootstrap.servers": servers} if form == "kafka" else {}


def finish(query: Any) -> None:
    query.awaitTermination()
    if query.exception() is not None:
        raise query.exception()


def run(files: int, **more: Any) -> None:
    """Maintain the view over some more of the files."""
    for path in sorted((folder / "later").iterdir())[:files]:
        path.rename(folder / "in" / path.name)
    stream = spark.readStream.schema("src string, dst string, _change_type string").option("maxFilesPerTrigger", 1)
    given = {"output": OUTPUT, "format": form, "options": OPTIONS} | more
    links = {"link": stream.json(str(folder / "in"))}
    finish(hws.maintain(PROGRAM, links, checkpoint=f"{folder}/kept", shards=2, trigger=NOW, **given))


def failing(files: int, **more: Any) -> str:
    try:
        run(files, **more)
    except Exception as problem:
        return str(problem)
    raise AssertionError("it did not fail")


def stop(_: Any, batch: int) -> None:
    raise InterruptedError(f"stopped in batch {batch}")


def listed(frame: Any) -> list[list[Any]]:
    return sorted(list(row) for row in frame.collect())


def messages(topic: str) -> Any:
    return spark.read.format("kafka").options(**OPTIONS, subscribe=topic, startingOffsets="earliest").load()


def written() -> dict[str, Any]:
    """What is there: the changes and, where the format keeps it, the view."""
    columns = ["x", "y", "_change_type", "_batch_id"]
    match form:
        case "kafka":
            value = sf.from_json("value", "_view string, x string, y string, _change_type string, _batch_id long")
            key = sf.from_json("key", "_view string, x string, y string")
            texts = messages("feed").selectExpr("string(key) as key", "string(value) as value")
            read = texts.select(key.alias("key"), value.alias("value"))
            assert not read.where("(key._view, key.x, key.y) != (value._view, value.x, value.y)").count()
            return {"changes": listed(read.select("value.*").where("_view = 'reachable'").select(*columns))}
        case "delta":
            changes, current = (spark.read.format(form).load(f"{OUTPUT}/reachable/{one}") for one in KINDS)
        case _:
            changes, current = (spark.table(f"{OUTPUT}.reachable_{one}") for one in KINDS)
    return {"changes": listed(changes.select(*columns)), "current": listed(current)}


KINDS = ("changes", "current")


# Sources


def definition(name: str) -> Callable[[], list[list[Any]]]:
    """Runs what the page says, and gives the view."""
    found = re.search(rf"^```python {name}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    text = found[1].replace("localhost:9092", servers)
    for place in ("links", "state", "out"):
        if form == "delta" or place == "state":
            text = text.replace(f'"{place}"', f'"{folder}/{place}"')

    def ran() -> list[list[Any]]:
        names = {"spark": spark, "hws": hws, "program": PROGRAM, "sf": sf}
        exec(compile(text, name, "exec"), names)
        finish(names["query"])
        return listed(hws.view(f"{folder}/state", "reachable"))

    return ran


def evaluated(links: Any) -> list[list[Any]]:
    return listed(hws.evaluate(PROGRAM, {"link": links})["reachable"])


def from_delta() -> list[Any]:
    """Commits of every kind, several of them in one batch; the table beside the view after each batch."""
    table = f"delta.`{folder}/links`"
    ran = definition("from_delta.py")
    told = []
    for commits in COMMITS:
        for commit in commits:
            spark.sql(commit.format(table=table))
        told.append([listed(spark.sql(f"SELECT src, dst FROM {table}")), ran()])
    return [told, evaluated(spark.read.format(form).load(f"{folder}/links"))]


COMMITS = (
    (
        "CREATE TABLE {table} (src STRING, dst STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        "INSERT INTO {table} VALUES ('1', '2'), ('2', '3'), ('3', '4'), ('7', '8')",
    ),
    (  # rows take each other's place in one commit
        "UPDATE {table} SET src = dst, dst = string(int(dst) + 1) WHERE src < '5'",
        "DELETE FROM {table} WHERE src = '4'",
        "INSERT INTO {table} VALUES ('4', '5'), ('1', '2')",
        "DELETE FROM {table} WHERE src = '1'",
        "UPDATE {table} SET dst = dst WHERE src = '7'",
    ),
    (
        "MERGE INTO {table} AS old USING (SELECT explode(array('2', '4', '9')) AS src) AS new ON old.src = new.src "
        "WHEN MATCHED AND new.src = '4' THEN DELETE WHEN MATCHED THEN UPDATE SET dst = '7' "
        "WHEN NOT MATCHED THEN INSERT (src, dst) VALUES (new.src, '2')",
        "INSERT INTO {table} VALUES ('8', '1')",
        "DELETE FROM {table} WHERE src = '8'",
        "INSERT INTO {table} VALUES ('8', '9')",
    ),
)


def from_kafka() -> list[Any]:
    """Messages by row, in two batches; a row that comes and goes in one, and two that are no rows."""
    ran = definition("from_kafka.py")
    told = []
    for batch in MESSAGES:
        for pair, kind in batch:  # one after the other, so that their order is known
            src, dst = pair
            row = {"src": src, "dst": dst, "_change_type": kind}
            frame = spark.createDataFrame([(src + dst, json.dumps(row) if kind else src)], "key string, value string")
            frame.write.format("kafka").options(**OPTIONS, topic="links").save()
        told.append(ran())
    return [told, hws.progress(f"{folder}/state")["rejected"], messages("changes").count()]


MESSAGES = (
    (("12", "insert"), ("23", "insert"), ("31", "insert"), ("31", "delete"), ("{x", "")),
    (("12", "delete"), ("31", "insert"), ("12", "insert"), ("23", "delete"), ("45", "perhaps")),
)


def from_iceberg() -> list[Any]:
    """Rows that are appended to a table, in two batches."""
    ran = definition("from_iceberg.py")
    spark.sql("CREATE TABLE lake.db.links (src STRING, dst STRING) USING iceberg")
    told = []
    for rows in ("('1', '2'), ('3', '4')", "('2', '3')"):
        spark.sql(f"INSERT INTO lake.db.links VALUES {rows}")
        told.append(ran())
    return [told, evaluated(spark.table("lake.db.links"))]


(folder / "in").mkdir()
run(2)
failures = [failing(1, foreach_changes=stop)]
run(1)
failures.append(failing(1, format="nowhere"))
run(1)
if form != "kafka":
    hws.refresh(f"{folder}/kept", OUTPUT, format=form, spark=spark)
said = written() | {"failures": failures, "view": listed(hws.view(f"{folder}/kept", "reachable"))}
said["source"] = {"delta": from_delta, "kafka": from_kafka, "iceberg": from_iceberg}[form]()
print(json.dumps(said))
spark.stop()
