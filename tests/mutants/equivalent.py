"""Mistakes that change nothing that anybody can see, by name, with the reason; they are not drawn."""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT: Mapping[str, str] = {
    "rewrite/unfold_views.py _view: and/or: `here.location is not None and there.location is not None` -> "
    "`((here.location is not None) or (there.location is not None))`": (
        "a program names locations everywhere or nowhere (HW601)"
    ),
}
