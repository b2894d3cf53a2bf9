"""What happens to a network while a protocol runs: scripts in files, scripts from dice, and the rows they mean.

`read_events` reads a csv or jsonl file, `bursts`, `node_failures` and `partitions` make events, `write_events` writes
them as csv, and `staged` turns events into the changes of base rows at each moment.
"""

from headwater.network.events.bursts import bursts, node_failures, partitions
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
from headwater.network.events.script import LATEST, read_events, write_events
from headwater.network.events.staging import Moment, staged

__all__ = [
    "LATEST",
    "LinkChanges",
    "LinkFails",
    "LinkReturns",
    "Moment",
    "NetworkEvent",
    "NodeFails",
    "NodeReturns",
    "PartitionHeals",
    "Partitioned",
    "RowsChange",
    "bursts",
    "node_failures",
    "partitions",
    "read_events",
    "staged",
    "write_events",
]
