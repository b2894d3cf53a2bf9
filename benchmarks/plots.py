"""The pictures of the report: how update cost grows, and the ratios as bars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from goals import GENERAL, versus

mpl.use("Agg")

import matplotlib.pyplot as plt  # the backend is chosen first

WORKS = ("closure-1k", "closure-2k", "reach", "shortest", "components", "generation", "points-to")


def draw(found: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if "points" in found.get("closure-1k growth", {}):
        growth(found["closure-1k growth"]["points"], folder / "growth.png")
    ratios(found, folder / "ratios.png")


def growth(points: list[dict[str, float]], file: Path) -> None:
    """Everything relative to the smallest graph, on logarithmic axes: a straight line is a power."""
    figure, axes = plt.subplots(figsize=(7, 4.5))
    nodes = [point["nodes"] for point in points]
    series = (
        ("rows", "rows of the view", "k--"),
        ("load", "from scratch", "C3-o"),
        ("touched", "rows touched by a delete", "C0:"),
        ("delete", "delete one link", "C0-o"),
        ("insert", "insert one link", "C2-o"),
    )
    for key, label, style in series:
        axes.plot(nodes, [point[key] / points[0][key] for point in points], style, label=label)
    axes.set(xscale="log", yscale="log", xlabel="nodes (three links each)", ylabel="relative to the smallest graph")
    axes.set_title("Closure: what an update costs as the graph grows")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def ratios(found: dict[str, Any], file: Path) -> None:
    works = [work for work in WORKS if f"{work} scratch" in found]
    names = (*GENERAL, "limit")
    figure, axes = plt.subplots(figsize=(9, 4.5))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        bars = [(at, ratio) for at, work in enumerate(works) if (ratio := versus(found, work, name)) is not None]
        if bars:
            axes.bar([at + (place - 2) * width for at, _ in bars], [ratio for _, ratio in bars], width, label=name)
    axes.axhline(1, color="k", linewidth=0.8)
    axes.set(yscale="log", ylabel="their time / our time")
    axes.set_xticks(range(len(works)), works)
    axes.set_title("From scratch, loading counted: above the line we are ahead")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
