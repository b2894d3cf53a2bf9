"""Mistakes that change nothing that anybody can see, by name, with the reason; they are not drawn."""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT: Mapping[str, str] = {
    "engine/budget.py Budget.rows: comparison: `most >= wanted` -> `most > wanted`": (
        "where both are equal, `most` is returned in place of `wanted`"
    ),
    "engine/frontiers.py Frontiers.__init__: off by one: `0` -> `1`": "set when the lists are made, before it is read",
    "engine/fused_set.py FusedTail._bounds: off by one: `0` -> `1` #1": "sides and columns of places are equally many",
    "engine/turns.py Turns.next: twin: `min` -> `max`": "sums of several heads are worked out in another order",
    "rewrite/unfold_views.py _view: and/or: `here.location is not None and there.location is not None` -> "
    "`((here.location is not None) or (there.location is not None))`": (
        "a program names locations everywhere or nowhere (HW601)"
    ),
}
