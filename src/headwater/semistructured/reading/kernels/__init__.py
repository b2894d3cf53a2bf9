"""Compiled loops over the bytes of JSON texts and over the flat arrays that they become."""

from headwater.semistructured.reading.kernels.matching import by_parent, compare_nodes, match_nodes, number_texts
from headwater.semistructured.reading.kernels.scanning import most_nodes, scan_documents

__all__ = ["by_parent", "compare_nodes", "match_nodes", "most_nodes", "number_texts", "scan_documents"]
