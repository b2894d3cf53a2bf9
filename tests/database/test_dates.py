"""Dates: taken in from everything that spells one, computed with like whole days, and given back as dates."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headwater as hw

BEGIN = dt.date(2024, 2, 27)
DAYS = """
relation task(id: string, due: KIND?, more: list<KIND>).
relation next(a: string, b: string).
at(T, D) :- task(T, D, _).
at(T, nth(L, 0)) :- task(T, _, L).
at(T, E) :- at(S, D), next(S, T), E = NEXT, E < LAST.
soonest(T, min<D>) :- at(T, D).
same(S, T) :- at(S, D), at(T, D), S != T.
between(S, T, D) :- at(S, D), at(T, E), task(_, F, _), D < F, F <= E.
open(T) :- task(T, _, _), !at(T, FIRST).
lists(T, [D, T]) :- task(T, D, _).
days(D, count<T>) :- at(T, D).
"""
DATES = (
    DAYS.replace("KIND", "date").replace("NEXT", "date_add(D, 1)")
    .replace("LAST", '"2024-03-03"').replace("FIRST", '"2024-02-28"')
)  # fmt: skip
NUMBERS = DAYS.replace("KIND", "int").replace("NEXT", "D + 1").replace("LAST", "5").replace("FIRST", "1")


def dated(value: Any) -> Any:
    """A number of days after the first one, as a date; also inside rows and lists."""
    if isinstance(value, tuple | list):
        return type(value)(map(dated, value))
    return BEGIN + dt.timedelta(value) if isinstance(value, int) else value


@pytest.mark.parametrize("seed", range(8))
def test_agree_dates_are_days_in_order(seed: int, tmp_path: Path) -> None:
    """The same rules over dates and over the numbers of these days, while rows come and go."""
    dice = random.Random(seed)
    dates, numbers = hw.Database(hw.compile(DATES)), hw.Database(hw.compile(NUMBERS))
    held: dict[str, set[tuple[Any, ...]]] = {"task": set(), "next": set()}
    for turn in range(8):
        names = "abcd"
        came: dict[str, set[tuple[Any, ...]]] = {
            "task": {
                (
                    dice.choice(names),
                    dice.choice([None, *range(5)]),
                    tuple(dice.randrange(5) for _ in range(dice.randrange(3))),
                )
                for _ in range(dice.randint(0, 3))
            },
            "next": {(dice.choice(names), dice.choice(names)) for _ in range(dice.randint(0, 2))},
        }
        gone = {name: {row for row in rows if dice.random() < 0.3} for name, rows in held.items()}
        held = {name: rows - gone[name] | came[name] for name, rows in held.items()}
        numbers.apply(insert=came, delete=gone)
        dates.apply(
            insert={"task": [(a, *dated(rest)) for a, *rest in came["task"]], "next": came["next"]},
            delete={"task": [(a, *dated(rest)) for a, *rest in gone["task"]], "next": gone["next"]},
        )
        if turn == 5:
            dates.save(tmp_path / "dates.hw")
            dates = hw.Database.open(tmp_path / "dates.hw")
        for view in ("at", "soonest", "same", "between", "open", "lists"):
            assert dates.rows(view) == {dated(row) for row in numbers.rows(view)}, (view, held)
        assert dates.rows("days") == {(dated(day), count) for day, count in numbers.rows("days")}


@pytest.mark.parametrize(
    "rows",
    [
        [("a", dt.date(2026, 1, 31))],
        [("a", "2026-01-31")],
        [("a", dt.datetime(2026, 1, 31))],
        [("a", np.datetime64("2026-01-31"))],
        [{"id": "a", "due": dt.date(2026, 1, 31)}],
        pa.table({"id": ["a"], "due": pa.array([dt.date(2026, 1, 31)], pa.date32())}),
        pa.table({"id": ["a"], "due": pa.array([dt.date(2026, 1, 31)], pa.date64())}),
        pd.DataFrame({"id": ["a"], "due": [dt.date(2026, 1, 31)]}),
        pl.DataFrame({"id": ["a"], "due": [dt.date(2026, 1, 31)]}),
    ],
    ids=["date", "text", "midnight", "numpy", "dict", "date32", "date64", "pandas", "polars"],
)
@pytest.mark.parametrize("declared", ["relation task(id: string, due: date).", ""])
def test_what_a_date_comes_as(rows: Any, declared: str) -> None:
    db = hw.Database(hw.compile(f"{declared} at(T, D) :- task(T, D)."))
    if not declared and isinstance(rows, list) and isinstance(rows[0], tuple) and type(rows[0][1]) is not dt.date:
        return  # a text is a text, and a moment a moment, where nothing says that dates are wanted
    db.apply(insert={"task": rows})
    assert db.rows("at") == {("a", dt.date(2026, 1, 31))}
    assert db.table("at").schema.field(1).type == pa.date32()
    assert db.why("at", ("a", dt.date(2026, 1, 31))).facts == [("task", ("a", dt.date(2026, 1, 31)))]
    assert db.why("at", ("a", "2026-01-31")).facts == [("task", ("a", dt.date(2026, 1, 31)))]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (dt.datetime(2026, 1, 31, 1), "is a moment inside a day, not a date"),
        ("2026-01-31 01:00", "is a moment inside a day, not a date"),
        ("2026-02-30", "is not a valid date (write 2026-01-31)"),
        ("soon", "is not a valid date (write 2026-01-31)"),
        (20484, "20484 is not a valid date"),
        (True, "True is not a valid date"),
        (2.5, "2.5 is not a valid date"),
    ],
)
def test_what_is_no_date(value: Any, reason: str) -> None:
    db = hw.Database(hw.compile("relation task(due: date). at(D) :- task(D)."))
    with pytest.raises(hw.DataError) as caught:
        db.apply(insert={"task": [(value,)]})
    assert reason in str(caught.value)
    assert db.rows("at") == set()


def test_computing_with_dates() -> None:
    db = hw.Database(
        hw.compile("""
        relation d(day: date).
        later(X) :- d(D), X = date_add(D, 30).
        evening(X) :- d(D), X = D + 18 hours.
        left(N) :- d(D), N = datediff("2026-03-01", D).
        span(S) :- d(D), d(E), S = D - E.
        month(X) :- d(D), X = last_day(D).
        either(X) :- d(D), X = if(is_less(D, "2026-01-31"), D, "2027-01-01").
        text(X) :- d(D), X = concat("due ", to_string(D)).
        moment(X) :- d(D), X = to_string(D + 90 minutes).
    """)
    )
    db.apply(insert={"d": [(dt.date(2026, 1, 31),)]})
    found = {view: next(iter(db.rows(view)))[0] for view in db.program.outputs}
    assert found == {
        "later": dt.date(2026, 3, 2),
        "evening": dt.datetime(2026, 1, 31, 18),
        "left": 29,
        "span": dt.timedelta(0),
        "month": dt.date(2026, 1, 31),
        "either": dt.date(2027, 1, 1),
        "text": "due 2026-01-31",
        "moment": "2026-01-31 01:30:00",
    }


def test_days_beyond_the_calendar_are_an_error_and_undo_the_transaction() -> None:
    db = hw.Database(hw.compile("relation d(day: date). evening(X) :- d(D), X = D + 1 days."))
    db.apply(insert={"d": [(dt.date(9999, 12, 30),)]})
    with pytest.raises(hw.EvaluationError, match=r"9999-12-31 .* lies outside the years 1 to 9999"):
        db.apply(insert={"d": [(dt.date(9999, 12, 31),)]})
    assert db.rows("d") == {(dt.date(9999, 12, 30),)}


def test_questions_with_dates() -> None:
    db = hw.Database(hw.compile("relation t(d: date, x: int). e(D, X) :- t(D, X). query e($D, X)."))
    db.apply(insert={"t": [(dt.date(2020, 1, 1), 1), (dt.date(2020, 1, 2), 2)]})
    assert db.ask("e", D="2020-01-02") == db.ask("e", D=dt.date(2020, 1, 2)) == {(dt.date(2020, 1, 2), 2)}
