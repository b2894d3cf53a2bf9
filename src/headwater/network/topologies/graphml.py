"""GraphML, as the Internet Topology Zoo has it. The only file that imports networkx (the extra `network`).

A node is called by its label; where labels repeat, by label and id. The latency of a link follows from the places of
its ends (great circle, light in fibre: 200 km a millisecond) where both are known, the bandwidth from `LinkSpeedRaw`
(bits a second), else from `LinkLabel` or `LinkNote` where one states it (`10 Gbps`). Parallel links are one: the one
with the least latency, and of these the fastest. A directed graph gives links that go one way. A node without a place,
also one that stands for a cable with several ends (`hyperedge`), has links of the usual latency.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from headwater.core.errors import FileError
from headwater.core.source import Source, Span
from headwater.network.links import Link, Topology
from headwater.network.placed import Findings, read_source
from headwater.network.topologies.link_files import BAD_LINK, LATENCY_MS, MBPS, UNREACHED, all_named

KM_PER_MS = 200.0
EARTH_KM = 6371.0
LEAST_MS = 0.05  # two nodes of one city
_SPEED = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT])(?:bps|bits?/s|b/s)", re.IGNORECASE)
_UNITS = {"K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}  # in megabits per second


def read_graphml(path: Path) -> Topology:
    """Raises FileError if the file is no GraphML, DataError if it is no network."""
    source = read_source(path)
    if re.search(r"<!(DOCTYPE|ENTITY)", source.text, re.IGNORECASE):
        raise FileError(f"{path} declares XML entities, which GraphML does not need; remove the DOCTYPE")
    findings = Findings()
    for edge in re.finditer(r"<(?:\w+:)?edge\b[^>]*>", source.text):
        if not all(re.search(rf"\b{end}\s*=", edge[0]) for end in ("source", "target")):
            place = _span(source, edge.start(), edge.end())
            findings.add(BAD_LINK, "the edge has not two ends", place, hint='write <edge source="..." target="...">')
    findings.settle()
    graph = _parsed(source)
    names = _names(graph)
    kept: dict[tuple[str, str], Link] = {}
    for one, other, values in graph.edges(data=True):
        link = _link(graph, names, one, other, values, source, findings)
        if link is not None:
            pair = (link.src, link.dst) if graph.is_directed() or link.src < link.dst else (link.dst, link.src)
            if pair not in kept or _rank(link) < _rank(kept[pair]):
                kept[pair] = link
    reached = {end for link in kept.values() for end in ((link.dst,) if graph.is_directed() else (link.src, link.dst))}
    for node, name in names.items():
        if name not in reached and not findings.found:
            message = f"no link reaches node {name!r}"
            hint = "add an edge to it, or remove the node"
            findings.add(UNREACHED, message, _place(source, "node", "id", str(node)), hint=hint)
    findings.settle()
    known = {names[node]: _place_of(values) for node, values in graph.nodes(data=True)}
    return Topology(kept.values(), names.values(), {name: place for name, place in known.items() if place is not None})


def _parsed(source: Source) -> Any:
    try:
        import networkx as nx
    except ImportError:
        raise FileError(
            f"{source.name}: GraphML needs networkx, which is not installed; run pip install 'headwater[network]'"
        ) from None
    try:
        return nx.parse_graphml(source.text)
    except (ParseError, nx.NetworkXError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise FileError(f"{source.name} is not GraphML: {problem}") from None


def _names(graph: Any) -> dict[Any, str]:
    labels = {node: str(values.get("label") or node) for node, values in graph.nodes(data=True)}
    if all_named(labels.values()):
        return labels
    count: dict[str, int] = {}
    for label in labels.values():
        count[label] = count.get(label, 0) + 1
    names = {node: label if count[label] == 1 else f"{label} ({node})" for node, label in labels.items()}
    return names if all_named(names.values()) else {node: str(node) for node in labels}


def _link(
    graph: Any, names: dict[Any, str], one: Any, other: Any, values: dict[str, Any], source: Source, findings: Findings
) -> Link | None:
    if one == other:
        return None  # some maps draw a node's own cables as a loop
    known = {name: _number(values.get(name)) for name in ("LinkSpeedRaw", "latency_ms", "mbps", "loss", "cost")}
    for name, least, most in (("latency_ms", 0.0, math.inf), ("mbps", 1e-9, math.inf), ("loss", 0.0, 1.0)):
        value = known[name]
        if value is not None and not least <= value < most:
            message = f"`{name}` of the link {names[one]!r} - {names[other]!r} is {values[name]}"
            hint = "a latency is 0 or more, a bandwidth more than 0, a loss from 0 to below 1"
            findings.add(BAD_LINK, message, _edge_place(source, one, other), hint=hint)
            return None
    raw = known["LinkSpeedRaw"]
    mbps = known["mbps"] or (raw / 1e6 if raw and raw > 0 else _labelled(values) or MBPS)
    latency = known["latency_ms"] if known["latency_ms"] is not None else _latency(graph.nodes[one], graph.nodes[other])
    metrics = (("cost", known["cost"]),) if known["cost"] is not None else ()
    both_ways = not graph.is_directed()
    return Link(
        names[one], names[other], latency / 1000, mbps * 1e6, known["loss"] or 0.0, both_ways=both_ways, metrics=metrics
    )


def _rank(link: Link) -> tuple[float, float]:
    """Of several links between two nodes the one with the least latency stays; of these, the fastest."""
    return link.latency, -link.bandwidth


def _labelled(values: dict[str, Any]) -> float | None:
    """The bandwidth that a label states, as in `10 Gbps`, `155Mbit/s` or `< 2.5 Gbps`, in megabits per second."""
    found = _SPEED.search(str(values.get("LinkLabel") or values.get("LinkNote") or ""))
    if found is None or not float(found[1]):
        return None
    return float(found[1]) * _UNITS[found[2].upper()]


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _place_of(node: dict[str, Any]) -> tuple[float, float] | None:
    """Latitude and longitude, if both are known."""
    latitude, longitude = _number(node.get("Latitude")), _number(node.get("Longitude"))
    return None if latitude is None or longitude is None else (latitude, longitude)


def _latency(one: dict[str, Any], other: dict[str, Any]) -> float:
    here, there = _place_of(one), _place_of(other)
    if here is None or there is None:
        return LATENCY_MS
    lat1, lon1, lat2, lon2 = map(math.radians, (*here, *there))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return max(LEAST_MS, round(2 * EARTH_KM * math.asin(min(1.0, math.sqrt(half))) / KM_PER_MS, 4))


def _place(source: Source, tag: str, attribute: str, value: str) -> Span:
    found = re.search(rf"<{tag}\b[^>]*\b{attribute}=[\"']{re.escape(value)}[\"'][^>]*>", source.text)
    return _span(source, found.start(), found.end()) if found else _span(source, 0, 0)


def _edge_place(source: Source, one: Any, other: Any) -> Span:
    for src, dst in ((one, other), (other, one)):
        pattern = (
            rf"<edge\b[^>]*source=[\"']{re.escape(str(src))}[\"'][^>]*target=[\"']{re.escape(str(dst))}[\"'][^>]*>"
        )
        if found := re.search(pattern, source.text):
            return _span(source, found.start(), found.end())
    return _span(source, 0, 0)


def _span(source: Source, start: int, end: int) -> Span:
    first = source.text.rfind("\n", 0, start) + 1
    return Span(source, start, end, source.text.count("\n", 0, start) + 1, start - first + 1)
