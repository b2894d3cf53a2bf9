"""What can be wrong with a JSON text: the numbers that kernels give, and their words."""

from __future__ import annotations

UNEXPECTED, ENDS, ESCAPE, SURROGATE, CONTROL, NUMBER, DUPLICATE, DEEP, RESERVED, LONG, TRAILING, UTF8 = range(1, 13)

DEEPEST = 1000
LONGEST = 1000

WORDS = {
    UNEXPECTED: "this is no JSON",
    ENDS: "the text ends inside a value",
    ESCAPE: "no such escape in a string",
    SURROGATE: "half a surrogate pair: the string is no Unicode text",
    CONTROL: "a control character inside a string; write it as an escape",
    NUMBER: "this is no number of JSON",
    DUPLICATE: "the object has this member already",
    DEEP: f"nested more than {DEEPEST:,} levels deep",
    RESERVED: "a member cannot be called `[]`: this label is kept for arrays inside arrays",
    LONG: f"a number of more than {LONGEST:,} characters",
    TRAILING: "there is more text after the document",
    UTF8: "these bytes are no UTF-8",
}
