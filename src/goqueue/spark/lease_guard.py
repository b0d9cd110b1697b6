"""Give back the leases of a batch that failed, at once.

When a query fails, Spark kills the process that took the leases, which can do nothing any more. So a small process
beside it is told what is held; when the other one is gone and Spark still runs, the batch has failed or the query was
stopped, and the records go to other workers. When Spark is gone too, it was killed: then they stay leased for their
time, as a query that is started again does its unfinished batch first.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from goqueue.errors import GoQueueError
from goqueue.spark.broker import Conversation
from goqueue.spark.leases import Lease, Wish, settle

__all__ = ["LeaseGuard"]


class Held(msgspec.Struct, frozen=True):
    """A line to the guard."""

    wish: Wish
    leases: tuple[Lease, ...]
    spark: int
    """The process that lives as long as Spark does on this machine."""


class LeaseGuard:
    """Begins with the first lease, and ends with the process that made it."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        # In a session of its own, so that what is meant for Spark's Python does not reach it.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "goqueue.spark.lease_guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )

    def watch(self, leases: Sequence[Lease]) -> None:
        """Instead of those before."""
        assert self._process.stdin is not None
        line = msgspec.json.encode(Held(self._wish, tuple(leases), _parent_of(os.getppid()) or os.getppid()))
        # Without its guard a batch that fails is released when its time is up: no reason to fail now.
        with suppress(OSError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def end(self) -> None:
        self.watch(())
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()


def _parent_of(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main() -> None:
    last = b""
    for line in sys.stdin.buffer:
        last = line
    if not last.endswith(b"\n"):
        return
    held = msgspec.json.decode(last, type=Held)
    if held.leases and _lives(held.spark):
        with suppress(GoQueueError):
            settle(Conversation(held.wish.bootstrap), held.wish, "release", held.leases)


if __name__ == "__main__":
    main()
