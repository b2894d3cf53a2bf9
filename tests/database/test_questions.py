"""Queries with parameters: asked once, followed, closed; the answers are always those of the whole view."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

import headwater as hw
from tests.engine.holding import pairs
from tests.oracle.dice import Dice
from tests.oracle.evaluate import Diverges, evaluate
from tests.oracle.harness import in_order
from tests.oracle.program import Row, State, to_text
from tests.oracle.scripts import states
from tests.oracle.strategies import random_case, seeds, template_case

REACH = """
reach(X, Y) :- edge(X, Y).
reach(X, Y) :- edge(X, Z), reach(Z, Y).
query reach($From, To).
"""
TEMPLATES = ("closure", "same_generation", "points_to", "shortest", "components", "tallies")


def _followed_script(case: Any, seed: int) -> None:
    dice = Dice(seed)
    reference = replace(case.reference, queries=())
    wholes = [evaluate(reference, base, size=3_000) for base in states(case.script, reference.keys)]
    assume(wholes)
    view = dice.pick(case.program.outputs)
    width = len(next(rule.args for rule in case.program.rules if rule.relation == view))
    assume(width)
    values = [row for whole in wholes for row in in_order(whole[view])]
    places = [at for at in range(width) if at == 0 or dice.chance(20)]
    assume(values and all(isinstance(row[at], int | str | float) for row in values for at in places))
    args = ", ".join(f"${'P' if at in places else 'V'}{at}".replace("$V", "V") for at in range(width))
    text = to_text(replace(case.program, queries=())) + f"query {view}({args}).\n"
    db = hw.Database(hw.compile(text))
    live: list[tuple[Row, Any]] = []

    def ask() -> dict[str, Any]:
        row = dice.pick(values)
        return {f"P{at}": row[at] for at in places}

    def wanted(whole: State, given: dict[str, Any]) -> set[Row]:
        return {row for row in whole[view] if all(row[at] == given[f"P{at}"] for at in places)}

    before: State = evaluate(reference, {}, size=3_000)
    for transaction, whole in zip(case.script, wholes, strict=True):
        if dice.chance(60):
            question = db.follow(view, **ask())
            live.append((question.given, question))
        db.apply(insert=dict(transaction.insert), delete=dict(transaction.delete))
        for asked, question in live:
            assert question.rows == wanted(whole, asked)
            came, went = (set(_tuples(side)) for side in (question.changes.inserted, question.changes.deleted))
            now, then = wanted(whole, asked), wanted(before, asked)
            assert (came, went) == (now - then, then - now)
        once = ask()
        assert db.ask(view, **once) == wanted(whole, once)
        assert [question.rows for _, question in live] == [wanted(whole, asked) for asked, _ in live]
        if live and dice.chance(40):
            live.pop(dice.number(0, len(live) - 1))[1].close()
        before = whole


def _tuples(table: Any) -> list[Row]:
    return [tuple(map(_plain, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, list) else value


@pairs(60)
@given(seed=seeds)
def test_oracle_questions_of_random_programs(seed: int) -> None:
    try:
        _followed_script(random_case(seed), seed)
    except Diverges:
        assume(False)


@pytest.mark.parametrize("name", TEMPLATES)
@pairs(4)
@given(seed=seeds)
def test_oracle_questions_of_templates(name: str, seed: int) -> None:
    try:
        _followed_script(template_case(name, seed), seed)
    except Diverges:
        assume(False)


def test_a_question_computes_what_is_missing_and_nothing_stays() -> None:
    db = hw.Database(hw.compile(REACH))
    db.apply(insert={"edge": [(at, at + 1) for at in range(100)]})
    assert db.ask("reach", From=90) == {(90, to) for to in range(91, 101)}
    assert db._shard.stores["reach"].count == 0


def test_a_question_may_come_before_the_data() -> None:
    db = hw.Database(hw.compile(REACH))
    with db.follow("reach", From="a") as live:
        assert live.rows == set()
        assert live.changes is None
        db.apply(insert={"edge": [("a", "b"), ("b", "c"), ("x", "y")]})
        assert live.rows == {("a", "b"), ("a", "c")}
        assert live.changes.inserted.num_rows == 2
        assert db.why("reach", ("a", "c")).facts == [("edge", ("a", "b")), ("edge", ("b", "c"))]
    with pytest.raises(ValueError, match="closed"):
        live.rows  # noqa: B018


def test_a_question_that_two_follow_stays_until_both_close() -> None:
    db = hw.Database(hw.compile(REACH))
    db.apply(insert={"edge": [(1, 2)]})
    one, other = db.follow("reach", From=1), db.follow("reach", From=1)
    one.close()
    one.close()
    assert other.rows == {(1, 2)}
    assert db._shard.stores["reach"].count == 1
    other.close()
    assert db._shard.stores["reach"].count == 0


def test_closing_everything_gives_memory_back() -> None:
    db = hw.Database(hw.compile(REACH))
    db.apply(insert={"edge": [(at, (at * 7 + step) % 3_000) for at in range(3_000) for step in (1, 5)]})
    for close in (db.follow("reach", From=0).close, db.follow("reach", From=2).close):
        close()  # indexes of `edge` are made when first needed, and stay
    empty = db.nbytes
    questions = [db.follow("reach", From=at) for at in range(30)]
    assert db.nbytes > 2 * empty
    for question in questions:
        question.close()
    assert db.nbytes <= 1.2 * empty


def test_questions_are_saved_and_taken_up_again(tmp_path: Path) -> None:
    db = hw.Database(hw.compile(REACH))
    db.apply(insert={"edge": [(1, 2), (2, 3)]})
    db.follow("reach", From=1)
    db.save(tmp_path / "db")
    again = hw.Database.open(tmp_path / "db")
    live = again.follow("reach", From=1)
    again.apply(insert={"edge": [(3, 4)]})
    assert live.rows == {(1, 2), (1, 3), (1, 4)}
    live.close()
    assert again._shard.stores["reach"].count == 0


@pytest.mark.parametrize("mode", ["witness", "absorption", "none"])
@pytest.mark.parametrize("disabled", [[], ["magic_sets"], ["leading_side"]])
def test_every_mode_and_every_rewrite_answers(mode: str, disabled: list[str]) -> None:
    db = hw.Database(hw.compile(REACH, disabled=disabled), provenance=mode)
    live = db.follow("reach", From=1)
    db.apply(insert={"edge": [(1, 2), (2, 3), (3, 1)]})
    assert live.rows == {(1, 1), (1, 2), (1, 3)}
    db.apply(delete={"edge": [(2, 3)]})
    assert live.rows == {(1, 2)}
    assert db.ask("reach", From=3) == {(3, 1), (3, 2)}


def test_types_that_differ_are_answered_without_restriction() -> None:
    text = "way(X, Y) :- road(X, Y).\nway(X, Y) :- rail(X, Y).\nquery way($From, To).\n"
    db = hw.Database(hw.compile(text))
    live = db.follow("way", From=1)
    db.apply(insert={"road": [(1, 2)]})
    assert live.rows == {(1, 2)}
    db.apply(insert={"rail": [(1.0, 3.5), (2.5, 1.0)]})
    assert live.rows == {(1.0, 2.0), (1.0, 3.5)}
    assert db.ask("way", From=2.5) == {(2.5, 1.0)}


def test_sums_of_floats_are_taken_in_their_order() -> None:
    text = """
    path(X, Y, C) :- link(X, Y, C).
    path(X, Y, C) :- link(X, Z, C1), path(Z, Y, C2), C = C1 + C2.
    query path(a, Y, C).
    """
    rows = [("a", "b", 0.1), ("b", "c", 0.2), ("c", "d", 0.3)]
    whole, asked = (hw.Database(hw.compile(text, disabled=off)) for off in (["leading_side", "magic_sets"], []))
    for db in (whole, asked):
        db.apply(insert={"link": rows})
    assert asked.rows("path") == whole.rows("path")


def test_wrong_questions_name_the_right_ones() -> None:
    db = hw.Database(hw.compile(REACH))
    twice = hw.Database(hw.compile(REACH + "query reach(X, $To)."))
    db.apply(insert={"edge": [(1, 2)]})
    for ask, message in [
        (lambda: db.rows("reach"), r'HW825.*`\$From`.*ask\("reach", From=\.\.\.\).*--query'),
        (lambda: db.why("reach", (1, 2)), r'not asked for.*follow it first, follow\("reach", From=\.\.\.\)'),
        (lambda: db.count("reach"), "HW825"),
        (lambda: db.ask("reach"), r"HW824.*gives `\$From`; none was given"),
        (lambda: db.ask("reach", To=1), r"HW824.*`\$From`; `\$To` is not among them"),
        (lambda: db.ask("reach", From=1, To=1), r"HW824.*`\$To` is not among them"),
        (lambda: db.ask("reach", To=1, Way=1), r"HW824.*`\$To` and `\$Way` are not among them"),
        (lambda: twice.ask("reach", From=1, To=1), r"HW824.*gives `\$From` or `\$To`; `\$From` and `\$To` were given"),
        (lambda: db.ask("reach", From="x"), r"HW824.*`\$From` of `reach`"),
        (lambda: db.follow("edge", From=1), "HW824.*no query of `edge` has parameters"),
    ]:
        with pytest.raises(hw.DataError, match=message):
            ask()
    with pytest.raises(KeyError, match="did you mean"):
        db.ask("reech", From=1)


def test_what_is_restricted_and_no_output_cannot_be_read() -> None:
    text = (
        "reach(X, Y) :- edge(X, Y).\nreach(X, Y) :- reach(X, Z), edge(Z, Y).\nnear(Y) :- reach(1, Y).\nquery near(Y).\n"
    )
    db = hw.Database(hw.compile(text))
    db.apply(insert={"edge": [(1, 2), (2, 3)]})
    assert db.rows("near") == {(2,), (3,)}
    with pytest.raises(KeyError, match=r"disabled=\['magic_sets'\]"):
        db.rows("reach")
    whole = hw.Database(hw.compile(text, disabled=["magic_sets"]))
    whole.apply(insert={"edge": [(1, 2), (2, 3)]})
    assert whole.rows("reach") == {(1, 2), (1, 3), (2, 3)}


def test_floats_are_asked_for_by_value() -> None:
    db = hw.Database(hw.compile(f"relation edge(x: float, y: float).{REACH}"))
    db.apply(insert={"edge": [(0.0, 1.5), (1.5, math.nan), (math.nan, 2.5), (7.0, 8.0)]})
    assert "reach'asked" in db.program.explain()
    assert {row[1] for row in db.ask("reach", From=-0.0) if row[1] == row[1]} == {1.5, 2.5}
    assert {row[1] for row in db.ask("reach", From=float("nan"))} == {2.5}
    first, second = db.follow("reach", From=float("nan")), db.follow("reach", From=float("nan"))
    first.close()
    db.apply(insert={"edge": [(2.5, 3.5)]})
    assert {row[1] for row in second.rows} == {2.5, 3.5}


def test_computed_values_that_turn_out_to_be_of_another_type() -> None:
    """2.0 is asked for among ints: nothing is restricted then, and 2 = 2.0 holds."""
    text = "moved(A, Y) :- shift(A, B), X = A / B, reach(X, Y).\nquery moved($A, Y).\n"
    db = hw.Database(hw.compile(REACH.replace("query reach($From, To).", text)))
    assert "reach'asked" in db.program.explain()
    db.apply(insert={"edge": [(2, 3), (3, 4), (7, 8)], "shift": [(4, 2)]})
    assert db.ask("moved", A=4) == {(4, 3), (4, 4)}


def test_a_parameter_for_a_column_that_a_rule_computes() -> None:
    db = hw.Database(hw.compile("relation b(x: int).\nd(Y, X) :- b(X), Y = X + X.\nquery d($Y, X).\n"))
    assert "d'asked" in db.program.explain()
    db.apply(insert={"b": [(1,), (5,)]})
    assert db.ask("d", Y=10) == {(10, 5)}
    followed = db.follow("d", Y=2**40)
    db.apply(insert={"b": [(2**39,)]})
    assert followed.rows == {(2**40, 2**39)}
