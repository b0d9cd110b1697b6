"""What the storage measurements share: records, a store, a broker, a publish that is awaited."""

import asyncio

from goqueue import codec
from goqueue.adapters.clock import SystemClock
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.entropy import SystemEntropy
from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.ports import StateEvent
from goqueue.errors import GoQueueError
from goqueue.model.record import Record

__all__ = ["SilentObserver", "batch_of", "open_broker", "open_store", "publish"]


class LoudObserver:
    """Nothing is to be reported while measuring; if it is, the figures are worthless."""

    def __getattr__(self, name: str) -> object:
        def report(*arguments: object) -> None:
            raise AssertionError(f"{name}: {arguments}")

        return report


class SilentObserver:
    """For reports that are part of normal work."""

    def __getattr__(self, name: str) -> object:
        return lambda *_: None


class _ForgetState:
    def restore(self, stream: str, snapshot: bytes) -> None:
        pass

    def apply(self, event: StateEvent) -> None:
        pass


def batch_of(records: int, value_bytes: int) -> bytes:
    return codec.encode([Record(value=bytes(value_bytes), key=b"key-%d" % number) for number in range(records)])


def _new_store(folder: str) -> DiskStore:
    return DiskStore(folder, OsFileSystem(), SystemEntropy(), LoudObserver(), StoreSettings())  # type: ignore[arg-type]


def open_store(folder: str) -> DiskStore:
    store = _new_store(folder)
    store.open(_ForgetState())
    return store


def open_broker(folder: str) -> Broker:
    return Broker(_new_store(folder), SystemClock(), SystemEntropy(), SqliteIdIndex(f"{folder}/ids"))


async def publish(partition: Partition, batch: bytes, *, durable: bool) -> None:
    reply = asyncio.get_running_loop().create_future()

    def done(refusal: GoQueueError | None) -> None:
        if refusal is None:
            reply.set_result(None)
        else:
            reply.set_exception(refusal)

    partition.append(bytearray(batch), done, durable=durable)
    await reply
