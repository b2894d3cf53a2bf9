"""DataFrames of questions: the rows of a queried view for which values of its parameters are there.

Questions are an input like any other, in a relation of their own. So they come and go with the batches of a streaming
query, and are part of its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.core.errors import DataError
from headwater.pipeline import CompiledProgram
from headwater.program.questions import query_for, questions_of


def with_questions(
    program: CompiledProgram, questions: Mapping[str, Any] | None
) -> tuple[CompiledProgram, dict[str, Any]]:
    """The program that takes questions as inputs, and these inputs; raises DataError (HW824, HW825)."""
    queries = [query for query in program.checked.queries if query.parameters]
    frames: dict[str, Any] = {}
    for view, frame in (questions or {}).items():
        own = [query for query in queries if query.atom.relation == view and set(query.parameters) <= {*frame.columns}]
        query = own[0] if own else query_for(queries, view, dict.fromkeys(frame.columns))
        others = [name for name in frame.columns if name not in query.parameters]
        frames[questions_of(query)] = frame.select(*query.parameters, *others)
    for query in queries:
        if questions_of(query) not in frames:
            view, names = query.atom.relation, ", ".join(f"`{name}`" for name in query.parameters)
            raise DataError(
                f"error[HW825]: `{view}` is queried with parameters; give the questions as a DataFrame with {names}, "
                f'as in questions={{"{view}": asked}}, or put values in the place of the parameters '
                "(on the command line by --query)"
            )
    return program.answered(), frames
