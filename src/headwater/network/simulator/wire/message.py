"""Messages as bytes, in one form for all strategies: what is counted as traffic is what the receiver reads.

A message has parts: rows that come to a table or go from it, with their provenance if the strategy ships any, and facts
that have died. Each distinct value of the rows is written once and then named by a number, because most rows repeat a
few addresses.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headwater.network.simulator.rows.terms import Row


class PartKind(Enum):
    """What a part of a message is about: rows that come, rows that go, dead facts."""

    COME = 0
    GO = 1
    DEAD = 2  # the facts with these numbers never come back


@dataclass(frozen=True, slots=True)
class MessagePart:
    """Rows of one shipment with their provenance, or the numbers of dead facts."""

    kind: PartKind
    shipment: int = 0
    rows: Sequence[Row] = ()
    provenance: bytes = b""
    facts: Sequence[int] = ()


def encode(batches: Sequence[MessagePart]) -> bytes:
    out = bytearray()
    put_number(out, len(batches))
    for batch in batches:
        out.append(batch.kind.value)
        if batch.kind is PartKind.DEAD:
            put_number(out, len(batch.facts))
            put_steps(out, sorted(batch.facts))
        else:
            put_number(out, batch.shipment)
            put_rows(out, batch.rows)
            put_number(out, len(batch.provenance))
            out += batch.provenance
    return bytes(out)


def decode(content: bytes) -> list[MessagePart]:
    source = WireReader(content)
    found: list[MessagePart] = []
    for _ in range(source.number()):
        kind = PartKind(source.byte())
        if kind is PartKind.DEAD:
            found.append(MessagePart(kind, facts=source.steps(source.number())))
        else:
            shipment, rows = source.number(), source.rows()
            found.append(MessagePart(kind, shipment, rows, source.take(source.number())))
    return found


def put_number(out: bytearray, number: int) -> None:
    """A number from 0 on, seven bits to a byte."""
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def put_steps(out: bytearray, numbers: Iterable[int]) -> None:
    """Numbers from 0 on in ascending order, each by its distance from the one before."""
    before = 0
    for number in numbers:
        step = number - before
        if step < 128:
            out.append(step)
        else:
            put_number(out, step)
        before = number


def put_packed(out: bytearray, numbers: Sequence[int]) -> None:
    """Numbers from 0 on in strictly ascending order, bit by bit: the steps between them in Rice's code.

    A step is written as its quotient by 2**rest, that many ones and a zero, and as the `rest` bits of its remainder.
    """
    if len(numbers) < 2:
        put_steps(out, numbers)
        return
    rest = min(31, (7 * (numbers[-1] - len(numbers) + 1) // (10 * len(numbers))).bit_length())
    bits, held, before = 5, rest, -1
    for number in numbers:
        step = number - before - 1
        before = number
        times = step >> rest
        held = (held << times + 1 | (2 << times) - 2) << rest | step & (1 << rest) - 1
        bits += times + 1 + rest
    padding = -bits % 8
    out += (held << padding).to_bytes((bits + padding) // 8, "big")


def put_facts(lists: Iterable[Iterable[int]]) -> bytes:
    """The facts that died under each of some rows."""
    out = bytearray()
    for facts in lists:
        ordered = sorted(facts)
        put_number(out, len(ordered))
        put_steps(out, ordered)
    return bytes(out)


def read_facts(content: bytes, lists: int) -> list[int]:
    """What `put_facts` wrote for so many rows, all together."""
    source = WireReader(content)
    return [fact for _ in range(lists) for fact in source.steps(source.number())]


def put_rows(out: bytearray, rows: Sequence[Row]) -> None:
    put_number(out, len(rows))
    if not rows:
        return
    width = len(rows[0])
    put_number(out, width)
    numbers: dict[tuple[type, Any], int] = {}
    places = [numbers.setdefault((type(value), value), len(numbers)) for row in rows for value in row]
    put_number(out, len(numbers))
    for _, value in numbers:
        put_value(out, value)
    out += array(_code(len(numbers)), places).tobytes()


def put_value(out: bytearray, value: Any) -> None:
    match value:
        case None:
            out += b"n"
        case bool():
            out += b"t" if value else b"f"
        case int():
            out += b"i"
            put_number(out, value << 1 if value >= 0 else (~value << 1) | 1)
        case float():
            out += b"d" + struct.pack("<d", value)
        case str():
            text = value.encode()
            out += b"s"
            put_number(out, len(text))
            out += text
        case tuple():
            out += b"l"
            put_number(out, len(value))
            for item in value:
                put_value(out, item)
        case _:
            raise TypeError(f"no row holds {value!r}")


def _code(count: int) -> str:
    return "B" if count <= 2**8 else "H" if count <= 2**16 else "I"


class WireReader:
    """Reads what the `put` functions wrote."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def take(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]

    def number(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def value(self) -> Any:
        kind = self.take(1)
        match kind:
            case b"n":
                return None
            case b"t" | b"f":
                return kind == b"t"
            case b"i":
                number = self.number()
                return ~(number >> 1) if number & 1 else number >> 1
            case b"d":
                return struct.unpack("<d", self.take(8))[0]
            case b"s":
                return self.take(self.number()).decode()
            case b"l":
                return tuple(self.value() for _ in range(self.number()))
        raise ValueError(f"no value starts with {kind!r}")

    def steps(self, count: int) -> list[int]:
        found, number = [], 0
        for _ in range(count):
            number += self.number()
            found.append(number)
        return found

    def packed(self, count: int) -> list[int]:
        if count < 2:
            return self.steps(count)
        held, bits = 0, 0

        def more() -> None:
            nonlocal held, bits
            held, bits = held << 8 | self.byte(), bits + 8

        def take(wanted: int) -> int:
            nonlocal held, bits
            while bits < wanted:
                more()
            bits -= wanted
            found = held >> bits
            held &= (1 << bits) - 1
            return found

        rest, number, found = take(5), -1, list[int]()
        for _ in range(count):
            times = 0
            while take(1):
                times += 1
            number += (times << rest) + take(rest) + 1
            found.append(number)
        return found

    def rows(self) -> list[Row]:
        count = self.number()
        if not count:
            return []
        width = self.number()
        values = [self.value() for _ in range(self.number())]
        places = array(_code(len(values)))
        places.frombytes(self.take(count * width * places.itemsize))
        found = iter([values[place] for place in places])
        return list(zip(*[found] * width, strict=True)) if width else [()] * count
