"""Documents on Spark against the embedded store: strings, structs and VARIANT give the same views."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import functions as sf

import headwater as hw
from headwater import spark as hws
from tests.semistructured.json_trees import VIEWS

ORDERS = [
    {"id": at, "items": [{"id": f"i{one}", "sku": "pen" if one else "ink", "price": at + one} for one in range(3)]}
    for at in range(12)
]
NAMES = [{"id": at, "name": f"n{at}"} for at in range(0, 12, 2)]
JOINED = """
define view Joined as J = select order: o.id, name: n.name from Orders o, Names n where o.id = n.id;
"""


def expected(text: str) -> list[str]:
    docs = hw.Documents.from_json({"Orders": ORDERS, "Names": NAMES}, key="id")
    return sorted(json.dumps(one, sort_keys=True) for one in docs.define(text).documents().values())


def shown(frame: Any) -> list[str]:
    return sorted(json.dumps(json.loads(row.document), sort_keys=True) for row in frame.collect())


def test_agree_strings_structs_and_variants_with_the_embedded_store(spark: Any) -> None:
    texts = spark.createDataFrame([(json.dumps(one),) for one in ORDERS], "text string")
    structs = texts.select(sf.from_json("text", sf.schema_of_json(json.dumps(ORDERS[0]))).alias("one")).select("one.*")
    variants = texts.select(sf.parse_json("text").alias("one"))
    names = spark.createDataFrame([(json.dumps(one),) for one in NAMES], "text string")
    text = VIEWS[0][0] + JOINED
    for frame in (texts, structs, variants):
        found = hws.documents(text, {"Orders": frame, "Names": names}, shards=2)
        assert shown(found["Cheap"]) == expected(VIEWS[0][0])
        assert shown(found["Joined"]) == expected(JOINED)


def test_a_document_that_cannot_be_read_is_named(spark: Any) -> None:
    texts = spark.createDataFrame([('{"id": 1, "id": 2}',)], "text string")
    with pytest.raises(hw.DataError, match="the object has this member already"):
        hws.documents(VIEWS[0][0], {"Orders": texts}, shards=2)
