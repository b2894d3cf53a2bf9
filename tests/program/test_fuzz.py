"""Any program that parses is checked, or refused with a ProgramError: never another exception."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import ProgramError
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.syntax import Aggregate, Assign, Atom, Constant, ListTerm, Negation, Rule, Variable, Wildcard
from headwater.language.terms import body_atoms, goal_names, names, subterms
from headwater.pipeline import CompiledProgram, compile_tree
from headwater.program.model import Program
from headwater.program.recursion.strata import strata

ARITIES = {"p": 2, "q": 2, "r": 3, "s": 1}

variables = st.sampled_from(["X", "X", "Y", "Y", "Z", "C"])
constants = st.sampled_from(["a", "1", "2.5", '"t"', "true", "nil", "5 minutes", '"2026-01-01"', "_"])
calls = st.sampled_from(
    ["length({})", "first({})", "abs({})", "concat({}, {})", "f_concatPath({}, {})"]
) | st.sampled_from(["larger({}, {})", "nth({}, 0)", "upper({})", "nosuch({})", "substr({}, 1)"])


def _fill(parts: tuple[str, list[str]]) -> str:
    return parts[0].format(*parts[1])


terms = st.recursive(
    st.one_of(variables, variables, constants),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, inner).map(lambda pair: f"[{pair[0]} | {pair[1]}]"),
        st.tuples(calls, st.lists(inner, min_size=2, max_size=2)).map(_fill),
    ),
    max_leaves=3,
)


@st.composite
def atoms(draw: st.DrawFn, relations: str = "pqrs", marks: str = "") -> str:
    name = draw(st.sampled_from(list(relations)))
    args = draw(
        st.lists(st.one_of(variables, variables, variables, terms), min_size=ARITIES[name], max_size=ARITIES[name])
    )
    mark = draw(st.sampled_from(["", *marks]))
    return f"{mark}{name}({', '.join(args)})"


goals = st.one_of(
    atoms(),
    atoms(),
    atoms(marks="!!#"),
    st.tuples(variables | terms, st.sampled_from(["=", "=", "!=", "<", ">=", ":="]), terms).map(" ".join),
    st.tuples(
        st.sampled_from(["inPath({}, {})", "!member({}, {})", "larger({}, {}, {})", "largest({}, {}, {})"])
        | st.sampled_from(["encd({}, {}, {})", "decd({}, {}, {})", "!larger({}, {}, {})", "larger({}, {})"]),
        st.lists(variables | terms, min_size=3, max_size=3),
    ).map(_fill),
)
aggregates = st.tuples(
    st.sampled_from(["min", "max", "count", "sum", "avg", "mmin"]), st.sampled_from(["C", "X", "X + C"])
).map(lambda pair: f"{pair[0]}<{pair[1]}>") | st.sampled_from(
    ["mcount<X>", "msum<(X, C)>", "mcount<(C, 1)>", "top<2, C>"]
)


@st.composite
def rules(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from("pqr"))
    args = [draw(st.one_of(st.sampled_from("XC1"), st.sampled_from("XC"), terms)) for _ in range(ARITIES[name])]
    if draw(st.integers(0, 3)) == 0:
        args[-1] = draw(aggregates)
    body = draw(st.lists(goals, max_size=4))
    if body:
        body.insert(
            draw(st.integers(0, len(body))), draw(st.sampled_from(["r(X, Y, C)", "q(X, C)", "s(X)", "t(X, Y, Z, C)"]))
        )
    return f"{name}({', '.join(args)})" + (f" :- {', '.join(body)}." if body else ".")


declarations = st.sampled_from(
    [
        "relation s(x: int).",
        "stream t(t: timestamp, x: string, y: int, z: float).",
        "relation t(x: address, y: float, z: list, c: duration) key(x).",
        "stream t(t: int, x: int, y: int, z: int) ttl 5.",
        "relation member(x: string, y: string).",
    ]
)
queries = atoms("pqr").map("query {}.".format) | st.just("query p(X, Y), WINDOW(1 hour).")
programs = st.lists(st.one_of(rules(), rules(), rules(), declarations, queries), max_size=5).map("\n".join)


@given(programs)
@settings(max_examples=400)
def test_any_program_is_checked_or_refused(text: str) -> None:
    outcome = compiled_or_refused(text)
    if isinstance(outcome, ProgramError):
        assert outcome.diagnostics
        assert str(pickle.loads(pickle.dumps(outcome))) == str(outcome)
    else:
        keeps_its_promise(outcome.checked)
        strata(outcome.checked)
        strata(outcome.rewritten)


def compiled_or_refused(text: str) -> CompiledProgram | ProgramError:
    try:
        return compile_tree(parse(Source("program.dl", text)))
    except ProgramError as error:
        return error


def keeps_its_promise(program: Program) -> None:
    """What `headwater.program.model` says of every checked program."""
    known = {relation.name: relation for relation in program.relations}
    assert len(known) == len(program.relations)
    for rule in program.rules:
        assert len(rule.head.args) == known[rule.head.relation].arity
        for atom, _ in body_atoms(rule):
            assert len(atom.args) == known[atom.relation].arity
            assert all(isinstance(arg, Variable | Wildcard | Constant) for arg in atom.args)
        if rule.body:
            has_safe_goals(rule)
        else:
            assert all(isinstance(arg, Constant | ListTerm) for arg in rule.head.args)
            assert not any(names(arg) for arg in rule.head.args)


def has_safe_goals(rule: Rule) -> None:
    bound = {arg.name for goal in rule.body if isinstance(goal, Atom) for arg in goal.args if isinstance(arg, Variable)}
    for goal in rule.body:
        if isinstance(goal, Assign):
            assert goal.variable.name not in bound
            assert names(goal.term) <= bound
            assert not any(isinstance(part, Wildcard) for part in subterms(goal.term))
            bound.add(goal.variable.name)
        elif isinstance(goal, Negation) or not isinstance(goal, Atom):
            assert goal_names(goal) <= bound
    for arg in rule.head.args:
        inner = arg.args if isinstance(arg, Aggregate) else (arg,)
        assert all(isinstance(term, Variable | Constant) for term in inner)
        assert names(arg) <= bound
