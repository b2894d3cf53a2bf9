"""Random syntax trees: any that the parser could have made."""

from __future__ import annotations

from hypothesis import strategies as st

from headwater.core.types import ONE_WORD, Type, list_named
from headwater.language.syntax import (
    Aggregate,
    Atom,
    Binary,
    Call,
    ColumnDeclaration,
    Comparison,
    Constant,
    Declaration,
    Duration,
    Goal,
    Head,
    JoinOrder,
    Kind,
    ListTerm,
    Negation,
    Query,
    Rule,
    Term,
    Tree,
    Variable,
    Wildcard,
    Window,
)

_WORDS = ["stream", "relation", "query", "key", "ttl", "window", "not", "true", "nil", "include", "My Table", "Upper"]
names = st.from_regex(r"[a-z]\w{0,5}('[0-9a-z]{1,2})?", fullmatch=True) | st.sampled_from(_WORDS)
column_names = st.from_regex(r"[A-Za-z]\w{0,4}", fullmatch=True) | st.sampled_from([*_WORDS, "_x", "a b"])
labels = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_'-]{0,5}", fullmatch=True) | st.sampled_from(
    [*_WORDS, "rule 7", "SP1-D"]
)
variable_names = st.from_regex(r"([A-Z][A-Za-z0-9_]{0,3}|_[A-Za-z0-9_]{1,3})('[0-9]{1,2})?", fullmatch=True)
integers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["not", "it's", "a % b", "\\"])
durations = st.integers(0, 2**62).map(Duration) | st.sampled_from(
    [Duration(60_000_000, "1 minute"), Duration(7, "9 days")]
)

constants = st.one_of(
    integers.map(lambda value: Constant(value, Type.INT)),
    st.floats(allow_nan=False).map(lambda value: Constant(value, Type.FLOAT)),
    st.booleans().map(lambda value: Constant(value, Type.BOOL)),
    texts.map(lambda value: Constant(value, Type.STRING)),
    durations.map(lambda value: Constant(value, Type.DURATION)),
    texts.map(lambda value: Constant(value, Type.STRING, location=True)),
)
leaves: st.SearchStrategy[Term] = constants | st.builds(Variable, variable_names, st.booleans()) | st.just(Wildcard())


def _nested(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    some = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Binary, st.sampled_from("+-*/%"), inner, inner),
        st.builds(Call, names, some),
        st.builds(ListTerm, some),
        st.builds(ListTerm, st.lists(inner, min_size=1, max_size=3).map(tuple), inner),
    )


terms: st.SearchStrategy[Term] = st.recursive(leaves, _nested, max_leaves=8)
some_terms = st.lists(terms, max_size=4).map(tuple)
atoms = st.builds(Atom, names, some_terms, st.booleans())
goals: st.SearchStrategy[Goal] = st.one_of(
    atoms,
    st.builds(Negation, atoms),
    st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms, terms),
)
aggregates = st.builds(
    Aggregate, names, st.lists(terms, min_size=1, max_size=3).map(tuple), st.none() | st.integers(-5, 100)
)
heads = st.builds(Head, names, st.lists(terms | aggregates, max_size=4).map(tuple))
orders = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(lambda places: JoinOrder(tuple(places)))
rules = st.builds(Rule, heads, st.lists(goals, max_size=4).map(tuple), st.none() | labels) | st.builds(
    Rule, heads, st.lists(goals, min_size=1, max_size=4).map(tuple), st.none() | labels, orders
)
kinds = st.recursive(
    st.sampled_from(ONE_WORD), lambda inner: st.lists(inner, min_size=1, max_size=3).map(list_named), max_leaves=4
)
columns = st.builds(ColumnDeclaration, column_names, kinds)
extents = durations | st.integers(0, 10**9)
declarations = st.builds(
    Declaration,
    st.sampled_from(Kind),
    names,
    st.lists(columns, max_size=4).map(tuple),
    st.none() | st.lists(column_names, min_size=1, max_size=3).map(tuple),
    st.none() | extents,
    st.none() | extents,
    st.booleans(),
)
queries = st.builds(
    Query,
    st.builds(Atom, names, some_terms),
    st.none() | st.builds(Window, extents, st.none() | extents),
)
asked = st.lists(st.sampled_from(["From", "To", "X1"]), min_size=1, max_size=3, unique=True).map(
    lambda names: Query(Atom("p", (*map(Variable, names), Variable("Y"))), parameters=tuple(names))
)
trees = st.lists(rules | declarations | queries | asked, max_size=5).map(lambda statements: Tree(tuple(statements)))
