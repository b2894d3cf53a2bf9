"""What was asked of the engine, row by row, and how a measured number is held against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Found = Mapping[str, Any]  # "work measure" -> what the worker printed


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report: the number that was asked for, beside what was measured."""

    work: str
    must: str
    aim: str
    measured: str
    verdict: str


def verdict(must: bool, aim: bool) -> str:
    if aim:
        return "aim reached"
    return "reached" if must else "MISSED"


def one_in(times: float) -> str:
    return f"1/{times:,.0f}" if times >= 1.5 else f"{1 / times:.2f}x"


def versus(found: Found, work: str, other: str) -> float | None:
    """How many times as long the other takes as we do."""
    theirs = found.get(f"{work} {other}", {}).get("seconds")
    return None if theirs is None else theirs / found[f"{work} scratch"]["seconds"]


def peers_text(found: Found, work: str, names: tuple[str, ...]) -> str:
    parts = []
    for name in names:
        ratio = versus(found, work, name)
        if ratio is not None:
            parts.append(f"{name} {ratio:.2f}x")
        elif "over" in found.get(f"{work} {name}", {}):
            parts.append(f"{name} over {found[f'{work} {name}']['over']} s")
    limit = versus(found, work, "limit")
    if limit is not None:
        parts.append(f"limit 1/{1 / limit:.1f}")
    return ", ".join(parts)


GENERAL = ("DuckDB", "SQLite", "clingo", "Souffle")


def lines(found: Found) -> list[Line]:
    made: list[Line] = []
    for work, title in (("closure-1k", "closure, 1,000 / 3,000"), ("closure-2k", "closure, 2,000 / 4,000")):
        if f"{work} scratch" in found:
            ratios = [ratio for name in GENERAL if (ratio := versus(found, work, name)) is not None]
            duck = versus(found, work, "DuckDB") or 0.0
            state = verdict(bool(ratios) and min(ratios) > 1, duck >= 2)
            made.append(Line(title, "ahead of every peer", "2x DuckDB", peers_text(found, work, GENERAL), state))
    if "closure-1k-far scratch" in found:
        duck = versus(found, "closure-1k-far", "DuckDB") or 0.0
        measured = peers_text(found, "closure-1k-far", ("DuckDB",))
        if "closure-1k scratch" in found:
            slower = found["closure-1k-far scratch"]["seconds"] / found["closure-1k scratch"]["seconds"]
            measured += f", {slower:.2f}x of ids side by side"
        made.append(Line("closure, ids far apart", "ahead of DuckDB", "2x", measured, verdict(duck > 1, duck >= 2)))
    made += _updates(found)
    for work, title, asked, least, wanted in (
        ("reach", "reachability, 200k / 1M", ("at least 0.67x DuckDB", "ahead, limit within 5x"), 1 / 1.5, 1.0),
        ("shortest", "shortest path, 200k / 1M", ("ahead of DuckDB USING KEY", "3x"), 1.0, 3.0),
        ("components", "components, 200k / 1M", ("3x DuckDB USING KEY", "10x"), 3.0, 10.0),
        ("generation", "same generation, 4.1M rows", ("at least 0.67x DuckDB", "ahead"), 1 / 1.5, 1.0),
    ):
        if f"{work} scratch" in found:
            duck = versus(found, work, "DuckDB") or 0.0
            near = work != "reach" or (versus(found, work, "limit") or 0.0) >= 1 / 5
            state = verdict(duck >= least, duck >= wanted and near)
            made.append(Line(title, *asked, peers_text(found, work, GENERAL), state))
        if work == "components" and "components hundred" in found:
            edit = found["components hundred"]
            times = edit["load"] / edit["delete"]
            state = verdict(times >= 20, times >= 100)
            made.append(Line("components, delete 100", "1/20 of the load", "1/100", one_in(times), state))
    return made + _points_to(found) + _sizes(found)


def _updates(found: Found) -> list[Line]:
    made: list[Line] = []
    if "closure-1k singles" in found:
        edit = found["closure-1k singles"]
        whole = edit["load"]
        times = whole / edit["delete"]
        worst = one_in(whole / edit["delete_worst"])
        text = f"{one_in(times)}, worst {worst}; {edit['removed']:.0f} rows removed on average"
        state = verdict(times >= 60, times >= 200)
        made.append(Line("closure, delete one link", "1/60 of from scratch", "1/200", text, state))
        times = whole / edit["insert"]
        state = verdict(times >= 200, times >= 1_000)
        made.append(Line("closure, insert one link", "1/200 of from scratch", "1/1,000", one_in(times), state))
    if "closure-1k hundred" in found:
        edit = found["closure-1k hundred"]
        times = edit["load"] / edit["delete"]
        text = f"{edit['delete'] / edit['load']:.2f}x"
        state = verdict(times >= 1 / 1.5, times >= 2)
        made.append(Line("closure, delete 100 links", "1.5x from scratch", "1/2", text, state))
    return made


def _points_to(found: Found) -> list[Line]:
    if "points-to script" not in found or "points-to scratch" not in found:
        return []
    edit = found["points-to script"]
    whole = edit["load"]
    text = "; ".join((
        f"load: {peers_text(found, 'points-to', ('clingo', 'Souffle'))}",
        f"delete one {one_in(whole / edit['delete'])}, worst {one_in(whole / edit['delete_worst'])}",
        f"insert one {one_in(whole / edit['insert'])}, worst {one_in(whole / edit['insert_worst'])}",
        f"delete 100 {edit['delete_batch'] / whole:.2f}x, insert 100 {edit['insert_batch'] / whole:.2f}x",
    ))  # fmt: skip
    return [Line("points-to, mutual recursion", "reported, no cliff", "", text, "reported")]


def _sizes(found: Found) -> list[Line]:
    made: list[Line] = []
    if "closure-1k bytes" in found:
        size = found["closure-1k bytes"]["bytes"]
        made.append(Line("bytes per stored row", "80", "48", f"{size:.0f}", verdict(size <= 80, size <= 48)))
    if "closure-1k growth" in found:
        small, large = found["closure-1k growth"]["points"][0], found["closure-1k growth"]["points"][-1]
        grew = {key: large[key] / small[key] for key in ("rows", "touched", "delete", "insert")}
        text = (
            f"view {grew['rows']:.0f}x, rows touched {grew['touched']:.1f}x; "
            f"delete {grew['delete']:.1f}x, insert {grew['insert']:.1f}x"
        )
        made.append(Line("one-link updates, graph 10x", "with rows touched", "", text, "plot"))
    if "closure-1k emptied" in found:
        seen = found["closure-1k emptied"]
        ratio = seen["after"] / seen["empty"]
        text = (
            f"process {ratio:.2f}x (loaded {seen['loaded'] / seen['empty']:.2f}x); "
            f"database {seen['after_bytes'] / 1e3:.0f} kB of {seen['loaded_bytes'] / 1e6:.0f} MB"
        )
        made.append(Line("memory, every base row deleted", "1.2x empty", "", text, verdict(ratio <= 1.2, False)))
    if "closure-1k start" in found:
        seconds = found["closure-1k start"]["seconds"]
        state = verdict(seconds < 1.5, seconds < 0.7)
        made.append(Line("a new process, first answer", "1.5 s", "0.7 s", f"{seconds:.2f} s", state))
    return made
