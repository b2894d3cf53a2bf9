"""Memory per stored row of queries for all pairs; `python benchmarks/network_memory.py` measures it alone.

The query is 002's, by each of its metrics on its network of 100 nodes, and `path_vector` of the protocol pack on 200
nodes with 600 random links, whose rows carry proofs.

*Counted* is `sim.nbytes` over `sim.stored_rows` when the network is quiet: tables, indexes, paths and proofs, without
the record of messages and changes. *Busy* is the most that `sim.nbytes` was, looked at every 50 ms of simulated time,
over the same rows. *Resident* is by how much the memory of the process has grown during the run, after `malloc_trim`,
over these rows: all there is, also what the allocator keeps. Each metric has a process of its own, in which a network
of 50 nodes has run before, so that compiled loops are loaded.
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
from headwater.network.protocols import PROTOCOLS
from headwater.network.topologies.made import Overlay, overlay, random_graph

VECTOR = "path_vector"
RANDOM = (200, 600)  # nodes and links


def measure(metric: str, seed: int) -> dict[str, float]:
    """One run in this process, which must not have run another one."""
    _simulation(overlay(Overlay(nodes=50, neighbours=2, seed=seed)), metric).run()
    sim = _simulation(random_graph(*RANDOM, seed) if metric == VECTOR else ground(seed), metric)
    before, started, until, busy = _resident(), time.process_time(), 0.0, 0.0
    while not until or not sim.is_quiet:
        until += 0.05
        sim.run(until=until)
        busy = max(busy, float(sim.nbytes))
    sim.run()
    seconds = time.process_time() - started
    grown, rows = _resident() - before, sim.stored_rows
    found = {"rows": rows, "counted": sim.nbytes / rows, "busy": busy / rows, "resident": grown / rows, "cpu": seconds}
    return found | {"sent": sim.report.rows, "converged": sim.converged("path")}


def _simulation(topology: Topology, metric: str) -> Simulation:
    if metric == VECTOR:
        sim = Simulation(PROTOCOLS[VECTOR].compiled(), topology)
        rows = [(src, dst, round(cost)) for src, dst, cost in topology.rows("random")]
    else:
        sim = Simulation(hw.compile(BEST), topology, maintenance="count")
        rows = cost_rows(topology, metric)
    sim.at(0.0, insert={"link": rows})
    return sim


def _resident() -> int:
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def memory(seed: int) -> dict[str, Any]:
    """All metrics, and once the larger network, each in a new process."""
    return {metric: _measured_apart(metric, seed) for metric in (*METRICS, *([] if seed else [VECTOR]))}


def _measured_apart(metric: str, seed: int) -> dict[str, float]:
    command = [sys.executable, __file__, metric, str(seed)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        print(json.dumps(memory(0), indent=1))
