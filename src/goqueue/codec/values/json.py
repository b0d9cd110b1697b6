"""JSON value checks: whether text may be decoded, found without decoding it.

Decoders fail on deeply nested text when they run out of stack, each of them at another depth; and they make objects
many times the size of the text.
"""

import re
from itertools import accumulate

from goqueue.codec.values.limits import DEEPEST, LARGEST_DECODED, Budget, too_deep

__all__ = ["check_json"]

# Estimated bytes of memory of the value that each of these characters begins.
OBJECT = 192
ARRAY = 72
PART = 40
PIECE = 16 * 1024
"""Number of brackets counted at once, in about a millisecond."""
MOST_PER_BYTE = 80
"""Upper bound of memory per byte of text: `{},{},` takes 77."""

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_json(data: bytes, *, most: int = LARGEST_DECODED) -> None:
    """Raise DecodingLimit when the value would be too large or is nested too deeply."""
    objects, arrays = data.count(b"{"), data.count(b"[")
    if len(data) * MOST_PER_BYTE > most:
        Budget(most).spend(len(data) + objects * OBJECT + arrays * ARRAY + data.count(b",") * PART)
    if objects + arrays > DEEPEST and _depth(data) > DEEPEST:
        raise too_deep("objects and arrays")


def _depth(data: bytes) -> int:
    brackets = _STRING.sub(b"", data).translate(None, delete=_BUT_BRACKETS)
    deepest = depth = 0
    # In pieces, so that other threads can run in between.
    for start in range(0, len(brackets), PIECE):
        depths = list(accumulate(map(_STEP.__getitem__, brackets[start : start + PIECE]), initial=depth))
        deepest, depth = max(deepest, *depths), depths[-1]
        if deepest > DEEPEST:
            break
    return deepest
