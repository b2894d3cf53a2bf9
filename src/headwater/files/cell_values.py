"""Cells of a csv file, columns of text, as values of a type; a whole column at a time where all of it fits."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import Type
from headwater.core.widening import item_of
from headwater.engine.codes.columns import fitted_array
from headwater.engine.codes.fitting import fit
from headwater.files.rows import Column, Problems, shortened
from headwater.files.typed_rows import Conversion
from headwater.language.units import duration

_INT = r"^-?(0|[1-9][0-9]{0,17})$"
_FLOAT = r"^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_BOOL = r"^(true|false|True|False|TRUE|FALSE)$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DAY_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}.*)?$"
_LIST = r"^\s*\[.*\]\s*$"
_CODE = r"^0[0-9]+$"  # a number that starts with 0 is a name: a postal code, a part
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\[\],"']*))\s*""")
_ITEM_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_ITEM_FLOAT = re.compile(r"-?[0-9]+[.][0-9]*(?:[eE][+-]?[0-9]+)?")
_DEEPEST = 100
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def guess_text(column: pa.Array) -> Type | None:
    """The type of most values of an undeclared column; the others do not fit. Empty cells do not count."""
    filled = column.filter(pc.not_equal(column, ""))
    count = len(filled)
    if not count:
        return Type.STRING if len(column) else None
    if _matching(filled, _CODE):
        return Type.STRING
    ints, floats = _matching(filled, _INT), _matching(filled, _FLOAT)
    if 2 * floats > count:
        return Type.INT if ints == floats else Type.FLOAT
    for pattern, kind in ((_BOOL, Type.BOOL), (_MOMENT, Type.TIMESTAMP), (_LIST, Type.LIST)):
        if 2 * _matching(filled, pattern) > count:
            return kind
    return Type.STRING


def _matching(column: pa.Array, pattern: str) -> int:
    return pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0


def empty_text(column: pa.Array, kind: Type) -> npt.NDArray[np.bool_]:
    """Where a cell is empty; a cell of blanks is a value only in a column of text."""
    cells = column if kind in (Type.STRING, Type.ADDRESS) else pc.utf8_trim_whitespace(column)
    return np.asarray(pc.equal(cells, "").to_numpy(zero_copy_only=False), dtype=np.bool_)


def typed_text(column: pa.Array, kind: Type) -> tuple[Column, Problems]:
    """The values of a column, and where a text is none of its type (the value there is meaningless)."""
    quick = _all_at_once(column, kind)
    return (quick, {}) if quick is not None else _one_by_one(column, kind)


def _all_at_once(column: pa.Array, kind: Type) -> pa.Array | None:
    match kind:
        case Type.STRING | Type.ADDRESS:
            return column
        case Type.INT if _matching(column, _INT) == len(column):
            return column.cast(pa.int64())
        case Type.FLOAT if _matching(column, _FLOAT) == len(column) and not _matching(column, r"^[+]"):
            return column.cast(pa.float64())
        case Type.BOOL if _matching(column, _BOOL) == len(column):
            return pc.equal(pc.utf8_lower(column), "true")
        case Type.TIMESTAMP if _matching(column, _DAY_TIME) == len(column):
            try:
                return column.cast(pa.timestamp("us"))
            except pa.ArrowInvalid:
                return None  # a 31st of June: the rows are read one by one
        case Type.DATE if _matching(column, _DAY) == len(column):
            try:
                return column.cast(pa.date32())
            except pa.ArrowInvalid:
                return None
    return None


def _one_by_one(column: pa.Array, kind: Type) -> tuple[Column, Problems]:
    """Each distinct text is converted once."""
    encoded = column.dictionary_encode()
    places = encoded.indices.to_numpy(zero_copy_only=False)
    values: list[Any] = []
    reasons: dict[int, str] = {}
    for at, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            values.append(storable(fit(text_value(text, kind), kind)))
        except (ValueError, OverflowError, RecursionError) as problem:
            values.append(None)
            reasons[at] = str(problem)
    problems: Problems = {}
    if reasons:
        wrong = np.flatnonzero(np.isin(places, list(reasons)))
        problems = {int(at): reasons[int(places[at])] for at in wrong}
    if kind.is_list or kind is Type.ANY:
        return [values[place] for place in places.tolist()], problems
    return fitted_array(values, kind).take(pa.array(places)), problems


