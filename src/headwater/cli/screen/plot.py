"""A picture of a simulation: bytes per second of a node over time, and how complete the views were.

The only file that imports matplotlib (the extra `network`).
"""

from __future__ import annotations

from pathlib import Path

from headwater.core.errors import FileError
from headwater.network.phases import SimulationOutcome

SUFFIXES = (".png", ".svg", ".pdf")
_MOST_LINES = 40  # marks of moments; more would hide the curves


def check_plot(path: Path) -> None:
    """Raise FileError now if a picture could not be written at the end of a long run."""
    if path.suffix.lower() not in SUFFIXES:
        raise FileError(f"{path}: a picture ends in {', '.join(SUFFIXES)}")
    check_folder(path)
    try:
        import matplotlib  # noqa: F401, ICN001
    except ImportError:
        raise FileError(
            "--plot needs matplotlib, which is not installed; run pip install 'headwater[network]'"
        ) from None


def check_folder(path: Path) -> None:
    """Raise FileError now if a file has no folder to be written to."""
    if not path.parent.is_dir():
        raise FileError(f"{path.parent} is no folder; make it first")


def plot(run: SimulationOutcome, title: str, path: Path) -> None:
    """Write the picture; raises FileError if it cannot be written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    end = run.phases[-1].end
    report = run.simulation.report
    bucket = max(0.001, round(end / 200, 3))
    starts, rates = report.rate(bucket, until=max(end, bucket))
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.step(starts, rates / len(report.nodes) / 1000, where="post", color="#1f5a93", linewidth=1.2)
    upper.set_ylabel("kB/s per node")
    upper.set_ylim(bottom=0)
    upper.set_title(title, loc="left", fontsize=11)
    times, shares = run.completeness
    lower.step(times, shares * 100, where="post", color="#2b7a4b", linewidth=1.2)
    lower.set_ylabel("rows settled, %")
    lower.set_ylim(0, 104)
    lower.set_xlabel("simulated time, s")
    lower.set_xlim(0, max(end, bucket))
    for axes in (upper, lower):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if len(run.phases) <= _MOST_LINES:
            for phase in run.phases[1:]:
                axes.axvline(phase.start, color="#b04a3a", linewidth=0.8, linestyle=":")
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as problem:
        raise FileError(f"{path} cannot be written: {problem}") from None
