"""The oracle against answers worked out by hand."""

from __future__ import annotations

import pytest

from tests.oracle.edit import edit
from tests.oracle.evaluate import Diverges, evaluate
from tests.oracle.program import Decode, Encode, Program, Row, Test, to_text
from tests.oracle.shorthand import agg, atom, head, holds, let, no, plus, program, rule
from tests.oracle.strata import NotStratified, strata
from tests.oracle.templates import CITATION_RANK
from tests.oracle.terms import Call, Const, Items, Op, Var, Wild

LINK = {"e": ("int", "int")}
WEIGHTED = {"e": ("string", "string", "int")}

CLOSURE = program(
    LINK,
    rule(head("tc", "X", "Y"), atom("e", "X", "Y")),
    rule(head("tc", "X", "Y"), atom("e", "X", "Z"), atom("tc", "Z", "Y")),
)

SHORTEST = program(
    WEIGHTED,
    rule(head("d", "X", "Y", agg("mmin", "C")), atom("e", "X", "Y", "C")),
    rule(
        head("d", "X", "Y", agg("mmin", "C")),
        atom("e", "X", "Z", "A"),
        atom("d", "Z", "Y", "B"),
        let("C", plus("A", "B")),
    ),
)


def view(made: Program, relation: str, **base: set[Row]) -> set[Row]:
    return evaluate(made, base)[relation]


def test_closure_of_a_cycle_with_a_tail() -> None:
    found = view(CLOSURE, "tc", e={(1, 2), (2, 1), (2, 3)})
    assert found == {(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)}


def test_closure_of_nothing_is_empty() -> None:
    assert view(CLOSURE, "tc") == set()


def test_facts_of_the_program_join_the_base_rows() -> None:
    stated = Program(CLOSURE.bases, (*CLOSURE.rules, rule(head("e", 3, 4))))
    assert view(stated, "tc", e={(2, 3)}) == {(2, 3), (3, 4), (2, 4)}


def test_shortest_path_prefers_the_cheap_detour() -> None:
    found = view(SHORTEST, "d", e={("a", "b", 9), ("a", "c", 1), ("c", "b", 2)})
    assert found == {("a", "b", 3), ("a", "c", 1), ("c", "b", 2)}


def test_shortest_path_with_a_zero_weight_cycle() -> None:
    found = view(SHORTEST, "d", e={("a", "b", 0), ("b", "a", 0), ("b", "c", 4)})
    assert found == {("a", "b", 0), ("a", "a", 0), ("b", "a", 0), ("b", "b", 0), ("b", "c", 4), ("a", "c", 4)}


def test_a_negative_cycle_diverges() -> None:
    with pytest.raises(Diverges):
        evaluate(SHORTEST, {"e": {("a", "b", -1), ("b", "a", 0)}})


def test_a_value_that_grows_diverges() -> None:
    counting = program(
        {"s": ("int",)},
        rule(head("n", "X"), atom("s", "X")),
        rule(head("n", "Y"), atom("n", "X"), let("Y", plus("X", 1))),
    )
    with pytest.raises(Diverges):
        evaluate(counting, {"s": {(0,)}})
    bounded = program(
        {"s": ("int",)},
        rule(head("n", "X"), atom("s", "X")),
        rule(head("n", "Y"), atom("n", "X"), let("Y", plus("X", 1)), holds("Y", "<", 4)),
    )
    assert view(bounded, "n", s={(0,)}) == {(0,), (1,), (2,), (3,)}


def test_no_row_survives_that_a_worse_value_had_derived() -> None:
    """`step` carries the best value through a plain relation: only final best values may stand there."""
    relay = program(
        WEIGHTED,
        rule(head("step", "X", "Y", "C"), atom("e", "X", "Y", "C")),
        rule(
            head("step", "X", "Y", "C"), atom("e", "X", "Z", "A"), atom("best", "Z", "Y", "B"), let("C", plus("A", "B"))
        ),
        rule(head("best", "X", "Y", agg("min", "C")), atom("step", "X", "Y", "C")),
    )
    edges = {("a", "b", 1), ("b", "c", 9), ("b", "d", 1), ("d", "c", 1)}
    assert {row for row in view(relay, "step", e=edges) if row[:2] == ("a", "c")} == {("a", "c", 3)}


