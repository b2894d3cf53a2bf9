"""Scripts of events in files, csv or jsonl.

    time,event,arguments
    5,fail node,b
    8,return node,b
    10,fail link,a,b
    12,return link,a,b
    13,change link,a,b,1.1
    15,partition,a,b
    20,heal
    22,insert,link,a,c,7
    25,delete,request,a,d

The arguments are as many cells as the event needs. In jsonl an event is an object with `time` and one of `insert` and
`delete` (rows by relation), `fail_node`, `return_node`, `fail_link`, `return_link`, `change_link`, `partition`, `heal`:

    {"time": 22, "insert": {"link": [["a", "c", 7]]}, "delete": {"request": [["a", "d"]]}}
    {"time": 10, "fail_link": ["a", "b"]}

Events may stand in any order of time. What is no event is a DataError with its line and column, and no event is given.
Whether nodes, links and relations exist is checked by `staged`, which knows them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, assert_never

from headwater.core.errors import FileError
from headwater.core.source import Source, Span
from headwater.network.events.model import (
    LinkChanges,
    LinkFails,
    LinkReturns,
    NetworkEvent,
    NodeFails,
    NodeReturns,
    Partitioned,
    PartitionHeals,
    RowsChange,
)
from headwater.network.placed import Cell, Findings, cells_of, lines, number, read_source
from headwater.program.nearest import nearest

BAD_EVENT = "HW813"
LATEST = 1e9  # seconds
_SHAPES = {
    "insert": "insert,RELATION,VALUE,...",
    "delete": "delete,RELATION,VALUE,...",
    "fail node": "fail node,NODE",
    "return node": "return node,NODE",
    "fail link": "fail link,NODE,NODE",
    "return link": "return link,NODE,NODE",
    "change link": "change link,NODE,NODE,FACTOR",
    "partition": "partition,NODE,...",
    "heal": "heal",
}
_JSON = tuple(name.replace(" ", "_") for name in _SHAPES)


def read_events(path: Path) -> list[NetworkEvent]:
    """The events of a file, in order of time; raises FileError and DataError."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".tsv", ".jsonl", ".ndjson"):
        raise FileError(f"{path}: its name does not say what it holds; a script of events ends in .csv or .jsonl")
    source = read_source(path)
    findings = Findings()
    found = _from_csv(source, findings) if suffix in (".csv", ".tsv") else _from_json(source, findings)
    findings.settle()
    return sorted(found, key=lambda event: event.time)


def _from_csv(source: Source, findings: Findings) -> list[NetworkEvent]:
    separator = "\t" if source.name.lower().endswith(".tsv") else ","
    found: list[NetworkEvent] = []
    header = False
    for line, offset, text in lines(source):
        cells = cells_of(source, line, offset, text, separator)
        if not header:
            header = True
            if [cell.text for cell in cells[:2]] != ["time", "event"]:
                hint = "write `time,event,arguments` as the first line"
                findings.add(BAD_EVENT, "the file does not begin with its header", cells[0].span, hint=hint)
                return []
            continue
        while len(cells) > 2 and not cells[-1].text:
            cells.pop()  # some programs write every line as long as the longest
        event = _event(cells, findings)
        if event is not None:
            found.append(event)
    return found


def _event(cells: list[Cell], findings: Findings) -> NetworkEvent | None:
    time = _time(cells[0], findings)
    if len(cells) < 2 or cells[1].text not in _SHAPES:
        given = cells[1] if len(cells) > 1 else cells[0]
        _unknown(given.text if len(cells) > 1 else "", given.span, tuple(_SHAPES), findings)
        return None
    kind, rest = cells[1], cells[2:]
    if time is None or not _fits(kind, rest, findings):
        return None
    names, span = [cell.text for cell in rest], kind.span
    match kind.text:
        case "insert":
            return RowsChange(time, inserts=((names[0], tuple(names[1:])),), span=rest[0].span)
        case "delete":
            return RowsChange(time, deletes=((names[0], tuple(names[1:])),), span=rest[0].span)
        case "change link":
            factor = number(rest[2], "a factor", BAD_EVENT, findings, above=True)
            return None if factor is None else LinkChanges(time, names[0], names[1], factor, span=rest[0].span)
        case "partition":
            return Partitioned(time, tuple(names), span=rest[0].span)
        case "heal":
            return PartitionHeals(time, span=span)
        case "fail node":
            return NodeFails(time, names[0], span=rest[0].span)
        case "return node":
            return NodeReturns(time, names[0], span=rest[0].span)
        case "fail link":
            return LinkFails(time, names[0], names[1], span=rest[0].span)
        case _:
            return LinkReturns(time, names[0], names[1], span=rest[0].span)


def _time(cell: Cell, findings: Findings) -> float | None:
    time = number(cell, "a time", BAD_EVENT, findings)
    if time is not None and time > LATEST:
        findings.add(BAD_EVENT, f"{cell.text} s is too late", cell.span, hint=f"times are up to {LATEST:,.0f} s")
        return None
    return time


def _fits(kind: Cell, rest: list[Cell], findings: Findings) -> bool:
    shape = _SHAPES[kind.text]
    wanted = shape.count(",")
    exact = "..." not in shape
    if (exact and len(rest) != wanted) or (not exact and len(rest) < wanted - 1):
        place = rest[wanted].span if exact and len(rest) > wanted else kind.span
        message = f"`{kind.text}` has {len(rest)} argument{'s' if len(rest) != 1 else ''}"
        findings.add(BAD_EVENT, message, place, hint=f"write `{shape}`")
        return False
    return True


