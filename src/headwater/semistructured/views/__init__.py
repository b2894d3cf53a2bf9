"""Lorel views as rules over the relations of a document store, and what an update means to them."""

from __future__ import annotations

from headwater.semistructured.views.known import KnownNames
from headwater.semistructured.views.model import ViewOrder, ViewPart, ViewProgram, program_text, program_tree
from headwater.semistructured.views.translate import translate, translate_all

__all__ = [
    "KnownNames",
    "ViewOrder",
    "ViewPart",
    "ViewProgram",
    "program_text",
    "program_tree",
    "translate",
    "translate_all",
]
