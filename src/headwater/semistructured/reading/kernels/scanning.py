"""JSON texts to nodes: one pass over the bytes, no object per value.

A node is an object or an atom, or an array that stands inside an array or is a whole document. Nodes lie in preorder.
An array that is the value of a member is no node: its items are members with the same label, and their places.

A document with a fault leaves no node behind; the fault's number and its place in the text are noted, and the next
document is read.
"""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import borrowing, inlined, kernel
from headwater.semistructured.reading.kernels.faults import (
    CONTROL,
    DEEP,
    DEEPEST,
    DUPLICATE,
    ENDS,
    ESCAPE,
    LONG,
    LONGEST,
    NUMBER,
    RESERVED,
    SURROGATE,
    TRAILING,
    UNEXPECTED,
    UTF8,
)

COMPLEX, INT, REAL, STRING, BOOL, NULL, TIME = range(7)
ITEM = 0  # the label of items of arrays that are nodes: `[]`
FEW = 16
_VALUE, _KEY, _AFTER, _DONE = range(4)
_EXACT = 10 ** np.arange(23, dtype=np.float64)
_FNV = np.uint64(1099511628211)
_SEED = np.uint64(14695981039346656037)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def most_nodes(data):
    """At least as many as there are nodes in a text, and at least as many as there are objects and arrays."""
    found = 1
    for at in range(data.size):
        byte = data[at]
        if byte == 44 or byte == 91 or byte == 123:
            found += 1
    return found


@inlined
def _is_space(byte):
    return byte == 32 or byte == 10 or byte == 13 or byte == 9


@inlined
def _is_digit(byte):
    return 48 <= byte <= 57


@borrowing
def _hex4(data, at, end):
    """The value of four hexadecimal digits, -1 if they are none."""
    if at + 4 > end:
        return -1
    found = 0
    for place in range(at, at + 4):
        byte = data[place]
        if 48 <= byte <= 57:
            digit = byte - 48
        elif 97 <= byte <= 102:
            digit = byte - 87
        elif 65 <= byte <= 70:
            digit = byte - 55
        else:
            return -1
        found = found * 16 + np.int64(digit)
    return found


@borrowing
def _utf8_length(data, at, end):
    """Bytes of the character that begins here, 0 if it is none."""
    first = data[at]
    if 0xC2 <= first <= 0xDF:
        length = 2
    elif 0xE0 <= first <= 0xEF:
        length = 3
    elif 0xF0 <= first <= 0xF4:
        length = 4
    else:
        return 0
    if at + length > end:
        return 0
    for place in range(at + 1, at + length):
        if data[place] & 0xC0 != 0x80:
            return 0
    second = data[at + 1]
    if (
        (first == 0xE0 and second < 0xA0)
        or (first == 0xED and second > 0x9F)
        or (first == 0xF0 and second < 0x90)
        or (first == 0xF4 and second > 0x8F)
    ):
        return 0
    return length


@borrowing
def _put_utf8(out, to, point):
    """Write a code point; the place after it."""
    if point < 0x80:
        out[to] = point
        return to + 1
    if point < 0x800:
        out[to] = 0xC0 | (point >> 6)
        out[to + 1] = 0x80 | (point & 0x3F)
        return to + 2
    if point < 0x10000:
        out[to] = 0xE0 | (point >> 12)
        out[to + 1] = 0x80 | ((point >> 6) & 0x3F)
        out[to + 2] = 0x80 | (point & 0x3F)
        return to + 3
    out[to] = 0xF0 | (point >> 18)
    out[to + 1] = 0x80 | ((point >> 12) & 0x3F)
    out[to + 2] = 0x80 | ((point >> 6) & 0x3F)
    out[to + 3] = 0x80 | (point & 0x3F)
    return to + 4


@borrowing
def _escaped(data, at, end, out, to):
    """Undo the escape at a backslash: the place after it, the place after what was written, a fault."""
    if at + 1 >= end:
        return at, to, ENDS
    byte = data[at + 1]
    plain = -1
    if byte == 34 or byte == 92 or byte == 47:
        plain = np.int64(byte)
    elif byte == 98:
        plain = 8
    elif byte == 102:
        plain = 12
    elif byte == 110:
        plain = 10
    elif byte == 114:
        plain = 13
    elif byte == 116:
        plain = 9
    if plain >= 0:
        out[to] = plain
        return at + 2, to + 1, 0
    if byte != 117:
        return at, to, ESCAPE
    point = _hex4(data, at + 2, end)
    if point < 0:
        return at, to, ESCAPE
    after = at + 6
    if 0xDC00 <= point <= 0xDFFF:
        return at, to, SURROGATE
    if 0xD800 <= point <= 0xDBFF:
        if after + 1 >= end or data[after] != 92 or data[after + 1] != 117:
            return at, to, SURROGATE
        low = _hex4(data, after + 2, end)
        if not 0xDC00 <= low <= 0xDFFF:
            return at, to, SURROGATE
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
        after += 6
    return after, _put_utf8(out, to, point), 0


