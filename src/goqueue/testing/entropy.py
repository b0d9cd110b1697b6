"""Seeded entropy: randomness that can be repeated."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["SeededEntropy"]

Choice = TypeVar("Choice")


class SeededEntropy:
    """The same seed gives the same bytes and choices on every machine and in every release of Python."""

    def __init__(self, seed: int | str = 0) -> None:
        self._key = hashlib.blake2b(str(seed).encode(), digest_size=32).digest()
        self._drawn = 0
        self._ready = b""

    def token_bytes(self, length: int) -> bytes:
        while len(self._ready) < length:
            self._drawn += 1
            self._ready += hashlib.blake2b(self._drawn.to_bytes(8, "big"), key=self._key).digest()
        token, self._ready = self._ready[:length], self._ready[length:]
        return token

    def below(self, limit: int) -> int:
        """A number from 0 up to, but not including, `limit`."""
        return int.from_bytes(self.token_bytes(6), "big") % limit

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == 0

    def choice(self, options: Sequence[Choice]) -> Choice:
        return options[self.below(len(options))]
