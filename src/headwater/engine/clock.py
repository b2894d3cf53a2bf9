"""The clock of a shard, and the base rows that live by it.

A row of a stream has a time, and with a window or a ttl a lease: the moment at which it ends. With a slide, windows
move in steps, so both its beginning and its end wait for the next step; until it begins, it is *pending*, in a
table of its own. Neither time nor lease is part of the row's identity: the same row with a later time is a new version
of it (a renewal), and the old version becomes a ghost that witnesses may rest on until its own lease is over. A keyed
stream holds one row per key, the one with the latest time.

Promise of `expire`: afterwards no row of any table with leases is left whose lease is over, at the cost of those rows,
without a join; every row left that rests on rows with leases rests on ones that are left too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DataError
from headwater.engine.best.selection import rows_with
from headwater.engine.codes.symbols import Codes
from headwater.engine.store.index import Rows
from headwater.engine.store.states import BASE, EVER, GHOST, GONE
from headwater.engine.store.store import Store
from headwater.engine.transaction import Transaction
from headwater.plan.drafts import pending
from headwater.program.time.program_clock import FOREVER, Lifetime

Witnesses = npt.NDArray[np.int32]


class Clock:
    """`now` is the latest moment known (None: none yet)."""

    def __init__(self, stores: Mapping[str, Store], keys: Mapping[str, tuple[int, ...]]) -> None:
        self._stores = stores
        self._keys = keys
        self._streams = [store for store in stores.values() if store.table.base and store.table.life is not None]
        self._lasting = [store for store in stores.values() if store.table.lasting]
        self.now: int | None = None

    def after(self, inserts: Mapping[str, Codes], now: int | None) -> int | None:
        """What the clock shows once these rows have come and, if given, the moment `now`."""
        moments = [moment for moment in (self.now, now) if moment is not None]
        for name, rows in inserts.items():
            if self._stores[name].table.time is not None and rows.shape[0]:
                moments.append(int(rows[:, 0].max()))
        return max(moments, default=None)

    def late(self, name: str, rows: Codes, now: int | None) -> npt.NDArray[np.bool_] | None:
        """Which of these rows lie further behind `now` than their stream allows; None: none of them."""
        life = self._stores[name].table.life
        if life is None or life.lateness is None or now is None:
            return None
        late = rows[:, 0] < now - life.lateness
        return late if late.any() else None

    # In a transaction

    def expire(self, transaction: Transaction) -> None:
        """Drop all rows whose lease is over."""
        now = transaction.now
        if now is None:
            return
        for store in self._lasting:
            rows = store.expiring().due(now)
            if rows.size:
                store.release(rows, transaction.journal)
                store.set_state(rows, GONE, transaction.journal)
                transaction.expired.add(store.name)

    def begin(self, transaction: Transaction) -> None:
        """Let the rows in for which a window has moved far enough."""
        now = transaction.now
        for store in self._streams:
            waiting = self._stores.get(pending(store.name))
            if now is not None and waiting is not None:
                rows = waiting.expiring().due(now)
                if rows.size:
                    waiting.set_state(rows, GONE, transaction.journal)
                    self._begin(transaction, store, waiting, rows)

    def _begin(self, transaction: Transaction, store: Store, waiting: Store, rows: Rows) -> None:
        """Facts of the program before the rows that renew them: those are versions that can go again."""
        rules = waiting.rules[rows]
        for rule in np.unique(rules)[::-1].tolist():
            those = rows[rules == rule]
            codes = waiting.data[those, : waiting.width - 1].astype(np.int64)
            self._admit(transaction, store, codes, rule, np.zeros((those.size, 0), dtype=np.int32))

    def insert(self, transaction: Transaction, store: Store, rows: Codes, rule: int, witnesses: Witnesses) -> None:
        """Rows of a stream or of a relation with a ttl, as written; those of a later step wait for it."""
        now, life = transaction.now, store.table.life
        assert life is not None
        if not rows.shape[0]:
            return
        if now is None:
            raise DataError(
                f"error[HW803]: `{store.name}` has a ttl, and the time is not known yet; "
                "call advance(...) with the time it is now first (on the command line: --now TIME), or give a row of a "
                "stream that tells it"
            )
        if life.slide is not None:
            waiting = self._stores[pending(store.name)]
            starts = _step_after(rows[:, 0], life.slide)
            soon = starts > now
            if soon.any():
                codes = np.column_stack([rows[soon], starts[soon]])
                waiting.admit([codes[:, column] for column in range(waiting.width)])
                none = np.zeros((codes.shape[0], 0), dtype=np.int32)
                waiting.merge(codes, none, rule, transaction.tick, transaction.journal)
                rows, witnesses = rows[~soon], witnesses[~soon]
        self._admit(transaction, store, rows, rule, witnesses)

    def delete(self, transaction: Transaction, store: Store, rows: Codes) -> None:
        """Rows as written, whatever their time."""
        identity = [at for at in store.table.identity if at < rows.shape[1]]
        keys = np.ascontiguousarray(rows[:, identity])
        waiting = self._stores.get(pending(store.name))
        if waiting is not None:
            found = rows_with(waiting.index(tuple(identity)), keys, waiting)[1]
            found = found[waiting.rules[found] == BASE]
            if found.size:
                waiting.set_state(np.unique(found), GONE, transaction.journal)
        self._end(transaction, store, keys)

    def committed(self, transaction: Transaction) -> None:
        """Keep the time that a transaction has moved to."""
        before, self.now = self.now, transaction.now
        if self.now is not None and self.now != before:
            for store in self._stores.values():
                if store.expiries is not None:
                    store.expiries.forget(self.now)

    # Versions of base rows

    def _admit(self, transaction: Transaction, store: Store, rows: Codes, rule: int, witnesses: Witnesses) -> None:
        """Rows that begin now: each becomes the version of its identity, and of its key, if none is newer."""
        table, now = store.table, transaction.now
        assert now is not None
        codes = _with_lease(store, rows, now)
        keep = np.ones(codes.shape[0], dtype=np.bool_) if table.lease is None else codes[:, table.lease] > now
        age, key = _age(store), self._keys.get(store.name)
        order = np.flatnonzero(keep)
        for columns in (table.identity,) if key is None else (table.identity, key):
            order = order[_latest(codes[order][:, list(columns)], codes[order, age])]
        codes, witnesses = codes[order], witnesses[order]
        newest = np.ones(codes.shape[0], dtype=np.bool_)
        left, held = rows_with(store.index(table.identity), _columns(codes, table.identity), store)
        newest[left] = codes[left, age] > store.data[held, age]
        replaced = held[newest[left]]
        if key is not None:
            left, held = rows_with(store.index(key), _columns(codes, key), store)
            other = (_columns(codes[left], table.identity) != store.data[held][:, list(table.identity)]).any(axis=1)
            left, held = left[other], held[other]
            newest[left[codes[left, age] < store.data[held, age]]] = False
            away = held[newest[left]]
            if (store.rules[away] != BASE).any():
                raise DataError(f"a fact of the program has the key of a row of `{store.name}`, and cannot be replaced")
            self._end(transaction, store, _columns(store.data[away].astype(np.int64), table.identity))
        if replaced.size:
            store.set_state(replaced, GHOST, transaction.journal)
        codes, witnesses = codes[newest], witnesses[newest]
        store.admit([codes[:, column] for column in range(store.width)])
        store.append(codes, witnesses, rule, transaction.tick, transaction.journal)

    def _end(self, transaction: Transaction, store: Store, keys: Codes) -> None:
        """Take away all versions of these identities, except facts of the program, of which the newest holds again."""
        if not keys.shape[0]:
            return
        index = store.index(store.table.identity)
        stamps = store.stamp
        versions = np.where(stamps == GHOST, EVER, stamps)
        rows = np.unique(rows_with(index, keys, store, versions)[1])
        ours = rows[store.rules[rows] == BASE]
        if ours.size:
            store.set_state(ours, GONE, transaction.journal)
            stated = rows[store.rules[rows] != BASE]
            codes = store.data[stated].astype(np.int64)
            newest = stated[_latest(codes[:, list(store.table.identity)], codes[:, _age(store)])]
            newest = newest[store.stamp[newest] == GHOST]
            if newest.size:
                store.set_state(newest, transaction.tick, transaction.journal)


def _age(store: Store) -> int:
    """The column by which one of two versions is newer."""
    column = store.table.time if store.table.time is not None else store.table.lease
    assert column is not None
    return column


def _with_lease(store: Store, rows: Codes, now: int) -> Codes:
    table, life = store.table, store.table.life
    assert life is not None
    if table.lease is None:
        return rows
    times = rows[:, 0] if table.time is not None else np.full(rows.shape[0], now, dtype=np.int64)
    return np.column_stack([rows, ends(life, times)])


def ends(life: Lifetime, times: Codes) -> Codes:
    """The moments at which rows of these times are over."""
    found = np.full(times.shape[0], FOREVER, dtype=np.int64)
    if life.ttl is not None:
        found = np.minimum(found, _plus(times, life.ttl))
    if life.size is not None:
        over = _plus(times, life.size)
        found = np.minimum(found, over if life.slide is None else _step_after(over, life.slide))
    return found


def _plus(times: Codes, span: int) -> Codes:
    return np.where(times > FOREVER - span, FOREVER, times + min(span, FOREVER))


def _step_after(times: Codes, slide: int) -> Codes:
    """The first step at or after each moment."""
    return np.where(times >= FOREVER - slide, FOREVER, times + (slide - times % slide) % slide)


def _latest(keys: Codes, ages: Codes) -> npt.NDArray[np.intp]:
    """Of rows with one key the one with the greatest age, the last of equals; in ascending order."""
    order = np.lexsort((np.arange(ages.size), ages, *keys.T[::-1]))
    ordered = keys[order]
    last = np.ones(ages.size, dtype=np.bool_)
    last[:-1] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.sort(order[last])


def _columns(rows: Codes, columns: tuple[int, ...]) -> Codes:
    return np.ascontiguousarray(rows[:, list(columns)])
