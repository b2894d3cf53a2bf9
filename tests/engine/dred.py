"""Delete and re-derive, honestly and step by step, for the reachability view spread over nodes (000, section 3.2).

`reachable(x, y)` lives at node x, `link(x, y)` at node x with a copy at node y, where it meets `reachable(y, _)`; what
that join derives is shipped to its home. This is the baseline that Headwater's two-phase delete is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Computation:
    view: frozenset[Pair]
    links: int  # link rows that were shipped
    steps: tuple[frozenset[Pair], ...]  # reachable rows that were shipped, step by step

    @property
    def shipped(self) -> int:
        return self.links + sum(len(step) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Deletion:
    deleted: frozenset[Pair]  # over-deleted rows of the view
    rederived: frozenset[Pair]
    view: frozenset[Pair]
    shipped: int


def compute(link: set[Pair]) -> Computation:
    """Semi-naive, step by step: rows that a step finds at one node for another are shipped, new there or not."""
    view, new, steps = set(link), set(link), list[frozenset[Pair]]()
    while new:
        derived = frozenset((x, y) for x, z in link for w, y in new if z == w)
        new = set(derived) - view
        view |= new
        steps.append(derived)
    return Computation(frozenset(view), len(link), tuple(steps))


def delete_and_rederive(link: set[Pair], gone: Pair) -> Deletion:
    """Deletes everything that the lost link ever helped to derive, then derives what is left anew.

    Counted as shipped: the lost link on its way to its copy, each over-deleted row on its way to its home, and each
    row that comes back to its home from another node. A row that the home finds by itself in its own links is not,
    and a row that reaches its home twice in a phase counts once: the count of 000, which gives the total alone.
    """
    before = compute(link).view
    deleted = {gone}
    new = {gone} | {(gone[0], y) for x, y in before if x == gone[1]}
    while new:
        deleted |= new
        new = {(x, y) for x, z in link for w, y in new if z == w} - deleted
    left = link - {gone}
    view = (before - deleted) | left
    home = frozenset(view)
    new = set(view)
    while new:
        new = {(x, y) for x, z in left for w, y in view if z == w} - view
        view |= new
    return Deletion(
        deleted=frozenset(deleted),
        rederived=frozenset(view & deleted),
        view=frozenset(view),
        shipped=1 + len(deleted) + len(view - home),
    )
