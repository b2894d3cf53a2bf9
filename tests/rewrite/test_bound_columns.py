"""A column that holds one value is not stored, and users see it as before."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headwater as hw
from tests.engine.holding import pairs

REACH = "reach(X, Y) :- edge(X, Y).\nreach(X, Y) :- edge(X, Z), reach(Z, Y).\nquery reach(1, Y).\n"
EDGES = [(1, 2), (2, 3), (3, 1), (7, 8)]


def test_the_column_is_not_stored_and_is_shown() -> None:
    db = hw.Database(hw.compile(REACH))
    changes = db.apply(insert={"edge": EDGES})
    assert [len(table.types) for table in db._shard.plan.tables if table.name == "reach"] == [1]
    assert db.rows("reach") == {(1, 1), (1, 2), (1, 3)}
    assert db.table("reach").schema == pa.schema({"X": pa.int64(), "Y": pa.int64()})
    assert set(map(tuple, (row.values() for row in changes["reach"].inserted.to_pylist()))) == db.rows("reach")


def test_it_can_be_switched_off() -> None:
    db = hw.Database(hw.compile(REACH, disabled=["bound_columns"]))
    assert [len(table.types) for table in db._shard.plan.tables if table.name == "reach"] == [2]


def test_proofs_show_the_value_and_rules_from_which_their_children_follow() -> None:
    db = hw.Database(hw.compile(REACH))
    db.apply(insert={"edge": EDGES})
    assert str(db.why("reach", (1, 3))) == (
        "reach(1, 3)  [reach(X, Y) :- reach(X, Z), edge(Z, Y).  % turned from "
        "reach(X, Y) :- edge(X, Z), reach(Z, Y).]\n"
        "├─ reach(1, 2)  [reach(X, Y) :- edge(X, Y).]\n"
        "│  └─ edge(1, 2)\n"
        "└─ edge(2, 3)"
    )
    assert str(db.why_not("reach", (1, 8))) == (
        "reach(1, 8) is not there\n"
        "  reach(X, Y) :- edge(X, Y).\n"
        "    fails at: edge(X, Y)\n"
        "    with Y = 8\n"
        "  reach(X, Y) :- reach(X, Z), edge(Z, Y).\n"
        "    fails at: reach(X, Z)\n"
        "    with Y = 8, Z = 7"
    )
    assert db.critical("reach", (1, 3)).facts == [("edge", (1, 2)), ("edge", (2, 3))]
    with pytest.raises(hw.DataError, match="is not asked for"):
        db.why("reach", (2, 3))


@pytest.mark.parametrize("disabled", [[], ["bound_columns"]])
def test_rules_that_have_no_atom_stay(disabled: list[str]) -> None:
    """They use no column that goes, so they were no reason to leave it, and got lost."""
    text = REACH + "alone(no) :- !busy(_).\nalone(N) :- N = yes.\nbusy(X) :- load(X).\nquery alone(N).\n"
    db = hw.Database(hw.compile(text, disabled=disabled))
    db.apply(insert={"edge": EDGES, "load": []})
    assert db.rows("alone") == {("no",), ("yes",)}
    db.apply(insert={"load": [(1,)]})
    assert db.rows("alone") == {("yes",)}
    assert db.rows("reach") == {(1, 1), (1, 2), (1, 3)}


def test_a_negated_goal_is_shown_with_the_value() -> None:
    db = hw.Database(hw.compile(REACH + "lost(X, Y) :- node(X), node(Y), !reach(X, Y).\nquery lost(1, Y).\n"))
    db.apply(insert={"edge": EDGES, "node": [(1,), (7,)]})
    assert str(db.why("lost", (1, 7))).splitlines()[-1] == "└─ no row matched reach(1, 7)"


@pytest.mark.parametrize("edges", [[(1.0, 2.5), (2.5, 3.0)], [(1, 2.5), (2.5, 3)]])
def test_a_column_of_another_type_is_stored(edges: list[tuple[float, float]]) -> None:
    found = hw.Database(hw.compile(REACH))
    found.apply(insert={"edge": edges})
    plain = hw.Database(hw.compile(REACH, disabled=["bound_columns"]))
    plain.apply(insert={"edge": edges})
    assert found.table("reach").schema == plain.table("reach").schema
    assert found.rows("reach") == plain.rows("reach") == {(1.0, 2.5), (1.0, 3.0)}


Edges = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@pairs(20)
@given(edges=Edges, others=Edges, gone=Edges, provenance=st.sampled_from(["witness", "absorption", "none"]))
def test_oracle_the_same_rows_changes_and_questions(edges, others, gone, provenance) -> None:  # type: ignore[no-untyped-def]
    text = """
        path(X, Y, C) :- edge(X, Y), C = 1.
        path(X, Y, C) :- edge(X, Z), path(Z, Y, D), C = D + 1, C < 6.
        near(X, Y, min<C>) :- path(X, Y, C).
        lost(X, Y) :- edge(X, _), edge(_, Y), !near(X, Y, _).
        query near(1, Y, C).
        query lost(1, Y).
    """
    found, plain = (
        hw.Database(hw.compile(text, disabled=disabled), provenance=provenance)
        for disabled in ((), ("bound_columns", "magic_sets", "leading_side"))
    )
    for insert, delete in ((edges, []), (others, gone), ([], edges)):
        one, other = (db.apply(insert={"edge": insert}, delete={"edge": delete}) for db in (found, plain))
        for view in ("near", "lost"):
            assert found.rows(view) == plain.rows(view)
            for side in ("inserted", "deleted"):
                rows = [
                    sorted(map(tuple, (r.values() for r in getattr(c[view], side).to_pylist()))) for c in (one, other)
                ]
                assert rows[0] == rows[1]
            if provenance != "none":
                for row in found.rows(view):
                    assert set(found.critical(view, row).facts) == set(plain.critical(view, row).facts)


@pytest.mark.filterwarnings("ignore")
def test_the_guard_shows_rules_and_rows_as_written() -> None:
    rules = "far(X, Y, C) :- edge(X, Y), C = 1.\nfar(X, Y, C) :- far(X, Z, D), edge(Z, Y), C = D + 1.\n"
    db = hw.Database(hw.compile(rules + "query far(1, Y, C)."), guard=50)
    with pytest.raises(hw.GuardError) as problem:
        db.apply(insert={"edge": EDGES})
    assert "rule: far(X, Y, C) :- far(X, Z, D), edge(Z, Y), C := D + 1." in str(problem.value)
    assert "newest rows of `far`: (1, " in str(problem.value)
