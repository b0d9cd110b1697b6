"""Transactions of a producer, with calls that block."""

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from goqueue.client import transaction as aio_transaction
from goqueue.client.open_transaction import OpenTransaction
from goqueue.client.worker import Job
from goqueue.model.log import LogId

if TYPE_CHECKING:
    from goqueue.client.sync import Consumer
    from goqueue.client.sync_producer import Producer

__all__ = ["Pledges", "Transaction"]


class Pledges:
    """What every transaction can hold besides records."""

    def __init__(self, transaction: OpenTransaction, sender: "Producer") -> None:
        self._pledges = transaction
        self._sender = sender

    @property
    def number(self) -> int:
        """The number by which the broker and its operators know it.

        Example:

            from goqueue import Producer

            with Producer(transactional_id="billing-1") as producer:
                with producer.transaction() as transaction:
                    print(transaction.number)
        """
        return self._pledges.number

    def ack(self, *jobs: Job) -> None:
        """Acknowledge jobs when the transaction commits.

        Example:

            from goqueue import Producer, Worker

            with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    with producer.transaction() as transaction:
                        producer.send("invoices", json={"order": job.json()})
                        transaction.ack(job)
        """
        self._sender._run_in_turn(self._pledges.ack, *jobs)

    def nack(self, *jobs: Job, reason: str = "", delay: timedelta | None = None, delay_ms: int | None = None) -> int:
        """Fail jobs when the transaction commits; the answer says how many of them go to the dead letters.

        Example:

            from datetime import timedelta

            from goqueue import Producer, Worker

            with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    with producer.transaction() as transaction:
                        transaction.nack(job, reason="the bank is closed", delay=timedelta(hours=1))
        """
        return self._sender._run_in_turn(self._pledges.nack, *jobs, reason=reason, delay=delay, delay_ms=delay_ms)

    def reject(self, *jobs: Job, reason: str = "") -> int:
        """Reject jobs when the transaction commits: they go to the dead letters.

        Example:

            from goqueue import Producer, Worker

            with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
                for job in worker.take(1):
                    with producer.transaction() as transaction:
                        transaction.reject(job, reason="no such customer")
        """
        return self._sender._run_in_turn(self._pledges.reject, *jobs, reason=reason)

    def add_offsets(self, of: "str | Consumer", offsets: Mapping[LogId, int] | None = None) -> None:
        """Commit offsets with the transaction: those of a consumer that is a member, or of a group by its name.

        Without offsets it is everything that the consumer has delivered so far.

        Example:

            from goqueue import Consumer, Producer

            with (
                Producer(transactional_id="copy-1") as producer,
                Consumer("orders", group="copy", auto_commit_ms=None) as consumer,
            ):
                messages = consumer.poll()
                with producer.transaction() as transaction:
                    producer.send_many("invoices", [message.value for message in messages])
                    transaction.add_offsets(consumer)
        """
        self._sender._run_in_turn(self._pledges.add_offsets, of if isinstance(of, str) else of._client, offsets)


class Transaction(Pledges):
    """Records, acknowledgements and offsets that count together: leaving the block commits, an exception aborts.

    Example:

        from goqueue import Producer, Worker

        with Producer(transactional_id="billing-1") as producer, Worker("orders", group="billing") as worker:
            for job in worker.take(1):
                with producer.transaction() as transaction:
                    producer.send("invoices", json={"order": job.json()})
                    transaction.ack(job)
    """

    def __init__(self, transaction: aio_transaction.Transaction, sender: "Producer") -> None:
        super().__init__(transaction, sender)
        self._transaction = transaction

    def __enter__(self) -> Self:
        self._sender._run_in_turn(self._transaction.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sender._run_in_turn(self._transaction.__aexit__, kind, error, trace)

    def commit(self) -> None:
        """When it returns, all of it is durable and can be seen. When it raises, nothing of it ever will be.

        Only when no broker answers for a minute is it not known which.

        Example:

            from goqueue import Producer

            with Producer(transactional_id="billing-1") as producer:
                with producer.transaction() as transaction:
                    producer.send("orders", json={"id": 5})
                    transaction.commit()
        """
        self._sender._run_in_turn(self._transaction.commit)

    def abort(self) -> None:
        """Nothing of it ever happened. If that cannot be said to the broker, it does so when the time is up.

        Example:

            from goqueue import Producer

            with Producer(transactional_id="billing-1") as producer:
                with producer.transaction() as transaction:
                    producer.send("orders", json={"id": 5})
                    transaction.abort()
        """
        self._sender._run_in_turn(self._transaction.abort)
