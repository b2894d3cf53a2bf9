"""Random networks, random events while messages are under way, and what must be there at every quiet moment."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import headwater as hw
from headwater.core.types import Type
from headwater.language.terms import body_atoms
from headwater.network import Link, Simulation, Topology
from headwater.pipeline import CompiledProgram

Rows = dict[str, list[tuple[Any, ...]]]
State = dict[str, set[tuple[Any, ...]]]
Answers = Callable[[State], Mapping[str, set[tuple[Any, ...]]]]


def random_topology(dice: random.Random, most: int = 6, *, reliable: bool = False) -> Topology:
    """A connected network of a few nodes; messages may be lost and late, and some links are slow."""
    names = [f"n{number}" for number in range(dice.randint(2, most))]
    pairs = {(dice.randrange(at), at) for at in range(1, len(names))}
    for _ in range(dice.randrange(len(names) + 1)):
        one, other = sorted(dice.sample(range(len(names)), 2))
        pairs.add((one, other))
    links = [
        Link(
            names[one],
            names[other],
            latency=dice.choice([0.001, 0.002, 0.01, 0.05]),
            bandwidth=dice.choice([1e5, 1e7]),
            loss=0.0 if reliable else dice.choice([0.0, 0.0, 0.2]),
            reorder=0.0 if reliable else dice.choice([0.0, 0.3]),
        )
        for one, other in sorted(pairs)
    ]
    return Topology(links, names)


class Script:
    """Random events for a program on a network, in bursts; after each burst the network comes to rest."""

    def __init__(self, program: CompiledProgram, topology: Topology, dice: random.Random) -> None:
        self.dice = dice
        self.topology = topology
        self.bases = [relation for relation in program.checked.relations if not relation.derived]
        self.links = {atom.relation for rule in program.checked.rules for atom, _ in body_atoms(rule) if atom.link}
        self.channels = [(src, dst) for src, dst, _ in topology.channels]
        self.state: State = {base.name: set() for base in self.bases}
        self.now = 0.0

    def _value(self, column: Any) -> Any:
        if column.name == "latency_ms":
            return self.dice.randint(20, 60)
        match column.type:
            case Type.ADDRESS:
                return self.dice.choice(self.topology.nodes)
            case Type.INT:
                return self.dice.randint(1, 4)
            case Type.FLOAT:
                return float(self.dice.randint(1, 4))
            case Type.STRING:
                return self.dice.choice("xyz")
        raise AssertionError(column)

    def _rows(self, base: Any, count: int, *, everywhere: bool) -> list[tuple[Any, ...]]:
        rows = [tuple(self._value(column) for column in base.columns) for _ in range(count)]
        if base.name in self.links:
            ends = [self.dice.choice(self.channels) for _ in rows] + (self.channels if everywhere else [])
            rows = [(*end, *(self._value(column) for column in base.columns[2:])) for end in ends]
        if base.key is not None:
            rows = list({tuple(row[at] for at in base.key): row for row in rows}.values())
        return rows

    def burst(self, sim: Simulation, *, first: bool) -> None:
        """A few events, close together."""
        for _ in range(self.dice.randint(1, 4)):
            insert: Rows = {}
            delete: Rows = {}
            for base in self.bases:
                count = self.dice.randint(0, 5 if first else 2)
                everywhere = first and self.dice.random() < 0.7
                rows = self._rows(base, count, everywhere=everywhere)
                gone = [row for row in sorted(self.state[base.name]) if self.dice.random() < (0.1 if first else 0.25)]
                held = self.state[base.name] - set(gone)
                if base.key is not None:
                    taken = {tuple(row[at] for at in base.key) for row in rows}
                    held = {row for row in held if tuple(row[at] for at in base.key) not in taken}
                self.state[base.name] = held | set(rows)
                insert |= {base.name: rows} if rows else {}
                delete |= {base.name: gone} if gone else {}
            sim.at(self.now, insert=insert, delete=delete)
            self.now += self.dice.choice([0.0, 0.003, 0.01, 0.06])


def simulated(program: CompiledProgram, topology: Topology, dice: random.Random, **options: Any) -> Simulation:
    evaluation = dice.choice(["psn", "psn", "bsn", "sn"])
    tick = dice.choice([0.001, 0.005])
    seed = dice.randrange(1000)
    return Simulation(program, topology, evaluation=evaluation, iteration=0.02, tick=tick, seed=seed, **options)


def from_database(program: CompiledProgram) -> Answers:
    """What one database says."""

    def answers(state: State) -> dict[str, set[tuple[Any, ...]]]:
        database = hw.Database(program)
        database.apply(insert={name: sorted(rows) for name, rows in state.items()})
        return {view: database.rows(view) for view in program.outputs}

    return answers


def check_script(program: CompiledProgram, seed: int, answers: Answers, bursts: int = 3, **options: Any) -> None:
    """At every quiet moment every node has its rows of the views, and no others."""
    dice = random.Random(seed)
    topology = random_topology(dice)
    sim = simulated(program, topology, dice, messages=50_000, **options)
    script = Script(program, topology, dice)
    for number in range(bursts):
        script.burst(sim, first=number == 0)
        sim.run()
        assert sim.is_quiet
        for view, rows in answers(script.state).items():
            assert sim.rows(view) == rows, (view, seed, number)
            for node in topology.nodes:
                assert sim.node(node).rows(view) == {row for row in rows if row[0] == node}
        script.now = sim.now + 0.1
