"""Receipts: what a worker presents to settle a record. Readable, and signed so that they cannot be forged."""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import NamedTuple

import msgspec

from goqueue.errors import UnknownReceipt
from goqueue.model.log import LogId

__all__ = ["KEY_BYTES", "Receipt", "ReceiptKey", "ReceiptKeyGiven"]

TOKEN_BYTES = 12
KEY_BYTES = 32
TOKENS_KEPT = 4096


class ReceiptKeyGiven(msgspec.Struct, frozen=True, array_like=True):
    key: bytes


@lru_cache(maxsize=TOKENS_KEPT)
def _token(key: bytes, group: str, log: LogId, grant: int) -> str:
    text = f"{log}/{group}/{grant}".encode()
    return urlsafe_b64encode(hashlib.blake2b(text, key=key, digest_size=TOKEN_BYTES).digest()).decode()


class Receipt(NamedTuple):
    """One record of one grant; the token authorizes the grant, which knows its records."""

    log: LogId
    offset: int
    deliveries: int
    group: str
    grant: int
    token: str

    def __str__(self) -> str:
        place = f"{self.log.topic}:{self.log.partition}:{self.offset}:{self.deliveries}"
        return f"{place}:{self.group}/{self.grant}/{self.token}"

    @classmethod
    def parse(cls, text: str) -> "Receipt":
        try:
            topic, partition, offset, deliveries, nonce = text.split(":")
            group, grant, token = nonce.split("/")
            log = LogId(topic, int(partition))
            return cls(log, int(offset), int(deliveries), group, int(grant), token)
        except ValueError:
            shown = text if len(text) <= 80 else text[:80] + "…"
            raise UnknownReceipt(
                f"{shown!r} is not a receipt", hint="use the receipt_handle of a poll as it is"
            ) from None


class ReceiptKey:
    """Created once and stored, as receipts are valid across restarts."""

    def __init__(self) -> None:
        self._key = b""

    @property
    def is_known(self) -> bool:
        return bool(self._key)

    def token(self, group: str, log: LogId, grant: int) -> str:
        # Usually asked for twice: when the receipt is given out and when it is presented.
        return _token(self._key, group, log, grant)

    def check(self, group: str, log: LogId, grant: int, token: str) -> None:
        if not hmac.compare_digest(self.token(group, log, grant).encode(), token.encode()):
            raise UnknownReceipt("the receipt was not given out by this broker", hint="use it exactly as it was given")

    # As a state machine.

    def apply(self, event: ReceiptKeyGiven) -> None:
        self._key = event.key

    def snapshot(self) -> ReceiptKeyGiven:
        return ReceiptKeyGiven(self._key)

    def restore(self, snapshot: ReceiptKeyGiven) -> None:
        self._key = snapshot.key
