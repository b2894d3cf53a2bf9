"""Local rules and link restriction, as the localisation and the simulator ask for them (002, Definitions 3 and 5)."""

from __future__ import annotations

import pytest

from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.syntax import Rule
from headwater.program.check import check
from headwater.program.network import is_local, link_restriction


def rule(text: str) -> Rule:
    return check(parse(Source("program.dl", text))).rules[0]


@pytest.mark.parametrize(
    ("text", "local", "link"),
    [
        ("p(@S, @D) :- #link(@S, @D).", True, ("S", "D")),
        ("p(@S, min<C>) :- q(@S, C), !r(@S, C).", True, None),
        ("p(@S, @D) :- #link(@S, @Z), p(@Z, @D).", False, ("S", "Z")),
        ("p(@D, @S) :- #link(@S, @D), q(@S), r(@D).", False, ("S", "D")),
        ("p(@a, X) :- #link(@a, @b), q(@b, X).", False, ("'a'", "'b'")),
        ("p(S, D) :- q(S, Z), r(Z, D).", False, None),
        ("link(@a, @b).", True, None),
    ],
)
def test_local_and_link_restricted_rules(text: str, local: bool, link: tuple[str, str] | None) -> None:
    found = link_restriction(rule(text))
    assert is_local(rule(text)) is local
    assert (None if found is None else (found.source, found.destination)) == link


def test_locations_are_set_only_in_programs_that_speak_of_them() -> None:
    network = check(parse(Source("program.dl", "p(@S, @D) :- #link(@S, @D).")))
    plain = check(parse(Source("program.dl", "p(S, D) :- link(S, D).")))
    assert [relation.location for relation in network.relations] == [0, 0]
    assert [relation.location for relation in plain.relations] == [None, None]
