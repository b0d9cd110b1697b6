"""Who a producer with a transactional id is at the broker; renewed when the numbers of its records are in doubt."""

import asyncio
import secrets

from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, NotTransactional, ProducerFenced, UnknownProducer
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import ProducerIdentity
from goqueue.wire.native.transactions import BeginTransaction, Begun, InitTransactions

__all__ = ["Enlistment"]

BEGIN_WITHIN_S = 30.0


class Enlistment:
    """The first time it fences whoever had the id before; after that it never takes it back from a newer instance."""

    def __init__(self, link: Link, transactional_id: str, timeout_ms: int) -> None:
        self._link = link
        self._transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._identity: ProducerIdentity | None = None
        self._is_in_doubt = False
        self._instance = secrets.token_hex(8)
        """By which the broker knows it when it was renewed without being told."""
        self._fenced: ProducerFenced | None = None

    def doubt(self) -> None:
        """It is not known which records were written: the next transaction is that of a new epoch."""
        self._is_in_doubt = True

    def fence(self, error: ProducerFenced) -> None:
        """For good: this instance must not do anything more."""
        self._fenced = error

    def check(self) -> None:
        if self._fenced is not None:
            raise ProducerFenced(self._fenced.message, hint=self._fenced.hint)

    async def begin(self) -> Begun:
        """A transaction; what this instance had left open is aborted by the broker."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BEGIN_WITHIN_S
        while True:
            self.check()
            try:
                identity = await self._newest_identity()
                request = BeginTransaction(identity.producer_id, identity.epoch)
                return await self._link.ask(Opcode.BEGIN_TRANSACTION, request, Begun)
            except ProducerFenced as error:
                self.fence(error)
            except (UnknownProducer, NotTransactional):
                if loop.time() > deadline:
                    raise
                # It was idle for so long that the broker has forgotten it.
                self._identity = None
            except BrokerUnreachable:
                # It may have begun.
                self.doubt()
                if loop.time() > deadline or not self._link.was_connected:
                    raise
                await self._link.connection_within(max(0.0, deadline - loop.time()))

    async def _newest_identity(self) -> ProducerIdentity:
        if self._identity is None:
            request = InitTransactions(self._transactional_id, self._timeout_ms, instance=self._instance)
            self._identity = await self._link.ask_within(
                BEGIN_WITHIN_S, Opcode.INIT_TRANSACTIONS, request, ProducerIdentity
            )
        elif self._is_in_doubt:
            known = self._identity
            request = InitTransactions(
                self._transactional_id, self._timeout_ms, known.producer_id, known.epoch, self._instance
            )
            self._identity = await self._link.ask(Opcode.INIT_TRANSACTIONS, request, ProducerIdentity)
        self._is_in_doubt = False
        return self._identity
