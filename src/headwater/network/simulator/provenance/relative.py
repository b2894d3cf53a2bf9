"""Relative provenance: a graph of derivations, each an edge from rows to the row that a rule derives from them.

This is the baseline of 000, section 4 (after update exchange with mappings): a row is annotated with the edges by
which it follows from facts; a walk through the graph finds whether it still does when facts have died. It names every
intermediate row of every derivation, where absorption provenance names only facts; so it is larger, and two derivations
from the same facts are two.

Where a row is derived in a circle, its graph also has edges into the row itself that came from other nodes. They do not
count there: an annotation says that the row follows by its own last steps (`tops`), and holds only while one of them
does without the row itself. So what a node sends to another dies with the link that it was derived over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass

from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import WireReader, put_number, put_rows, put_steps


@dataclass(frozen=True, slots=True)
class DerivationGraph:
    """The edges below one row, and those into the row itself by which it follows; edges are the algebra's numbers."""

    root: int
    edges: frozenset[int]
    tops: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Edge:
    head: int
    rule: int
    body: tuple[int, ...]


class Relative:
    """The algebra of derivation graphs. Rows of all tables and facts share one numbering; facts are negative."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, Row], int] = {}
        self._names: list[tuple[str, Row]] = []
        self._edges: dict[_Edge, int] = {}
        self._list: list[_Edge] = []
        self._from_fact: dict[int, list[int]] = {}  # the edges that lead from a fact

    def fact(self, number: int) -> DerivationGraph:
        return DerivationGraph(-1 - number, frozenset(), frozenset())

    def always(self, table: str, row: Row) -> DerivationGraph:
        root = self._row(table, row)
        top = frozenset((self._edge(_Edge(root, 0, ())),))
        return DerivationGraph(root, top, top)

    def joined(self, rule: int, table: str, row: Row, parts: Sequence[DerivationGraph]) -> DerivationGraph:
        root = self._row(table, row)
        top = frozenset((self._edge(_Edge(root, 1 + rule, tuple(part.root for part in parts))),))
        return DerivationGraph(root, top.union(*(part.edges for part in parts)), top)

    def either(self, old: DerivationGraph, new: DerivationGraph) -> DerivationGraph:
        if old is new or (new.edges <= old.edges and new.tops <= old.tops):
            return old
        return DerivationGraph(old.root, old.edges | new.edges, old.tops | new.tops)

    def without(self, annotation: DerivationGraph, dead: Set[int]) -> DerivationGraph | None:
        if annotation.root < 0:
            return None if -1 - annotation.root in dead else annotation
        edges = {at: self._list[at] for at in annotation.edges}
        left = {at: edge for at, edge in edges.items() if not any(part < 0 and -1 - part in dead for part in edge.body)}
        if len(left) == len(edges):
            return annotation
        left = {at: edge for at, edge in left.items() if edge.head != annotation.root or at in annotation.tops}
        holds = _derivable(left.values())
        if annotation.root not in holds:
            return None
        kept = {at: edge for at, edge in left.items() if all(part < 0 or part in holds for part in edge.body)}
        below = _below(annotation.root, kept)
        return DerivationGraph(annotation.root, below, annotation.tops & below)

    def touched(self, annotations: Iterable[tuple[Row, DerivationGraph]], dead: Set[int]) -> list[Row]:
        roots = {-1 - fact for fact in dead}
        edges = {at for root in roots for at in self._from_fact.get(root, ())}
        return [row for row, graph in annotations if graph.root in roots or not edges.isdisjoint(graph.edges)]

    def facts(self, annotation: DerivationGraph) -> Sequence[int] | None:
        return None

    def size(self, annotation: DerivationGraph) -> int:
        return len(annotation.edges)

    def encode(self, annotations: Sequence[DerivationGraph]) -> bytes:
        edges = dict.fromkeys(at for graph in annotations for at in sorted(graph.edges))
        place = {at: number for number, at in enumerate(edges)}
        rows: dict[int, None] = {graph.root: None for graph in annotations if graph.root >= 0}
        for at in edges:
            edge = self._list[at]
            rows.update((part, None) for part in (edge.head, *edge.body) if part >= 0)
        row_at = {row: number for number, row in enumerate(rows)}
        tables = list(dict.fromkeys(self._names[row][0] for row in rows))
        out = bytearray()
        put_rows(out, [(name,) for name in tables])
        by_table: dict[str, list[int]] = {name: [] for name in tables}
        for row in rows:
            by_table[self._names[row][0]].append(row)
        for name in tables:
            put_number(out, len(by_table[name]))
            for row in by_table[name]:
                put_number(out, row_at[row])
            put_rows(out, [self._names[row][1] for row in by_table[name]])

        def put_part(part: int) -> None:
            put_number(out, row_at[part] << 1 if part >= 0 else (-1 - part) << 1 | 1)

        put_number(out, len(edges))
        for at in edges:
            edge = self._list[at]
            put_part(edge.head)
            put_number(out, edge.rule)
            put_number(out, len(edge.body))
            for part in edge.body:
                put_part(part)
        put_number(out, len(annotations))
        for graph in annotations:
            put_part(graph.root)
            for numbers in (graph.edges, graph.tops):
                put_number(out, len(numbers))
                put_steps(out, sorted(place[at] for at in numbers))
        return bytes(out)

    def decode(self, content: bytes) -> list[DerivationGraph]:
        source = WireReader(content)
        numbers: dict[int, int] = {}
        for (name,) in source.rows():
            places = [source.number() for _ in range(source.number())]
            numbers.update((at, self._row(name, row)) for at, row in zip(places, source.rows(), strict=True))

        def part() -> int:
            coded = source.number()
            return -1 - (coded >> 1) if coded & 1 else numbers[coded >> 1]

        edges = []
        for _ in range(source.number()):
            head, rule = part(), source.number()
            edges.append(self._edge(_Edge(head, rule, tuple(part() for _ in range(source.number())))))
        found = []
        for _ in range(source.number()):
            root = part()
            below, tops = (frozenset(edges[at] for at in source.steps(source.number())) for _ in range(2))
            found.append(DerivationGraph(root, below, tops))
        return found

    def _row(self, table: str, row: Row) -> int:
        number = self._rows.setdefault((table, row), len(self._names))
        if number == len(self._names):
            self._names.append((table, row))
        return number

    def _edge(self, edge: _Edge) -> int:
        number = self._edges.setdefault(edge, len(self._list))
        if number == len(self._list):
            self._list.append(edge)
            for part in set(edge.body):
                if part < 0:
                    self._from_fact.setdefault(part, []).append(number)
        return number


def _derivable(edges: Collection[_Edge]) -> set[int]:
    """The rows that follow from the facts by these edges; rows that only support each other in a circle do not."""
    waiting: dict[int, list[tuple[_Edge, list[int]]]] = {}
    ready: list[int] = []
    holds: set[int] = set()
    for edge in edges:
        needs = [len({part for part in edge.body if part >= 0})]
        if not needs[0]:
            ready.append(edge.head)
        for part in {part for part in edge.body if part >= 0}:
            waiting.setdefault(part, []).append((edge, needs))
    while ready:
        row = ready.pop()
        if row not in holds:
            holds.add(row)
            for edge, needs in waiting.get(row, ()):
                needs[0] -= 1
                if not needs[0]:
                    ready.append(edge.head)
    return holds


def _below(root: int, edges: dict[int, _Edge]) -> frozenset[int]:
    """The edges by which the root follows, step by step."""
    into: dict[int, list[int]] = {}
    for at, edge in edges.items():
        into.setdefault(edge.head, []).append(at)
    found: set[int] = set()
    seen, pending = {root}, [root]
    while pending:
        for at in into.get(pending.pop(), ()):
            found.add(at)
            fresh = [part for part in edges[at].body if part >= 0 and part not in seen]
            seen.update(fresh)
            pending += fresh
    return frozenset(found)
