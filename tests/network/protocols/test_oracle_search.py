"""The five search programs on random networks, with edits: what they find is what a plain search of all files finds."""

from __future__ import annotations

import itertools
import random
from collections import deque

import pytest

import headwater as hw
from headwater.core.functions.builtins import ring_position
from headwater.network.protocols import protocol
from headwater.network.scenario import positions

Links = set[tuple[str, str]]
Files = dict[tuple[str, str], frozenset[str]]  # terms by holder and name
TERMS = "uvwxyz"


def network(dice: random.Random) -> tuple[list[str], Links]:
    """Both directions of some links; pieces that nothing joins may be among them."""
    names = [f"n{at}" for at in range(dice.randint(2, 11))]
    pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
    chain = [*itertools.pairwise(names)] if dice.random() < 0.5 else []  # where horizons end
    chosen = {*chain, *dice.sample(pairs, dice.randint(1, min(len(pairs), len(names) // 2 + 1)))}
    return names, {pair for one, other in chosen for pair in ((one, other), (other, one))}


def hops(links: Links, start: str) -> dict[str, int]:
    far, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for one, other in sorted(links):
            if one == here and other not in far:
                far[other] = far[here] + 1
                waiting.append(other)
    return far


def files_of(dice: random.Random, names: list[str]) -> Files:
    terms = {f"f{at}": frozenset(dice.sample(TERMS, dice.randint(1, 3))) for at in range(5)}
    return {(node, file): terms[file] for file in terms for node in names if dice.random() < 0.4}


def rows_of(files: Files) -> list[tuple[str, str, str]]:
    return [(node, file, term) for (node, file), terms in sorted(files.items()) for term in sorted(terms)]


def searches_of(dice: random.Random, names: list[str]) -> list[tuple[str, str, str, str]]:
    return [(dice.choice(names), f"q{at}", dice.choice(TERMS), dice.choice(TERMS)) for at in range(4)]


def edited(dice: random.Random, links: Links, files: Files) -> tuple[Links, Files]:
    """Some links, both ways, and some files are gone."""
    gone = {frozenset(pair) for pair in dice.sample(sorted(links), min(2, len(links)))}
    kept = dict(dice.sample(sorted(files.items(), key=str), len(files) // 2))
    return {pair for pair in links if frozenset(pair) not in gone}, kept


@pytest.mark.parametrize("seed", range(12))
def test_oracle_flooding(seed: int) -> None:
    dice = random.Random(seed)
    names, links = network(dice)
    files, searches = files_of(dice, names), searches_of(dice, names)
    db = hw.Database(protocol("flooding_search"))
    db.apply(insert={"link": sorted(links), "file": rows_of(files), "search": searches})
    before = links, files
    for links, files in (before, edited(dice, *before), before):
        present = db.rows("link"), db.rows("file")
        wanted = links, set(rows_of(files))
        db.apply(
            insert={"link": sorted(wanted[0] - present[0]), "file": sorted(wanted[1] - present[1])},
            delete={"link": sorted(present[0] - wanted[0]), "file": sorted(present[1] - wanted[1])},
        )
        assert db.rows("result") == {
            (origin, question, file, node)
            for origin, question, one, other in searches
            for (node, file), terms in files.items()
            if {one, other} <= terms and hops(links, origin).get(node, 9) <= 4
        }


@pytest.mark.parametrize("seed", range(8))
def test_oracle_index(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"n{at}" for at in range(dice.randint(1, 6))]
    links = {(one, other) for one in names for other in names if one != other}
    files, searches = files_of(dice, names), searches_of(dice, names)
    keyed = [(*row, ring_position(row[2])) for row in rows_of(files)]
    asked = [(o, q, one, ring_position(one), other, ring_position(other)) for o, q, one, other in searches]
    nodes = list(zip(names, positions(names), strict=True))
    db = hw.Database(protocol("inverted_index_search"))
    db.apply(insert={"link": sorted(links), "node": nodes, "file": keyed, "search": asked})
    leaving = dice.choice(names)
    for up in (set(names), set(names) - {leaving}, set(names)):
        for relation, rows in (("link", sorted(links)), ("node", nodes), ("file", keyed), ("search", asked)):
            ends = 2 if relation == "link" else 1
            wanted = {row for row in rows if set(row[:ends]) <= up}
            present = db.rows(relation)
            db.apply(insert={relation: sorted(wanted - present)}, delete={relation: sorted(present - wanted)})
        assert db.rows("result") == {
            (origin, question, file, node)
            for origin, question, one, other in searches
            for (node, file), terms in files.items()
            if {one, other} <= terms and {origin, node} <= up
        }


@pytest.mark.parametrize("seed", range(10))
def test_oracle_hybrid(seed: int) -> None:
    """What is within three hops, and what is rare of those questions that waited and have fewer answers than wanted."""
    dice = random.Random(seed)
    names = [f"n{at}" for at in range(dice.randint(1, 8))]
    links = {(one, other) for one in names for other in names if one != other}
    flooded = {*itertools.pairwise(names)} if seed % 2 else {pair for pair in links if dice.random() < 0.15}
    neighbours = flooded | {(other, one) for one, other in flooded}
    files = files_of(dice, names) | {(node, "everywhere"): frozenset("uv") for node in names}
    searches, wanted = [*searches_of(dice, names), (names[0], "q4", "u", "v")], {f"q{at}": at + 1 for at in range(5)}
    waited = {(origin, question) for origin, question, _, _ in searches if dice.random() < 0.8}
    shared = {(node, f, ring_position(f), term, ring_position(term)) for node, f, term in rows_of(files)}
    asked = {(o, q, a, ring_position(a), b, ring_position(b), wanted[q]) for o, q, a, b in searches}
    rows: dict[str, set[tuple[object, ...]]] = {
        "link": {*links}, "neighbour": {*neighbours}, "node": {*zip(names, positions(names), strict=True)},
        "shared": {*shared}, "question": {*asked}, "waited": {*waited},
    }  # fmt: skip
    db = hw.Database(protocol("hybrid_search"))
    db.apply(insert={relation: [] for relation in rows})
    leaving = dice.choice(names)
    for up in (set(names), set(names) - {leaving}, set(names)):
        for relation, every in rows.items():
            ends = 2 if relation in ("link", "neighbour") else 1
            now = {row for row in every if set(row[:ends]) <= up}
            present = db.rows(relation)
            db.apply(insert={relation: sorted(now - present)}, delete={relation: sorted(present - now)})
        near = {pair for pair in neighbours if set(pair) <= up}
        copies = [file for node, file in files if node in up]
        expected = set()
        for origin, question, one, other in searches:
            if origin not in up:
                continue
            held = {(file, node) for (node, file), terms in files.items() if {one, other} <= terms and node in up}
            found = {each for each in held if hops(near, origin).get(each[1], 9) <= 3}
            if (origin, question) in waited and len(found) < wanted[question]:
                found |= {each for each in held if copies.count(each[0]) < 5}
            expected |= {(origin, question, file, node) for file, node in found}
        assert db.rows("result") == expected, (seed, up)


@pytest.mark.parametrize("seed", range(12))
def test_oracle_horizon_and_crawl(seed: int) -> None:
    dice = random.Random(seed)
    names, links = network(dice)
    shares = {(node, f"f{at}") for at in range(4) for node in names if dice.random() < 0.4}
    watchers = set(dice.sample(names, min(2, len(names))))
    horizon, crawl = hw.Database(protocol("horizon")), hw.Database(protocol("crawl"))
    horizon.apply(insert={"link": [], "shares": sorted(shares), "watcher": [(node,) for node in sorted(watchers)]})
    crawl.apply(insert={"link": [], "seed": [(node,) for node in sorted(watchers)]})
    fewer, _ = edited(dice, links, {})
    for wanted in (links, fewer, links):
        for db in (horizon, crawl):
            present = db.rows("link")
            db.apply(insert={"link": sorted(wanted - present)}, delete={"link": sorted(present - wanted)})
        far = {node: hops(wanted, node) for node in watchers}
        near = {node: {other for other, hop in far[node].items() if hop <= 3} for node in watchers}
        inside = {node: {row for row in shares if row[0] in near[node]} for node in watchers}
        assert horizon.rows("horizonNodes") == {(node, len(near[node])) for node in watchers}
        assert horizon.rows("horizonFiles") == {(node, len(inside[node])) for node in watchers if inside[node]}
        assert horizon.rows("freeLoader") == {
            (node, other) for node in watchers for other in near[node] if other not in {at for at, _ in inside[node]}
        }
        popular = set()
        for node in watchers:
            copies = {file: sum(each == file for _, each in inside[node]) for _, file in inside[node]}
            popular |= {(node, file, count) for file, count in copies.items() if count == max(copies.values())}
        assert horizon.rows("popular") == popular
        degree = {name: sum(one == name for one, _ in wanted) for name in names}
        crawled = {(node, other, hop, degree[other]) for node in watchers for other, hop in far[node].items()}
        assert {row for row in crawl.rows("crawled") if row[3]} == {row for row in crawled if row[3]}
