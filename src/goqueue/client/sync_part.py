"""Parts of larger transactions, with calls that block."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from msgspec import UNSET, UnsetType

from goqueue.client import part as aio_part
from goqueue.client.accumulator import NORMAL_PRIORITY
from goqueue.client.batch import Sent
from goqueue.client.outbox import Delivery
from goqueue.client.sync_producer import Producer
from goqueue.client.sync_transaction import Pledges
from goqueue.client.values import HeaderItems, Text

__all__ = ["Part"]


class _Sender(Producer):
    """The producer that is inside of a part."""

    def __init__(self, part: aio_part.Part) -> None:
        self._send_through(part._producer)
        self._part = part

    def close(self, *, flush: bool = True) -> None:
        self._close(self._part.close)


class Part(Pledges):
    """One of many writers whose records become visible together, when `Admin.decide` names their tokens.

    What is not prepared when the block is left is aborted.

    Example:

        from goqueue import Admin

        with Admin() as admin:
            with admin.part("export-2030-01-02") as part:
                part.send("orders", json={"id": 5})
                token = part.prepare()
            admin.decide("export-2030-01-02", [token])
    """

    def __init__(self, part: aio_part.Part) -> None:
        super().__init__(part, _Sender(part))
        self._part = part

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._sender._run_in_turn(self._part.__aexit__, kind, error, trace)
        finally:
            self.close()

    def begin(self) -> None:
        """Begin without a context manager; `close` must be called, too.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                part = admin.part("begin-and-close")
                part.begin()
                part.close()
        """
        try:
            self._sender._run_in_turn(self._part.begin)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection. What is prepared stays so.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                part = admin.part("close")
                part.begin()
                part.close()
        """
        self._sender.close()

    # Records.

    def send(
        self,
        topic: str,
        value: Text | UnsetType | None = UNSET,
        *,
        json: object = UNSET,
        key: Text | None = None,
        headers: HeaderItems = (),
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
        ttl: timedelta | None = None,
        ttl_ms: int | None = None,
        expires_at: datetime | None = None,
        expires_at_ns: int | None = None,
    ) -> Delivery:
        """Send as a producer does; the records count when the part is decided.

        Example:

            from goqueue import Admin

            with Admin() as admin, admin.part("send") as part:
                part.send("orders", json={"id": 5}, key="customer-1")
                part.prepare()
        """
        return self._sender.send(
            topic,
            value,
            json=json,
            key=key,
            headers=headers,
            partition=partition,
            priority=priority,
            delay=delay,
            delay_ms=delay_ms,
            deliver_at=deliver_at,
            deliver_at_ns=deliver_at_ns,
            ttl=ttl,
            ttl_ms=ttl_ms,
            expires_at=expires_at,
            expires_at_ns=expires_at_ns,
        )

    def send_many(
        self,
        topic: str,
        values: Sequence[Text | None] | UnsetType = UNSET,
        *,
        json: Sequence[object] | UnsetType = UNSET,
        keys: Sequence[Text | None] | None = None,
        partition: int | None = None,
        priority: int = NORMAL_PRIORITY,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
    ) -> Sequence[Sent]:
        """Send as a producer does; the records count when the part is decided.

        Example:

            from goqueue import Admin

            with Admin() as admin, admin.part("send-many") as part:
                part.send_many("orders", json=[{"id": 5}, {"id": 6}])
                part.prepare()
        """
        return self._sender.send_many(
            topic,
            values,
            json=json,
            keys=keys,
            partition=partition,
            priority=priority,
            delay=delay,
            delay_ms=delay_ms,
            deliver_at=deliver_at,
            deliver_at_ns=deliver_at_ns,
        )

    def send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Delivery:
        """Send as a producer does; the records count when the part is decided.

        Example:

            from goqueue import Admin, codec
            from goqueue.model.record import Record

            with Admin() as admin, admin.part("send-batch") as part:
                part.send_batch("orders", 0, codec.encode([Record(b'{"id": 5}')]), 1)
                part.prepare()
        """
        return self._sender.send_batch(topic, partition, records, count)

    # Its end.

    def prepare(self) -> int:
        """Make all of it durable; the token is an argument of `Admin.decide`. After this, nothing can be added.

        Example:

            from goqueue import Admin

            with Admin() as admin, admin.part("prepare") as part:
                part.send("orders", json={"id": 5})
                token = part.prepare()
                print(token)
        """
        return self._sender._run_in_turn(self._part.prepare)

    def abort(self) -> None:
        """Undo all of it. Fails after it was decided.

        Example:

            from goqueue import Admin

            with Admin() as admin, admin.part("abort") as part:
                part.send("orders", json={"id": 5})
                part.abort()
        """
        self._sender._run_in_turn(self._part.abort)
