"""The types of columns and of expressions.

`None` stands for "not known yet" wherever a `Type | None` is asked for: a base relation without a
declaration takes its types from the first data it gets.
"""

from __future__ import annotations

from enum import Enum


class Type(Enum):
    INT = "int"
    FLOAT = "float"
    STRING = "string"
    BOOL = "bool"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    ADDRESS = "address"

    @property
    def is_numeric(self) -> bool:
        return self in (Type.INT, Type.FLOAT)
