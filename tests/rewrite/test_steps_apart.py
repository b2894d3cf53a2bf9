"""Steps that are followed by themselves: what users see is the recursion as they wrote it."""

from __future__ import annotations

import headwater as hw

POINTS = """
P1: points(V, H) :- new(V, H).
P2: points(V, H) :- assign(V, W), points(W, H).
query points(1, H).
"""


def _database() -> hw.Database:
    program = hw.compile(POINTS)
    assert "points'way" in program.explain()
    return hw.Database(program)


def test_a_proof_shows_steps_and_not_the_relation_between() -> None:
    db = _database()
    db.apply(insert={"new": [(4, "h")], "assign": [(1, 2), (2, 4), (7, 1)]})
    proof = db.why("points", (1, "h"))
    assert proof.facts == [("assign", (1, 2)), ("assign", (2, 4)), ("new", (4, "h"))]
    assert "'" not in str(proof)


def test_a_proof_of_many_steps() -> None:
    db = _database()
    db.apply(insert={"new": [(5_000, "h")], "assign": [(at, at + 1) for at in range(1, 5_000)]})
    assert len(db.why("points", (1, "h")).facts) == 5_000


def test_why_not_names_goals_that_were_written() -> None:
    db = _database()
    db.apply(insert={"new": [(4, "h")], "assign": [(2, 4)]})
    text = str(db.why_not("points", (1, "h")))
    assert "points(V, H) :- assign(V, W), points(W, H)." in text
    assert "'" not in text


def test_an_edit_follows_what_it_changes() -> None:
    db = _database()
    db.apply(insert={"new": [(4, "h"), (2, "g")], "assign": [(1, 2), (2, 3), (3, 4), (4, 2)]})
    changes = db.apply(delete={"assign": [(2, 3)]})
    assert changes["points"].deleted.to_pydict() == {"V": [1], "H": ["h"]}
    assert db.rows("points") == {(1, "g")}
