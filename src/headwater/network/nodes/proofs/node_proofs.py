"""Proofs: which facts a row that is sent rests on, so that rows die with them and never keep each other alive (000).

A *fact* is a row of a node that a recursion through the network reads and does not derive: a link, most often. It has a
number for as long as it is there; if it comes back, it is another fact. A *proof* is the set of facts that one
derivation of a row rests on, all nodes' facts together; proofs have numbers too, and a row in an inbox has one.

When a fact goes, its node tells every neighbour to which it has sent rows with that fact in their proofs, and so do
they. A node that learns of a dead fact drops the arrived rows that rest on it and derives again; rows that it had sent
and still has, it sends again with the proof that they have now. A row that arrives with a fact that is known to be
dead is not taken.

Guarantees: when nothing is under way, every row rests on facts that are there. So no row supports itself, whatever the
rules, and no path is lengthened for ever after its first link has gone. No node ever waits, and notices of dead facts
travel only where rows have travelled, along links.

This is 000's absorption provenance with one derivation at a time (lazy shipping). Where it departs: a proof is a set of
facts instead of a formula, because one derivation has no alternatives in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headwater.engine.border.codec import Change
from headwater.engine.codes.symbols import Codes
from headwater.engine.reading import GONE, Matrix, Rows, Store, rows_with
from headwater.network.nodes.boxes import Box
from headwater.network.nodes.proofs.told import ToldFacts
from headwater.network.nodes.support import recursions
from headwater.network.nodes.tables import NodeTables

Numbers = npt.NDArray[np.int64]
Proof = tuple[int, ...]


@dataclass(slots=True)
class ProofNumbers:
    """Proofs by number; equal proofs have equal numbers. Number 0 rests on nothing.

    The number of a proof that was forgotten is given to another one.
    """

    proofs: list[Proof] = field(default_factory=lambda: [()])
    sizes: array[int] = field(default_factory=lambda: array("i", [1]))  # bytes in a message
    using: dict[int, array[int]] = field(default_factory=dict)  # by fact: the proofs that it is in
    _numbers: dict[Proof, int] = field(default_factory=lambda: {(): 0})
    _free: array[int] = field(default_factory=lambda: array("q"))  # numbers of proofs that were forgotten

    def number(self, proof: Proof) -> int:
        found = self._numbers.get(proof)
        if found is None:
            if self._free:
                found = self._free.pop()
            else:
                found = len(self.proofs)
                self.proofs.append(())
                self.sizes.append(0)
            self._numbers[proof] = found
            self.proofs[found] = proof
            self.sizes[found] = 1 + sum([1 if fact < 128 else (fact.bit_length() + 6) // 7 for fact in proof])
            for fact in proof:
                known = self.using.get(fact)
                if known is None:
                    known = self.using[fact] = array("q")
                known.append(found)
        return found

    def union(self, one: int, other: int) -> int:
        return self.number(tuple(sorted({*self.proofs[one], *self.proofs[other]})))

    @property
    def held(self) -> int:
        """How many there are, without those that were forgotten."""
        return len(self._numbers)

    def forget(self, named: npt.NDArray[np.bool_]) -> None:
        """Give back the proofs that are not among these, by their numbers."""
        for number in np.flatnonzero(~named).tolist():
            if self.proofs[number]:  # not 0, and not forgotten before
                del self._numbers[self.proofs[number]]
                self.proofs[number] = ()
        self._numbers = dict(self._numbers)  # a dict keeps the room of what was deleted
        while len(self.proofs) > 1 and not self.proofs[-1]:
            self.proofs.pop()
            self.sizes.pop()
        self._free = array("q", (number for number in range(len(self.proofs) - 1, 0, -1) if not self.proofs[number]))
        for fact in list(self.using):
            numbers = np.frombuffer(self.using[fact], np.int64)
            kept = array("q", numbers[named[numbers]].tolist())
            if kept:
                self.using[fact] = kept
            else:
                del self.using[fact]

    def unions(self, some: Numbers, others: Numbers) -> Numbers:
        pairs, back = np.unique(np.stack([some, others], axis=1), axis=0, return_inverse=True)
        found = np.array([self.union(one, other) for one, other in pairs.tolist()], dtype=np.int64)
        return found[back.ravel()]


class NodeProofs:
    """The facts of all nodes, the proofs of arrived and of sent rows, and what each node knows to be dead."""

    def __init__(self, tables: NodeTables, nodes: int) -> None:
        self._tables = tables
        self._stores = tables.shard.stores
        self.numbers = ProofNumbers()
        self.boxes = [box for box in tables.program.boxes if box.sent is not None]
        self._inside: dict[str, frozenset[str]] = {}  # of a table of a recursion: all tables of it
        for members in recursions(tables.program):
            if any(box.outbox in members and box.sent is not None for box in tables.program.boxes):
                self._inside.update(dict.fromkeys(members, members))
        self._inboxes = {box.inbox for box in self.boxes}
        self._facts: dict[str, dict[tuple[int, ...], int]] = {}  # by table and row
        self._forbids: dict[str, set[str]] = {}  # by negated table: the tables whose rows are facts because of it
        for rule in tables.plan.rules:
            if rule.table in self._inside:
                for negated in rule.negated:
                    self._forbids.setdefault(negated, set()).add(rule.table)
        self.count = 0  # of facts that there ever were
        self.dead: list[set[int]] = [set() for _ in range(nodes)]
        self.told = ToldFacts([{} for _ in range(nodes)])

    # Facts

    def _fact(self, table: str, row: tuple[int, ...]) -> int:
        known = self._facts.setdefault(table, {})
        found = known.get(row)
        if found is None:
            found = known[row] = self.count
            self.count += 1
        return found

    def forget_facts(self, noticed: Iterable[int]) -> None:
        """Forget what no node can hear of again: facts that are not there, that no proof has, and no notice either."""
        heard_of = {*noticed, *self.numbers.using}
        heard_of.update(*(known.values() for known in self._facts.values()))
        for dead in self.dead:
            dead &= heard_of
        self.dead = [set(dead) for dead in self.dead]  # a set keeps the room of what was taken out
        self.told.keep(heard_of)

    def lost(self, changes: Mapping[str, Change]) -> Iterator[tuple[int, int]]:
        """The facts that went with these changes, each with its node."""
        for name, change in changes.items():
            known = self._facts.get(name)
            if known and change.deleted.shape[0]:
                for node, row in zip(self._nodes(name, change.deleted), change.deleted.tolist(), strict=True):
                    fact = known.pop(tuple(row), None)
                    if fact is not None:
                        yield node, fact
            if change.inserted.shape[0]:
                for table in self._forbids.get(name, ()):
                    yield from self._doubted(table, set(self._nodes(name, change.inserted)))

    def _doubted(self, table: str, nodes: set[int]) -> Iterator[tuple[int, int]]:
        """Facts that rested on something not being there, at nodes where it has come: the rows may have other reasons
        now, and are facts anew if they are still there."""
        known = self._facts.get(table, {})
        if known:
            rows = np.array(list(known), dtype=np.int64)
            for node, row in zip(self._nodes(table, rows), list(known), strict=True):
                if node in nodes:
                    yield node, known.pop(row)

    def between(self, pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The facts that name both ends of a channel, with their node and each end.

        Their rows, if they stay, are facts anew. So it does no harm that a number may look like a node's.
        """
        codes = [(pair, self._tables.node_codes[list(pair)].tolist()) for pair in pairs]
        for table, known in self._facts.items():
            rows = np.array(list(known), dtype=np.int64)
            ends: dict[int, set[int]] = {}
            for pair, (one, other) in codes if rows.size else ():
                for at in np.flatnonzero((rows == one).any(axis=1) & (rows == other).any(axis=1)).tolist():
                    ends.setdefault(at, set()).update(pair)
            for at, nodes in ends.items():
                fact = known.pop(tuple(rows[at].tolist()))
                yield from ((node, fact) for node in sorted({*nodes, *self._nodes(table, rows[at : at + 1])}))

    def _nodes(self, table: str, rows: Matrix) -> list[int]:
        return self._tables.nodes_of(rows[:, self._tables.program.locations[table]]).tolist()

    # Proofs of rows that are there

    def of_outbox(self, box: Box, rows: Matrix) -> Numbers:
        """The numbers of the proofs that these rows of an outbox have now."""
        return self._proofs(self._stores[box.outbox], self._stores[box.outbox].find(rows.astype(np.int64)))

    def _proofs(self, store: Store, rows: Rows) -> Numbers:
        distinct, back = np.unique(rows, return_inverse=True)
        found = np.zeros(distinct.size, dtype=np.int64)
        rules = store.rules[distinct]
        inside = self._inside[store.name]
        for number in np.unique(rules).tolist():
            at = np.flatnonzero(rules == number)
            chosen = distinct[at]
            if number < 0:
                found[at] = self._own(store, chosen)
                continue
            rule = self._tables.plan.rules[number]
            total = np.zeros(chosen.size, dtype=np.int64)
            for slot, table in enumerate(rule.atoms):
                parents = store.witness[chosen, slot]
                if table in self._inboxes and table in inside:
                    part: Numbers = self._stores[table].data[parents, -1].astype(np.int64)
                elif table in inside:
                    part = self._proofs(self._stores[table], parents)
                else:
                    part = self._own(self._stores[table], parents)
                total = part if not slot else self.numbers.unions(total, part)
            if rule.negated:  # what is not there can come: then this row goes, and its node says so
                total = self.numbers.unions(total, self._own(store, chosen))
            found[at] = total
        return found[back.ravel()]

    def _own(self, store: Store, rows: Rows) -> Numbers:
        """The proofs of rows that are facts."""
        distinct, back = np.unique(rows, return_inverse=True)
        codes = map(tuple, store.data[distinct].tolist())
        found = np.array([self.numbers.number((self._fact(store.name, row),)) for row in codes], dtype=np.int64)
        return found[back.ravel()]

    # Rows that rest on dead facts

    def resting_on(self, table: str, column: int, deaths: Mapping[int, Iterable[int]]) -> Matrix:
        """The rows of an inbox, or of those sent, that rest on a fact which their node knows to be dead.

        `deaths` are dead facts by node; `column` says where a row's node stands.
        """
        store = self._stores[table]
        rows = store.data[: store.size][store.stamp[: store.size] > GONE]
        if not rows.shape[0]:
            return rows
        hit = np.zeros(rows.shape[0], dtype=np.bool_)
        nodes = self._tables.nodes_of(rows[:, column])
        by_facts: dict[tuple[int, ...], list[int]] = {}
        for node, facts in deaths.items():
            by_facts.setdefault(tuple(facts), []).append(node)
        for group, where in by_facts.items():
            numbers = [
                np.frombuffer(self.numbers.using[fact], np.int64) for fact in group if fact in self.numbers.using
            ]
            if numbers:
                hit |= np.isin(rows[:, -1], np.concatenate(numbers)) & np.isin(nodes, where)
        return rows[hit]

    def is_dead(self, node: int, number: int) -> bool:
        dead = self.dead[node]
        return bool(dead) and not dead.isdisjoint(self.numbers.proofs[number])

    # Rows that were sent, and arrived ones, by their identity

    def held(self, table: str, rows: Matrix) -> tuple[Matrix, npt.NDArray[np.bool_]]:
        """The rows of a table with proofs that have these identities: them, and which of `rows` are there."""
        store = self._stores[table]
        width = store.width - 1
        keys = np.ascontiguousarray(rows[:, :width], dtype=np.int64)
        if not store.size or not keys.shape[0]:
            return store.data[:0], np.zeros(keys.shape[0], dtype=np.bool_)
        left, right = rows_with(store.index(tuple(range(width))), keys, store)
        there = np.zeros(keys.shape[0], dtype=np.bool_)
        there[left] = True
        return store.data[right], there

    def with_proofs(self, rows: Matrix, numbers: Numbers) -> Codes:
        return np.concatenate([rows.astype(np.int64), numbers[:, None]], axis=1)

    def nbytes(self) -> int:
        """About how many bytes facts and proofs take."""
        proofs = sum(16 * len(proof) for proof in self.numbers.proofs) + 220 * self.numbers.held
        facts = 250 * sum(map(len, self._facts.values())) + 60 * sum(map(len, self.dead))
        return proofs + 12 * len(self.numbers.proofs) + facts + self.told.nbytes
