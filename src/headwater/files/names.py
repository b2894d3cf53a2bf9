"""Names of relations as names of files: the one place where a name becomes part of a path.

A relation may have any name (`"../../evil"` in SQL). Its file name is always one part of a path: it stays in its
folder, is not hidden (Spark skips names that begin with `.` or `_`), and is the same to shells, URIs, Hadoop and object
stores. Ordinary names (letters, digits, `_`, `-`) stay as they are. Any other character becomes its UTF-8 bytes in hex,
each behind a `~`. Different names have different files, and `relation_name` gives back the name, unless it is too long
for a file: then its beginning and a digest replace it.

Names that differ only in case (`linkTo`, `linkto`) have files that differ only in case: on a disk that ignores case
they are one file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

_MARK = "~"
_MOST = 160  # bytes; a file's name has at most 255, and something is put around this one
_BEGINNING = 100
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
_TAKEN = frozenset({"rejected"})  # what files beside those of views are called
_CODED = re.compile(rf"{_MARK}([0-9a-f]{{2}})")


def file_name(relation: str) -> str:
    """The part of a path that a relation's name becomes."""
    if not relation:
        return _MARK
    plain = unicodedata.normalize("NFC", relation) == relation
    coded = "".join(letter if _is_plain(letter, plain) else _hex(letter) for letter in relation)
    if coded[0] in "_-" or coded.lower() in _DEVICES | _TAKEN:
        coded = _hex(coded[0]) + coded[1:]
    raw = coded.encode()
    if len(raw) <= _MOST:
        return coded
    digest = hashlib.sha256(relation.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{raw[:_BEGINNING].decode('utf-8', 'ignore')}{_MARK}{_MARK}{digest}"


def relation_name(file: str) -> str | None:
    """The relation of a file name; None: its name was too long, or the file is of no relation."""
    if file == _MARK:
        return ""
    raw = re.sub(
        _CODED.pattern.encode(), lambda found: bytes.fromhex(found[1].decode()), file.encode("utf-8", "surrogatepass")
    )
    try:
        name = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return name if name and file_name(name) == file else None


def _is_plain(letter: str, composed: bool) -> bool:
    """Whether a letter stays; beyond ASCII only in names that no disk spells in another way."""
    return letter in "_-" or (letter.isalnum() and (letter.isascii() or composed))


def _hex(letter: str) -> str:
    return "".join(f"{_MARK}{byte:02x}" for byte in letter.encode("utf-8", "surrogatepass"))
