"""`min<(C, P)>`: the least C and the P that goes with it, whatever the order in which rows come."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

import headwater as hw

OFFERS = "relation offer(item: string, price: int?, shop: string?)."
WAYS = """
relation road(a: string, b: string, km: int).
way(X, Y, min<(D, P)>) :- road(X, Y, D), P = [X, Y].
way(X, Y, min<(D, P)>) :- road(X, Z, D1), way(Z, Y, D2, P2), D = D1 + D2, P = [X | P2].
"""
ROADS = [("a", "b", 1), ("b", "d", 2), ("a", "c", 2), ("c", "d", 1), ("a", "d", 3), ("d", "a", 1)]


def rows(text: str, relation: str, **given: list[tuple[object, ...]]) -> set[tuple[object, ...]]:
    db = hw.Database(hw.compile(text))
    db.apply(insert=given)
    return db.rows(relation)


def test_the_best_and_what_goes_with_it() -> None:
    offers = [("pen", 3, "east"), ("pen", 2, "west"), ("pen", 2, "north"), ("ink", 7, "east")]
    assert rows(OFFERS + "best(I, min<(C, S)>) :- offer(I, C, S).", "best", offer=offers) == {
        ("pen", 2, "north"),
        ("ink", 7, "east"),
    }
    assert rows(OFFERS + "best(I, max<(C, S)>) :- offer(I, C, S).", "best", offer=offers) == {
        ("pen", 3, "east"),
        ("ink", 7, "east"),
    }
    assert rows(OFFERS + "best(min<(C, S, I)>) :- offer(I, C, S).", "best", offer=offers) == {(2, "north", "pen")}
    assert rows(OFFERS + "best(with<S>, I, max<C>) :- offer(I, C, S).", "best", offer=offers) == {
        ("east", "pen", 3),
        ("east", "ink", 7),
    }


def test_nulls_are_left_out_and_come_last() -> None:
    offers = [("pen", None, "east"), ("pen", 2, None), ("pen", 2, "west"), ("ink", 7, None), ("cap", None, "east")]
    for best in ("min", "max"):
        found = rows(OFFERS + f"best(I, {best}<(C, S)>) :- offer(I, C, S).", "best", offer=offers)
        assert found == {("pen", 2, "west"), ("ink", 7, None)}


def test_ways_that_tie_do_not_depend_on_the_order_of_rows() -> None:
    whole = rows(WAYS, "way", road=ROADS)
    assert ("a", "d", 3, ("a", "b", "d")) in whole
    assert len(whole) == len({row[:2] for row in whole})
    for order in list(permutations(ROADS))[::60]:
        db = hw.Database(hw.compile(WAYS))
        for row in order:
            db.apply(insert={"road": [row]})
        assert db.rows("way") == whole


def test_the_next_way_takes_the_place_of_one_that_is_gone(tmp_path: Path) -> None:
    db = hw.Database(hw.compile(WAYS))
    db.apply(insert={"road": ROADS})
    changes = db.apply(delete={"road": [("b", "d", 2)]})["way"]
    assert ("a", "d", 3, ["a", "b", "d"]) in [tuple(row.values()) for row in changes.deleted.to_pylist()]
    assert ("a", "d", 3, ("a", "c", "d")) in db.rows("way")
    assert [fact for fact in db.why("way", ("a", "d", 3, ("a", "c", "d"))).facts if fact[0] == "road"] == [
        ("road", ("a", "c", 2)),
        ("road", ("c", "d", 1)),
    ]
    db.save(tmp_path / "db")
    opened = hw.Database.open(tmp_path / "db")
    opened.apply(delete={"road": [("c", "d", 1)]})
    assert ("a", "d", 3, ("a", "d")) in opened.rows("way")


def test_a_rule_without_an_aggregate_adds_its_pair() -> None:
    text = OFFERS + 'best(I, min<(C, S)>) :- offer(I, C, S). best("pen", 1, "gift") :- offer(_, _, _).'
    assert rows(text, "best", offer=[("pen", 3, "east")]) == {("pen", 1, "gift")}


@pytest.mark.parametrize("text", ["SELECT src, min(cost) AS c, dst FROM link GROUP BY src, dst;"])
def test_sql_that_says_what_it_groups_by_is_not_warned_of(text: str) -> None:
    assert hw.compile(text).warnings == ()
    assert [one.code for one in hw.compile("p(X, min<C>, Y) :- link(X, Y, C).").warnings] == ["HW513"]
