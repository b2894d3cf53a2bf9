"""Whether a shard that was filled from a file can be worked with.

Compiled loops follow codes, row numbers and rule numbers without looking: one that leads nowhere would read or write
foreign memory. So everything in a file is looked at once before the first of them runs. Every row has a state that a
row between transactions can have, a rule that derives such rows, and codes that stand for values of its columns' types.
Every witness names rows that are there, and none goes round in a circle; no row is there twice. Indexes and bounds are
not in the file but made from the rows.

Not looked at: whether the rows of a view follow from the base rows. Who forges a file may put any rows into it.

The cost is some two passes over the rows: about 60 ms for 2.4 million rows with their witnesses.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from headwater.core.functions.mixed import is_of
from headwater.core.functions.time_functions import DAY
from headwater.core.types import Type
from headwater.engine.border import sound_kernels
from headwater.engine.codes.fitting import MOMENTS
from headwater.engine.codes.symbols import NULL, Symbols, code_of_float, null_code
from headwater.engine.shard import Shard
from headwater.engine.store.index import Matrix, Rows, Space
from headwater.engine.store.states import BASE, GONE
from headwater.engine.store.store import Store
from headwater.plan.model import PlannedStratum, Table
from headwater.program.model import Keeps
from headwater.program.time.program_clock import FOREVER

_PART = 1 << 16
_BITS_PER_ROW = 32  # of the table that finds rows which may be equal: one in 16 or fewer is compared
_INFINITIES = code_of_float(float("-inf")), code_of_float(float("inf"))
_NAN, _NEGATIVE_ZERO = code_of_float(float("nan")), -1
_FAULTS = {
    sound_kernels.NO_STATE: "has a state that no row can have",
    sound_kernels.NO_RULE: "names a rule that derives no such rows",
    sound_kernels.NO_PARENT: "depends on a row that does not exist",
    sound_kernels.DEAD_PARENT: "depends on a row that is gone",
}


class Unsound(ValueError):
    """What is wrong with which table."""


def refuse_unsound(shard: Shard) -> None:
    """Raise Unsound if anything in the stores of a shard cannot be."""
    for store in shard.stores.values():
        refuse_unknown(store.table, store.data[: store.size], shard.symbols)
    _check_rows(shard)
    for stratum in shard.plan.strata:
        if stratum.recursive:
            _check_circles(shard, stratum)
    for store in shard.stores.values():
        for columns, alive in _distinct(store, shard):
            _check_doubles(store, columns, alive=alive)
        _check_leases(store, shard.clock.now)


# Codes


def refuse_unknown(table: Table, rows: Matrix, symbols: Symbols) -> None:
    """Raise Unsound if a code in rows of a table stands for no value of its column's type."""
    if not rows.shape[0]:
        return
    for column, kind in enumerate(table.types):
        if not _codes_stand(rows[:, column], kind, symbols, lease=column == table.lease, null=column in table.nullable):
            raise Unsound(f"table `{table.name}`: column {column + 1} holds an invalid code for {kind.value}")


def _codes_stand(codes: Matrix, kind: Type, symbols: Symbols, *, lease: bool, null: bool) -> bool:
    """Whether these codes stand for values of a type."""
    if kind.is_symbolic:
        if int(codes.min()) < 0 or int(codes.max()) >= len(symbols):
            return False
        return not kind.is_list or all(_is_list(symbols.values[code], kind) for code in np.unique(codes).tolist())
    match kind:
        case Type.BOOL:
            return int(codes.min()) >= (null_code(kind) if null else 0) and int(codes.max()) <= 1
        case Type.FLOAT:
            return all(_floats_stand(part, null=null) for part in _parts(codes))
        case Type.TIMESTAMP | Type.DATE if not lease:
            step = DAY if kind is Type.DATE else 1
            return all(_within(part, MOMENTS.start, MOMENTS.stop - 1, step, null=null) for part in _parts(codes))
        case _:
            return True


def _parts(codes: Matrix) -> Iterator[Matrix]:
    return (codes[at : at + _PART] for at in range(0, codes.size, _PART))


def _within(codes: Matrix, least: int, most: int, step: int, *, null: bool) -> bool:
    fine = (codes >= least) & (codes <= most)
    if step > 1:
        fine &= codes % step == 0
    return bool((fine | (codes == NULL) if null else fine).all())


def _floats_stand(codes: Matrix, *, null: bool) -> bool:
    """A float has one code: there is one NaN, and no negative zero."""
    fine = (codes >= _INFINITIES[0]) & (codes <= _INFINITIES[1]) & (codes != _NEGATIVE_ZERO) | (codes == _NAN)
    return bool((fine | (codes == NULL) if null else fine).all())


def _is_list(value: object, kind: Type) -> bool:
    """Whether a symbol may stand in a column of such lists."""
    return value is None or (type(value) is tuple and is_of(value, kind))


# Rows


