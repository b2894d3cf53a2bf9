"""Every protocol of the pack computes what an independent computation does, after every edit of random networks."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import headwater as hw
from headwater.network.protocols import PROTOCOLS, protocol
from tests.network.protocols.references import REFERENCES, RING, World, hops, owners
from tests.network.protocols.worlds import edits

NAMES = list("abcdefg")
KINDS = {
    "reachability": [],
    "epidemic_membership": [],
    "zone_routing": [],
    "chord": [],
    "best_path": ["price"],
    "widest_path": ["mbps"],
    "bounded_delay": ["cost", "latency_ms"],
}
OTHERS = {
    "policy_routing": ["noExport", "noImport", "surcharge"],
    "dynamic_source_routing": ["request"],
    "zone_routing": ["request"],
    "node_disjoint_paths": ["pair"],
    "link_disjoint_paths": ["pair"],
    "multicast_source_tree": ["source", "listener"],
    "multicast_shared_tree": ["core", "listener", "sender"],
    "epidemic_membership": ["beat"],
}


def check(name: str, seed: int, names: list[str], count: int) -> None:
    dice = random.Random(seed)
    db = hw.Database(protocol(name))
    for insert, delete, world in edits(dice, names, KINDS.get(name, ["cost"]), OTHERS.get(name, []), count):
        db.apply(insert=insert, delete=delete)
        for view, expected in REFERENCES[name](world).items():
            assert db.rows(view) == expected, (name, seed, view, world)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", REFERENCES)
def test_oracle_protocol(name: str, seed: int) -> None:
    check(name, seed, NAMES[: 6 + seed % 2], 6)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 160))
@pytest.mark.parametrize("name", REFERENCES)
def test_oracle_protocol_at_length(name: str, seed: int) -> None:
    check(name, seed, [*NAMES, "h", "i"], 15)


def test_the_pack_is_proved_whole() -> None:
    elsewhere = {"flooding_search", "inverted_index_search", "hybrid_search", "horizon", "crawl"}  # test_oracle_search
    assert set(PROTOCOLS) == {*REFERENCES, "zone_routing", "chord", *elsewhere}


@pytest.mark.parametrize("seed", range(4))
def test_oracle_zone_routing_finds_the_fewest_hops(seed: int) -> None:
    dice = random.Random(seed)
    db = hw.Database(protocol("zone_routing"))
    names = [f"n{at}" for at in range(9)]
    world: World
    for insert, delete, world in edits(dice, names, [], ["request"], 8):
        db.apply(insert=insert, delete=delete)
        fewest = hops(world)
        found = {row[:2]: row[2:] for row in db.rows("route")}
        assert found.keys() == {(a, b) for a, b in world["request"] if a != b and (a, b) in fewest}
        for (node, to), (length, path) in found.items():
            assert length == fewest[node, to] == len(path) - 1
            assert (path[0], path[-1]) == (node, to)
            assert all((one, other) in world["link"] for one, other in itertools.pairwise(path))


@pytest.mark.parametrize("seed", range(3))
def test_oracle_chord_finds_owners_while_nodes_come_and_go(seed: int) -> None:
    dice = random.Random(seed)
    db = hw.Database(protocol("chord"))
    everyone = {f"n{at}": dice.randrange(RING) for at in range(24)}
    ids = dict(list(everyone.items())[:12])
    keys = [dice.randrange(RING) for _ in range(6)] + [ids["n3"]]
    mesh = lambda: {(a, b) for a in ids for b in ids if a != b}  # noqa: E731
    before: tuple[Any, Any, Any] = (set(), set(), set())
    for step in range(6):
        asked = {(node, key) for node in sorted(ids)[:4] for key in keys}
        after = (mesh(), set(ids.items()), asked)
        names = ("link", "node", "lookup")
        insert = {name: new - old for name, new, old in zip(names, after, before, strict=True)}
        delete = {name: old - new for name, new, old in zip(names, after, before, strict=True)}
        db.apply(insert=insert, delete=delete)
        before = after
        expected = owners(ids, keys)
        found = {row[:2]: row[2:] for row in db.rows("owner")}
        assert {pair: owner for pair, (owner, _) in found.items()} == {(n, k): expected[k] for n, k in asked}
        assert max(count for _, count in found.values()) <= 8
        ring = sorted(ids, key=ids.__getitem__)
        if len(ring) > 1:
            successors = {(a, b) for a, b in zip(ring, ring[1:] + ring[:1], strict=True)}
            assert {row[:2] for row in db.rows("successor")} == successors
        if step == 4:
            ids = {"n0": ids["n0"]} if "n0" in ids else dict(list(ids.items())[:1])
        else:
            for name in dice.sample(sorted(everyone), 6):
                if name in ids and len(ids) > 2:
                    del ids[name]
                else:
                    ids[name] = everyone[name]
