"""Lists as people type them into a cell: `[a, b]`, `[1, 2.5, "x, y"]`, or nested."""

from __future__ import annotations

import re
from typing import Any

from headwater.files.rows import shortened

_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\[\],"']*))\s*""")
_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?[0-9]+[.][0-9]*(?:[eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "false": False}


def parse_list(text: str, *, texts: bool = False) -> list[Any]:
    """The items of a bracketed list; ValueError if it is none.

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
        raise ValueError(f"{shortened(text)!r} is no list (write [a, b] or JSON)")
    items: list[Any] = outermost[0]
    return items


def _item(found: re.Match[str], *, texts: bool) -> Any:
    double, single, bare = found.groups()
    if bare is None:
        return re.sub(r"\\(.)", r"\1", double if double is not None else single)
    bare = bare.strip()
    if texts:
        return bare
    if bare in _TRUTH:
        return _TRUTH[bare]
    if _INT.fullmatch(bare):
        return int(bare)
    return float(bare) if _FLOAT.fullmatch(bare) else bare
