"""What Spark's own pages call a job of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from headwater.pipeline import CompiledProgram
from headwater.spark.session.session import is_connect

_KEY = "spark.job.description"
_MOST_VIEWS = 5


def title(program: CompiledProgram) -> str:
    """`headwater routes.dl: fastest`: the file that a program was read from, if any, and its views."""
    spans = [statement.span for statement in program.tree.statements[:1]]
    named = [span.source.name for span in spans if span is not None]
    file = "".join(f" {PurePath(name).name}" for name in named if not name.startswith("<"))
    views = [*program.outputs[:_MOST_VIEWS], *(["..."] if len(program.outputs) > _MOST_VIEWS else [])]
    return f"headwater{file}: {', '.join(views)}"


@contextmanager
def described(spark: Any, text: str) -> Iterator[None]:
    """Jobs started inside carry this description; Connect knows tags only, and gets none."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_KEY)
    context.setLocalProperty(_KEY, text)
    try:
        yield
    finally:
        context.setLocalProperty(_KEY, before)
