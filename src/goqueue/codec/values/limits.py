"""Decoding limits for values from untrusted input, the same for all formats."""

from goqueue.errors import DecodingLimit

__all__ = ["DEEPEST", "LARGEST_DECODED", "Budget", "too_deep"]

DEEPEST = 100
"""Nesting depth of records, messages, or JSON objects and arrays: the limit of Protobuf's own reader."""

LARGEST_DECODED = 256 * 1024 * 1024
"""Bytes of memory, estimated. The largest value has 16 MiB; ordinary ones grow tenfold when they are decoded."""


class Budget:
    """Remaining memory budget of the value being decoded."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.left = most

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise self.exceeded()

    def exceeded(self) -> DecodingLimit:
        most = self.most
        shown = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
        return DecodingLimit(f"the decoded value would take more than {shown} of memory, which is the limit")


def too_deep(what: str) -> DecodingLimit:
    return DecodingLimit(f"{what} are nested more than {DEEPEST} deep, which is the limit")
