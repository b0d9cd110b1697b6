"""Entropy of the operating system; no other module of the broker draws random numbers."""

import os

__all__ = ["SystemEntropy"]


class SystemEntropy:
    """Random generator of the operating system."""

    def token_bytes(self, length: int) -> bytes:
        return os.urandom(length)