@borrowing
def _string(data, at, end, out, to):
    """Copy the string after its quote, escapes undone: the place after it, the end of the copy, a fault."""
    while at < end:
        byte = data[at]
        if byte == 34:
            return at + 1, to, 0
        if byte == 92:
            at, to, fault = _escaped(data, at, end, out, to)
            if fault:
                return at, to, fault
        elif byte < 32:
            return at, to, CONTROL
        elif byte < 128:
            out[to] = byte
            at += 1
            to += 1
        else:
            length = _utf8_length(data, at, end)
            if length == 0:
                return at, to, UTF8
            for place in range(length):
                out[to + place] = data[at + place]
            at += length
            to += length
    return at, to, ENDS


@borrowing
def _number_end(data, at, end):
    """The place after a number as JSON writes them, whether it is real, and a fault."""
    real = False
    if data[at] == 45:
        at += 1
    if at >= end:
        return at, real, ENDS
    if data[at] == 48:
        at += 1
    elif _is_digit(data[at]):
        while at < end and _is_digit(data[at]):
            at += 1
    else:
        return at, real, NUMBER
    if at < end and data[at] == 46:
        real = True
        at += 1
        begin = at
        while at < end and _is_digit(data[at]):
            at += 1
        if at == begin:
            return at, real, NUMBER
    if at < end and (data[at] == 101 or data[at] == 69):
        real = True
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        begin = at
        while at < end and _is_digit(data[at]):
            at += 1
        if at == begin:
            return at, real, NUMBER
    if at < end and (_is_digit(data[at]) or data[at] == 46 or data[at] == 43 or data[at] == 45):
        return at, real, NUMBER
    return at, real, 0


@borrowing
def _exponent(out, at, end):
    """The power of ten behind an `e`, and where it ends: before it, if there is none."""
    begin = at - 1
    down = False
    if at < end and (out[at] == 43 or out[at] == 45):
        down = out[at] == 45
        at += 1
    if at == end:
        return 0, begin
    shift = 0
    while at < end and _is_digit(out[at]):
        shift = min(shift * 10 + np.int64(out[at] - 48), 100000)
        at += 1
    return -shift if down else shift, at


@borrowing
def _reads_as(out, at, end):
    """What a text is as a number, and how sure that is: 0 no number, 1 exact, 2 a number that needs care.

    A mantissa of at most 15 digits and a power of ten of at most 22 are exact floats, so one division rounds once.
    """
    if at == end:
        return np.nan, 0
    negative = False
    if out[at] == 43 or out[at] == 45:
        negative = out[at] == 45
        at += 1
    mantissa = np.int64(0)
    digits = 0
    some = False
    power = 0
    while at < end and _is_digit(out[at]):
        some = True
        if digits < 16:
            mantissa = mantissa * 10 + np.int64(out[at] - 48)
            if mantissa:
                digits += 1
        else:
            power += 1
        at += 1
    if at < end and out[at] == 46:
        at += 1
        while at < end and _is_digit(out[at]):
            some = True
            if digits < 16:
                mantissa = mantissa * 10 + np.int64(out[at] - 48)
                if mantissa:
                    digits += 1
                power -= 1
            at += 1
    if not some:
        return np.nan, 0
    if at < end and (out[at] == 101 or out[at] == 69):
        shift, at = _exponent(out, at + 1, end)
        power += shift
    if at != end:
        return np.nan, 0
    if mantissa == 0:
        return -0.0 if negative else 0.0, 1
    if digits > 15 or power > 22 or power < -22:
        return np.nan, 2
    found = np.float64(mantissa)
    if power >= 0:
        found = found * _EXACT[power]
        if power > 0 and digits + power > 15:
            return np.nan, 2
    else:
        found = found / _EXACT[-power]
    return -found if negative else found, 1