def text_value(text: str, kind: Type) -> Any:
    """The value of a text in a column of this type; ValueError if there is none."""
    trimmed = text.strip()
    if kind in (Type.STRING, Type.ADDRESS):
        return text
    if not trimmed:
        raise ValueError(f"an empty cell is not a valid {kind.value}")
    match kind:
        case Type.INT if _WHOLE.fullmatch(trimmed):
            return int(trimmed) if len(trimmed) < 25 else _too_long(trimmed)
        case Type.FLOAT if "_" not in trimmed:
            return _float(trimmed)
        case Type.BOOL if trimmed.lower() in _TRUTH:
            return _TRUTH[trimmed.lower()]
        case Type.TIMESTAMP:
            return int(trimmed) if _WHOLE.fullmatch(trimmed) and len(trimmed) < 25 else trimmed
        case Type.DATE:
            return trimmed
        case Type.DURATION if _WHOLE.fullmatch(trimmed) and len(trimmed) < 25:
            return int(trimmed)
        case Type.DURATION if written := _SPAN.fullmatch(trimmed):
            found = duration(*written.groups())
            if found is not None:
                return dt.timedelta(microseconds=found.microseconds)
        case Type.ANY:
            return _anything(trimmed)
        case _ if kind.is_list:
            return _list(trimmed, kind)
    raise ValueError(f"{_shown(trimmed)} is not a valid {kind.value}")


def storable(value: Any, depth: int = 0) -> Any:
    """The value itself; ValueError for a list too deep to work with, or half of a character (`\\ud800` in JSON)."""
    if isinstance(value, tuple):
        if depth == _DEEPEST:
            raise ValueError("a list is nested too deep")
        for item in value:
            storable(item, depth + 1)
    elif isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("a text holds half of a surrogate pair")
    return value


def _anything(text: str) -> Any:
    """The value of a text, as if it were an item of a list; else the text."""
    try:
        items = parse_list(f"[{text}]")
    except ValueError:
        return text
    return items[0] if len(items) == 1 else text


def _list(text: str, kind: Type) -> Any:
    texts = _innermost(kind) in (Type.STRING, Type.ADDRESS)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = parse_list(text, texts=texts)
    else:
        if texts and isinstance(found, list) and not _all_texts(found):
            found = parse_list(text, texts=True)  # `[7, b2]` where names stand
    if not isinstance(found, list):
        raise ValueError(f"{_shown(text)} is not a valid list (write [a, b] or JSON)")
    return found


def parse_list(text: str, *, texts: bool = False) -> list[Any]:
    """The items of a list as people type it, `[a, b]` or `[1, 2.5, "x, y"]`, or nested; ValueError if it is none.

    Bare words are strings, also upper-case ones; where only `texts` are wanted, numbers are too.
    """
    outermost: list[Any] = []
    open_lists = [outermost]
    at, expects_item = 0, True
    while at < len(text):
        mark = text[at]
        if mark == "[" and expects_item:
            inner: list[Any] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
        elif mark == "]" and len(open_lists) > 1 and not (expects_item and open_lists[-1]):
            open_lists.pop()
            expects_item = False
        elif mark == "," and len(open_lists) > 1 and not expects_item:
            expects_item = True
        elif mark.isspace():
            pass
        elif expects_item and len(open_lists) > 1:
            found = _ITEM.match(text, at)
            if found is None or found.end() == at:
                break
            open_lists[-1].append(_item(found, texts=texts))
            at, expects_item = found.end(), False
            continue
        else:
            break
        at += 1
    if at < len(text) or len(open_lists) > 1 or len(outermost) != 1:
        raise ValueError(f"{shortened(text)!r} is not a valid list (write [a, b] or JSON)")
    items: list[Any] = outermost[0]
    return items


def _item(found: re.Match[str], *, texts: bool) -> Any:
    double, single, bare = found.groups()
    if bare is None:
        return re.sub(r"\\(.)", r"\1", double if double is not None else single)
    bare = bare.strip()
    if texts:
        return bare
    if bare in ("true", "false"):
        return bare == "true"
    if _ITEM_INT.fullmatch(bare):
        return int(bare)
    return float(bare) if _ITEM_FLOAT.fullmatch(bare) else bare


def _innermost(kind: Type | None) -> Type | None:
    return _innermost(item_of(kind)) if kind is not None and kind.is_list else kind


def _all_texts(items: list[Any]) -> bool:
    return all(_all_texts(item) if isinstance(item, list) else isinstance(item, str) for item in items)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{_shown(text)} is not a valid float") from None


def _too_long(text: str) -> int:
    raise ValueError(f"{_shown(text)} does not fit into 64 bits")


def _shown(text: str) -> str:
    return repr(shortened(text))


CELLS = Conversion(guess_text, typed_text, empty_text)
