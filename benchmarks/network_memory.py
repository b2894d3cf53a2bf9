"""Memory per stored row of 002's query for all pairs; `python benchmarks/network_memory.py` measures it alone.

*Counted* is `sim.nbytes` over `sim.stored_rows` when the network is quiet: tables, indexes and paths, without the
record of messages and changes. *Resident* is by how much the memory of the process has grown during the run, after
`malloc_trim`, over the same rows: all there is, also what the allocator keeps. Each metric has a process of its own,
in which a network of 50 nodes has run before, so that compiled loops are loaded.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import headwater as hw
from declarative_networking import BEST, METRICS, cost_rows, ground
from headwater.network import Simulation, Topology
from headwater.network.topologies.made import Overlay, overlay


def measure(metric: str, seed: int) -> dict[str, float]:
    """One run in this process, which must not have run another one."""
    _simulation(overlay(Overlay(nodes=50, neighbours=2, seed=seed)), metric).run()
    sim = _simulation(ground(seed), metric)
    before, started = _resident(), time.process_time()
    sim.run()
    seconds = time.process_time() - started
    grown, rows = _resident() - before, sim.stored_rows
    return {"rows": rows, "counted": sim.nbytes / rows, "resident": grown / rows, "cpu": seconds}


def _simulation(topology: Topology, metric: str) -> Simulation:
    sim = Simulation(hw.compile(BEST), topology, maintenance="count")
    sim.at(0.0, insert={"link": cost_rows(topology, metric)})
    return sim


def _resident() -> int:
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def memory(seed: int) -> dict[str, Any]:
    """All metrics, each in a new process."""
    return {metric: _measured_apart(metric, seed) for metric in METRICS}


def _measured_apart(metric: str, seed: int) -> dict[str, float]:
    command = [sys.executable, __file__, metric, str(seed)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        print(json.dumps(memory(0), indent=1))
