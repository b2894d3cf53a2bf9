"""What the printer prints, the parser reads as the same tree."""

from __future__ import annotations

import pickle

from hypothesis import given, settings

from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.datalog.printer import print_statement, print_term, print_tree
from headwater.language.syntax import Assign, Atom, Call, Condition, Duration, Head, Rule, Tree, Variable
from headwater.language.units import duration_text
from tests.language.trees import trees


@given(trees)
def test_printed_trees_parse_to_themselves(tree: Tree) -> None:
    printed = print_tree(tree)
    again = parse(Source("printed", printed))
    assert again == tree
    assert print_tree(again) == printed


@given(trees)
@settings(max_examples=25)
def test_trees_survive_pickling(tree: Tree) -> None:
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_goals_that_only_the_checks_make_print_too() -> None:
    call = Call("inPath", (Variable("P"), Variable("X")))
    body = (Assign(Variable("X"), call), Condition(call), Condition(call, negated=True))
    rule = Rule(Head("p", (Variable("X'1"),)), body)
    assert print_statement(rule) == "p(X'1) :- X := inPath(P, X), inPath(P, X), !inPath(P, X)."


def test_texts_in_aggregates_keep_their_quotes() -> None:
    text = 'p(min<"b">, X) :- q(X).\ne(msum<("k", N)>) :- q(N).\nl(min<@"b">) :- q(X).\n'
    assert print_tree(parse(Source("written", text))) == text


def test_a_link_called_include_is_no_include() -> None:
    rule = Rule(Head("p", ()), (Atom("include", (Variable("X"),), link=True), Atom("include", ())))
    printed = print_statement(rule)
    assert printed == "p() :- #`include`(X), include()."
    assert parse(Source("printed", printed)).statements == (rule,)


def test_a_duration_prints_as_written_unless_that_would_be_a_lie() -> None:
    assert duration_text(Duration(90_000_000, "1.5 minutes")) == "1.5 minutes"
    assert duration_text(Duration(90_000_000, "3 days")) == "90 seconds"
    assert duration_text(Duration(90_000_000, "1x minutes")) == "90 seconds"
    assert duration_text(Duration(0)) == "0 days"


def test_spans_point_at_what_was_written() -> None:
    text = "SP1: p(X, min<C>) :- q(X, Y), !r(X), C = Y + 1.\n"
    (rule,) = parse(Source("a.dl", text)).statements
    assert isinstance(rule, Rule)
    spans = [rule.span, rule.head.span, *(goal.span for goal in rule.body), *(arg.span for arg in rule.head.args)]
    written = [text[span.start : span.end] for span in spans if span]
    assert written == [text[:-2], "p(X, min<C>)", "q(X, Y)", "!r(X)", "C = Y + 1", "X", "min<C>"]
    assert print_term(Variable("S", location=True)) == "@S"
