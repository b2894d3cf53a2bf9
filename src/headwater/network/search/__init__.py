"""Peer-to-peer search over a snapshot of a network: flooding, an index on Chord's ring, or both (003, section 3).

`compare` gives recall and bytes of each; `feasibility` is the paper's arithmetic for a search engine of the whole Web.
"""

from headwater.network.search.compare import SearchCost, compare
from headwater.network.search.feasibility import SearchBudget, WebSearch, feasibility
from headwater.network.search.library import Library, Question, questions, zipf_library

__all__ = [
    "Library",
    "Question",
    "SearchBudget",
    "SearchCost",
    "WebSearch",
    "compare",
    "feasibility",
    "questions",
    "zipf_library",
]
