"""A proof that crosses shards, gathered from them and put together in one process.

The shard that shows the row gives all that its derivation rests on there. Where that is a row which another shard sent,
the sender is asked next for the row that it sent, and so on, all open rows at once, until every branch ends in base
rows. The rows found, with their witnesses, are one small shard in the end, and the proof is read off it as off any
other. What the shards need for themselves does not show: rows that were only copied or sent, and parts of bodies, stand
for what they were derived from, under the rules as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from headwater.core.errors import StateError
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.guard import NO_GUARD
from headwater.engine.reading import BASE, GHOST, GONE
from headwater.engine.shard import Shard
from headwater.exchange.asking import QuestionKind, RowLookup, StoredRows, question, read_answer, spent
from headwater.exchange.sharding import Sharding
from headwater.language.syntax import Atom, Rule, Variable
from headwater.plan.model import Plan
from headwater.provenance import Proof, ProofCrossing, ProofReader

Ask: TypeAlias = Callable[[Mapping[int, bytes]], Mapping[int, bytes]]
"""Asks some shards a question each; their answers."""

Place: TypeAlias = tuple[int, str, int]  # a stored row: its shard, its table, its number there


class GatheredProof:
    """The rows of one proof, wherever they are stored."""

    def __init__(self, sharding: Sharding, shards: int, symbols: Symbols, ask: Ask, most: int) -> None:
        """`symbols` are those of the row asked about; they learn all that is gathered."""
        self._sharding = sharding
        self._shards = shards
        self._symbols = symbols
        self._ask = ask
        self._most = most
        self._tables = {table.name: table for table in sharding.plan.tables}
        self._found: dict[str, list[tuple[int, StoredRows, Codes]]] = {}
        self._count = 0
        self._numbers: dict[Place, int] = {}  # in the small shard
        self._senders: dict[Place, Place] = {}  # of a row that arrived, the row that was sent

    def of(self, relation: str, codes: Codes, known: Iterable[str], moment: Callable[[int], Any]) -> Proof | None:
        """The proof of a row; None if it is not there. `known` are the tables that one process would have."""
        table = self._tables[relation]
        columns = [column.at for column in table.written if column.at is not None and column.at != table.time]
        asked = RowLookup.of(table, columns, codes[:, columns], self._symbols)
        start = self._first(question(QuestionKind.PROOF, [asked], self._most))
        if start is None:
            return None
        while waiting := self._unasked():
            self._follow(waiting)
        shard = self._shard()
        arrived = {
            (place[1], self._numbers[place]): (sent[1], self._numbers[sent]) for place, sent in self._senders.items()
        }
        crossing = ProofCrossing(arrived, *_hidden(self._sharding, shard.plan, known))
        return ProofReader(shard, moment, crossing).proof(relation, self._numbers[start[0], relation, start[1]])

    def _first(self, asked: bytes) -> tuple[int, int] | None:
        """Ask all shards for the row; the one that shows it, and its number there."""
        found: tuple[int, int] | None = None
        for shard, content in self._ask(dict.fromkeys(range(self._shards), asked)).items():
            answer = read_answer(content)
            if answer.start is not None and found is None:
                found = shard, answer.start
                self._take(shard, answer.tables)
        return found

    def _take(self, shard: int, tables: Iterable[StoredRows]) -> None:
        for stored in tables:
            places = [(shard, stored.table, row) for row in stored.numbers.tolist()]
            fresh = [at for at, place in enumerate(places) if place not in self._numbers]
            if not fresh:
                continue
            stored = StoredRows(stored.table, stored.rows.take(fresh))
            codes = stored.codes(self._tables[stored.table], self._symbols)
            held = self._found.setdefault(stored.table, [])
            first = sum(one.rows.num_rows for _, one, _ in held)
            held.append((shard, stored, codes))
            for at, row in enumerate(stored.numbers.tolist()):
                self._numbers[shard, stored.table, row] = first + at
            self._count += len(fresh)
        if self._count > self._most:
            raise spent(self._most)

    def _unasked(self) -> dict[int, dict[str, list[tuple[Place, Codes]]]]:
        """Rows that arrived and whose senders were not asked yet, by sender and outbox."""
        out: dict[int, dict[str, list[tuple[Place, Codes]]]] = {}
        for shipment in self._sharding.plan.shipments:
            for shard, stored, codes in self._found.get(shipment.inbox, ()):
                for row, number in zip(codes, stored.numbers.tolist(), strict=True):
                    place = shard, shipment.inbox, number
                    if place not in self._senders:
                        boxes = out.setdefault(int(row[0]), {})
                        boxes.setdefault(shipment.outbox, []).append((place, row[1:]))
        return out

    def _follow(self, waiting: Mapping[int, Mapping[str, list[tuple[Place, Codes]]]]) -> None:
        """Ask the senders for the rows that they sent."""
        questions = {}
        for sender, boxes in waiting.items():
            lookups = []
            for outbox, rows in boxes.items():
                identity = self._tables[outbox].identity
                keys = np.stack([row for _, row in rows])[:, list(identity)]
                lookups.append(RowLookup.of(self._tables[outbox], identity, keys, self._symbols))
            questions[sender] = question(QuestionKind.SENT, lookups, self._most)
        for sender, content in self._ask(questions).items():
            self._take(sender, read_answer(content).tables)
            for outbox, rows in waiting[sender].items():
                by_codes = self._versions(sender, outbox)
                for place, row in rows:
                    self._senders[place] = sender, outbox, self._sent(outbox, row, by_codes)

    def _versions(self, sender: int, outbox: str) -> dict[tuple[int, ...], dict[tuple[int, ...], int]]:
        """The rows of an outbox that were found, by their identity: each version with its number."""
        identity = self._tables[outbox].identity
        out: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
        for shard, stored, codes in self._found.get(outbox, ()):
            if shard == sender:
                for row, number in zip(codes.tolist(), stored.numbers.tolist(), strict=True):
                    out.setdefault(tuple(row[at] for at in identity), {})[tuple(row)] = number
        return out

    def _sent(self, outbox: str, row: Codes, found: Mapping[tuple[int, ...], Mapping[tuple[int, ...], int]]) -> int:
        """The row of an outbox that arrived as this one: the same version, else the one that took its place."""
        versions = found.get(tuple(row[list(self._tables[outbox].identity)].tolist()), {})
        if not versions:
            raise StateError(f"a row of `{outbox}` arrived that its sender does not have; the state is damaged")
        return versions.get(tuple(row.tolist()), next(iter(versions.values())))

    def _shard(self) -> Shard:
        """A shard that holds all that was found."""
        shard = Shard(self._sharding.plan, self._symbols, self._sharding.keys, NO_GUARD)
        for name, held in self._found.items():
            store = shard.stores[name]
            data = np.ascontiguousarray(np.concatenate([codes for _, _, codes in held]))
            rules = np.concatenate([stored.rules for _, stored, _ in held]).astype(np.int16)
            stamps = np.concatenate([np.where(stored.stamps > GONE, 1, GHOST) for _, stored, _ in held])
            witness = np.concatenate([self._renumbered(where, stored) for where, stored, _ in held])
            alive = int(np.count_nonzero(stamps > GONE))
            store.load(data, stamps.astype(store.stamp.dtype), rules, witness, size=len(data), count=alive)
            store.bounds.include(data)
        return shard

    def _renumbered(self, shard: int, stored: StoredRows) -> Any:
        """The witnesses of some rows, by their numbers in the small shard."""
        witnesses = stored.witnesses.astype(np.int32)
        for at, rule in enumerate(stored.rules.tolist()):
            if rule > BASE:
                for slot, table in enumerate(self._sharding.plan.rules[rule].atoms):
                    witnesses[at, slot] = self._numbers[shard, table, int(witnesses[at, slot])]
        return witnesses


def _hidden(sharding: Sharding, plan: Plan, known: Iterable[str]) -> tuple[frozenset[str], dict[str, str]]:
    """The tables that stand for what they are derived from; and the tables whose rows others hold as they are."""
    pooled = {source.table for aggregation in plan.aggregations for source in aggregation.contributions}
    parts = {table.name for table in plan.tables if not table.base} - pooled - set(known)
    names = {copy: name for name, copies in sharding.copies.items() for copy in copies}
    names |= {shipment.outbox: shipment.table for shipment in plan.shipments}
    rules: dict[str, list[Rule]] = {}
    for rule in plan.program_rules:
        rules.setdefault(rule.head.relation, []).append(rule)
    for part in parts:
        copied = _copied(rules.get(part, []))
        if copied is not None:
            names[part] = names.get(copied, copied)
    return frozenset(parts), names


def _copied(rules: list[Rule]) -> str | None:
    """The relation that a single rule copies as it is."""
    if len(rules) != 1 or len(rules[0].body) != 1 or not isinstance(rules[0].body[0], Atom):
        return None
    atom, head = rules[0].body[0], rules[0].head
    names = [[arg.name if isinstance(arg, Variable) else None for arg in args] for args in (atom.args, head.args)]
    return atom.relation if names[0] == names[1] and None not in names[0] else None
