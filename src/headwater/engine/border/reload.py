"""Base rows of one shard put into another of the same program, so that users see no difference.

Rows of a relation that lives by the clock come to the new shard at the moment at which they came to the old one, or
their leases would begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.engine.codes.symbols import Codes, Symbols, decode, encode_all
from headwater.engine.guard import NO_GUARD
from headwater.engine.shard import Shard
from headwater.engine.store.states import BASE


def refill(before: Shard, after: Shard, rows: Mapping[str, Codes]) -> None:
    """Start a new shard and put `rows` into it without its guard, which they have passed."""
    held = [
        store for store in before.stores.values() if store.table.base and store.count and store.name in after.stores
    ]
    types = [zip(after.stores[store.name].table.types, store.table.types, strict=True) for store in held]
    same = all(new is old or (new.is_list and old.is_list) for both in types for new, old in both)
    assert same, "a base table with rows has known types, but for what empty lists hold"
    guard, after.guard = after.guard, NO_GUARD
    after.start()
    _reload(before, after, rows)
    after.guard = guard


def _reload(before: Shard, after: Shard, rows: Mapping[str, Codes]) -> None:
    """Put `rows`, all that users inserted, as `after` writes them and in the order of `before`, into a new shard."""
    now = before.clock.now
    born: dict[int, dict[str, Codes]] = {}
    soft: set[str] = set()
    for store in before.stores.values():
        table = store.table
        if now is None or table.life is None or table.life.ttl is None or table.lease is None or table.time is not None:
            continue
        soft.add(store.name)
        alive = store.alive()
        ours = store.rules[alive] == BASE
        moments = store.data[alive, table.lease].astype(np.int64) - table.life.ttl
        for moment in np.unique(moments).tolist():  # the program's own facts come with the first moment there is
            born.setdefault(moment, {})[store.name] = rows[store.name][moments[ours] == moment]
        if ours.all():
            born.setdefault(now - table.life.ttl, {})  # if it states any, they are over
    for moment in sorted(born):
        after.apply(born[moment], {}, now=moment, late_too=True)
    kept = {name: codes for name, codes in rows.items() if name in after.stores}  # it may have no relation of questions
    rest = {name: codes for name, codes in kept.items() if name not in soft and codes.shape[0]}
    after.apply(rest, {}, now=now, late_too=True)


def base_rows(shard: Shard) -> dict[str, Codes]:
    """All rows that users inserted, as written; rows that wait for a window to move are among them."""
    out: dict[str, Codes] = {}
    for store in shard.stores.values():
        if store.table.base:
            rows = store.alive()
            name = store.table.stands_for or store.name
            table = shard.stores[name].table
            width = len(table.written) + table.hidden
            codes = store.data[rows[store.rules[rows] == BASE], :width].astype(np.int64)
            out[name] = np.concatenate([out[name], codes]) if name in out else codes
    return out


def renumber_symbols(shard: Shard, rows: Mapping[str, Codes], symbols: Symbols) -> None:
    """Give base rows of a shard the codes that their values have among other symbols."""
    for name, codes in rows.items():
        for at, column in enumerate(shard.stores[name].table.written):
            if column.type.is_symbolic:
                values = decode(codes[:, at], column.type, shard.symbols, nullable=True)
                codes[:, at] = encode_all(values, column.type, symbols)
