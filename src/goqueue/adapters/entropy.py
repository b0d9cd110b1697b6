"""The one place that draws randomness."""

import secrets

__all__ = ["SystemEntropy"]


class SystemEntropy:
    """The operating system's generator."""

    def token_bytes(self, length: int) -> bytes:
        return secrets.token_bytes(length)
