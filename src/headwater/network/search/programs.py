"""The three ways to search as programs on nodes: what they find, and the bytes that their messages take.

`run_programs` runs `flooding_search` (four hops), `inverted_index_search` and `hybrid_search` of the protocol pack over
the same neighbours, files and questions. The ring of the index needs a link between any two nodes, so that these
programs run on a mesh; floods follow `topology` alone. Bytes are counted in three stages, each until nothing is under
way: nodes find each other, files are published, questions are asked. A question of the hybrid waits until its flood
is over. Two terms of a question are searched for; a question with one term has it twice.

The programs keep a row for any two nodes, so this is for a few hundred nodes; `compare` counts larger networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.core.functions.builtins import ring_position
from headwater.network.links import Link, Topology
from headwater.network.nodes.simulation import Simulation
from headwater.network.protocols import protocol
from headwater.network.scenario import positions
from headwater.network.search.library import Library, Question

Rows = Mapping[str, list[tuple[Any, ...]]]
FLOOD, INDEX, HYBRID = "flooding_search", "inverted_index_search", "hybrid_search"


@dataclass(frozen=True, slots=True)
class ProgramCost:
    """What one program found, and what its messages took."""

    program: str
    recall: float  # share of the copies that exist
    distinct_recall: float  # share of the files that exist
    joining_bytes: int  # until every node has its fingers
    published_bytes: int
    question_bytes: float  # of a question, on average


def run_programs(
    topology: Topology, of: Library, asked: Sequence[Question], *, wanted: int = 20, seed: int = 0
) -> list[ProgramCost]:
    """Each program over the same questions."""
    for question in asked:
        if not 1 <= len(question.terms) <= 2:
            raise ValueError(f"the programs search for one or two terms, not for {', '.join(sorted(question.terms))}")
    return [_run(name, topology, of, asked, wanted, seed) for name in (FLOOD, INDEX, HYBRID)]


def _run(name: str, topology: Topology, of: Library, asked: Sequence[Question], wanted: int, seed: int) -> ProgramCost:
    network = topology if name == FLOOD else _mesh(topology)
    simulation = Simulation(protocol(name), network, seed=seed)
    joining: dict[str, list[tuple[Any, ...]]] = {"link": network.rows()}
    if name != FLOOD:
        joining["node"] = list(zip(topology.nodes, positions(topology.nodes), strict=True))
    if name == HYBRID:
        joining["neighbour"] = topology.rows()
    sent = []
    for rows in (joining, _files(name, of), *_questions(name, asked, wanted)):
        simulation.at(simulation.now, insert=rows)
        simulation.run()
        sent.append(simulation.report.bytes)
    found = simulation.rows("result")
    exist = {
        (question.origin, str(number), f"f{file}", node)
        for number, question in enumerate(asked)
        for file in of.matching(question.terms)
        for node in of.holders[file]
    }
    return ProgramCost(
        name,
        len(found & exist) / max(1, len(exist)),
        len({row[:3] for row in found & exist}) / max(1, len({row[:3] for row in exist})),
        sent[0],
        sent[1] - sent[0],
        (sent[-1] - sent[1]) / max(1, len(asked)),
    )


def _mesh(topology: Topology) -> Topology:
    """The same nodes and links, with a link of the usual kind between any two others."""
    linked = {frozenset((src, dst)) for src, dst, _ in topology.channels}
    nodes = topology.nodes
    others = (
        Link(one, other)
        for at, one in enumerate(nodes)
        for other in nodes[at + 1 :]
        if frozenset((one, other)) not in linked
    )
    return Topology([*topology.links, *others], nodes)


def _files(name: str, of: Library) -> Rows:
    """Every term of every copy."""
    names = [(node, number) for number, held in enumerate(of.holders) for node in held]
    copies = [(node, f"f{number}", term) for node, number in names for term in sorted(of.terms[number])]
    match name:
        case "flooding_search":
            return {"file": copies}
        case "inverted_index_search":
            return {"file": [(*row, ring_position(row[2])) for row in copies]}
        case _:
            return {"shared": [(at, file, ring_position(file), term, ring_position(term)) for at, file, term in copies]}


def _questions(name: str, asked: Sequence[Question], wanted: int) -> Iterable[Rows]:
    """What is inserted, stage by stage; the hybrid's nodes have waited when the floods are over."""
    rows, keyed = [], []
    for number, question in enumerate(asked):
        one, other = min(question.terms), max(question.terms)
        rows.append((question.origin, str(number), one, other))
        keyed.append((question.origin, str(number), one, ring_position(one), other, ring_position(other)))
    match name:
        case "flooding_search":
            yield {"search": rows}
        case "inverted_index_search":
            yield {"search": keyed}
        case _:
            yield {"question": [(*row, wanted) for row in keyed]}
            yield {"waited": [row[:2] for row in rows]}