@borrowing
def _word(data, at, end, first, second, third, fourth, fifth):
    """The length of a literal that stands here, 0 if it does not."""
    length = 4 if fifth == 0 else 5
    if at + length > end or data[at] != first or data[at + 1] != second or data[at + 2] != third:
        return 0
    if data[at + 3] != fourth or (fifth and data[at + 4] != fifth):
        return 0
    return length


@borrowing
def _label(out, begin, end, words, word_ends, counts, slots):
    """The number of a label, which is new or known. `counts[0]` is how many there are, `words` holds their bytes."""
    code = _SEED
    for at in range(begin, end):
        code = (code ^ np.uint64(out[at])) * _FNV
    mask = np.uint64(slots.size - 1)
    slot = (code ^ (code >> np.uint64(29))) & mask
    length = end - begin
    while slots[slot]:
        known = slots[slot] - 1
        start = word_ends[known - 1] if known else 0
        if word_ends[known] - start == length:
            same = True
            for at in range(length):
                if words[start + at] != out[begin + at]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + np.uint64(1)) & mask
    known = counts[0]
    start = word_ends[known - 1] if known else 0
    for at in range(length):
        words[start + at] = out[begin + at]
    word_ends[known] = start + length
    counts[0] = known + 1
    slots[slot] = known + 1
    return known


@borrowing
def _is_held(held, begin, count, label):
    """Whether a label is among the first members of an object: looking at a few costs less than a table."""
    found = False
    for at in range(begin, begin + min(count, FEW)):
        found |= held[at] == label
    return found


@borrowing
def _is_member(serial, label, members):
    """Note that an object has a member; whether it had it already."""
    key = (np.int64(serial) << 32) | np.int64(label + 1)
    mask = np.uint64(members.size - 1)
    mixed = np.uint64(key) * _ODD
    slot = (mixed ^ (mixed >> np.uint64(31))) & mask
    while members[slot]:
        if members[slot] == key:
            return True
        slot = (slot + np.uint64(1)) & mask
    members[slot] = key
    return False