def _unknown(given: str, span: Span | None, known: tuple[str, ...], findings: Findings) -> None:
    close = nearest(given, list(known))
    hint = f"did you mean `{close}`?" if close else f"the events are {', '.join(known)}"
    findings.add(BAD_EVENT, f"there is no event `{given}`" if given else "the line has no event", span, hint=hint)


def _from_json(source: Source, findings: Findings) -> list[NetworkEvent]:
    found: list[NetworkEvent] = []
    for line, offset, text in lines(source):
        whole = Span(source, offset, offset + len(text), line, 1)
        try:
            given = json.loads(text, parse_constant=_refuse_constant)
        except json.JSONDecodeError as problem:
            place = Span(source, offset + problem.pos, offset + problem.pos, line, problem.pos + 1)
            findings.add(BAD_EVENT, f"this is not JSON: {problem.msg}", place, hint="write one object a line")
            continue
        except (ValueError, RecursionError) as problem:
            findings.add(BAD_EVENT, f"this is not JSON: {problem}", whole, hint="write one object a line")
            continue
        event = _json_event(given, source, line, offset, text, findings)
        if event is not None:
            found.append(event)
    return found


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _json_event(
    given: Any, source: Source, line: int, offset: int, text: str, findings: Findings
) -> NetworkEvent | None:
    whole = Span(source, offset, offset + len(text), line, 1)

    def place(key: str) -> Span:
        at = text.find(json.dumps(key))
        return Span(source, offset + at, offset + at + len(key) + 2, line, at + 1) if at >= 0 else whole

    if not isinstance(given, dict) or "time" not in given:
        findings.add(BAD_EVENT, "an event is an object with a `time`", whole, hint='write {"time": 5, ...}')
        return None
    time = given["time"]
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time <= LATEST:
        hint = f"times are seconds from 0 to {LATEST:,.0f}"
        findings.add(BAD_EVENT, f"{json.dumps(time)} is no time", place("time"), hint=hint)
        return None
    kinds = [key for key in given if key != "time"]
    for key in kinds:
        if key not in _JSON:
            _unknown(key, place(key), _JSON, findings)
            return None
    if not kinds or (len(kinds) > 1 and set(kinds) != {"insert", "delete"}):
        findings.add(BAD_EVENT, f"{len(kinds)} events in one object", whole, hint="write one object for each event")
        return None
    event = _json_kind(float(time), kinds, given, place)
    if event is None:
        shape = _JSON_SHAPES[kinds[0]]
        findings.add(BAD_EVENT, f"this is no `{kinds[0]}`", place(kinds[0]), hint=f"write {shape}")
    return event


_JSON_SHAPES = {
    "insert": '"insert": {"link": [["a", "b", 5]]}',
    "delete": '"delete": {"link": [["a", "b", 5]]}',
    "fail_node": '"fail_node": "a"',
    "return_node": '"return_node": "a"',
    "fail_link": '"fail_link": ["a", "b"]',
    "return_link": '"return_link": ["a", "b"]',
    "change_link": '"change_link": ["a", "b", 1.1]',
    "partition": '"partition": ["a", "b"]',
    "heal": '"heal": true',
}


def _json_kind(time: float, kinds: list[str], given: dict[str, Any], place: Any) -> NetworkEvent | None:
    kind, value = kinds[0], given[kinds[0]]
    span = place(kind)
    match kind, value:
        case ("insert" | "delete", _):
            rows = {each: _json_rows(given[each]) for each in kinds}
            if None in rows.values():
                return None
            return RowsChange(time, rows.get("insert") or (), rows.get("delete") or (), span=span)
        case "fail_node", str():
            return NodeFails(time, value, span=span)
        case "return_node", str():
            return NodeReturns(time, value, span=span)
        case "fail_link", [str() as one, str() as other]:
            return LinkFails(time, one, other, span=span)
        case "return_link", [str() as one, str() as other]:
            return LinkReturns(time, one, other, span=span)
        case "change_link", [str() as one, str() as other, int() | float() as factor] if factor > 0:
            return LinkChanges(time, one, other, float(factor), span=span)
        case "partition", [*names] if names and all(isinstance(name, str) for name in names):
            return Partitioned(time, tuple(names), span=span)
        case "heal", True:
            return PartitionHeals(time, span=span)
    return None


def _json_rows(given: Any) -> tuple[tuple[str, tuple[Any, ...]], ...] | None:
    if not isinstance(given, dict):
        return None
    found = []
    for relation, rows in given.items():
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            return None
        found += [(relation, tuple(row)) for row in rows]
    return tuple(found)


def write_events(events: Iterable[NetworkEvent]) -> str:
    """Events as a csv script that `read_events` reads."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", "event", "arguments"])
    for event in events:
        for cells in _cells(event):
            writer.writerow([f"{event.time:g}" if event.time < 1e6 else repr(event.time), *cells])
    return out.getvalue()


def _cells(event: NetworkEvent) -> list[list[Any]]:
    match event:
        case RowsChange():
            went = [["delete", relation, *row] for relation, row in event.deletes]
            return went + [["insert", relation, *row] for relation, row in event.inserts]
        case NodeFails():
            return [["fail node", event.node]]
        case NodeReturns():
            return [["return node", event.node]]
        case LinkFails():
            return [["fail link", event.one, event.other]]
        case LinkReturns():
            return [["return link", event.one, event.other]]
        case LinkChanges():
            return [["change link", event.one, event.other, event.factor]]
        case Partitioned():
            return [["partition", *event.nodes]]
        case PartitionHeals():
            return [["heal"]]
        case _:
            assert_never(event)
