"""Topologies in files.

- csv: `src,dst` and, if known, `latency_ms`, `mbps`, `loss`, `cost`, `reliability`, `random`, one link a line;
- GraphML (`.graphml`, `.xml`), as in the Internet Topology Zoo;
- a list of edges (`.txt`): two names a line, as in the Gnutella snapshots of the SNAP collection.

A link of csv or of a list goes both ways; if a file has a line for each direction, each has its own properties. With
`one_way`, every line is one direction. What a file does not say is 10 ms, 10 Mbps and no loss.
Anything that cannot be a link is a DataError with its line and a way out, and no topology is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headwater.core.errors import FileError
from headwater.core.source import Source, Span
from headwater.network.links import Link, Topology
from headwater.network.placed import Cell, CellLine, Findings, lines, number, read_source, records

BAD_LINK, UNREACHED = "HW811", "HW812"
LATENCY_MS, MBPS = 10.0, 10.0
METRICS = ("cost", "reliability", "random")
COLUMNS = ("latency_ms", "mbps", "loss", *METRICS)
ALIASES = {"latency": "latency_ms", "from": "src", "to": "dst", "source": "src", "target": "dst"}
SUFFIXES = (".csv", ".tsv", ".graphml", ".xml", ".txt")


def read_topology(path: Path, *, one_way: bool = False) -> Topology:
    """The topology in a file, by its suffix; raises FileError and DataError."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: its name does not say what it holds; it must end in {', '.join(SUFFIXES)}")
    if suffix in (".graphml", ".xml"):
        from headwater.network.topologies.graphml import read_graphml  # an extra

        return read_graphml(path)
    source = read_source(path)
    findings = Findings()
    drafts = _from_list(source, findings) if suffix == ".txt" else _from_csv(source, findings)
    return settled(drafts, findings, source, one_way=one_way)


def settled(drafts: list[tuple[Link, Span]], findings: Findings, source: Source, *, one_way: bool) -> Topology:
    """The topology of these links, once each of them stands."""
    seen: dict[tuple[str, str], Span] = {}
    for link, span in drafts:
        if (link.src, link.dst) in seen:
            first = seen[link.src, link.dst]
            message = f"there is a link from {link.src!r} to {link.dst!r} in line {first.line} already"
            findings.add(BAD_LINK, message, span, hint="keep one of them")
        seen.setdefault((link.src, link.dst), span)
    if not drafts and not findings.found:
        findings.add(BAD_LINK, "the file has no links", Span(source, 0, 0, 1, 1), hint="add a line for each link")
    if one_way:
        reached = {link.dst for link, _ in drafts}
        for link, span in drafts:
            if link.src not in reached:
                reached.add(link.src)
                message = f"no link reaches node {link.src!r}"
                findings.add(UNREACHED, message, span, hint="add a link to it, or leave its own links out")
    findings.settle()
    return Topology(_merged([link for link, _ in drafts], one_way=one_way))


def _merged(links: list[Link], *, one_way: bool) -> list[Link]:
    """Links that have both directions, unless the file gives the other direction itself."""
    given = {(link.src, link.dst): link for link in links}
    merged: list[Link] = []
    for link in links:
        back = given.get((link.dst, link.src))
        if back is None:
            merged.append(link if not one_way else _single(link))
        elif _properties(back) != _properties(link):
            merged.append(_single(link))
        elif link.src < link.dst:
            merged.append(link)
    return merged


def _single(link: Link) -> Link:
    return Link(link.src, link.dst, link.latency, link.bandwidth, link.loss, both_ways=False, metrics=link.metrics)


def _properties(link: Link) -> tuple[object, ...]:
    return link.latency, link.bandwidth, link.loss, link.metrics


def _from_csv(source: Source, findings: Findings) -> list[tuple[Link, Span]]:
    drafts = []
    for record in records(source, ("src", "dst"), COLUMNS, BAD_LINK, findings, ALIASES):
        ends = ends_of(record, findings)
        values = {name: _value(record.cells.get(name), name, findings) for name in COLUMNS}
        if ends is None or None in values.values():
            continue
        metrics = tuple((name, values[name] or 0.0) for name in METRICS if name in record.cells)
        latency, bandwidth = (values["latency_ms"] or 0.0) / 1000, (values["mbps"] or 0.0) * 1e6
        drafts.append((Link(*ends, latency, bandwidth, values["loss"] or 0.0, metrics=metrics), record.span))
    return drafts


_DEFAULTS = {"latency_ms": LATENCY_MS, "mbps": MBPS, "loss": 0.0}
_NAMES = {"latency_ms": "a latency", "mbps": "a bandwidth", "loss": "a loss"}


def _value(cell: Cell | None, name: str, findings: Findings) -> float | None:
    if cell is None:
        return _DEFAULTS.get(name, 1.0)
    value = number(cell, _NAMES.get(name, "a cost"), BAD_LINK, findings, above=name in ("mbps", *METRICS))
    if name == "loss" and value is not None and value >= 1:
        hint = "give the share of messages that are lost, such as 0.01"
        findings.add(BAD_LINK, f"a loss is below 1, not {cell.text}", cell.span, hint=hint)
        return None
    return value


def ends_of(record: CellLine, findings: Findings) -> tuple[str, str] | None:
    """The two nodes of a link; None if they are not there or are one, which is then a finding."""
    for name in ("src", "dst"):
        if name not in record.cells:
            findings.add(BAD_LINK, f"the link has no `{name}`", record.span, hint="name both ends of the link")
            return None
    src, dst = record.cells["src"], record.cells["dst"]
    if src.text == dst.text:
        findings.add(
            BAD_LINK, f"a link from {src.text!r} to itself", dst.span, hint="a link joins two nodes; remove the line"
        )
        return None
    return src.text, dst.text


def _from_list(source: Source, findings: Findings) -> list[tuple[Link, Span]]:
    drafts = []
    for line, offset, text in lines(source):
        span = Span(source, offset, offset + len(text), line, 1)
        names = text.split()
        if len(names) != 2:
            findings.add(BAD_LINK, f"{len(names)} names, not two", span, hint="give two names a line: src dst")
        elif names[0] == names[1]:
            findings.add(BAD_LINK, f"a link from {names[0]!r} to itself", span, hint="remove the line")
        else:
            drafts.append((Link(names[0], names[1], LATENCY_MS / 1000, MBPS * 1e6), span))
    return drafts


def write_rows(topology: Topology) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """A topology as the columns and rows of a csv file that `read_topology` reads: each direction a row."""
    names = list(dict.fromkeys(name for link in topology.links for name, _ in link.metrics))
    columns = ("src", "dst", "latency_ms", "mbps", "loss", *names)
    rows = [
        (src, dst, round(link.latency * 1000, 6), link.bandwidth / 1e6, link.loss, *(link.metric(n) for n in names))
        for src, dst, link in sorted(topology.channels, key=lambda channel: channel[:2])
    ]
    return columns, rows


def all_named(names: Iterable[str]) -> bool:
    """Whether every name is there once."""
    listed = list(names)
    return len(set(listed)) == len(listed)
