"""Broker in its own process, over a temporary folder and free ports, for tests of programs that use one."""

import json
import subprocess
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["BrokerProcess"]

START_WITHIN_S = 60.0
STOP_WITHIN_S = 60.0
KEPT_LINES = 200
HOST = "127.0.0.1"


class BrokerProcess:
    """Broker for tests of a program: empty, on free ports, and removed with its data when the block ends.

        from goqueue.client.sync import Admin, Producer
        from goqueue.testing import BrokerProcess

        with BrokerProcess() as broker, Admin(broker.native) as admin, Producer(broker.native) as producer:
            admin.create_topic("orders")
            assert producer.send("orders", b"two coffees").result().offset == 0

    `settings` is the text of a settings file (TOML). A broker that was stopped or killed starts again with `start`, on
    the same ports and with the same data.
    """

    def __init__(self, settings: str = "") -> None:
        self._settings = settings
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._is_serving = False
        self.native = f"{HOST}:0"
        """Address for the Python clients; known once the broker has started."""
        self.http = f"{HOST}:0"
        """Address of the HTTP API and the console."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="goqueue-")
        try:
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def start(self) -> None:
        """Start the broker and wait until it serves; if it does not, a `RuntimeError` contains its log."""
        assert self._folder is not None, "use it as a context manager"
        assert self._process is None, "the broker is running"
        folder = Path(self._folder.name)
        config = folder / "goqueue.toml"
        config.write_text(self._settings, encoding="utf-8")
        self._lines.clear()
        self._is_serving = False
        command = [
            *(sys.executable, "-m", "goqueue", "server", "--log-format", "json"),
            *("--data", str(folder / "data"), "--config", str(config)),
            *("--native", self.native, "--http", self.http, "--grpc", ""),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        is_decided = threading.Event()
        threading.Thread(target=self._read_log, args=(self._process, is_decided), daemon=True).start()
        is_decided.wait(START_WITHIN_S)
        if not self._is_serving:
            self.kill()
            raise RuntimeError("the broker did not start:\n" + "\n".join(self._lines))

    def stop(self) -> None:
        """Stop the broker cleanly, as SIGTERM does, and wait until it has ended. Its data stays."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        finally:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """End the broker at once, as `kill -9` does. Its data stays."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _remove(self) -> None:
        self.kill()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _read_log(self, process: subprocess.Popen[str], is_decided: threading.Event) -> None:
        """Read until the process ends, so that its log never fills the pipe."""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._lines.append(line.rstrip())
                if '"goqueue is serving"' in line:
                    said = json.loads(line)
                    self.native, self.http = said["native"], said["http"].removeprefix("http://")
                    self._is_serving = True
                    is_decided.set()
        is_decided.set()
