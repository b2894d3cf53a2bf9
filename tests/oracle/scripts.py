"""Edit scripts: transactions over small pools of rows, so that the same rows come, go and come back.

A script holds everything a careless user does: rows inserted twice, rows deleted that were never there, the same
row inserted and deleted in one transaction, keys overwritten, everything deleted at once and put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.oracle.bodies import items_of
from tests.oracle.dice import Dice
from tests.oracle.edit import edit
from tests.oracle.program import Base, Row, State
from tests.oracle.terms import Value

Rows: TypeAlias = Mapping[str, tuple[Row, ...]]
Pools: TypeAlias = Mapping[str, list[Row]]

DOMAINS: Mapping[str, tuple[Value, ...]] = {
    "int": (0, 1, 2, 3, 4),
    "string": ("a", "b", "c", "d", "e"),
    "float": (0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 2.5),
    "bool": (False, True),
}


@dataclass(frozen=True, slots=True)
class Transaction:
    insert: Rows = field(default_factory=dict)
    delete: Rows = field(default_factory=dict)


Script: TypeAlias = tuple[Transaction, ...]


FAR_APART = {**DOMAINS, "int": (0, 1, 3, 1_000_003, 2**40)}
"""Integers that no table can be addressed by."""

HUGE = {**DOMAINS, "int": (0, 1, 2**31 - 1, 2**31, 2**53 + 1, 2**60)}
"""Integers around the ends of narrow columns, of floats that are exact, and near the end of all."""


def row_pools(dice: Dice, bases: Iterable[Base]) -> Pools:
    """Rows to edit; now and then a relation never gets any."""
    domains = dice.pick((DOMAINS, DOMAINS, DOMAINS, DOMAINS, FAR_APART, HUGE))
    return {
        base.name: [_row(dice, base, domains) for _ in range(0 if dice.chance(5) else dice.number(2, 12))]
        for base in bases
    }


def _row(dice: Dice, base: Base, domains: Mapping[str, tuple[Value, ...]]) -> Row:
    return tuple(
        None if at in base.nullable and dice.chance(35) else _value(dice, type_, domains)
        for at, type_ in enumerate(base.types)
    )


def _value(dice: Dice, type_: str, domains: Mapping[str, tuple[Value, ...]]) -> Value:
    items = items_of(type_)
    if items is None:
        return dice.pick(domains[type_])
    return tuple(_value(dice, items, domains) for _ in range(dice.number(0, 3)))


def states(script: Iterable[Transaction], keys: Mapping[str, tuple[int, ...]]) -> Iterator[State]:
    """The base rows alive after each transaction."""
    base: State = {}
    for transaction in script:
        base = edit(base, keys, transaction.insert, transaction.delete)
        yield base


def random_script(dice: Dice, pools: Pools, longest: int = 6) -> Script:
    """One to `longest` transactions; the first one inserts, because an empty database has nothing to lose."""
    entries = [(relation, row) for relation, rows in pools.items() for row in rows]
    if not entries:
        return (Transaction(),)
    script = [Transaction(insert=_by_relation(entry for entry in entries if dice.chance(70)))]
    for _ in range(dice.number(0, longest - 1)):
        match dice.number(0, 11):
            case 0:
                script.append(Transaction(delete=_by_relation(entries)))
            case 1:
                script.append(Transaction(insert=_by_relation(dice.shuffled(entries))))
            case 2 | 3 | 4 | 5:
                script.append(Transaction(delete=_by_relation(dice.picks(entries, 1, 3))))
            case 6 | 7:
                script.append(Transaction(insert=_by_relation(dice.picks(entries, 1, 3))))
            case _:
                insert, delete = dice.picks(entries, 0, 5), dice.picks(entries, 0, 5)
                script.append(Transaction(_by_relation(insert), _by_relation(delete)))
    return tuple(script)


def _by_relation(entries: Iterable[tuple[str, Row]]) -> dict[str, tuple[Row, ...]]:
    grouped: dict[str, tuple[Row, ...]] = {}
    for relation, row in entries:
        grouped[relation] = (*grouped.get(relation, ()), row)
    return grouped
