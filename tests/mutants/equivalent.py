"""Mistakes that change nothing that anybody can see, by name, with the reason; they are not drawn."""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENT: Mapping[str, str] = {}
