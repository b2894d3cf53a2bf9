"""The documents of `test_documents_stream`, and a driver that maintains views of them and may be killed at a step.

    python documents_driver.py FOLDER STEP

The process dies at its STEPth step that touches a file; a negative STEP kills nobody. At the end the view is printed.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from headwater import spark as hws

CHEAP = """
define view Cheap as
  Items = select i from Orders.items i where i.price < 5 with i.sku s, i.price p;
"""
HELD = """
define view Held as
  Held = select order: o.id, customer: c.name, skus: o.items.sku from Orders o, Customers c
         where o.customer = c.id and exists f in o.#.flag: f = "hold";
"""
TOTALS = """
define view Totals as
  Totals = select o, customer: o.customer, total: sum(o.items.price) from Orders o with o.notes n, n.# m;
"""
VIEWS = CHEAP + HELD + TOTALS
SCHEMA = "document string, _key string, _change_type string"


def random_order(dice: random.Random, number: int) -> dict[str, Any]:
    items = [{"id": at, "sku": dice.choice("abc"), "price": dice.randrange(9)} for at in range(dice.randrange(4))]
    notes = {"deep": [{"flag": dice.choice(["hold", "go"])}, dice.randrange(3)]} if dice.random() < 0.6 else {}
    return {"id": number, "customer": dice.randrange(3), "items": items, "notes": notes}


def write_batches(folder: Path, dice: random.Random, batches: int) -> list[dict[tuple[str, int], Any]]:
    """Files of changes of both names, a batch each; all documents after each batch."""
    there: dict[tuple[str, int], Any] = {}
    after = []
    for batch in range(batches):
        changes: dict[tuple[str, int], Any] = {}
        for _ in range(8 if batch == 0 else 3):
            name = "Customers" if dice.random() < 0.3 else "Orders"
            key = (name, dice.randrange(3 if name == "Customers" else 6))
            if key in there and dice.random() < 0.3:
                changes[key] = None
            elif name == "Customers":
                changes[key] = {"id": key[1], "name": dice.choice(["Ada", "Bo", "Cy"])}
            else:
                changes[key] = random_order(dice, key[1])
        there = {key: document for key, document in {**there, **changes}.items() if document is not None}
        after.append(there)
        for name in ("Orders", "Customers"):
            lines = [_line(key, document) for (of, key), document in changes.items() if of == name]
            place = folder / name
            place.mkdir(exist_ok=True)
            path = place / f"{batch:03}.json"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines) or "\n")
            os.utime(path, (1_000_000 + batch, 1_000_000 + batch))
    return after


def _line(key: int, document: Any) -> dict[str, Any]:
    if document is None:
        return {"_key": str(key), "_change_type": "delete"}
    return {"_key": str(key), "_change_type": "insert", "document": json.dumps(document)}


def maintained(spark: Any, folder: Path, views: str = VIEWS, **options: Any) -> Any:
    """Apply all files, one of each name a batch; state and output lie in the folder."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return hws.maintain_documents(
        views,
        {name: reader.json(str(folder / name)) for name in ("Orders", "Customers")},
        checkpoint=str(folder / "state"),
        output=str(folder / "out"),
        trigger={"availableNow": True},
        **options,
    )


def main() -> None:
    from closure_driver import deadly, session

    from headwater.spark.folders import local

    folder, steps = Path(sys.argv[1]), [int(sys.argv[2])]
    spark = session("documents")
    for name in ("_write", "_move_unless_there", "_remove_file"):
        setattr(local, name, deadly(getattr(local, name), steps, folder))
    maintained(spark, folder, HELD, shards=2).awaitTermination()
    print(json.dumps([row["document"] for row in hws.view(str(folder / "state"), "Held").collect()]))
    spark.stop()


if __name__ == "__main__":
    main()
