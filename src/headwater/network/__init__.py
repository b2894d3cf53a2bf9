"""Networks: topologies, and programs that run on them in simulated time.

    from headwater.network import Link, Topology, Simulation

    topology = Topology([Link("a", "b", latency=0.050, bandwidth=10e6), Link("b", "c")])
    sim = Simulation(program, topology)                # rules with `@` and `#`: see docs/networks.md
    sim.at(0.0, insert={"link": topology.rows("latency")})
    sim.at(12.5, delete={"link": [("a", "b", 50.0)]})  # while other messages are under way
    sim.at(13.0, cut=[("b", "c")])                     # messages under way on the link are lost; mend=[...] ends it
    sim.run(until=60.0)                                # or sim.run(): until nothing is under way
    sim.rows("shortestPath"); sim.node("a").rows("shortestPath"); sim.now
    question = sim.follow("cost", S="a", D="c", at=20.0)          # of `query cost($S, $D, C)`: travels along links
    question.rows; question.close(at=30.0)                        # ended questions give their state back
    sim.report.messages, .bytes, .rate(0.1), .bytes_by_link(), .bytes_by_node(), .trace; sim.summary()
    sim.converged("shortestPath"), sim.settled("shortestPath")    # when the view's rows came to stay

A node holds the rows of its location and runs the rules on them; a row that a rule derives for another node is sent
over the link between the two. Links have a latency, a bandwidth (messages queue), loss, reordering and duplication.
Everything is determined by the program, the topology, the events and `seed`: run it again, and every byte is the same.

`evaluation` says when a node works on what has arrived (002, section 3.3): `psn` at once, `bsn` once in `iteration`
seconds, `sn` when all messages of a round have arrived everywhere. `fifo=True` is a transport that repeats lost
messages and keeps them in order; with `fifo=False` messages are lost and overtaken, and `refresh` (seconds) must renew
what was sent. `maintenance` is how rows go again: None chooses, `count` counts derivations (002), `proofs` sends the
facts that a row rests on. `selections=Periodic(s)` and `sharing=s` hold rows back to send fewer bytes.
`caching=s` keeps answers for s seconds after their questions.
`counts_inferences=True` fills `sim.inferences`.

Bad input (a node that no link reaches, a negative latency, an event for an unknown node, a program that is not
link-restricted) raises ValueError, DataError or ProgramError before anything runs.
"""

from headwater.network.links import Link, Topology
from headwater.network.nodes.holding import Periodic
from headwater.network.nodes.questions import SimulatedQuestion
from headwater.network.nodes.report import SimulationReport, TracedMessage
from headwater.network.nodes.simulation import EVALUATIONS, NodeView, Simulation

__all__ = [
    "EVALUATIONS",
    "Link",
    "NodeView",
    "Periodic",
    "SimulatedQuestion",
    "Simulation",
    "SimulationReport",
    "Topology",
    "TracedMessage",
]
