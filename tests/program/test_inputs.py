"""Which base relations a run must be given, and what is said where it is not."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.program.inputs import needed, require_inputs

WAY = "give {name}"
REACH = hw.compile("reach(X, Y) :- link(X, Y), node(X), !closed(X).").checked


def test_all_that_the_outputs_rest_on_is_needed() -> None:
    assert needed(REACH) == ("link", "node", "closed")
    assert needed(hw.compile("q(X) :- p(X). p(1). query q(X).").checked) == ()
    assert needed(hw.compile("relation p(x: int) optional. q(X) :- p(X), r(X).").checked) == ("r",)
    queried = hw.compile("q(X) :- p(X). r(X) :- s(X). relation t(x: int). query r(X). query t(X).")
    assert needed(queried.checked) == ("s", "t")


def test_each_missing_relation_is_named_with_the_nearest_that_is_given() -> None:
    with pytest.raises(hw.DataError) as told:
        require_inputs(REACH, ["link", "nodes", "closed"], way=WAY)
    assert str(told.value).splitlines() == [
        "error[HW806]: no rows are given for `node`, which the program reads; did you mean `nodes`, which is given?",
        "  hint: give node; or declare it optional, as in `relation node(...) optional.`",
        "error[HW807]: rows are given for `nodes`, but there is no relation `nodes`; did you mean `node`?",
    ]
    assert isinstance(told.value, hw.UnknownRelation)
    with pytest.raises(hw.DataError) as told:
        require_inputs(REACH, ["link"], ["closed"], way=WAY)
    assert not isinstance(told.value, hw.UnknownRelation)
    assert str(told.value).count("HW806") == 1


def test_what_is_said_to_be_optional_is_a_base_relation() -> None:
    require_inputs(REACH, ["link"], ["closed", "node"], way=WAY)
    with pytest.raises(hw.DataError, match=r"HW807.*`reach` is declared optional"):
        require_inputs(REACH, ["link", "closed", "node"], ["reach"], way=WAY)


def test_tables_that_an_sql_text_does_not_name_are_no_part_of_it() -> None:
    columns = {"src": "int", "dst": "int"}
    program = hw.compile("SELECT src FROM lnk;", tables={"link": columns, "lnk": columns})
    assert [one.name for one in program.checked.relations if not one.derived] == ["lnk"]
    unused = "WITH other AS (SELECT src FROM link) SELECT src FROM lnk;"
    program = hw.compile(unused, tables={"link": columns, "lnk": columns})
    assert needed(program.checked) == ("lnk",)
    require_inputs(program.checked, ["lnk", "link"], way=WAY)
