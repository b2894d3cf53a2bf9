"""What a shard answers about its stored rows: which of them hold some values, and which of them a proof rests on.

An answer is read off the arrays and changes nothing: no index is made, and no symbol is learnt, because the shard may
be one that a query goes on with, and the order in which these grow decides which of equal witnesses it finds. So rows
are found by looking at all of a table, which takes milliseconds for a million of them.

Questions and answers are bytes: a line of JSON, then Arrow streams. Nothing in them is executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import BudgetSpent, StateError
from headwater.engine.border.arrow_stream import read_stream, write_stream
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.reading import BASE, GONE, Matrix, Rows, Store
from headwater.exchange.member import Member
from headwater.exchange.packing import pack, unpack
from headwater.plan.model import Table

_NUMBER, _RULE, _STAMP, _WITNESS = "number", "rule", "stamp", "witness"


class QuestionKind(StrEnum):
    """What is asked of a shard."""

    BASE = "base"  # base rows that it shows and that hold one of some keys
    PROOF = "proof"  # the first row alive that looks like the one given, and all that its derivation rests on here
    SENT = "sent"  # rows that were sent to another shard, and all that their derivations rest on here


@dataclass(frozen=True, slots=True)
class RowLookup:
    """Rows of a table that hold one of these keys in these columns; without columns, all rows."""

    table: str
    columns: tuple[int, ...]
    keys: pa.Table  # as `pack` makes it

    @classmethod
    def of(cls, table: Table, columns: Sequence[int], keys: Codes, symbols: Symbols) -> RowLookup:
        return cls(table.name, tuple(columns), pack(_narrow(table, columns), keys, symbols))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table as a shard stores them: their numbers there, their codes, and their witnesses."""

    table: str
    rows: pa.Table  # columns as `pack` makes them, then number, rule, stamp and witnesses

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        return self._column(_NUMBER)

    @property
    def rules(self) -> npt.NDArray[np.int16]:
        return self._column(_RULE)

    @property
    def stamps(self) -> npt.NDArray[np.int32]:
        return self._column(_STAMP)

    @property
    def witnesses(self) -> npt.NDArray[np.int32]:
        names = [name for name in self.rows.column_names if name.startswith(_WITNESS)]
        columns = [self._column(name) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((self.rows.num_rows, 0), dtype=np.int32)

    def codes(self, table: Table, symbols: Symbols) -> Codes:
        if not table.types:
            return np.zeros((self.rows.num_rows, 0), dtype=np.int64)
        return unpack(table, self.rows.select(list(range(len(table.types)))), symbols)

    def _column(self, name: str) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self.rows.column(name).to_numpy()
        return found


@dataclass(frozen=True, slots=True)
class ShardAnswer:
    """What a shard answers: its rows, and of a proof the number of the row that it is asked for."""

    tables: list[StoredRows]
    start: int | None = None


def question(kind: QuestionKind, lookups: Iterable[RowLookup], most: int) -> bytes:
    """A question to one shard, that may be answered with so many rows at most."""
    asked = list(lookups)
    about = {"kind": kind, "most": most, "asked": [[one.table, *one.columns] for one in asked]}
    return _message(about, [one.keys for one in asked])


def read_answer(content: bytes) -> ShardAnswer:
    """The answer of a shard; BudgetSpent where it would be too large."""
    about, tables = _read(content)
    if "spent" in about:
        raise spent(about["spent"])
    rows = [StoredRows(name, rows) for name, rows in zip(about["tables"], tables, strict=True)]
    return ShardAnswer(rows, about["start"])


def spent(most: int) -> BudgetSpent:
    return BudgetSpent(
        f"error[HW935]: the answer rests on more than {most:,} stored rows; nothing was changed\n"
        "  hint: allow more (most=...), or load the whole state with hws.database(checkpoint) and ask there"
    )


def answer(member: Member, asked: bytes) -> bytes:
    """What a shard answers to a question."""
    about, tables = _read(asked)
    reader = _ShardReader(member)
    most = int(about["most"])
    found: dict[str, Rows] = {}
    start: int | None = None
    for (name, *columns), keys in zip(about["asked"], tables, strict=True):
        rows = reader.find(QuestionKind(about["kind"]), RowLookup(name, tuple(columns), keys))
        start = int(rows[0]) if rows.size else start
        found[name] = np.union1d(found[name], rows).astype(np.int32) if name in found else rows
    if about["kind"] != QuestionKind.BASE:
        found = reader.derivations(found, most)
    if sum(rows.size for rows in found.values()) > most:
        return _message({"spent": most}, [])
    listed = {name: rows for name, rows in found.items() if rows.size}
    packed = [reader.packed(name, rows) for name, rows in listed.items()]
    return _message({"tables": list(listed), "start": start}, packed)


class _ShardReader:
    """Looks at the stores of a member."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._stores = member.shard.stores
        self._plan = member.shard.plan

    def find(self, kind: QuestionKind, asked: RowLookup) -> Rows:
        store = self._stores.get(asked.table)
        if store is None:
            raise StateError(f"this shard has no table `{asked.table}`")
        shown = store.table.stands_for or asked.table
        if kind is not QuestionKind.SENT and not self._member.sharding.shows(shown, self._member.number):
            return np.zeros(0, dtype=np.int32)
        sent = kind is QuestionKind.SENT
        there = np.flatnonzero(store.stamp[: store.size] != GONE).astype(np.int32) if sent else store.alive()
        if asked.columns:
            keys = _known(_narrow(store.table, asked.columns), asked.keys, self._member.shard.symbols)
            there = there[_holding(store.data, there, asked.columns, keys)]
        return there[:1] if kind is QuestionKind.PROOF else there

    def derivations(self, start: Mapping[str, Rows], most: int) -> dict[str, Rows]:
        """These rows and all that their witnesses name here, as far as the budget goes; of an aggregate, its group."""
        found: dict[str, Rows] = {}
        pending = dict(start)
        while pending and sum(rows.size for rows in found.values()) <= most:
            below: dict[str, list[Rows]] = {}
            for name, rows in pending.items():
                known = found.get(name, np.zeros(0, dtype=np.int32))
                fresh = np.setdiff1d(rows, known).astype(np.int32)
                found[name] = np.union1d(known, fresh).astype(np.int32)
                for table, used in self._used(self._stores[name], fresh):
                    below.setdefault(table, []).append(used)
            pending = {
                name: fresh
                for name, parts in below.items()
                if (fresh := np.setdiff1d(np.concatenate(parts), found.get(name, parts[0][:0]))).size
            }
        return found

    def _used(self, store: Store, rows: Rows) -> Iterable[tuple[str, Rows]]:
        rules = store.rules[rows]
        for rule in np.unique(rules).tolist():
            own = rows[rules == rule]
            if rule >= 0:
                for at, table in enumerate(self._plan.rules[rule].atoms):
                    yield table, store.witness[own, at]
            elif rule != BASE:
                aggregation = self._plan.aggregations[-2 - rule]
                keys = store.data[own][:, list(aggregation.group)].astype(np.int64)
                for source in aggregation.contributions:
                    pooled = self._stores[source.table]
                    there = pooled.alive()
                    yield source.table, there[_holding(pooled.data, there, source.group, keys)]

    def packed(self, name: str, rows: Rows) -> pa.Table:
        store = self._stores[name]
        packed = pack(store.table, store.data[rows].astype(np.int64), self._member.shard.symbols)
        if not store.table.types:
            packed = packed.select([])
        packed = packed.append_column(_NUMBER, pa.array(rows.astype(np.int64)))
        packed = packed.append_column(_RULE, pa.array(store.rules[rows]))
        packed = packed.append_column(_STAMP, pa.array(store.stamp[rows].astype(np.int32)))
        for at in range(store.depth):
            packed = packed.append_column(f"{_WITNESS}{at}", pa.array(np.ascontiguousarray(store.witness[rows, at])))
        return packed


def _narrow(table: Table, columns: Sequence[int]) -> Table:
    return Table(table.name, tuple(table.types[at] for at in columns), tuple(table.columns[at] for at in columns))


def _known(table: Table, keys: pa.Table, symbols: Symbols) -> Codes:
    """Keys as codes of a shard; those with a value that it has never seen are left out."""
    fresh = Symbols()
    codes = unpack(table, keys, fresh)
    here = np.fromiter((symbols.find(value) for value in fresh.values), dtype=np.int64, count=len(fresh))
    for at, kind in enumerate(table.types):
        if kind.is_symbolic:
            codes[:, at] = here[codes[:, at]]
    symbolic = [at for at, kind in enumerate(table.types) if kind.is_symbolic]
    return codes[(codes[:, symbolic] >= 0).all(axis=1)]


def _holding(data: Matrix, rows: Rows, columns: Sequence[int], keys: Codes) -> npt.NDArray[np.bool_]:
    """Which of these rows hold one of the keys in these columns."""
    keys = np.unique(keys, axis=0)
    if not keys.shape[0]:
        return np.zeros(rows.size, dtype=np.bool_)
    if not columns:
        return np.ones(rows.size, dtype=np.bool_)
    holds = np.isin(data[rows, columns[0]], keys[:, 0])
    for at in range(1, len(columns)):  # a sieve: most rows go by one of their columns
        holds[holds] = np.isin(data[rows[holds], columns[at]], keys[:, at])
    if keys.shape[0] > 1 and len(columns) > 1:
        left = np.ascontiguousarray(data[rows[holds]][:, list(columns)].astype(np.int64))
        holds[holds] = np.isin(_whole(left), _whole(keys))
    return holds


def _whole(rows: Codes) -> npt.NDArray[np.void]:
    """Rows as single values."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)


def _message(about: Mapping[str, Any], tables: Sequence[pa.Table]) -> bytes:
    blocks = [bytes(write_stream(table.combine_chunks())) for table in tables]
    head = json.dumps({**about, "sizes": [len(block) for block in blocks]}).encode()
    return b"\n".join([head, b"".join(blocks)])


def _read(message: bytes) -> tuple[dict[str, Any], list[pa.Table]]:
    head, _, rest = message.partition(b"\n")
    about = json.loads(head)
    tables, at = [], 0
    for size in about.pop("sizes"):
        tables.append(read_stream(pa.py_buffer(rest[at : at + size])))
        at += size
    return about, tables