@kernel
def scan_documents(
    data, begins, ends, parent, label, place, kind, offsets, number, unsure, out, words, word_ends, slots, members,
    hollow, counts, roots, faults, places,
):  # fmt: skip
    """Read one document between each begin and end. `counts` is (labels, nodes, hollow arrays); label 0 is `[]`.

    `roots[d]` is the node of document d, or -1: then `faults[d]` says why, and `places[d]` where.
    """
    shape = np.empty(DEEPEST, dtype=np.int8)  # of what is open: 0 an object, 1 an array
    held = np.empty(DEEPEST * FEW, dtype=np.int32)  # the first labels of each object that is open
    count = np.empty(DEEPEST, dtype=np.int64)
    owner = np.empty(DEEPEST, dtype=np.int32)
    under = np.empty(DEEPEST, dtype=np.int32)
    following = np.empty(DEEPEST, dtype=np.int32)
    serial = np.empty(DEEPEST, dtype=np.int64)
    out[0], out[1] = 91, 93
    _label(out, 0, 2, words, word_ends, counts, slots)
    objects = 0
    node = counts[1]
    hollows = counts[2]
    to = offsets[node]
    for document in range(begins.size):
        at = begins[document]
        end = ends[document]
        first_node, first_hollow, first_to = node, hollows, to
        depth = -1
        mode = _VALUE
        fault = 0
        opened = False  # whether an object or array may close at once
        while fault == 0 and mode != _DONE:
            while at < end and _is_space(data[at]):
                at += 1
            if at >= end:
                fault = ENDS
                break
            byte = data[at]
            if mode == _KEY:
                if byte == 125 and opened:
                    at += 1
                    depth -= 1
                    mode = _AFTER if depth >= 0 else _DONE
                    opened = False
                    continue
                if byte != 34:
                    fault = UNEXPECTED
                    break
                begin = at
                at, stop, fault = _string(data, at + 1, end, out, to)
                if fault:
                    break
                found = _label(out, to, stop, words, word_ends, counts, slots)
                if found == ITEM:
                    fault = RESERVED
                    at = begin
                    break
                if _is_held(held, depth * FEW, count[depth], found) or (
                    count[depth] >= FEW and _is_member(serial[depth], found, members)
                ):
                    fault = DUPLICATE
                    at = begin
                    break
                if count[depth] < FEW:
                    held[depth * FEW + count[depth]] = found
                count[depth] += 1
                under[depth] = found
                following[depth] = -1
                while at < end and _is_space(data[at]):
                    at += 1
                if at >= end:
                    fault = ENDS
                    break
                if data[at] != 58:
                    fault = UNEXPECTED
                    break
                at += 1
                mode = _VALUE
                opened = False
                continue
            if mode == _AFTER:
                if shape[depth] == 0:
                    if byte == 44:
                        mode = _KEY
                    elif byte == 125:
                        depth -= 1
                        mode = _AFTER if depth >= 0 else _DONE
                    else:
                        fault = UNEXPECTED
                        break
                elif byte == 44:
                    following[depth] += 1
                    mode = _VALUE
                elif byte == 93:
                    depth -= 1
                    mode = _AFTER if depth >= 0 else _DONE
                else:
                    fault = UNEXPECTED
                    break
                at += 1
                continue
            if byte == 93 and opened:
                hollow[hollows, 0] = owner[depth]
                hollow[hollows, 1] = under[depth]
                hollows += 1
                at += 1
                depth -= 1
                mode = _AFTER if depth >= 0 else _DONE
                opened = False
                continue
            opened = False
            above = owner[depth] if depth >= 0 else -1
            if byte == 91:
                if depth == DEEPEST - 1:
                    fault = DEEP
                    break
                if depth >= 0 and shape[depth] == 0:
                    shape[depth + 1] = 1
                    owner[depth + 1] = above
                    under[depth + 1] = under[depth]
                else:
                    parent[node] = above
                    label[node] = under[depth] if depth >= 0 else -1
                    place[node] = following[depth] if depth >= 0 else -1
                    kind[node] = COMPLEX
                    number[node], unsure[node] = np.nan, 0  # a document that was set aside may have written here
                    shape[depth + 1] = 1
                    owner[depth + 1] = node
                    under[depth + 1] = ITEM
                    node += 1
                    offsets[node] = to
                depth += 1
                following[depth] = 0
                at += 1
                opened = True
                continue
            parent[node] = above
            label[node] = under[depth] if depth >= 0 else -1
            place[node] = following[depth] if depth >= 0 else -1
            if byte == 123:
                if depth == DEEPEST - 1:
                    fault = DEEP
                    break
                kind[node] = COMPLEX
                number[node], unsure[node] = np.nan, 0
                depth += 1
                shape[depth] = 0
                owner[depth] = node
                count[depth] = 0
                objects += 1
                serial[depth] = objects
                at += 1
                node += 1
                offsets[node] = to
                mode = _KEY
                opened = True
                continue
            if byte == 34:
                at, stop, fault = _string(data, at + 1, end, out, to)
                if fault:
                    break
                kind[node] = STRING
                number[node], unsure[node] = _reads_as(out, to, stop)
                to = stop
            elif byte == 45 or _is_digit(byte):
                begin = at
                at, real, fault = _number_end(data, at, end)
                if fault:
                    break
                if at - begin > LONGEST:
                    fault = LONG
                    at = begin
                    break
                kind[node] = REAL if real else INT
                if not real and at - begin == 2 and byte == 45 and data[begin + 1] == 48:
                    begin += 1  # there is one zero among the ints
                stop = to
                for digit in range(begin, at):
                    out[stop] = data[digit]
                    stop += 1
                number[node], unsure[node] = _reads_as(out, to, stop)
                to = stop
            else:
                if byte == 116:
                    length = _word(data, at, end, 116, 114, 117, 101, 0)
                    kind[node] = BOOL
                elif byte == 102:
                    length = _word(data, at, end, 102, 97, 108, 115, 101)
                    kind[node] = BOOL
                elif byte == 110:
                    length = _word(data, at, end, 110, 117, 108, 108, 0)
                    kind[node] = NULL
                else:
                    length = 0
                if length == 0:
                    fault = UNEXPECTED
                    break
                if byte != 110:
                    for letter in range(length):
                        out[to + letter] = data[at + letter]
                    to += length
                number[node], unsure[node] = np.nan, 0
                at += length
            node += 1
            offsets[node] = to
            mode = _AFTER if depth >= 0 else _DONE
        if fault == 0:
            while at < end and _is_space(data[at]):
                at += 1
            if at < end:
                fault = TRAILING
        faults[document] = fault
        places[document] = at
        roots[document] = first_node
        if fault:
            roots[document] = -1
            node, hollows, to = first_node, first_hollow, first_to
            offsets[node] = to
    counts[1] = node
    counts[2] = hollows
