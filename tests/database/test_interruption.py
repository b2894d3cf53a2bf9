"""Ctrl-C and cancelling: the transaction is applied whole or not at all, and the database goes on as if nothing was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

import headwater as hw

CLOSURE = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- edge(X, Y), reach(Y, Z)."
COUNTER = "relation s(x: int). n(X) :- s(X). n(Y) :- n(X), Y = X + 1."

WORKER = """
import json, random, signal, sys, threading
import headwater as hw

text = '''reach(X, Y) :- edge(X, Y). reach(X, Z) :- edge(X, Y), reach(Y, Z).
degree(X, count<Y>) :- reach(X, Y). far(X) :- node(X), !reach(0, X).'''
dice = random.Random(5)
size = 300
edges = [(dice.randrange(size), dice.randrange(size)) for _ in range(3 * size)]
views = ("edge", "reach", "degree", "far")
outcomes = {"rolled back": 0, "applied": 0, "wrong": 0}
for round in range(20):
    db, twin = hw.Database(hw.compile(text)), hw.Database(hw.compile(text))
    for one in (db, twin):
        one.apply(insert={"edge": edges[:size], "node": [(at,) for at in range(size)]})
    cut = {"insert": {"edge": edges[size:]}, "delete": {"edge": dice.sample(edges[:size], 20)}}
    timer = threading.Timer(dice.random() * 0.02, signal.raise_signal, [signal.SIGINT])
    interrupted = False
    try:
        timer.start()
        db.apply(**cut)
        timer.join()
        for _ in range(1000):
            pass
    except KeyboardInterrupt:
        interrupted = True
    whole = db.rows("edge") != twin.rows("edge")
    if whole:
        twin.apply(**cut)
    right = all(db.rows(view) == twin.rows(view) for view in views)
    later = {"insert": {"edge": [(dice.randrange(size), 0)]}, "delete": {"edge": dice.sample(edges, 9)}}
    for one in (db, twin):
        one.apply(**later)
    right = right and all(db.rows(view) == twin.rows(view) for view in views)
    if interrupted or not right:
        outcomes["wrong" if not right else "applied" if whole else "rolled back"] += 1
print(json.dumps(outcomes))
"""


def test_ctrl_c_never_leaves_a_transaction_half_done() -> None:
    """Real signals at random moments, most of them in the middle of compiled loops."""
    done = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert outcomes["wrong"] == 0
    assert outcomes["rolled back"] + outcomes["applied"] > 0


def test_ctrl_c_stops_a_fixpoint_that_would_go_on_forever() -> None:
    db = hw.Database(hw.compile(COUNTER), guard=None)
    rounds = 0

    def pressed() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return rounds > 10_000  # so that a signal that is lost fails the test and does not hang it

    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"s": [(1,)]}, cancelled=pressed)
    assert rounds < 100
    assert (db.rows("s"), db.rows("n")) == (set(), set())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_cancelling_leaves_the_last_state() -> None:
    db = hw.Database(hw.compile(COUNTER + " small(X) :- s(X), X < 0."), guard=None)
    asked = 0

    def enough() -> bool:
        nonlocal asked
        asked += 1
        return asked > 20

    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"s": [(1,), (-1,)]}, cancelled=enough)
    assert db.rows("n") == db.rows("s") == db.rows("small") == set()


@pytest.mark.parametrize("goals", ["edge(X, A), edge(A, B), edge(B, Z)", "edge(X, Y), edge(Y, Z), X + Z > 3"])
def test_a_long_join_can_be_cancelled_between_its_parts(goals: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.engine.rules.delta_rule._BUFFER", 1)
    db = hw.Database(hw.compile(f"far(X, Z) :- {goals}."))
    asked = 0

    def count() -> bool:
        nonlocal asked
        asked += 1
        return False

    db.apply(insert={"edge": [(at, at + 1) for at in range(60)]}, cancelled=count)
    assert asked > 60


def test_a_handler_of_the_users_own_is_left_alone() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        db = hw.Database(hw.compile(CLOSURE))

        def press() -> bool:
            os.kill(os.getpid(), signal.SIGINT)
            return False

        db.apply(insert={"edge": [(1, 2)]}, cancelled=press)
        assert calls
        assert db.rows("reach") == {(1, 2)}
    finally:
        signal.signal(signal.SIGINT, before)


def test_two_databases_in_two_threads() -> None:
    problems: list[BaseException] = []

    def work(size: int) -> None:
        try:
            db = hw.Database(hw.compile(CLOSURE))
            chain = [(at, at + 1) for at in range(size)]
            for at in range(0, size, 10):
                db.apply(insert={"edge": chain[at : at + 10]})
            assert db.count("reach") == size * (size + 1) // 2
            db.apply(delete={"edge": [(size // 2, size // 2 + 1)]})
            left, right = size // 2, size - size // 2 - 1
            assert db.count("reach") == left * (left + 1) // 2 + right * (right + 1) // 2
            assert len(db.why("reach", (0, left)).facts) == left
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(size,)) for size in (120, 150, 120, 90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
