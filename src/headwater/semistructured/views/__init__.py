"""Lorel views as rules over the relations of a document store, and what an update means to them."""

from __future__ import annotations

from headwater.semistructured.views.compiling import CompiledViews, compile_views, parse_views
from headwater.semistructured.views.inputs import names_read, require_documents
from headwater.semistructured.views.known import KnownNames
from headwater.semistructured.views.model import ViewOrder, ViewPart, ViewProgram, program_text, program_tree
from headwater.semistructured.views.translate import translate, translate_all
from headwater.semistructured.views.updates.explaining import explain_update
from headwater.semistructured.views.updates.grounding import ground_update, parse_updates, update_warnings
from headwater.semistructured.views.updates.relevance import (
    Relevance,
    RelevantOids,
    StoreLabels,
    ViewRelevance,
    relevant_oids,
    relevant_variables,
)
from headwater.semistructured.views.updates.sight import ViewSight

__all__ = [
    "CompiledViews",
    "KnownNames",
    "Relevance",
    "RelevantOids",
    "StoreLabels",
    "ViewOrder",
    "ViewPart",
    "ViewProgram",
    "ViewRelevance",
    "ViewSight",
    "compile_views",
    "explain_update",
    "ground_update",
    "names_read",
    "parse_updates",
    "parse_views",
    "program_text",
    "program_tree",
    "relevant_oids",
    "relevant_variables",
    "require_documents",
    "translate",
    "translate_all",
    "update_warnings",
]
