"""JSON Patches (RFC 6902): applied to documents, and made from two versions of one.

A patch that is made uses `add`, `remove` and `replace` alone. Equal is what JSON says: 1, 1.0 and true differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jsonpatch
import jsonpointer

from headwater.core.errors import DataError

Patch = list[dict[str, Any]]


def apply_patch(document: Any, patch: Sequence[Mapping[str, Any]] | str) -> Any:
    """The document after a patch; raises DataError if it does not apply."""
    try:
        operations = json.loads(patch) if isinstance(patch, str) else list(patch)
        return jsonpatch.JsonPatch(operations).apply(document)
    except RecursionError:
        raise DataError(
            "error[HW822]: the document or the patch is nested too deeply to be patched; put it whole"
        ) from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, ValueError, TypeError, KeyError) as problem:
        raise DataError(f"error[HW822]: the patch does not apply: {problem or type(problem).__name__}") from None


def make_patch(old: Any, new: Any) -> Patch:
    """What turns one document into the other."""
    patch: Patch = []
    _compare(old, new, "", patch)
    return patch


def is_equal(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    patch: Patch = []
    _compare(one, other, "", patch)
    return not patch


def _compare(old: Any, new: Any, path: str, patch: Patch) -> None:
    stack = [(old, new, path)]
    while stack:
        old, new, path = stack.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            patch += [{"op": "remove", "path": _below(path, name)} for name in old if name not in new]
            for name, value in new.items():
                if name in old:
                    stack.append((old[name], value, _below(path, name)))
                else:
                    patch.append({"op": "add", "path": _below(path, name), "value": value})
        elif isinstance(old, list) and isinstance(new, list):
            _compare_lists(old, new, path, patch, stack)
        elif type(old) is not type(new) or old != new:
            patch.append({"op": "replace", "path": path, "value": new})


def _compare_lists(old: list[Any], new: list[Any], path: str, patch: Patch, stack: list[tuple[Any, Any, str]]) -> None:
    """Common items at both ends stay; of those between, as many as both have are compared, the rest comes or goes."""
    begin, most = 0, min(len(old), len(new))
    while begin < most and is_equal(old[begin], new[begin]):
        begin += 1
    end = 0
    while end < most - begin and is_equal(old[-1 - end], new[-1 - end]):
        end += 1
    before, after = len(old) - end, len(new) - end
    both = min(before, after)
    stack += [(old[at], new[at], f"{path}/{at}") for at in range(begin, both)]
    patch += [{"op": "remove", "path": f"{path}/{at}"} for at in range(before - 1, both - 1, -1)]
    patch += [{"op": "add", "path": f"{path}/{at}", "value": new[at]} for at in range(both, after)]


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
