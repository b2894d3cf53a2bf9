"""Compiled loops over the bytes of JSON texts and over the flat arrays that they become."""

from headwater.semistructured.reading.kernels.matching import match_nodes, subtree_hashes
from headwater.semistructured.reading.kernels.scanning import most_nodes, scan_documents

__all__ = ["match_nodes", "most_nodes", "scan_documents", "subtree_hashes"]
