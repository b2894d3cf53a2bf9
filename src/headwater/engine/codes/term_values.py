"""What a term is for a batch of bindings: a column of codes, with where it has no value and where it may be null."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.symbols import Codes, null_code

Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Value:
    """A term's codes and type; `ok` tells where it has a value (None: everywhere), `nullable` if one may be null."""

    codes: Codes
    type: Type
    ok: Mask | None = None
    nullable: bool = False

    @property
    def nulls(self) -> Mask | None:
        """Where it is null (None: nowhere). Where it has no value, its code means nothing."""
        if not self.nullable:
            return None
        null: Mask = self.codes == null_code(self.type)
        return null if self.ok is None else null & self.ok


def either(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left | right


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def null_value(kind: Type, size: int) -> Value:
    return Value(np.full(size, null_code(kind), dtype=np.int64), kind, nullable=True)
