"""Lorel text to a syntax tree, and back to text."""

from __future__ import annotations

from headwater.language.lorel.parse import parse_lorel, parse_update
from headwater.language.lorel.printer import print_lorel, print_query, print_update
from headwater.language.lorel.tree import (
    ChangeValue,
    DeleteEdge,
    ElementaryUpdate,
    InsertEdge,
    LorelTree,
    UpdateStatement,
    ViewDefinition,
)

__all__ = [
    "ChangeValue",
    "DeleteEdge",
    "ElementaryUpdate",
    "InsertEdge",
    "LorelTree",
    "UpdateStatement",
    "ViewDefinition",
    "parse_lorel",
    "parse_update",
    "print_lorel",
    "print_query",
    "print_update",
]
