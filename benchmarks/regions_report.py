"""What was measured, beside what the paper says: regions.md, and a plot for each figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt  # the backend is chosen first

Result = dict[str, Any]

TITLES = {
    "7": "Figure 7: reachable, links inserted (12 nodes, 400 links)",
    "8": "Figure 8: reachable, links deleted one by one",
    "9": "Figure 9: regions, sensors triggered (12 nodes, 400 sensors, one every 5 m)",
    "10": "Figure 10: regions, sensors no longer triggered, one by one",
    "9 sparse": "Figure 9 with 100 sensors, one every 10 m",
    "10 sparse": "Figure 10 with 100 sensors, one every 10 m",
    "11": "Figure 11: more links, inserted",
    "12": "Figure 12: more links, a fifth of them deleted at once",
    "13": "Figure 13: more nodes (inserts and 3 deletes; MB per node; CPU s of the slowest node)",
    "14": "Figure 14: aggregate selections (shortest paths, absorption lazy)",
    "large inserts": "Beyond the paper: 1,600 and 4,000 dense links, inserted",
    "large deletes": "Beyond the paper: then one link in a hundred deleted at once",
}
PAPER = {
    "7": "DRed is best, because it keeps no provenance; relative costs more than absorption in everything, and its "
    "eager form did not end within 5 minutes from 0.75 on; of those with provenance, absorption lazy costs least.",
    "8": "DRed costs ten times as much as absorption in bytes and time; relative beats DRed in both, and is far behind "
    "absorption.",
    "9": "Like Figure 7, with less overhead, because neighbours are close together.",
    "10": "Like Figure 8.",
    "9 sparse": "It does not say how many sensors there are on its 100 m by 100 m, only that the network is smaller.",
    "10 sparse": "As above.",
    "11": "Dense costs more than sparse; eager did not end within 5 minutes on 800 dense links, lazy took under 5 "
    "seconds on 12 machines.",
    "12": "As for inserts.",
    "13": "Provenance per row grows and levels off; time, bytes per node and state per node fall; DRed costs more "
    "throughout.",
    "14": "Selections matter most on dense networks; without any, no query ended within 5 minutes there; two of them "
    "at once cost half of one.",
    "large inserts": "No figure.",
    "large deletes": "No figure.",
}
NOTES = {
    "7": "The order is the paper's. Eager shipping was given the paper's five minutes for one transaction, of CPU on "
    "one core where the paper had twelve machines. It ends at half of the links, and not at three quarters; the "
    "paper's relative form ended at half too, its absorption form throughout. *Buffered* is Algorithm 3 as printed: a "
    "node keeps every derivation that it does not send, so annotations and state are several times as large.",
    "8": "The order is the paper's. Like for like, Algorithm 3 as printed (*Buffered*) is what the paper compares with "
    "DRed; ours sends one derivation at a time, and less than a tenth of that. How far Buffered stays below DRed "
    "depends on which links fail: twelve times on the first network, twice on the second, where deleted rows are sent "
    "again with many derivations each; on the third a formula grows beyond two million nodes, and the run ends. "
    "*Batched* lets notices of dead links wait for each other: a third fewer messages for nearly the same bytes.",
    "9": "Regions are dense: a sensor has up to 44 neighbours, and every path through them is a derivation.",
    "10": "In a dense field a sensor that falls silent cuts nobody off; delete-and-rederive goes over the whole view "
    "all the same.",
    "10 sparse": "Where half the sensors are silent and a sensor has at most 8 neighbours, there is little to derive "
    "again, and delete-and-rederive has less to waste. The order is not the paper's: relative sends more than DRed, "
    "because its few rows carry large derivation graphs; absorption stays below DRed, at a smaller distance. Messages "
    "hold one or two rows; of the bytes that lazy shipping sends, two fifths are provenance (some 17 facts a row, five "
    "bits each), nearly half the rows themselves, which all strategies write alike, the rest lengths and news of dead "
    "facts. Two rows in three replace a derivation that their receiver could have done without.",
    "11": "The order is the reverse of the paper's: for the same number of links, sparse costs more than dense. We add "
    "nodes until there are so many links, so a sparse network has twice as many nodes as a dense one, and its view "
    "four times as many rows. The paper does not say how it adds links. For the same number of nodes (dense at 400 "
    "links, sparse at 200) dense does cost more, as in the paper. "
    "Lazy ends 800 dense links in seconds on one core. Eager explodes on dense networks from the size on at "
    "which it was stopped: their stubs are nearly complete graphs. Sparse ones are nearly trees, and there it ends.",
    "12": "The order is again the reverse of the paper's, for the same reason. In a sparse network a failing link "
    "mostly cuts rows off, so provenance has nothing to send but the news. *Batched* lets these wait for each other: a "
    "quarter to a half fewer messages.",
    "13": "As in the paper. The seconds are those of the node that took longest, as nodes work side by side.",
    "14": "Two aggregates cost a little more than one, not half: a row is dropped only if it is best for neither. "
    "Without a selection the query never ends, as it builds ever longer paths.",
    "large inserts": "4,000 dense links are 1,000 addresses and a view of 1,000,000 rows.",
    "large deletes": "Lazy shipping sends less, witnesses take less time. Lazy's seconds include those for "
    "lists of the rows that name each fact: they are made once, when the first facts die.",
}
"""Where ours differs from the paper, and why."""
COLUMNS = (
    ("provenance", "provenance, B a row", "{:.0f}"),
    ("megabytes", "sent, MB", "{:.3f}"),
    ("rows", "rows sent", "{:,.0f}"),
    ("messages", "messages", "{:,.0f}"),
    ("state", "state, MB a node", "{:.3f}"),
    ("seconds", "CPU s", "{:.2f}"),
    ("clock", "network ms", "{:.0f}"),
)


STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""By how many standard errors the mean of 2, 3, ... runs may be off, with 95% confidence (Student's t)."""


