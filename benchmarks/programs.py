"""The programs that the benchmarks run, and the view each is about."""

from __future__ import annotations

CLOSURE = """
reach(X, Y) :- link(X, Y).
reach(X, Z) :- reach(X, Y), link(Y, Z).
query reach(X, Y).
"""

REACH = """
reach(X) :- source(X).
reach(Y) :- reach(X), link(X, Y).
query reach(X).
"""

SHORTEST = """
dist(X, min<C>) :- source(X), C = 0.
dist(Y, min<C>) :- dist(X, C1), link(X, Y, W), C = C1 + W.
query dist(X, C).
"""

COMPONENTS = """
label(X, min<L>) :- node(X), L = X.
label(Y, min<L>) :- label(X, L), link(X, Y).
label(X, min<L>) :- label(Y, L), link(X, Y).
query label(X, L).
"""

GENERATION = """
same(X, Y) :- parent(P, X), parent(P, Y).
same(X, Y) :- same(P, Q), parent(P, X), parent(Q, Y).
query same(X, Y).
"""

POINTS_TO = """
points(V, O) :- new(V, O).
points(V, O) :- assign(V, W), points(W, O).
points(V, O) :- load(V, W), points(W, H), heap(H, O).
heap(H, O) :- store(V, W), points(V, H), points(W, O).
query points(V, O).
query heap(H, O).
"""

PROGRAMS: dict[str, tuple[str, str]] = {
    "closure-1k": (CLOSURE, "reach"),
    "closure-1k-far": (CLOSURE, "reach"),
    "closure-2k": (CLOSURE, "reach"),
    "reach": (REACH, "reach"),
    "shortest": (SHORTEST, "dist"),
    "components": (COMPONENTS, "label"),
    "generation": (GENERATION, "same"),
    "points-to": (POINTS_TO, "points"),
}
