"""Peer-to-peer search over a snapshot of a network: flooding, an index on Chord's ring, or both (003, section 3).

`compare` counts recall and bytes of each; `run_programs` runs the programs of the protocol pack on nodes and measures
theirs; `feasibility` is the paper's arithmetic for a search engine of the whole Web.
"""

from headwater.network.search.compare import SearchCost, compare
from headwater.network.search.feasibility import SearchBudget, WebSearch, feasibility
from headwater.network.search.library import Library, Question, questions, zipf_library
from headwater.network.search.programs import ProgramCost, run_programs

__all__ = [
    "Library",
    "ProgramCost",
    "Question",
    "SearchBudget",
    "SearchCost",
    "WebSearch",
    "compare",
    "feasibility",
    "questions",
    "run_programs",
    "zipf_library",
]