def test_employees_are_counted_through_departments() -> None:
    """004 Query 2 without time: a department counts what its members count."""
    made = program(
        {"dpt": ("string", "string")},
        rule(head("cnt", "E", agg("mcount", "E", 1)), atom("dpt", "_", "E")),
        rule(head("cnt", "D", agg("mcount", "E", "S")), atom("cnt", "E", "S"), atom("dpt", "D", "E")),
    )
    found = view(made, "cnt", dpt={("top", "lab"), ("top", "zoe"), ("lab", "ann"), ("lab", "bob")})
    # `lab` is somebody's employee, worth 1, and has two of its own: its members add to its own entry.
    assert found == {("ann", 1), ("bob", 1), ("zoe", 1), ("lab", 3), ("top", 4)}


def test_earliest_organizer_of_each_group() -> None:
    """004 Query 5 without time, over symmetric relations: the least id of each component."""
    made = program(
        LINK,
        rule(head("org", "X", agg("mmin", "X")), atom("e", "X", "_")),
        rule(head("org", "Y", agg("mmin", "V")), atom("org", "X", "V"), atom("e", "X", "Y")),
    )
    found = view(made, "org", e={(1, 2), (2, 1), (2, 3), (3, 2), (7, 8), (8, 7)})
    assert found == {(1, 1), (2, 1), (3, 1), (7, 7), (8, 7)}


def lloyd() -> Program:
    square = Op("*", Op("-", Var("V"), Var("W")), Op("-", Var("V"), Var("W")))
    return program(
        {"point": ("string", "int", "float"), "init": ("string", "int", "float")},
        rule(head("center", "J", "C", "D", "V"), atom("init", "C", "D", "V"), let("J", 0)),
        rule(
            head("dist", "J", "P", "C", agg("sum", "S")),
            atom("point", "P", "D", "V"),
            atom("center", "J", "C", "D", "W"),
            let("S", square),
        ),
        rule(
            head("near", "J", "P", agg("min", "DC")),
            atom("dist", "J", "P", "C", "S"),
            Encode(Var("S"), Var("C"), Var("DC")),
        ),
        rule(
            head("center", "J1", "C", "D", agg("avg", "V")),
            atom("point", "P", "D", "V"),
            atom("near", "J", "P", "DC"),
            Decode(Var("DC"), Wild(), Var("C")),
            let("J1", plus("J", 1)),
            holds("J1", "<=", 2),
        ),
    )


def test_lloyd_moves_centers_stage_by_stage() -> None:
    """004 Query 6 without time: points 0, 2, 10 on a line, centers from 0 and 4."""
    points = {("p", 1, 0.0), ("q", 1, 2.0), ("r", 1, 10.0)}
    found = view(lloyd(), "center", point=points, init={("k", 1, 0.0), ("m", 1, 4.0)})
    # Stage 0: q is as far from 0 as from 4 and the smaller name takes it. Stage 1: 1.0 and 10.0, and there they stay.
    assert found == {
        (0, "k", 1, 0.0), (0, "m", 1, 4.0), (1, "k", 1, 1.0), (1, "m", 1, 10.0), (2, "k", 1, 1.0), (2, "m", 1, 10.0),
    }  # fmt: skip


def test_citation_rank_on_acyclic_citations() -> None:
    """004 Query 7 without time: each paper splits its rank over what it cites."""
    found = view(CITATION_RANK, "prank", pub={("a", "b"), ("a", "c"), ("b", "c")})
    assert found == {("a", 1.0), ("b", 1.5), ("c", 2.0)}


def test_aggregates_range_over_named_variables_only() -> None:
    links = {("a", "b", 5), ("a", "c", 5), ("a", "d", 1)}
    named = program(WEIGHTED, rule(head("s", "X", agg("sum", "C")), atom("e", "X", "Y", "C")))
    unnamed = program(WEIGHTED, rule(head("s", "X", agg("sum", "C")), atom("e", "X", "_", "C")))
    assert view(named, "s", e=links) == {("a", 11)}
    assert view(unnamed, "s", e=links) == {("a", 6)}


def test_bindings_of_several_rules_are_pooled() -> None:
    made = program(
        {"p": ("int", "int"), "q": ("int", "int")},
        rule(head("n", "X", agg("count", "Y")), atom("p", "X", "Y")),
        rule(head("n", "X", agg("count", "Y")), atom("q", "X", "Y")),
    )
    assert view(made, "n", p={(1, 7), (1, 8)}, q={(1, 7), (2, 9)}) == {(1, 3), (2, 1)}


