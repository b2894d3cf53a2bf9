"""Which base facts a row depends on: proofs from witnesses, functions of facts over all worlds, questions about both.

Other packages import from here. Inside: `witness/` reads proofs, `functions/` are boolean functions of facts, `worlds/`
maintains them for all rows, `demand/` builds them for the row asked about.
"""

from headwater.provenance.demand.asking import Questions
from headwater.provenance.demand.magic_sets import Demand, TableQuestion
from headwater.provenance.demand.questions import Bounds, Chances, Critical, Impact, Impacts, chance_of, first
from headwater.provenance.demand.search import Search
from headwater.provenance.functions.node_budget import NODES, NodeBudget
from headwater.provenance.functions.variables import Fact, Order, Variables
from headwater.provenance.witness.lifetime import valid_until
from headwater.provenance.witness.proof import Proof
from headwater.provenance.witness.reader import ProofCrossing, ProofReader, WhyNot
from headwater.provenance.worlds.kept_worlds import KeptWorlds

__all__ = [
    "NODES",
    "Bounds",
    "Chances",
    "Critical",
    "Demand",
    "Fact",
    "Impact",
    "Impacts",
    "KeptWorlds",
    "NodeBudget",
    "Order",
    "Proof",
    "ProofCrossing",
    "ProofReader",
    "Questions",
    "Search",
    "TableQuestion",
    "Variables",
    "WhyNot",
    "chance_of",
    "first",
    "valid_until",
]  # fmt: skip
