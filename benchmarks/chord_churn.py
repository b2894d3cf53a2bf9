"""Chord under churn: how many lookups are answered, and rightly, as sessions get shorter.

    python benchmarks/chord_churn.py            # some ten minutes of one core; writes chord_churn.md

12 nodes on a mesh with latencies of 2 to 50 ms, each there for a time that is exponentially distributed, and away for
half as long; a minute of churn, then quiet. Three seeds a line.
"""

from __future__ import annotations

import time
from pathlib import Path

from headwater.network.churn import churned_ring

SESSIONS = (240.0, 120.0, 60.0, 30.0)
SEEDS = 3


def main() -> None:
    lines = [
        "# Chord under churn",
        "",
        "`python benchmarks/chord_churn.py`: 12 nodes, a minute of churn, one lookup a second, three seeds a line.",
        "Nodes beat every 2 s and forget who has not answered for 5 s.",
        "",
        "| mean session | turns | lookups | answered | right | right 30 s later | bytes per node, second | CPU s |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for session in SESSIONS:
        began = time.process_time()
        turns, sums, late, rate = 0, [0, 0, 0], [0, 0, 0], 0.0
        for seed in range(SEEDS):
            ring = churned_ring(nodes=12, session=session, churn=60.0, quiet=50.0, seed=seed)
            turns += len(ring.turns) - 12
            sums = [a + b for a, b in zip(sums, ring.outcomes(ring.churn_begins, ring.churn_ends), strict=True)]
            late = [a + b for a, b in zip(late, ring.outcomes(ring.ends - 20, ring.ends), strict=True)]
            rate += ring.simulation.report.bytes / 12 / ring.ends / SEEDS
        spent = time.process_time() - began
        asked, answered, right = sums
        lines.append(
            f"| {session:.0f} s | {turns} | {asked} | {answered / asked:.0%} | {right / asked:.0%} "
            f"| {late[2] / late[0]:.0%} of {late[0]} | {rate:,.0f} | {spent:.0f} |"
        )
        print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
