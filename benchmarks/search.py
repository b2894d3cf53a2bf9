"""Peer-to-peer search on a snapshot of Gnutella (003, section 3.2): `python benchmarks/search.py --data FILE`.

Counted over the whole snapshot (`compare`), and run as programs on the simulated nodes of a part of it
(`run_programs`): the hosts around the one with the most links. Files and questions follow Zipf's law. The snapshot, a
list of links, is not part of this repository; SNAP has several (p2p-Gnutella04 to 31).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from headwater.network.links import Link, Topology
from headwater.network.search import compare, questions, run_programs, zipf_library
from headwater.network.topologies import read_topology


def around(whole: Topology, size: int) -> Topology:
    """So many hosts, breadth first from the one with the most links, three new ones from each, and the links between
    them: all neighbours of a few hubs would lie within a hop or two of each other."""
    onward: dict[Any, list[Any]] = {node: [] for node in whole.nodes}
    for src, dst, _ in whole.channels:
        onward[src].append(dst)
    start = max(whole.nodes, key=lambda node: (len(onward[node]), str(node)))
    chosen, waiting = {start: None}, [start]
    for node in waiting:
        fresh = [other for other in sorted(onward[node], key=str) if other not in chosen][:3]
        for other in fresh[: size - len(chosen)]:
            chosen[other] = None
            waiting.append(other)
    inside = [Link(link.src, link.dst) for link in whole.links if link.src in chosen and link.dst in chosen]
    return Topology(inside, list(chosen))


def counted(whole: Topology, asked: int) -> list[str]:
    files = zipf_library(whole.nodes, files=20_000, copies=100_000, vocabulary=5_000)
    lines = [
        f"Counted over {len(whole.nodes):,} hosts and {len(whole.links):,} links, 20,000 files with 100,000 copies,",
        f"{asked} questions for two terms; 20 answers are wanted, and the hybrid floods within 3 hops.",
        "",
        "| | copies found | files found | satisfied | bytes a question | bytes published |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for cost in compare(whole, files, questions(files, whole.nodes, asked), horizon=5, near=3):
        found = f"{cost.recall:.0%} | {cost.distinct_recall:.0%} | {cost.satisfied:.0%}"
        lines.append(f"| {cost.method} | {found} | {cost.question_bytes:,.0f} | {cost.published_bytes:,} |")
    return lines


def ran(part: Topology, asked: int) -> list[str]:
    hosts = len(part.nodes)
    files = zipf_library(part.nodes, files=2 * hosts, copies=8 * hosts, vocabulary=2 * hosts)
    started = time.process_time()
    costs = run_programs(part, files, questions(files, part.nodes, asked), wanted=5)
    seconds = time.process_time() - started
    lines = [
        f"Run as programs on {hosts:,} of these hosts and the {len(part.links):,} links between them,",
        f"{2 * hosts:,} files with {8 * hosts:,} copies, {asked} questions, of which 5 answers are wanted",
        f"({seconds:.0f} CPU seconds in all).",
        "",
        "| program | copies found | files found | bytes a question | bytes published | bytes to join the ring |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for cost in costs:
        found = f"{cost.recall:.0%} | {cost.distinct_recall:.0%}"
        sent = f"{cost.question_bytes:,.0f} | {cost.published_bytes:,} | {cost.joining_bytes:,}"
        lines.append(f"| {cost.program} | {found} | {sent} |")
    return lines


NOTES = (
    "As in the paper, a flood misses what lies beyond its horizon, and the index finds all but must be told of all.",
    "The hybrid finds more files than a flood that is one hop wider, for fewer bytes a question. It misses copies of",
    "popular files, of which it has as many as wanted, and files that are neither near nor rare.",
    "",
    "What the programs add to the count: nodes must join the ring, some bytes for any two of them, and the hybrid must",
    "learn which files are rare. The owner of a name is told of every copy, and counts. In a network this small most",
    "files are rare, and that costs what it saves: the hybrid publishes no less than the index.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the snapshot: a csv or list of links")
    parser.add_argument("--nodes", type=int, default=200, help="hosts that run the programs (default: 200)")
    parser.add_argument("--questions", type=int, default=100, help="how many are asked (default: 100)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="the folder for search.md")
    options = parser.parse_args()
    whole = read_topology(options.data)
    text = ["# Peer-to-peer search on a snapshot of Gnutella", ""]
    text += [f"Made by `python benchmarks/search.py --data {options.data.name}`. Bytes are exact.", ""]
    text += [*counted(whole, options.questions), "", *ran(around(whole, options.nodes), options.questions), "", *NOTES]
    (options.output / "search.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
