"""A simulated network: many small nodes that maintain one view together over links with delays (000).

`Network` is the face. Inside: `layout/` is the plan that all nodes share, `rows/` their tables, terms and joins,
`operators/` and `provenance/` what nodes with provenance add, `wire/` messages and links, `scan` the base rows.
"""

from headwater.network.simulator.network import STRATEGIES, Network, NetworkOutcome, TransactionBudget
from headwater.network.simulator.operators.minship import BufferedEager, BufferedLazy, Eager, Lazy, Shipping
from headwater.network.simulator.wire.links import Delays, LinkTraffic

__all__ = [
    "STRATEGIES",
    "BufferedEager",
    "BufferedLazy",
    "Delays",
    "Eager",
    "Lazy",
    "LinkTraffic",
    "Network",
    "NetworkOutcome",
    "Shipping",
    "TransactionBudget",
]
