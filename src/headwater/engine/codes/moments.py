"""Moments that users name, as the clock of a program counts them."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from typing import Any

from headwater.core.errors import DataError
from headwater.core.types import Type
from headwater.engine.codes.fitting import fit
from headwater.engine.codes.symbols import Symbols, encode
from headwater.program.time.program_clock import FOREVER, TOO_FAR


def moment_of(time: Any, clock: Type | None) -> int:
    """A moment, given as the times of the streams are; DataError if it is none of this clock (None: there is none)."""
    if clock is None:
        raise DataError("error[HW803]: this program has no time: it has no stream and no ttl")
    try:
        moment = encode(fit(time, clock), clock, Symbols())
    except ValueError as problem:
        raise DataError(f"error[HW803]: {time!r} is not a valid time: {problem}") from None
    if moment >= FOREVER:
        raise DataError(f"error[HW803]: {time!r} is not a valid time: {TOO_FAR}")
    return moment


def typed_moment(text: str, clock: Type | None) -> Any:
    """A moment as it is typed, a number or a date and time; DataError if it is none."""
    time: Any = text
    with suppress(ValueError):  # below it is said what is wanted
        time = int(text) if clock is Type.INT else dt.datetime.fromisoformat(text)
    moment_of(time, clock)
    return time


def wall_time() -> dt.datetime:
    """The moment it is, in UTC, as a clock of timestamps takes it."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)
