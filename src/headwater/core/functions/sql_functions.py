"""Functions with SQL's conventions: positions count from 1, patterns match as LIKE does, what has no value is null."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from headwater.core.functions import regex
from headwater.core.functions.casts import as_text
from headwater.core.functions.function import Function, item_type, partial, plain
from headwater.core.functions.logic import OF_PRESENT, alike, never, of_present
from headwater.core.functions.sizes import check_text
from headwater.core.functions.ways import way_of
from headwater.core.types import Type, list_of, list_with
from headwater.core.widening import item_of

_INT, _FLOAT, _STRING, _BOOL, _LIST = Type.INT, Type.FLOAT, Type.STRING, Type.BOOL, Type.LIST
_MOST_DIGITS = 400  # more than any float has, before or behind the point
_EXACT = Context(prec=2 * _MOST_DIGITS + 50)


# Numbers


def _quotient(left: float, right: float) -> int:
    if isinstance(left, int) and isinstance(right, int):
        found = abs(left) // abs(right)
        return found if (left < 0) == (right < 0) else -found
    return math.trunc(left / right)


def _remainder(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        found = abs(left) % abs(right)
        return -found if left < 0 else found
    return math.fmod(left, right)


def _round_half_up(value: float, digits: int = 0) -> float:
    """Of the number as it is written, as Spark does it: 2.675 is a half, though its double lies below."""
    if digits > _MOST_DIGITS or (isinstance(value, int) and digits >= 0) or not math.isfinite(value):
        return value
    if digits < -_MOST_DIGITS:
        return type(value)(0)
    found = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACT)
    return type(value)(found)


def _positive_remainder(left: float, right: float) -> float:
    found = _remainder(left, right)
    return _remainder(found + right, right) if found < 0 else found


def _log(base: float, value: float) -> float:
    if base == 10:
        return math.log10(value)
    return math.log2(value) if base == 2 else math.log(value) / math.log(base)


def _sign(value: float) -> float:
    return float((value > 0) - (value < 0))


def _whole(value: Any) -> int:
    if isinstance(value, str):
        text = value.strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else math.trunc(float(text))
    return math.trunc(value)


def _number(value: Any) -> float:
    return float(value.strip() if isinstance(value, str) else value)


# Texts


def _ilike(text: str, pattern: str, escape: str = "\\") -> bool:
    """As Spark has it: like, of both in small letters."""
    return regex.is_like(text.lower(), pattern.lower(), escape.lower())


def _substring(text: str, start: int, count: int | None = None) -> str:
    """Positions from 1, negative ones from the end; 0 is the same as 1."""
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    last = len(text) if count is None else first + max(0, count)
    return text[max(0, first) : max(0, last)]


def _left(text: str, count: int) -> str:
    return text[: max(0, count)]


def _right(text: str, count: int) -> str:
    return text[max(0, len(text) - count) :] if count > 0 else ""


def _padded(name: str) -> Callable[..., str]:
    def padded(text: str, size: int, fill: str = " ") -> str:
        missing = size - len(text)
        if missing <= 0 or not fill:
            return text[: max(0, size)]
        check_text(name, size)
        padding = (fill * (missing // len(fill) + 1))[:missing]
        return padding + text if name == "lpad" else text + padding

    return padded


def _ws(separator: str | None, *parts: Any) -> str | None:
    """The items of a list are parts like others, as in Spark."""
    items = (item for part in parts for item in (part if isinstance(part, tuple) else (part,)))
    return None if separator is None else separator.join(str(item) for item in items if item is not None)


def _capitals(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _repeated(text: str, count: int) -> str:
    check_text("repeat", len(text) * count)
    return text * max(0, count)


def _translated(text: str, old: str, new: str) -> str:
    pairs: dict[int, str | None] = {}
    for at, letter in enumerate(old):
        pairs.setdefault(ord(letter), new[at] if at < len(new) else None)
    return text.translate(pairs)


def _item_from_0(items: tuple[Any, ...], place: int) -> Any:
    return items[place] if 0 <= place < len(items) else None


def _item(items: tuple[Any, ...], place: int) -> Any:
    if place == 0 or abs(place) > len(items):
        return None
    return items[place - 1] if place > 0 else items[place]


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code % 256)


def _space(count: int) -> str:
    check_text("space", count)
    return " " * max(0, count)


def _array_join(items: tuple[Any, ...], mark: str) -> str:
    texts = [as_text(item) for item in items if item is not None]
    check_text("array_join", sum(map(len, texts)) + len(mark) * len(texts))
    return mark.join(texts)


def _last_items(types: tuple[Type | None, ...]) -> Type:
    inner = None if types[0] is None else item_of(types[0])
    return list_of(None if inner is None else inner.part(-1))


_SINGLE, _PAIR, _TRIPLE = (_STRING,), (_STRING,) * 2, (_STRING,) * 3
_PADDING, _TEXTS = ((_STRING, _INT, _STRING), _STRING), list_of(_STRING)

SQL_FUNCTIONS = (
    partial("divide", (_FLOAT, _FLOAT), _FLOAT, operator.truediv, "the quotient; null if divided by zero", grows=True),
    partial("quotient", (None, None), _INT, _quotient, "the integer quotient; null if divided by zero"),
    partial("remainder", (None, None), None, _remainder, "the remainder, with the sign of the first", typing=alike),
    partial("round_half_up", (None, _INT), None, _round_half_up, "rounded to digits, halves away from zero", also=(1,)),
    plain("sign", (_FLOAT,), _FLOAT, _sign, "-1.0, 0.0 or 1.0"),
    partial("try_to_int", (None,), _INT, _whole, "as an integer, rounded towards zero; null if that fails"),
    partial("try_to_float", (None,), _FLOAT, _number, "as a float; null if that fails"),
    partial("try_sqrt", (_FLOAT,), _FLOAT, math.sqrt, "square root; null for a negative number", grows=True),
    partial("try_log", (_FLOAT,), _FLOAT, math.log, "natural logarithm; null if undefined", grows=True),
    partial("try_exp", (_FLOAT,), _FLOAT, math.exp, "e to the power of the argument; null if too large", grows=True),
    partial("try_pow", (_FLOAT, _FLOAT), _FLOAT, math.pow, "a power; null if undefined", grows=True),
    plain("greatest", (None,), None, of_present(max), "the largest non-null argument", **OF_PRESENT),
    plain("least", (None,), None, of_present(min), "the smallest non-null argument", **OF_PRESENT),
    partial("like", _TRIPLE, _BOOL, regex.is_like, "true if the text matches a pattern with % and _", also=(2,)),
    partial("ilike", _TRIPLE, _BOOL, _ilike, "the same, ignoring case", also=(2,)),
    partial("rlike", _PAIR, _BOOL, regex.matches, "true if the pattern matches a part of the text", pattern=1),
    plain(
        "substring",
        (_STRING, _INT, _INT),
        _STRING,
        _substring,
        "the part at a position (from 1), with a length",
        also=(2,),
    ),
    plain("left", (_STRING, _INT), _STRING, _left, "the first n characters"),
    plain("right", (_STRING, _INT), _STRING, _right, "the last n characters"),
    plain("lpad", *_PADDING, _padded("lpad"), "padded on the left to a length", also=(2,), grows=True),
    plain("rpad", *_PADDING, _padded("rpad"), "padded on the right to a length", also=(2,), grows=True),
    plain("ltrim", _SINGLE, _STRING, lambda text: text.lstrip(" "), "without spaces at the start"),
    plain("rtrim", _SINGLE, _STRING, lambda text: text.rstrip(" "), "without spaces at the end"),
    plain("repeat", (_STRING, _INT), _STRING, _repeated, "the text repeated n times", grows=True),
    plain(
        "position", _PAIR, _INT, lambda text, part: text.find(part) + 1, "position of a part, from 1; 0 if not found"
    ),
    plain("chr", (_INT,), _STRING, _chr, "the character of a code, of its last eight bits"),
    plain("ascii", _SINGLE, _INT, lambda text: ord(text[0]) if text else 0, "the code of the first character; 0: none"),
    plain("space", (_INT,), _STRING, _space, "so many spaces", grows=True),
    plain("array_join", (_LIST, _STRING), _STRING, _array_join, "the items of a list joined, without nulls"),
    plain("initcap", _SINGLE, _STRING, _capitals, "every word capitalised"),
    Function(
        "concat_ws",
        (_STRING, None),
        _STRING,
        _ws,
        "the non-null parts joined by a separator",
        variadic=True,
        sees_nulls=True,
        nullable=lambda nulls: nulls[0],
    ),
    plain(
        "last_items",
        (_LIST,),
        None,
        lambda lists: tuple(items[-1] for items in lists),
        "the last item of each list of a list",
        typing=_last_items,
    ),
    plain(
        "array_of",
        (None,),
        None,
        lambda *items: items,
        "a list of the arguments, which may be null",
        variadic=True,
        typing=list_with,
        sees_nulls=True,
        nullable=never,
    ),
    plain(
        "way_of",
        (None,),
        _INT,
        way_of,
        "a number that differs for different arguments",
        variadic=True,
        sees_nulls=True,
        nullable=never,
    ),
    partial("item_from_0", (_LIST, _INT), None, _item_from_0, "the item, from 0", typing=item_type),
    partial("item", (_LIST, _INT), None, _item, "the item, from 1; negative: from the end", typing=item_type),
    partial("regexp_split", _PAIR, _TEXTS, regex.parts, "the parts between the matches of a pattern", pattern=1),
    partial("regexp_split_to", (*_PAIR, _INT), _TEXTS, regex.parts, "the same, with at most n parts", pattern=1),
    partial("regexp_replace", _TRIPLE, _STRING, regex.replaced, "every match replaced", grows=True, pattern=1),
    partial(
        "regexp_extract",
        (*_PAIR, _INT),
        _STRING,
        regex.extracted,
        "a group of the first match, else empty text",
        pattern=1,
    ),
    plain("translate", _TRIPLE, _STRING, _translated, "characters replaced one by one"),
    plain("trim_of", _PAIR, _STRING, lambda text, letters: text.strip(letters), "without these letters at both ends"),
    plain("ltrim_of", _PAIR, _STRING, lambda text, letters: text.lstrip(letters), "without these letters at the start"),
    plain("rtrim_of", _PAIR, _STRING, lambda text, letters: text.rstrip(letters), "without these letters at the end"),
    partial("try_log_of", (_FLOAT, _FLOAT), _FLOAT, _log, "logarithm to a base; null if undefined", grows=True),
    partial("pmod", (None, None), None, _positive_remainder, "the remainder, never negative", typing=alike),
)
