"""A process with tellers of the bank: opened, frozen, woken up and killed."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.workloads.bank_teller import FENCED

__all__ = ["Desk"]

ROOT = Path(__file__).resolve().parents[2]
TELLERS_EACH = 2
STAFFED_WITHIN_S = 120


class Desk:
    """A process with some tellers, and what they say."""

    def __init__(self, number: int, broker: str, listener: Callable[[dict[str, object]], None]) -> None:
        self._number = number
        self._broker = broker
        self._listener = listener
        self._listening: asyncio.Task[None] | None = None
        self._ready = 0
        self._is_staffed = asyncio.Event()

    async def open(self, seed: int) -> "Desk":
        numbers = [str(TELLERS_EACH * self._number + one) for one in range(TELLERS_EACH)]
        command = ["-m", "tests.workloads.bank_teller", "--broker", self._broker, "--seed", str(seed)]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, *command, *numbers, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        self._listening = asyncio.create_task(self._listen())
        await asyncio.wait_for(self._is_staffed.wait(), STAFFED_WITHIN_S)
        return self

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            news = json.loads(line) if line.endswith(b"\n") else {}
            if "ready" in news:
                self._ready += 1
            elif news:
                self._listener(news)
            if self._ready == TELLERS_EACH:
                self._is_staffed.set()
        self._is_staffed.set()
        code = await self._process.wait()
        assert code in (-signal.SIGKILL, FENCED), f"a teller ended with {code}"

    def freeze(self) -> None:
        assert self._process.returncode is None, f"the newest teller has ended with {self._process.returncode}"
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    async def crash(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self.gone()

    async def gone(self) -> None:
        assert self._listening is not None
        # Shielded: who is cancelled while it waits must not take the listener along.
        await asyncio.shield(self._listening)

    async def is_gone(self, within_s: float) -> bool:
        assert self._listening is not None
        gone, _ = await asyncio.wait([self._listening], timeout=max(0.0, within_s))
        return bool(gone)
