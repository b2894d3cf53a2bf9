"""Can peers search the whole Web? The arithmetic of 003, section 3.1, with every number a parameter.

The Internet's bisection bandwidth, of which search may use a share, divided by the questions per second is the budget
of a question. Flooding sends a question to every peer. An index on a ring sends the list of one term to the
owner of the next, and such lists are long: with the defaults an uncompressed index needs more than flooding, and both
need more than the budget. Compression, caching and shorter answers multiply up to `saving`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class WebSearch:
    """What is searched, by whom, over what. The paper gives the documents; the other defaults are assumptions."""

    documents: float = 4e9
    peers: float = 60_000
    questions_per_second: float = 1000.0
    bisection_bits_per_second: float = 100e9
    share_for_search: float = 0.1
    question_bytes: float = 100.0
    posting_bytes: float = 20.0
    share_with_term: float = 0.005  # of the documents, those that have the rarer term of a question
    saving: float = 1.0  # by how much compression, caching and the like shrink the lists that are sent

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ValueError(f"{each.name} is a number above 0, not {value!r}")
        for name in ("share_for_search", "share_with_term"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} is a share, at most 1, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Bytes per question."""

    budget: float
    flooding: float
    index: float
    saving_needed: float  # by how much lists must shrink until the index fits the budget

    @property
    def flooding_fits(self) -> bool:
        return self.flooding <= self.budget

    @property
    def index_fits(self) -> bool:
        return self.index <= self.budget


def feasibility(search: WebSearch) -> SearchBudget:
    """What a question may cost, and what it costs either way."""
    budget = search.bisection_bits_per_second * search.share_for_search / 8 / search.questions_per_second
    lists = search.documents * search.share_with_term * search.posting_bytes
    return SearchBudget(budget, search.peers * search.question_bytes, lists / search.saving, max(1.0, lists / budget))
