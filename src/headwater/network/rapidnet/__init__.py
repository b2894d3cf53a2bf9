"""RapidNet's dialect of Network Datalog: tables, events that last one moment, timers, deletions.

    materialize(link, infinity, infinity, keys(1,2)).
    materialize(alive, 15, infinity, keys(1,2)).
    p1 ping(@Y,X) :- periodic(@X,E,5), link(@X,Y,C).
    p2 alive(@Y,X) :- ping(@Y,X).

`rapidnet_program` reads a program whole: as a `CompiledProgram` if all its rules are over tables, else as an
`EventProgram`, which `EventSimulation` runs on nodes in simulated time. `read_rapidnet` gives the text of a program for
a `Database`, where events, timers and deletions mean nothing: there it says so (HW815). `CONSTRUCTS` is the table of
what has which place.
"""

from collections.abc import Mapping

from headwater.network.rapidnet.constructs import CONSTRUCTS
from headwater.network.rapidnet.events import acts, event_program
from headwater.network.rapidnet.model import EventProgram
from headwater.network.rapidnet.simulation import EventSimulation
from headwater.network.rapidnet.views import read_rapidnet
from headwater.pipeline import CompiledProgram, compile  # noqa: A004

__all__ = [
    "CONSTRUCTS",
    "EventProgram",
    "EventSimulation",
    "event_program",
    "rapidnet_program",
    "read_rapidnet",
]


def rapidnet_program(
    text: str, *, name: str = "<text>", types: Mapping[str, tuple[str, ...]] | None = None
) -> CompiledProgram | EventProgram:
    """A program as nodes run it: views alone where all rules are over tables, else with its events."""
    if acts(text, name):
        return event_program(text, name=name, types=types)
    return compile(read_rapidnet(text, name=name, types=types), name=f"{name}, as read")
