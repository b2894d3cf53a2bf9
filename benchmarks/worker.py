"""One measurement in a process of its own; prints one line of JSON.

    python benchmarks/worker.py WORK MEASURE [--quick] [--repeats N]

MEASURE is one of Headwater's (`ours.MEASURES`), `limit`, or the name of a peer. A measurement that cannot be
made says why under `missing`. A peer's process does not import Headwater.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import graphs
from peers import PEERS


def peer(name: str, work: str, *, quick: bool, repeats: int) -> dict[str, Any]:
    one = PEERS[name]
    reason = one.missing()
    if reason is None and work not in one.works:
        reason = "cannot express it"
    if reason is not None:
        return {"missing": reason}
    tables = graphs.make(work, quick=quick)
    times: list[float] = []
    rows = total = 0
    for threads in one.threads:
        with one.session(work, threads) as run:
            if name == "Souffle":
                run(tables)
            for _ in range(repeats):
                start = time.perf_counter()
                rows, total = run(tables)
                times.append(time.perf_counter() - start)
                if times[-1] > 5:
                    break
    return {"seconds": min(times), "rows": rows, "sum": total}


def limit(work: str, *, quick: bool, repeats: int) -> dict[str, Any]:
    from limits import LIMITS

    if work not in LIMITS:
        return {"missing": "no kernel"}
    tables = graphs.make(work, quick=quick)
    rows = LIMITS[work](tables)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        LIMITS[work](tables)
        times.append(time.perf_counter() - start)
    return {"seconds": min(times), "rows": rows}


def main() -> None:
    options = argparse.ArgumentParser(description="One measurement, as JSON.")
    options.add_argument("work")
    options.add_argument("measure")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--repeats", type=int, default=3)
    chosen = options.parse_args()
    how = {"quick": chosen.quick, "repeats": chosen.repeats}
    if chosen.measure == "limit":
        found = limit(chosen.work, **how)
    elif chosen.measure in PEERS:
        found = peer(chosen.measure, chosen.work, **how)
    else:
        from ours import MEASURES

        found = MEASURES[chosen.measure](chosen.work, **how)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


if __name__ == "__main__":
    main()
