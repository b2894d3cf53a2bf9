"""Builds the compiled loop that the plan has chosen for a delta rule; see `headwater.plan.loops`."""

from __future__ import annotations

from typing import assert_never

from headwater.engine.rules.context import Context
from headwater.engine.rules.fused_best import FusedBest
from headwater.engine.rules.fused_frontier import FusedFrontier
from headwater.engine.rules.fused_set import FusedCopy, FusedJoin, FusedPull, FusedTail
from headwater.plan import model
from headwater.plan.model import DeltaRule, FlatRule

FromRows = FusedCopy | FusedJoin | FusedBest | FusedFrontier


def fused(delta_rule: DeltaRule, rule: FlatRule, context: Context) -> FromRows | FusedTail | FusedPull | None:
    """The loop of a delta rule, ready to run; None: it runs step by step."""
    loop = delta_rule.loop
    if isinstance(loop, model.StepByStep):
        return None
    assert delta_rule.start is not None, "a loop starts from rows"
    start = delta_rule.start.table
    match loop:
        case model.CopyLoop():
            owned = next((step for step in delta_rule.steps if isinstance(step, model.Owned)), None)
            return FusedCopy(loop, start, owned, rule, context)
        case model.JoinLoop(carries=None):
            return FusedJoin(loop, start, rule, context)
        case model.JoinLoop():
            return FusedTail(loop, start, rule, context)
        case model.PullLoop():
            return FusedPull(loop, rule, context)
        case model.BestLoop():
            return FusedBest(loop, start, rule, context)
        case model.FrontierLoop():
            return FusedFrontier(loop, start, rule, context)
        case other:
            assert_never(other)
