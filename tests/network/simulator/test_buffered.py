"""Algorithm 3 in its buffered form beside ours: same views (the oracle's tests), other messages; notices in batches."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from headwater.network.simulator import BufferedEager, BufferedLazy, Eager, Lazy, Network, Shipping
from headwater.network.simulator.wire.links import Delays, Delivery
from headwater.network.simulator.wire.message import MessagePart, PartKind, decode, put_facts, read_facts
from headwater.network.topology import TransitStub, links

REACHABLE = hw.compile(
    "relation link(src: string, dst: string).\n"
    "reachable(X, Y) :- link(X, Y).\n"
    "reachable(X, Y) :- link(X, Z), reachable(Z, Y).\n"
)
LINKS = [row[:2] for row in links(TransitStub(1, 2, 2, 6))]
TWO_WAYS = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("z", "a")]
PLACES = {"a": 0, "z": 1, "b": 2, "c": 2, "d": 2}


class Heard:
    """A network, with the parts of all its messages."""

    def __init__(self, shipping: Shipping, *, nodes: int = 3, places: dict[str, int] | None = None) -> None:
        self.network = Network(REACHABLE, nodes, "absorption", shipping=shipping, places=places)
        self.parts: list[MessagePart] = []
        send = self.network._links.send

        def noted(delivery: Delivery) -> None:
            self.parts += decode(delivery.content)
            send(delivery)

        self.network._links.send = noted  # type: ignore[method-assign]

    def kinds(self) -> set[PartKind]:
        return {part.kind for part in self.parts}


@pytest.mark.parametrize("shipping", [BufferedLazy(), BufferedEager(), BufferedLazy(50), BufferedEager(50)])
def test_the_buffered_form_sends_deletions_row_by_row(shipping: Shipping) -> None:
    heard = Heard(shipping, places=PLACES)
    heard.network.apply(insert={"link": TWO_WAYS})
    heard.parts.clear()
    outcome = heard.network.apply(delete={"link": [("b", "d")]})
    assert set(outcome.changes["reachable"][1]) == {("b", "d")}
    assert PartKind.DEAD not in heard.kinds()
    deleted = [part for part in heard.parts if part.kind is PartKind.GO]
    assert deleted
    assert all(len(read_facts(part.provenance, len(part.rows))) == len(part.rows) for part in deleted), "one fact died"


def test_lazy_buffers_keep_a_second_derivation_until_the_row_is_deleted() -> None:
    lazy, eager = (Heard(shipping, places=PLACES) for shipping in (BufferedLazy(), BufferedEager()))
    for heard in (lazy, eager):
        heard.network.apply(insert={"link": TWO_WAYS})
    told = [sum(len(part.rows) for part in heard.parts) for heard in (lazy, eager)]
    assert told[0] < told[1]
    lazy.parts.clear()
    lazy.network.apply(delete={"link": [("b", "d")]})
    again = [row for part in lazy.parts if part.kind is PartKind.COME for row in part.rows]
    assert ("z", "d") in again


def test_one_derivation_costs_less_than_the_buffers_and_those_less_than_delete_and_rederive() -> None:
    """The order of 000, Figure 8, with both forms of lazy shipping in it."""
    cost = {}
    for name, strategy, shipping in (
        ("one", "absorption", Lazy()),
        ("buffered", "absorption", BufferedLazy()),
        ("dred", "dred", Lazy()),
    ):
        network = Network(REACHABLE, 6, strategy, shipping=shipping)
        network.apply(insert={"link": LINKS})
        cost[name] = sum(network.apply(delete={"link": [row]}).traffic.bytes for row in LINKS[:40:4])
    assert cost["one"] * 3 < cost["buffered"]
    assert cost["buffered"] * 3 < cost["dred"]


@pytest.mark.parametrize("make", [Lazy, Eager])
def test_notices_of_dead_facts_wait_for_each_other(make: type[Lazy] | type[Eager]) -> None:
    """Links fail at six nodes, each at its own time for the hub, which tells the node behind it."""
    failing = [(f"leaf{at}", f"beyond{at}") for at in range(6)]
    steady = [("behind", "hub"), *(("hub", f"leaf{at}") for at in range(6))]
    places = {"behind": 0, "hub": 1, **{f"leaf{at}": 2 + at for at in range(6)}}
    messages, rows = [], []
    for notices in (1, 1000):
        delays, shipping = Delays(1, 20, seed=4), make(notices=notices)
        network = Network(REACHABLE, 8, "absorption", shipping=shipping, delays=delays, places=places)
        network.apply(insert={"link": steady + failing})
        messages.append(network.apply(delete={"link": failing}).traffic.messages)
        rows.append(network.rows("reachable"))
    assert rows[0] == rows[1] == _closure(set(steady))
    assert messages[0] - messages[1] == 5, "six notices from the hub become one"


def test_facts_of_deleted_rows_survive_their_bytes() -> None:
    lists = [[5, 1, 900], [], [7]]
    assert read_facts(put_facts(lists), 3) == [1, 5, 900, 7]


def _closure(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(pairs)
    while more := {(x, w) for x, y in found for z, w in pairs if y == z} - found:
        found |= more
    return found


def _script(seed: int, strategy: str, shipping: Shipping) -> None:
    """Links come and go, several at once, so that numbers of dead facts are used again."""
    dice = random.Random(seed)
    names = "abcdefg"[: dice.randint(3, 7)]
    network = Network(
        REACHABLE, dice.randint(2, 6), strategy, shipping=shipping, delays=Delays(0, 20, seed, tick=seed % 3)
    )
    now: set[tuple[str, str]] = set()
    for _ in range(12):
        come = {(dice.choice(names), dice.choice(names)) for _ in range(dice.choice((0, 1, 2, 4)))}
        go = set(dice.sample(sorted(now), min(len(now), dice.choice((0, 1, 1, 3))))) - come
        network.apply(insert={"link": sorted(come)}, delete={"link": sorted(go)})
        now = now - go | come
        assert network.rows("reachable") == _closure(now), (seed, strategy, shipping)


SHIPPINGS = (BufferedLazy(), BufferedLazy(3), BufferedLazy(50), BufferedEager(), BufferedEager(7), Lazy(1, notices=5))


@pytest.mark.parametrize("strategy", ["absorption", "relative"])
@pytest.mark.parametrize("shipping", SHIPPINGS, ids=str)
def test_oracle_buffers_through_many_edits(strategy: str, shipping: Shipping) -> None:
    for seed in range(12):
        _script(seed, strategy, shipping)


@pytest.mark.soak
@pytest.mark.parametrize("strategy", ["absorption", "relative"])
@pytest.mark.parametrize("shipping", SHIPPINGS, ids=str)
def test_oracle_buffers_through_very_many_edits(strategy: str, shipping: Shipping) -> None:
    for seed in range(12, 1000):
        _script(seed, strategy, shipping)
