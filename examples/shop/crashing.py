"""What if a worker is killed in the middle of its work? As a program of its own it is a till that is about to be."""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence

import msgspec

from examples.shop.opening import Address
from examples.shop.paying import AT_ONCE, Till
from goqueue.errors import GoQueueError

__all__ = ["LastWords", "kill_some"]


class LastWords(msgspec.Struct, frozen=True):
    """What a till had done, and what it had in hand when it was killed, one step before its commit."""

    till: str
    paid: int
    in_hand: int


def kill_some(shop: Address, names: Sequence[str]) -> list[LastWords]:
    """Start tills as processes; kill each with -9 when it has written payments, and has not committed them yet."""
    command = [sys.executable, "-m", "examples.shop.crashing", shop.native, shop.http]
    running = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for name in names]
    try:
        return [_listen(process) for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _listen(process: "subprocess.Popen[bytes]") -> LastWords:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, complaint = process.communicate()
        raise GoQueueError(f"a till ended by itself: {complaint.decode().strip()[-300:]}")
    return msgspec.json.decode(line, type=LastWords)


def main(native: str, http: str, name: str) -> None:
    with Till(Address(native, http), name) as till:
        first = till.worker.take(AT_ONCE, wait_ms=30_000)
        till.work(first)
        second = till.worker.take(AT_ONCE, wait_ms=30_000)

        def hang() -> None:
            till.producer.flush()
            print(json.dumps({"till": name, "paid": len(first), "in_hand": len(second)}), flush=True)
            threading.Event().wait()

        till.work(second, before_commit=hang)


if __name__ == "__main__":
    main(*sys.argv[1:])