def test_avg_of_ints_is_a_float() -> None:
    made = program(LINK, rule(head("m", agg("avg", "Y")), atom("e", "X", "Y")))
    assert view(made, "m", e={(1, 1), (2, 2)}) == {(1.5,)}


def test_top_keeps_the_smallest_distinct_values_also_in_recursion() -> None:
    made = program(
        WEIGHTED,
        rule(head("t", "X", "Y", agg("top", "C", limit=2)), atom("e", "X", "Y", "C")),
        rule(
            head("t", "X", "Y", agg("top", "C", limit=2)),
            atom("e", "X", "Z", "A"),
            atom("t", "Z", "Y", "B"),
            let("C", plus("A", "B")),
        ),
    )
    found = view(made, "t", e={("a", "a", 2), ("a", "b", 1)})
    assert found == {("a", "a", 2), ("a", "a", 4), ("a", "b", 1), ("a", "b", 3)}


def test_msum_takes_the_largest_number_of_each_key() -> None:
    made = program(WEIGHTED, rule(head("s", "X", agg("msum", "K", "N")), atom("e", "X", "K", "N")))
    assert view(made, "s", e={("a", "k", 2), ("a", "k", 5), ("a", "l", 1)}) == {("a", 6)}


def test_negation_of_a_recursive_relation() -> None:
    made = Program(
        CLOSURE.bases,
        (
            *CLOSURE.rules,
            rule(head("node", "X"), atom("e", "X", "_")),
            rule(head("node", "X"), atom("e", "_", "X")),
            rule(head("apart", "X", "Y"), atom("node", "X"), atom("node", "Y"), no("tc", "X", "Y")),
            rule(head("quiet"), no("apart", "_", "_")),
        ),
    )
    found = evaluate(made, {"e": {(1, 2), (2, 3)}})
    assert found["apart"] == {(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)}
    assert found["quiet"] == set()
    assert evaluate(made, {"e": {(1, 1)}})["quiet"] == {()}


def test_negation_inside_a_cycle_is_refused() -> None:
    made = program(LINK, rule(head("win", "X"), atom("e", "X", "Y"), no("win", "Y")))
    with pytest.raises(NotStratified):
        evaluate(made, {"e": {(1, 2)}})


def test_strata_come_in_order_of_dependency() -> None:
    made = program(
        LINK,
        rule(head("c", "X"), atom("b", "X")),
        rule(head("b", "X"), atom("a", "X"), atom("b", "X")),
        rule(head("a", "X"), atom("e", "X", "Y"), atom("a2", "Y")),
        rule(head("a2", "X"), atom("a", "X")),
    )
    assert strata(made) == [frozenset({"a", "a2"}), frozenset({"b"}), frozenset({"c"})]


def test_division_by_zero_makes_the_goal_fail() -> None:
    made = program(LINK, rule(head("r", "X", "Z"), atom("e", "X", "Y"), let("Z", Op("/", Var("X"), Var("Y")))))
    assert view(made, "r", e={(3, 2), (3, 0)}) == {(3, 1.5)}


def test_simple_paths_as_lists() -> None:
    made = program(
        LINK,
        rule(head("p", "X", "Y", "P"), atom("e", "X", "Y"), let("P", Items((Var("X"), Var("Y"))))),
        rule(
            head("p", "X", "Y", "P"),
            atom("e", "X", "Z"),
            atom("p", "Z", "Y", "P2"),
            Test(Call("f_inPath", (Var("P2"), Var("X"))), negated=True),
            let("P", Items((Var("X"),), Var("P2"))),
        ),
    )
    assert view(made, "p", e={(1, 2), (2, 3), (3, 1)}) == {
        (1, 2, (1, 2)), (2, 3, (2, 3)), (3, 1, (3, 1)), (1, 3, (1, 2, 3)), (2, 1, (2, 3, 1)), (3, 2, (3, 1, 2)),
    }  # fmt: skip


def test_repeated_variables_and_constants_select() -> None:
    made = program(LINK, rule(head("loop", "X"), atom("e", "X", "X")), rule(head("one", "Y"), atom("e", 1, "Y")))
    found = evaluate(made, {"e": {(1, 1), (1, 2), (2, 3)}})
    assert found == {"loop": {(1,)}, "one": {(1,), (2,)}}


