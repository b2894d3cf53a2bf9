"""The list of rules: order, switches, and the trace of what each one did."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from random import Random

import pytest

from headwater.program.model import Program, Selection
from headwater.rewrite.localise import meets_at_one_location
from headwater.rewrite.rules import NETWORK_RULES, RULES, rewrite, trace
from tests.rewrite.naive import Diverges, State, answers, evaluate
from tests.rewrite.random_rows import random_rows
from tests.rewrite.spec_cases import TIMED, Case, all_cases, cases, compiled

SHORTEST = """
SP1: path(@S, @D, @D, P, C) :- #link(@S, @D, C), P = f_concatPath(link(@S, @D, C), nil).
SP2: path(@S, @D, @Z, P, C) :- #link(@S, @Z, C1), path(@Z, @D, @Z2, P2, C2),
                               C = C1 + C2, P = f_concatPath(link(@S, @Z, C1), P2).
SP3: spCost(@S, @D, min<C>) :- path(@S, @D, @Z, P, C).
SP4: shortestPath(@S, @D, P, C) :- spCost(@S, @D, C), path(@S, @D, @Z, P, C).
Query: shortestPath(@S, @D, P, C).
"""


def test_localisation_is_for_several_shards_only() -> None:
    program = compiled(SHORTEST)
    assert {relation.name for relation in rewrite(program).relations} == {
        "path",
        "link",
        "spCost",
        "shortestPath",
    }
    shards = rewrite(program, rules=RULES + NETWORK_RULES)
    assert "link_at_d" in {relation.name for relation in shards.relations}


def test_a_rule_is_switched_off_by_name() -> None:
    program = compiled(SHORTEST)
    assert rewrite(program) != program
    assert rewrite(program, disabled=["aggregate_selection"]) == program


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"no rewrite 'magic'.*aggregate_selection.*localise"):
        rewrite(compiled(SHORTEST), disabled=["magic"])


@pytest.mark.parametrize("name", TIMED)
def test_what_time_means_cannot_be_left_out(name: str) -> None:
    with pytest.raises(ValueError, match=f"no rewrite '{name}' to leave out"):
        rewrite(compiled(SHORTEST), disabled=[name])


def test_trace_tells_what_each_rule_did() -> None:
    program = compiled("back(Y, X) :- edge(X, Y).\nout(X) :- back(X, _), 1 < 2.\nother(X) :- out(X).\nquery out(X).")
    after, steps = trace(program)
    assert after == rewrite(program)
    assert [step.rule for step in steps] == ["constant_folding", "unneeded_rules", "unfold_views"]
    folding, unneeded, unfolding = steps
    assert (folding.removed, folding.added) == (("out(X) :- back(X, _), 1 < 2.",), ("out(X) :- back(X, _).",))
    assert unneeded.removed == ("% derived other(x)", "other(X) :- out(X).")
    assert unneeded.added == ()
    assert unfolding.added == ("out(X) :- edge(_, X).",)
    assert steps[-1].after == after


def test_trace_of_nothing() -> None:
    program = compiled("out(X) :- edge(X, _).")
    assert trace(program) == (program, ())


def test_a_selection_shows_in_the_trace() -> None:
    _, steps = trace(compiled(SHORTEST))
    assert [step.added for step in steps] == [("% path keeps the min of c per (s, d)",)]


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: f"{case.rewrite}: {case.title}")
def test_every_body_is_local_after_localisation(case: Case) -> None:
    program = rewrite(case.program(), rules=RULES + NETWORK_RULES)
    relations = {relation.name: relation for relation in program.relations}
    assert [rule for rule in program.rules if not meets_at_one_location(rule, relations)] == []


RARE = (
    {("a", "b", -3), ("b", "a", -3), ("a", "d", 2), ("b", "d", 0)},  # a cycle that costs less than nothing
    {("a", "b", 1), ("b", "d", 3), ("b", "c", 2), ("c", "d", 2)},  # two widths that tie at a narrower link
)

REFUSED = [case for case in cases("aggregate_selection") if case.expected == "unchanged"]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.title)
def test_a_selection_that_is_refused_would_have_changed_the_answer(case: Case) -> None:
    before = case.program()
    forced = _selected_anyway(before)
    random = Random(case.title)
    tries = (random_rows(before, random, ordered=attempt % 2 == 0, least=-3) for attempt in range(3000))
    for data in chain(({"link": links} for links in RARE), tries):
        expected = _answers(before, data)
        if expected is not None and _answers(forced, data) != expected:
            return
    pytest.fail("no data set tells the two apart")


def _answers(program: Program, data: State) -> State | None:
    try:
        return answers(program, evaluate(program, data))
    except Diverges:
        return None


def _selected_anyway(program: Program) -> Program:
    """The first relation with the selection of the aggregate over it, whatever else reads it."""
    name = program.relations[0].name
    column_of = {column.name.lower(): at for at, column in enumerate(program.relation(name).columns)}
    best = next(rule for rule in program.rules if rule.head.relation in {"best", "widest"})
    group = tuple(column_of[arg.name.lower()] for arg in best.head.args[:-1])  # type: ignore[union-attr]
    value = column_of["w" if "w" in column_of else "c"]
    selection = Selection(group, value, "max" if "w" in column_of else "min")
    return replace(
        program,
        relations=tuple(
            replace(relation, selections=(selection,)) if relation.name == name else relation
            for relation in program.relations
        ),
    )
