"""Documents in a checkpoint, with drivers and workers that fail in every batch: the views stay what the oracle says."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.dice import Dice
from tests.semistructured.random_views import Writer
from tests.semistructured.sharded_store import canonical, expected, random_changes, random_document
from tests.spark.kept_documents import KeptDocuments
from tests.thresholds import no_room

VIEWS = (
    "define view V as P = select x from N.a x with x.# y;",
    "define view V as P = select x, y, n: y.b, m: count(x.#) from N x, M y where x.a = y.a with x.b z, y.# w;",
    'define view V as P = select x.#.ab, k: x.a from N x where not exists x.b; Q = select m from M m where m.# = "x";',
)


@pytest.mark.parametrize("seed", range(5))
def test_oracle_documents_survive_mishaps(tmp_path: Path, seed: int) -> None:
    with no_room(seed):
        check(tmp_path, seed)


def check(folder: Path, seed: int) -> None:
    dice = Dice(seed)
    text = VIEWS[seed] if seed < len(VIEWS) else Writer(Dice(seed)).view()
    kept = KeptDocuments(text, folder, dice.number(1, 3), random.Random(seed))
    there: dict[tuple[str, Any], Any] = {}
    for _ in range(5):
        put, removed = random_changes(dice, there, 6) if there else ({(n, 1): random_document(dice) for n in "NM"}, [])
        there = {key: document for key, document in {**there, **put}.items() if key not in removed}
        kept.put(put, removed)
        said = sorted((canonical(json.loads(one)) for one in kept.shown["V"].values()), key=repr)
        assert said == expected(text, there), f"seed {seed}: {text}\n{there}"
        assert kept.documents("V") == kept.shown["V"]
