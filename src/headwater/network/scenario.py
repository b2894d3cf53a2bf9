"""A topology as the base rows of a program, and a program with its topology and events as a simulation.

A link relation (one that the program reads with `#`) gets a row for each direction of each link. Its first two columns
are the ends; the others are filled by their names: `cost` with the chosen metric, `latency_ms`, `mbps`, `loss`, or a
metric of the links. In an undeclared relation a third column is the cost. A column of ints gets the next whole number,
at least 1. `node(at, id)` gets every node with its position on a ring of 65,536, `beat(at, count)` a 0 for each node.

Everything is checked before anything runs: `prepared` raises, or gives a scenario whose rows all fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem, DataError
from headwater.core.functions.builtins import ring_position
from headwater.core.types import Type
from headwater.language.terms import body_atoms
from headwater.network.events.model import NetworkEvent, RowsChange
from headwater.network.events.staging import Moment, staged
from headwater.network.links import Topology
from headwater.network.rapidnet.model import EventProgram
from headwater.pipeline import CompiledProgram
from headwater.program.inputs import require_inputs
from headwater.program.model import Column, Relation
from headwater.program.nearest import nearest

RING = 65536
UNFILLED = "HW915"
METRICS = ("hops", "latency", "reliability", "random", "cost")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A program on a network, and what happens there, moment by moment."""

    program: CompiledProgram
    topology: Topology
    moments: tuple[Moment, ...]
    acting: EventProgram | None = None  # the program with its events, if it has any


def prepared(
    given_program: CompiledProgram | EventProgram,
    topology: Topology,
    *,
    metric: str = "hops",
    given: Mapping[str, Iterable[Row]] | None = None,
    events: Iterable[NetworkEvent] = (),
) -> Scenario:
    """A scenario in which every row and event fits; raises ProgramError, DataError, or ValueError for the metric."""
    script = list(events)
    acting = given_program if isinstance(given_program, EventProgram) else None
    program = given_program.program if isinstance(given_program, EventProgram) else given_program
    links = link_relations(program) if acting is None else acting.links
    base: dict[str, list[Row]] = {name: link_rows(program.checked.relation(name), topology, metric) for name in links}
    for relation in program.checked.relations:
        if not relation.derived and relation.name not in base:
            made = _node_rows(relation, topology)
            if made is not None:
                base[relation.name] = made
    for name, rows in (given or {}).items():
        base[name] = [tuple(row) for row in rows]
    _check_given(program, topology, base, script)
    passing = frozenset[str]() if acting is None else frozenset(acting.events)
    return Scenario(program, topology, tuple(staged(program, topology, links, base, script, passing)), acting)


def link_relations(program: CompiledProgram) -> tuple[str, ...]:
    """The relations that the program reads as links, in order."""
    atoms = (atom for rule in program.checked.rules for atom, _ in body_atoms(rule))
    found = tuple(dict.fromkeys(atom.relation for atom in atoms if atom.link))
    if not found:
        spot = next((rule.head.span or rule.span for rule in program.checked.rules if rule.body), None)
        message = "the program reads no links, so its nodes cannot talk to each other"
        hint = "mark the links of the network with `#`: reach(@S, @D) :- #link(@S, @Z), reach(@Z, @D)."
        raise CheckProblem((Diagnostic("HW913", message, spot, hint=hint),))
    return found


def link_rows(relation: Relation, topology: Topology, metric: str) -> list[Row]:
    """The rows of a link relation, each direction of each link one."""
    columns = relation.visible
    fillers = [_filler(relation, at, column, metric) for at, column in enumerate(columns[2:], 2)]
    kinds = [column.type for column in columns[2:]]
    return [
        (
            src,
            dst,
            *(_typed(link.metric(name) * scale, kind) for (name, scale), kind in zip(fillers, kinds, strict=True)),
        )
        for src, dst, link in topology.channels
    ]


def _filler(relation: Relation, at: int, column: Column, metric: str) -> tuple[str, float]:
    """The metric that fills a column, and what it is multiplied by."""
    known = {"cost": (metric, 1.0), "latency_ms": ("latency", 1.0), "mbps": ("bandwidth", 1e-6), "loss": ("loss", 1.0)}
    known |= {name: (name, 1.0) for name in ("hops", "latency", "bandwidth", "reliability", "random")}
    if column.name in known:
        return known[column.name]
    if not relation.declared and at == 2 and len(relation.columns) == 3:
        return known["cost"]
    close = nearest(column.name, list(known))
    hint = f"did you mean `{close}`?" if close else f"a link has {', '.join(known)}; or give rows for the relation"
    message = f"column `{column.name}` of link relation `{relation.name}` cannot be filled from a topology"
    raise CheckProblem((Diagnostic(UNFILLED, message, relation.span, hint=hint),))


def _typed(value: float, kind: Type | None) -> int | float:
    return float(value) if kind is Type.FLOAT else max(1, math.ceil(value - 1e-9))


def _node_rows(relation: Relation, topology: Topology) -> list[Row] | None:
    columns = [column.name for column in relation.visible]
    if relation.name == "node" and columns[1:] == ["id"]:
        return [(node, at) for node, at in zip(topology.nodes, positions(topology.nodes), strict=True)]
    if relation.name == "beat" and columns[1:] == ["count"]:
        return [(node, 0) for node in topology.nodes]
    return None


def positions(nodes: Iterable[Any]) -> list[int]:
    """A position for each node; where two would share one, the second takes the next that is free."""
    taken: set[int] = set()
    found = []
    for node in nodes:
        at = ring_position(node)
        while at in taken and len(taken) < RING:
            at = (at + 1) % RING
        taken.add(at)
        found.append(at)
    return found


def _check_given(
    program: CompiledProgram, topology: Topology, base: Mapping[str, list[Row]], script: list[NetworkEvent]
) -> None:
    told = {name for event in script if isinstance(event, RowsChange) for name, _ in event.inserts}
    known = {relation.name for relation in program.checked.relations}
    way = "give rows with --input {name}=FILE, or insert some by an event"
    require_inputs(program.checked, [*base, *sorted(told & known)], way=way)
    nodes = set(topology.nodes)
    for name, rows in base.items():
        for at, row in enumerate(rows, 1):
            if row and row[0] not in nodes:
                close = nearest(str(row[0]), [str(node) for node in nodes])
                hint = f"did you mean {close!r}?" if close else "add the node to the topology, or correct the row"
                raise DataError(
                    f"error[HW814]: row {at} of `{name}` lives at {row[0]!r}, which is not a node of the topology\n"
                    f"  hint: {hint}"
                )
