"""The arrays that kernels are given, by table and by index, with names.

A caller hands over plain tuples, and a kernel gives them their names in its first lines (`TableArrays(*table)`). Numba
looks at the type of every argument of every call. With 29 arrays and numbers, one by one or in three plain tuples, a
call cost 3.9 us on a busy machine; in three named tuples, 8.0 us. A single-row `apply` makes several calls. A hot
loop must not read an array by its name either: that made the closure's join three times as slow and the join of best
rows twice. Kernels unpack what a loop uses into local variables first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Array = Any  # numba infers the types when it compiles


class TableArrays(NamedTuple):
    """The rows of a table (see `store`)."""

    data: Array
    stamp: Array
    rules: Array
    witness: Array


class Identities(NamedTuple):
    """The table of identities: it leads from all columns of a row to its number."""

    heads: Array
    direct: Array
    base: Array
    extent: Array
    words: Array


class IndexArrays(NamedTuple):
    """An index: from a key to a cell, and from a cell to its rows (see `index`)."""

    columns: Array
    direct: Array
    base: Array
    extent: Array
    words: Array
    begin: Array
    order: Array
    heads: Array
    chain: Array


class KeySource(NamedTuple):
    """Where a key comes from: columns of the starting row, or, where that is -1, constants."""

    columns: Array
    constants: Array


class Sources(NamedTuple):
    """Where values come from: a side (0: starting row, 1: row met, 2: a constant), and its column or the constant."""

    sides: Array
    columns: Array


class Witness(NamedTuple):
    """What a head's witness names: at `slots` the rows in `left`, one line per starting row; at `met` the row met."""

    left: Array
    slots: Array
    met: Array


class Before(NamedTuple):
    """What rows that come back were before."""

    rows: Array
    stamps: Array
    rules: Array
    witnesses: Array


class BestFound(NamedTuple):
    """What stands in each group, and the best found in this run (see `standing`)."""

    rows: Array
    values: Array
    left: Array
    right: Array
    touched: Array


class ShortBest(NamedTuple):
    """A head of one group column and a sum of two columns (-1: none) and a constant."""

    group_side: Array
    group_column: Array
    value_column: Array
    weight_column: Array
    constant: Array


class GroupLists(NamedTuple):
    """The lists of the groups of a table (see `frontier`)."""

    columns: Array
    first: Array
    following: Array
    direct: Array
    base: Array
    extent: Array


class FrontierShape(NamedTuple):
    """The columns of value (-1: none) and lease, and whether the largest value is best."""

    value: Array
    lease: Array
    largest: Array


class Offer(NamedTuple):
    """How rows are offered: the least value, rule and round, the first row of this run, the most rows there may be."""

    least: Array
    rule: Array
    tick: Array
    fresh: Array
    limit: Array


class HeadSide(NamedTuple):
    """What a head takes from one atom: `columns` for `places` of its group, a value and a lease (-1: none)."""

    places: Array
    columns: Array
    value: Array
    lease: Array


class Lost(NamedTuple):
    """Buffers for rows that lose their place, with the stamps they had."""

    rows: Array
    stamps: Array
