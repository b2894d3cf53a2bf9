"""What each construct of RapidNet is here: on nodes in simulated time, and in the views of a `Database`."""

CONSTRUCTS: tuple[tuple[str, str, str], ...] = (
    ("`r1 p(@X) :- ...` (label without a colon)", "`r1: p(@X) :- ...`", "the same"),
    ("`materialize(p, infinity, infinity, keys(1,2))`, p is given", "`relation p(...) key(...)`", "the same"),
    ("a table that tables alone derive", "a view: its rows go with those they rest on", "the same"),
    ("a table that an event derives", "stored: a row stays until it is replaced, deleted or expires", "none"),
    (
        "`materialize(p, 30, ...)`, a lifetime in seconds",
        "a stored or given row goes 30 s after it was last stored",
        "`ttl 30 seconds` of a given table",
    ),
    ("`materialize(p, ..., 100, ...)`, at most so many rows", "of the rows at a node the oldest goes", "none"),
    ("a relation that is not materialized", "an event: its row is there for one step", "a base relation"),
    ("`periodic(@X, E, 5)`, `periodic(@X, E, 5, 3)`", "an event every 5 s at each node, at most 3 times", "none"),
    ("`delete p(@X, Y) :- ...`", "the row of p with this key goes, after the step", "none"),
    ("`@X` at the location only", "`@` wherever the rule has the variable; `#` at the link between", "the same"),
    ("`a_MIN<C>`, `a_MAX<C>` and columns beside it", "`min<(C, P)>`, `max<(C, P)>`", "the same"),
    ("`a_COUNT<*>`, `a_SUM<C>`, `a_AVG<C>`", "`count<1>`, `sum<C>`, `avg<C>`", "the same"),
    ("`a_COUNT<*>` of rows that meet an event", "0 where none does, if the event names the groups", "none"),
    ("a minimum that its own input reads", "the two relations as one, with `min<(C, P)>`", "the same"),
    ("`f_member(P, X) == 0` on the path of a best row", "`X != Y` for its end: costs are above 0", "the same"),
    (
        "`f_append(X)`, `f_concat(P, Q)`, `f_member(P, X)`, `f_size(P)`, `f_first(P)`, `f_last(P)`",
        "`[X]`, `concat`, `inPath`, `length`, `first`, `last`",
        "the same",
    ),
    ("`K in (A, B]`", "between two positions of a ring of 65,536, clockwise", "the same"),
    ("`f_now()`, `f_rand()`", "the time in seconds, a number from 0 to 2^31 - 1, in rules with an event", "none"),
    ("`f_sha1(X)`", "`ring_position(X)`: 16 bits, the positions of the ring", "the same"),
    ("two events in one body", "none, as in RapidNet: a rule has one event. Store the other in a table", "none"),
    ("`#define NAME value`", "filled in", "the same"),
    ('`#include "file"`', "the statements of the file, once, with its definitions", "the same"),
)
"""Construct, what it is on nodes, what it is in a `Database`."""