def write(runs: dict[str, list[Result]], folder: Path) -> None:
    measured = {figure: averaged(results) for figure, results in runs.items()}
    text = ["# Regions and connectivity: the experiments of the paper", "", *INTRODUCTION]
    for figure, title in TITLES.items():
        if figure in measured:
            text += ["", f"## {title}", "", f"The paper: {PAPER[figure]}", "", *_findings(figure, measured), ""]
            text += _table(measured[figure])
            if figure in PLOTTED:
                name = f"regions_{figure}.png"
                _plot(title, measured[figure], folder / name)
                text += ["", f"![{title}]({name})"]
    (folder / "regions.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def averaged(results: list[Result]) -> list[Result]:
    """One result for each point: the means over its seeds, with `spread`, half of the 95% interval of each.

    A line that was stopped with one seed is not measured with others, and stays stopped."""
    points: dict[tuple[str, Any], list[Result]] = {}
    for one in results:
        points.setdefault((one["way"], one["x"]), []).append(one)
    found = []
    for runs in points.values():
        stopped = [one for one in runs if "stopped" in one]
        found.append(stopped[0] if stopped else _mean(runs))
    return found


def _mean(runs: list[Result]) -> Result:
    count = len(runs)
    mean: Result = {**runs[0], "seeds": count, "spread": {}}
    for key, _, _ in COLUMNS:
        values = [one[key] for one in runs if key in one]
        if len(values) == count:
            mean[key] = sum(values) / count
        if len(values) == count > 1:
            error = (sum((value - mean[key]) ** 2 for value in values) / (count - 1) / count) ** 0.5
            mean["spread"][key] = STUDENT[min(count - 2, len(STUDENT) - 1)] * error
    return mean


INTRODUCTION = (
    "Made by `make experiments` (benchmarks/regions.py): every strategy on the same plan, over the same links, with",
    "the same form of messages. Bytes are those of the messages as sent. CPU seconds are of all nodes together, on one",
    "core. Network time is that of the simulated links, 1 to 10 ms a message. A line *stopped* ran out of its budget",
    "of CPU seconds for one transaction. Eager ships in batches of 1,000 rows. Lazy shipping has two forms: ours",
    "sends one derivation at a time, *Buffered* is Algorithm 3 as the paper prints it.",
    "",
    "± is half of the 95% interval of the mean, where several networks were drawn (`--seeds 10`): ten for Figures 9",
    "and 10 with 100 sensors, five or six for Figures 11 and 12 up to 200 links, three for Figures 7 and 8, one for",
    "all others, which are from an earlier run (`--full --minutes 38`). Eager shipping of Figure 7 had five minutes of",
    "CPU for one transaction (`--full`), elsewhere ten seconds. The machine was busy throughout: bytes and rows are",
    "exact, seconds may be a third too many.",
)
PLOTTED = frozenset({"7", "8", "9", "10", "11", "12", "13", "14"})


def _findings(figure: str, measured: dict[str, list[Result]]) -> list[str]:
    """What follows from the numbers, worked out from them."""
    found = {(one["way"], one["x"]): one for one in measured[figure]}
    last = {one["way"]: one for one in measured[figure] if "stopped" not in one}
    lines = []
    if "DRed" in last and figure in ("8", "10", "10 sparse"):
        for way in ("Absorption Lazy", "Absorption Lazy Buffered", "Witness", "Relative Lazy"):
            if way in last:
                dred = found["DRed", last[way]["x"]]
                less = dred["megabytes"] / last[way]["megabytes"]
                quicker = dred["seconds"] / max(last[way]["seconds"], 1e-9)
                time = f"{quicker:.1f}x less time" if quicker >= 1 else f"{1 / quicker:.1f}x the time"
                sent = f"{less:.1f}x fewer bytes than DRed" if less >= 1 else f"{1 / less:.1f}x the bytes of DRed"
                lines.append(f"{way} sends {sent} and takes {time}.")
    for way, x in found:
        if "stopped" in found[way, x]:
            lines.append(f"{way} was stopped at {x}: {found[way, x]['stopped']}.")
    if figure in NOTES:
        lines.append(NOTES[figure])
    return ["We measured: " + " ".join(lines)] if lines else ["We measured:"]


def _table(results: list[Result]) -> list[str]:
    lines = ["| | at | " + " | ".join(title for _, title, _ in COLUMNS) + " |", "|---|---|" + "---:|" * len(COLUMNS)]
    for one in results:
        if "stopped" in one:
            cells = ["stopped"] + [""] * (len(COLUMNS) - 1)
        else:
            cells = [_cell(one, key, shape) for key, _, shape in COLUMNS]
        lines.append(f"| {one['way']} | {one['x']} | " + " | ".join(cells) + " |")
    return lines


def _cell(one: Result, key: str, shape: str) -> str:
    if key not in one:
        return ""
    spread = one["spread"].get(key)
    return shape.format(one[key]) if spread is None else f"{shape.format(one[key])} ± {shape.format(spread)}"


def _plot(title: str, results: list[Result], path: Path) -> None:
    figure, axes = plt.subplots(1, 4, figsize=(16, 3.6))
    ways = list(dict.fromkeys(one["way"] for one in results))
    measures = (
        ("provenance", "provenance, B a row"),
        ("megabytes", "sent, MB"),
        ("state", "state, MB a node"),
        ("seconds", "CPU s"),
    )
    for axis, (key, label) in zip(axes, measures, strict=True):
        for at, way in enumerate(ways):
            own = [one for one in results if one["way"] == way and "stopped" not in one]
            values, spreads = [one[key] for one in own], [one["spread"].get(key, 0.0) for one in own]
            places = [str(one["x"]) for one in own]
            axis.errorbar(places, values, yerr=spreads, fmt="osD^vP*X"[at % 8] + "-", capsize=2, label=way)
        axis.set_title(label, fontsize=10)
        if key in ("megabytes", "seconds"):
            axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)
