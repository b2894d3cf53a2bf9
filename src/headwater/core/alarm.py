"""A relation whose rows say that something is wrong with the data, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alarm:
    """Rings while its relation has a row: warns with its text or, if it `refuses`, undoes the transaction."""

    code: str
    text: str
    refuses: bool
