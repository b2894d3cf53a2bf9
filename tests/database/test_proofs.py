"""Why a row is there and why another is not: read off the state, the same each time, however deep or hostile."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import DataError

CLOSURE = (
    "relation edge(s: string, d: string). R1: reach(X, Y) :- edge(X, Y). R2: reach(X, Z) :- edge(X, Y), reach(Y, Z). "
)
SALES = """relation sale(shop: string, id: int, price: int). relation closed(shop: string).
T: total(S, sum<P>) :- sale(S, I, P), !closed(S).
M: best(S, min<P>) :- sale(S, I, P).
O: open(S) :- sale(S, _, _), !closed(S), !total(S, 0).
"""


def opened(text: str, **rows: Any) -> hw.Database:
    db = hw.Database(hw.compile(text))
    db.apply(insert=rows)
    return db


def test_a_proof_is_a_tree_down_to_base_rows_with_rule_labels() -> None:
    db = opened(CLOSURE + "edge(c, d).", edge=[("a", "b"), ("b", "c")])
    proof = db.why("reach", ("a", "d"))
    assert str(proof) == (
        "reach(a, d)  [R2]\n"
        "├─ edge(a, b)\n"
        "└─ reach(b, d)  [R2]\n"
        "   ├─ edge(b, c)\n"
        "   └─ reach(c, d)  [R1]\n"
        "      └─ edge(c, d)  [fact of the program]"
    )
    assert proof.facts == [("edge", ("a", "b")), ("edge", ("b", "c")), ("edge", ("c", "d"))]


def test_a_base_row_is_its_own_proof() -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    proof = db.why("edge", ("a", "b"))
    assert (str(proof), proof.facts) == ("edge(a, b)", [("edge", ("a", "b"))])


def test_proofs_go_through_sums_negation_and_best_values() -> None:
    db = opened(SALES, sale=[("n", 1, 5), ("n", 2, 7), ("s", 1, 9)], closed=[("s",)])
    assert str(db.why("total", ("n", 12))) == (
        "total(n, 12)  [T]\n"
        "├─ for S = n, P = 5, I = 1\n"
        "│  ├─ sale(n, 1, 5)\n"
        "│  └─ no row matched closed(n)\n"
        "└─ for S = n, P = 7, I = 2\n"
        "   ├─ sale(n, 2, 7)\n"
        "   └─ no row matched closed(n)"
    )
    assert db.why("best", ("n", 5)).facts == [("sale", ("n", 1, 5))]
    lines = str(db.why("open", ("n",))).splitlines()
    assert lines[2:] == ["├─ no row matched closed(n)", "└─ no row matched total(n, 0)"]


def test_a_proof_follows_what_is_there_now() -> None:
    db = opened(CLOSURE, edge=[("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")])
    used = dict(db.why("reach", ("a", "d")).facts)["edge"]
    (first,) = [row for name, row in db.why("reach", ("a", "d")).facts if row[0] == "a"]
    assert used
    db.apply(delete={"edge": [first]})
    facts = db.why("reach", ("a", "d")).facts
    assert ("edge", first) not in facts
    assert len(facts) == 2


def test_the_proof_of_a_keyed_row_names_the_row_that_won() -> None:
    db = opened("relation link(s: string, c: int) key(s). v(S, C) :- link(S, C).", link=[("a", 1), ("a", 2)])
    db.apply(insert={"link": [("a", 3)]})
    assert db.why("v", ("a", 3)).facts == [("link", ("a", 3))]
    assert "no such base row" in str(db.why_not("link", ("a", 2)))


def test_the_same_history_gives_the_same_proofs() -> None:
    dice = random.Random(3)
    script = [
        {
            way: {"edge": [(dice.choice("abcdef"), dice.choice("abcdef")) for _ in range(4)]}
            for way in ("insert", "delete")
        }
        for _ in range(20)
    ]
    first, second = (hw.Database(hw.compile(CLOSURE)) for _ in range(2))
    for transaction in script:
        for db in (first, second):
            db.apply(**transaction)
        for row in first.rows("reach"):
            assert str(first.why("reach", row)) == str(second.why("reach", row))


def test_what_many_steps_rest_on_is_proved_once() -> None:
    """The proof as a tree would have 2^40 leaves."""
    text = """relation base(x: int). relation next(x: int, y: int).
              n(X) :- base(X). n(Y) :- next(X, Y), n(X), m(X). m(X) :- n(X)."""
    db = opened(text, base=[(0,)], next=[(at, at + 1) for at in range(40)])
    proof = db.why("n", (40,))
    printed = str(proof)
    assert "(proved above)" in printed
    assert len(printed.splitlines()) < 400
    assert len(proof.facts) == 41


def test_a_chain_far_longer_than_the_stack() -> None:
    size = 20_000
    db = hw.Database(hw.compile("relation start(x: int). on(X) :- start(X). on(Y) :- on(X), next(X, Y)."))
    numbers = list(range(size))
    db.apply(insert={"start": [(0,)], "next": pa.table({"x": numbers, "y": [at + 1 for at in numbers]})})
    proof = db.why("on", (size,))
    assert len(proof.facts) == size + 1
    printed = str(proof)
    assert len(printed) < 200 * 2 * size
    assert printed.splitlines()[-1].endswith("start(0)")
    assert re.search(r"\n\(2\) on\(\d+\)", printed)
    assert len(json.loads(proof.to_json(indent=None))) == 2 * size + 2
    assert proof.to_dot().count("->") == 2 * size + 1
    assert proof.to_mermaid().count("-->") == 2 * size + 1


HOSTILE = [
    '"',
    "\\",
    "a\nb",
    "x]; n1 -> n0; //",
    '"]\n  n0["',
    "<b>",
    "é🙂",
    "\x1b[31m",
    "",
    "#quot;",
    "└─ edge(a, b)",
    "%%{init}%%",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_stay_inside_their_quotes(text: str) -> None:
    db = opened(CLOSURE, edge=[(text, "b"), ("b", text)])
    proof = db.why("reach", (text, text))
    assert len(str(proof).splitlines()) == len(list(proof.nodes()))
    assert "\x1b" not in str(proof)
    nodes = json.loads(proof.to_json())
    assert nodes[0]["row"] == [text, text]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    dot = proof.to_dot().splitlines()
    assert dot[0] == "digraph proof {"
    assert dot[-1] == "}"
    node = re.compile(r'  n\d+ \[label="(?:[^"\\]|\\.)*"(?:, style=filled, fillcolor=lightgrey)?\];|  n\d+ -> n\d+;')
    assert all(node.fullmatch(line) for line in dot[3:-1])
    mermaid = proof.to_mermaid().splitlines()
    assert mermaid[0] == "flowchart TD"
    shape = re.compile(r'  n\d+\["(?:[^"\[\]<>%#;]|#\d+;)*"\]|  n\d+ --> n\d+')
    assert all(shape.fullmatch(line) for line in mermaid[1:])
    assert str(db.why_not("reach", (text, "nowhere")))


def test_floats_that_json_has_no_word_for() -> None:
    db = opened("relation r(x: float, p: list). v(X, P) :- r(X, P).", r=[(float("inf"), [float("-inf")]), (0.5, [1.5])])
    row = json.loads(db.why("v", (float("inf"), [float("-inf")])).to_json(), parse_constant=pytest.fail)[0]["row"]
    assert row == ["inf", ["-inf"]]


@pytest.mark.parametrize("row", [("x", "y"), ("a", "zz")])
def test_why_of_a_row_that_is_not_there(row: tuple[str, str]) -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    with pytest.raises(DataError, match=r"is not there; ask why_not\('reach', "):
        db.why("reach", row)
    with pytest.raises(DataError, match=r"is not there; ask why_not\('edge', "):
        db.why("edge", row)


def test_why_not_of_a_row_that_is_there() -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    with pytest.raises(DataError, match=r"is there; ask why\('reach', "):
        db.why_not("reach", ("a", "b"))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("a",), r"1 values for 2 columns \(x, y\)"),
        ((1, 2), "1 is not a valid string"),
        ((None, "b"), "a null does not fit"),
        ("ab", "not a tuple or dict"),
        (3, "not a tuple or dict"),
        ({"x": "a"}, "no value for y"),
    ],
    ids=repr,
)
def test_a_row_that_no_question_can_be_about(row: Any, reason: str) -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    for ask in (db.why, db.why_not):
        with pytest.raises(DataError, match=reason):
            ask("reach", row)


def test_rows_to_ask_about_come_as_lists_and_dicts_too() -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    for row in (["a", "b"], {"y": "b", "x": "a"}):
        assert db.why("reach", row).facts == [("edge", ("a", "b"))]  # type: ignore[arg-type]


def test_why_not_names_the_goal_that_fails_and_how_far_it_came() -> None:
    db = opened(CLOSURE, edge=[("a", "b"), ("b", "c")])
    assert str(db.why_not("reach", ("a", "unheard_of"))) == (
        "reach(a, unheard_of) is not there\n"
        "  R1: reach(X, Y) :- edge(X, Y).\n"
        "    fails at: edge(X, Y)\n"
        "    with X = a, Y = unheard_of\n"
        "  R2: reach(X, Z) :- edge(X, Y), reach(Y, Z).\n"
        "    fails at: reach(Y, Z)\n"
        "    with X = a, Z = unheard_of, Y = b"
    )


def test_why_not_tells_what_stands_in_the_place_of_an_aggregate() -> None:
    db = opened(SALES, sale=[("n", 1, 5), ("n", 2, 7), ("s", 1, 9)], closed=[("s",)])
    assert "in its place: total(n, 12)" in str(db.why_not("total", ("n", 5)))
    assert "in its place: best(n, 5)" in str(db.why_not("best", ("n", 7)))
    assert "its group has no bindings" in str(db.why_not("total", ("s", 9)))
    assert "fails at: !closed(S)" in str(db.why_not("open", ("s",)))


def test_questions_change_nothing() -> None:
    db = opened(SALES, sale=[("n", 1, 5), ("n", 2, 7)])
    before = {name: db.rows(name) for name in ("total", "best", "open", "sale")}
    db.why("total", ("n", 12))
    db.why_not("total", ("new text", 4))
    assert {name: db.rows(name) for name in before} == before
    db.apply(insert={"sale": [("new text", 1, 4)]})
    assert db.rows("total") == {("n", 12), ("new text", 4)}
