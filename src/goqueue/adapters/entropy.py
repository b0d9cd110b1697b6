"""The one place that draws randomness."""

import os

__all__ = ["SystemEntropy"]


class SystemEntropy:
    """The operating system's generator."""

    def token_bytes(self, length: int) -> bytes:
        return os.urandom(length)
