"""Names and rows that a user gives, found in a shard; and rows of a shard as tuples of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DataError, UnknownRelation
from headwater.core.functions.mixed import Row
from headwater.core.types import Type
from headwater.engine.border.codec import asks_for
from headwater.engine.border.intake import Header, Rejected, take_in
from headwater.engine.codes.columns import seen, to_values
from headwater.engine.codes.fitting import MOMENTS, fit, shown
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.store.index import Matrix
from headwater.engine.store.states import GONE
from headwater.engine.store.store import Store
from headwater.language.syntax import Query
from headwater.pipeline import CompiledProgram
from headwater.plan.model import Table
from headwater.program.model import Relation
from headwater.program.nearest import nearest


def named_row(
    table: Table, names: Sequence[str], row: Any, code_of: Callable[[Any, Type, Symbols], int], symbols: Symbols
) -> tuple[tuple[Any, ...], Codes]:
    """A row that a user names, as a tuple and as codes of what is stored; time and lease count for nothing."""
    taken = take_in(Header(table.name, tuple(names), True), [row])
    if taken.rejected:
        raise DataError(f"`{table.name}`: {taken.rejected[0].reason}: {shown(row)}")
    values = tuple(column[0] for column in taken.columns)
    codes = np.zeros((1, len(table.types)), dtype=np.int64)
    try:
        for value, column in zip(values, table.written, strict=True):
            if column.value is not None and fit(value, column.type, nullable=True) != column.value:
                raise not_asked(table.name, values)
            if column.at is not None and column.at != table.time:
                fitting = fit(value, column.type, nullable=column.at in table.nullable)
                codes[0, column.at] = code_of(fitting, column.type, symbols)
    except ValueError as problem:
        raise DataError(f"{table.name}{values!r}: {problem}") from None
    return values, codes


def first_alike(table: Table, codes: Codes, there: Matrix) -> Codes:
    """Of the rows `there` that look like a row of a bag, the first; if there is none, one that cannot be there."""
    shown = [column.at for column in table.written if column.at is not None and column.at != table.time]
    alike = there[(there[:, shown] == codes[:, shown]).all(axis=1)]
    if alike.shape[0]:
        return alike[:1].astype(np.int64)
    codes[0, len(table.written) : len(table.written) + table.hidden] = -1
    return codes


def kept_values(table: Table, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of a row that a user names, as provenance has them."""
    types = [column.type for column in table.written]
    return tuple(seen(fit(value, kind, nullable=True), kind) for value, kind in zip(values, types, strict=True))


def tuples(table: Table, codes: Matrix, symbols: Symbols) -> Iterator[tuple[Any, ...]]:
    """Rows of a table as its relation is written; times that are not kept are None."""
    if not table.written:
        return iter([()] * codes.shape[0])
    columns = (
        [column.value] * codes.shape[0]
        if column.at is None
        else to_values(codes[:, column.at], column.type, symbols, nullable=column.at in table.nullable)
        for column in table.written
    )
    rows = zip(*columns, strict=True)
    return map(Row, rows) if any(column.type.is_mixed for column in table.written) else rows


def answers(query: Query, store: Store, symbols: Symbols) -> Matrix:
    """The rows that a query without parameters asks for: often a small part of those that are there."""
    rows = np.flatnonzero(asks_for(query, store.table, store.data[: store.size], symbols))
    return store.data[rows[store.stamp[rows] > GONE]]


def late_rows(
    stores: Mapping[str, Store],
    inserts: Mapping[str, Codes],
    late: Mapping[str, npt.NDArray[np.bool_]],
    symbols: Symbols,
    now: Any,
) -> tuple[Rejected, ...]:
    """The rows that were late when the clock showed `now`, with the reason."""
    reason = f"it is late: further behind the clock ({now}) than the stream's lateness allows"
    return tuple(
        Rejected(name, place, row, reason)
        for name, which in late.items()
        for place, row in zip(
            np.flatnonzero(which).tolist(), tuples(stores[name].table, inserts[name][which], symbols), strict=True
        )
    )


def unknown_relation(name: Any, program: CompiledProgram) -> str:
    """The message of an error for a relation that is not maintained, or does not exist."""
    if any(relation.name == name for relation in program.checked.relations):
        return f"`{name}` is not maintained, because no query needs it; add `query {name}(...)`"
    if not isinstance(name, str):
        return f"a relation is given by its name, not as {shown(name)}"
    close = nearest(
        name, [each.name for each in program.rewritten.relations if each.asks is None and each.part_of is None]
    )
    return f"there is no relation `{name}`" + (f"; did you mean `{close}`?" if close else "")


def check_fits(value: Any, kind: Type, what: str) -> None:
    """Raise DataError (HW824) for a value that no row can hold in a column of this type."""
    try:
        fit(value, kind, nullable=False)
    except ValueError as problem:
        raise DataError(f"error[HW824]: {what}: {problem}") from None


def refuse_partial(relation: Relation, outputs: Sequence[str]) -> None:
    """Raise UnknownRelation for a relation that holds only what the queries need of it."""
    if relation.selections:
        raise UnknownRelation(
            f"`{relation.name}` is kept only as far as the queries need it (best rows per group); "
            f"add `query {relation.name}(...)` to see all of it"
        )
    if relation.ways and relation.name not in outputs:
        raise UnknownRelation(
            f"`{relation.name}` is derived only as far as the queries need it; add `query {relation.name}(...)` to see "
            "all of it, or compile with disabled=['magic_sets']"
        )


def not_asked(relation: str, row: tuple[Any, ...], queries: Sequence[Query] = ()) -> DataError:
    """The error for a row that none of the program's queries asks for, of a relation that holds only those."""
    own = next((query for query in queries if query.atom.relation == relation and query.parameters), None)
    given = "" if own is None else ", ".join(f"{name}=..." for name in own.parameters)
    fix = f'follow it first, follow("{relation}", {given})' if given else "add a query for it"
    return DataError(
        f"{relation}{row!r} is not asked for by the program's queries, so nothing is known of it; {fix}, "
        "or compile with disabled=['magic_sets']"
    )


def time_of(moment: int | None, clock: Type | None, symbols: Symbols) -> Any:
    """A moment as users write it; None: none, or one that no clock gets to."""
    if moment is None or clock is None or (clock is Type.TIMESTAMP and moment not in MOMENTS):
        return None
    return to_values(np.array([moment], dtype=np.int64), clock, symbols, nullable=False)[0]