def test_goals_may_stand_in_any_order() -> None:
    made = program(
        LINK, rule(head("s", "Z"), holds("Z", "<", 5), let("Z", plus("X", "Y")), no("e", "Y", "X"), atom("e", "X", "Y"))
    )
    assert view(made, "s", e={(1, 2), (3, 4), (2, 2)}) == {(3,)}


def test_deletes_come_before_inserts() -> None:
    assert edit({"e": {(1,), (2,)}}, {}, {"e": [(2,), (3,)]}, {"e": [(1,), (2,), (9,)]}) == {"e": {(2,), (3,)}}


def test_a_keyed_insert_replaces_and_the_last_one_wins() -> None:
    after = edit({"e": {(1, 5), (2, 5)}}, {"e": (0,)}, {"e": [(1, 6), (1, 7)]}, {})
    assert after == {"e": {(1, 7), (2, 5)}}


def test_text_of_a_program() -> None:
    made = program(
        WEIGHTED,
        rule(head("t", "X", agg("top", "C", limit=2)), atom("e", "X", "_", "C"), holds("C", "<", 3), label="R1"),
        rule(head("s", "X", agg("msum", "K", "N")), atom("e", "X", "K", "N"), no("t", "X", "_")),
        rule(head("e", "a", 'say "b"', -1)),
        queries=(atom("s", "Q0", "Q1"),),
    )
    assert to_text(made) == (
        "relation e(c0: string, c1: string, c2: int).\n"
        "R1: t(X, top<2, C>) :- e(X, _, C), C < 3.\n"
        "s(X, msum<(K, N)>) :- e(X, K, N), !t(X, _).\n"
        'e("a", "say \\"b\\"", -1).\n'
        "Query: s(Q0, Q1).\n"
    )


NULLABLE = {"r": ("int", "string")}


def test_null_is_one_value_to_joins_and_equations() -> None:
    made = program(
        NULLABLE,
        rule(head("same", "S", "T"), atom("r", "N", "S"), atom("r", "N", "T")),
        rule(head("other", "N"), atom("r", "N", "_"), holds("N", "!=", 1)),
        rule(head("less", "N"), atom("r", "N", "_"), holds("N", "<=", "N")),
        rule(head("known", "S"), atom("r", None, "S")),
    )
    found = evaluate(made, {"r": {(None, "a"), (None, None), (1, "b")}})
    assert found == {
        "same": {("a", "a"), ("a", None), (None, "a"), (None, None), ("b", "b")},
        "other": {(None,)},
        "less": {(1,)},
        "known": {("a",), (None,)},
    }


def test_null_spreads_and_no_value_does_not() -> None:
    made = program(
        NULLABLE,
        rule(head("more", "M"), atom("r", "N", "_"), let("M", plus("N", 1))),
        rule(head("over", "M"), atom("r", "N", "_"), let("M", Op("/", Var("N"), Const(0)))),
        rule(head("pair", "M"), atom("r", "N", "S"), let("M", Items((Var("N"), Var("S"))))),
        rule(head("some", "M"), atom("r", "N", "_"), let("M", Call("coalesce", (Var("N"), Const(7))))),
        rule(head("none", "S"), atom("r", "N", "S"), Test(Call("is_null", (Var("N"),)))),
    )
    found = evaluate(made, {"r": {(None, "a"), (1, "b")}})
    assert found == {
        "more": {(None,), (2,)},
        "over": {(None,)},
        "pair": {(None,), ((1, "b"),)},
        "some": {(7,), (1,)},
        "none": {("a",)},
    }


def test_aggregates_leave_nulls_out() -> None:
    shapes = ("count", "sum", "avg", "min", "max")
    made = program(
        {"r": ("string", "int", "int")},
        *(rule(head(shape, "G", agg(shape, "N")), atom("r", "G", "I", "N")) for shape in shapes),
        rule(head("top", "G", agg("top", "N", limit=2)), atom("r", "G", "I", "N")),
        rule(head("msum", "G", agg("msum", "I", "N")), atom("r", "G", "I", "N")),
    )
    found = evaluate(made, {"r": {("a", 1, 3), ("a", 2, None), (None, 3, None)}})
    assert found["count"] == {("a", 1), (None, 0)}
    assert found["avg"] == {("a", 3.0), (None, None)}
    for shape in ("sum", "min", "max", "msum"):
        assert found[shape] == {("a", 3), (None, None)}
    assert found["top"] == {("a", 3)}