def _check_rows(shard: Shard) -> None:
    """States, rules and witnesses."""
    stores = list(shard.stores.values())
    starts = dict(zip(shard.stores, np.cumsum([0, *(store.size for store in stores)]).tolist(), strict=False))
    stamps: Rows = np.concatenate([store.stamp[: store.size] for store in stores]) if stores else np.zeros(0, np.int32)
    inboxes = {shipment.inbox for shipment in shard.plan.shipments}
    totals = {aggregation.table for aggregation in shard.plan.aggregations}
    for store in stores:
        table = store.table
        own: dict[int, tuple[str, ...]] = {BASE: ()} if table.base or table.name in inboxes else {}
        own |= {-2 - at: () for at, total in enumerate(shard.plan.aggregations) if total.table == table.name}
        made = {table.name, table.stands_for} if table.base else {table.name}  # facts may wait for a window to move
        own |= {rule.id: rule.atoms for rule in shard.plan.rules if rule.table in made}
        least = min(own, default=0)
        slots = np.full(max(own, default=-1) - least + 1, -1, dtype=np.int64)
        lengths = np.array([len(atoms) for atoms in own.values()], dtype=np.int64)
        places = np.zeros((2, len(own), max(1, store.depth)), dtype=np.int64)
        for slot, (rule, atoms) in enumerate(own.items()):
            slots[rule - least] = slot
            for position, atom in enumerate(atoms):
                places[:, slot, position] = starts[atom], shard.stores[atom].size
        row, fault = sound_kernels.find_unsound(
            store.stamp[: store.size], store.rules[: store.size], store.witness[: store.size], shard.tick,
            bool(table.picks) or table.name in totals or _is_timed(table),
            least, slots, lengths, *places, stamps,
        )  # fmt: skip
        if row >= 0:
            raise Unsound(f"table `{store.name}`: row {row} {_FAULTS[fault]}")


def _check_circles(shard: Shard, stratum: PlannedStratum) -> None:
    """A witness that goes round in a circle would keep rows that nothing supports."""
    own = [shard.stores[name] for name in stratum.tables]
    begins = dict(zip(stratum.tables, np.cumsum([0, *(store.size for store in own)]).tolist(), strict=False))
    places = np.zeros((2, len(shard.plan.rules), max(1, *(store.depth for store in own))), dtype=np.int64)
    counts = np.zeros(len(shard.plan.rules), dtype=np.int64)
    for number in stratum.rules:
        for position, atom in enumerate(shard.plan.rules[number].atoms):
            if atom in begins:
                places[:, number, counts[number]] = position, begins[atom]
                counts[number] += 1
    found = sound_kernels.find_circle(*_side_by_side(own), counts, *places)
    if found >= 0:
        name = next(name for name in reversed(stratum.tables) if begins[name] <= found)
        raise Unsound(f"table `{name}`: row {found - begins[name]} rests on itself")


def _side_by_side(stores: list[Store]) -> tuple[Rows, npt.NDArray[np.int16], npt.NDArray[np.int32]]:
    """States, rules and witnesses of several stores."""
    if len(stores) == 1:
        (store,) = stores
        return store.stamp[: store.size], store.rules[: store.size], store.witness[: store.size]
    witness = np.zeros((sum(store.size for store in stores), max(store.depth for store in stores)), dtype=np.int32)
    at = 0
    for store in stores:
        witness[at : at + store.size, : store.depth] = store.witness[: store.size]
        at += store.size
    stamps = np.concatenate([store.stamp[: store.size] for store in stores])
    return stamps, np.concatenate([store.rules[: store.size] for store in stores]), witness


# Rows that are there twice


def _distinct(store: Store, shard: Shard) -> Iterator[tuple[tuple[int, ...], bool]]:
    """The columns in which no two rows are equal, and whether that holds only of those alive."""
    table = store.table
    everything = tuple(range(store.width))
    if not _is_timed(table):
        yield everything, False
    elif table.base and not table.bag:
        yield table.identity, True
    else:
        # An inbox picks nothing: it holds every version that its sender may still rely on.
        yield (table.identity if table.keeps is Keeps.LATEST and table.picks else everything), True
    if store.name in shard.keys:
        yield shard.keys[store.name], True
    yield from ((aggregation.group, True) for aggregation in shard.plan.aggregations if aggregation.table == store.name)


def _check_doubles(store: Store, columns: tuple[int, ...], *, alive: bool) -> None:
    if store.size > 1 and _has_double(store, np.array(columns, dtype=np.int64), alive=alive):
        raise Unsound(f"table `{store.name}`: two of its rows are the same")


def _has_double(store: Store, columns: npt.NDArray[np.int64], *, alive: bool) -> bool:
    data, stamp = store.data[: store.size], store.stamp[: store.size]
    space = Space.around(store.bounds.low[columns], store.bounds.high[columns], store.size)
    if space is not None:
        seen = np.zeros(space.cells // 8 + 1, dtype=np.uint8)
        return bool(sound_kernels.has_double(data, columns, stamp, alive, space.base, space.extent, seen))
    once = np.zeros(1 << (store.size * _BITS_PER_ROW // 8).bit_length(), dtype=np.uint8)
    again = np.zeros_like(once)
    sound_kernels.shared_bits(data, columns, stamp, alive, once, again)
    found = np.empty(store.size, dtype=np.int32)
    count = sound_kernels.rows_at(data, columns, stamp, alive, again, found)
    rows = data[found[:count]][:, columns]
    if columns.size:
        rows = rows[np.lexsort(rows.T)]
    return bool((rows[1:] == rows[:-1]).all(axis=1).any())


def _check_leases(store: Store, now: int | None) -> None:
    table = store.table
    if table.lease is None or not table.lasting or not store.size:
        return
    ends = store.data[: store.size, table.lease][store.stamp[: store.size] > GONE]
    ends = ends[ends < FOREVER]  # facts of the program need no clock
    if ends.size and (now is None or int(ends.min()) <= now):
        raise Unsound(f"table `{store.name}`: the time of a row is over, or no time is known")


def _is_timed(table: Table) -> bool:
    """Whether a row may have several versions, which differ in their time or lease."""
    return table.life is not None or table.lease is not None or table.time is not None
