"""The facts that rows rest on, sent along with rows which could support each other through the network."""

from headwater.network.nodes.proofs.node_proofs import NodeProofs, Numbers, ProofNumbers

__all__ = ["NodeProofs", "Numbers", "ProofNumbers"]
