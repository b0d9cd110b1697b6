"""Who runs Spark? A process beside the demo, so that its many words go to a file, and it is gone when it is done."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from examples.shop.opening import Address
from goqueue.errors import GoQueueError

__all__ = ["Analyst"]

STOP_WITHIN_S = 20.0


class Analyst:
    """Begins to start when it is made; the first answer takes as long as Spark needs to come up."""

    def __init__(self, shop: Address, folder: Path) -> None:
        report = folder / "report"
        report.mkdir(exist_ok=True)
        self._log = folder / "spark.log"
        spans = str(folder / "data" / "traces")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "examples.shop.analysing", shop.native, shop.registry, spans, str(report)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._say("warm_up")
        self._is_warm = False

    def ask(self, question: str) -> dict[str, Any]:
        """The answer of the method of that name of `Analysis`."""
        if not self._is_warm:
            self._hear()
            self._is_warm = True
        self._say(question)
        return self._hear()

    def _say(self, question: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{question}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"{"):
                return dict(json.loads(line))
        raise self._gone()

    def _gone(self) -> GoQueueError:
        return GoQueueError(f"Spark has stopped, see {self._log}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            if kind is None:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOP_WITHIN_S)
        finally:
            # The JVM is in its group.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process.stdout.close()
