"""Documents on several shards: each document lives whole on one shard, which finds what changed in it.

compiled = compile_for_shards(text)              the program of the views, and which relations show them
change = base_changes(member, documents)         a shard's documents, put and removed, as base rows
compiled.views.changes(member, outcome, change)  the view's documents that came and went there
"""

from __future__ import annotations

from headwater.semistructured.sharded.intake import BaseChanges, GivenDocument, base_changes
from headwater.semistructured.sharded.keys import key_text, keys_of
from headwater.semistructured.sharded.output import DOCUMENT_SCHEMA, DocumentViews
from headwater.semistructured.sharded.program import ShardedProgram, compile_for_shards

__all__ = [
    "DOCUMENT_SCHEMA", "BaseChanges", "DocumentViews", "GivenDocument", "ShardedProgram", "base_changes",
    "compile_for_shards", "key_text", "keys_of",
]  # fmt: skip
