"""Brokers in processes of their own: started, killed, started again on the same folder and ports."""

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Server", "eventually", "free_port", "name_of", "running_server"]

START_WITHIN_S = 30.0
STOP_WITHIN_S = 30.0
LOOK_EVERY_S = 0.01


class Server:
    """`goqueue server` on a folder, run by `python`: `settings` is its TOML file, `flags` come behind the command.

    `open_files` is the hard limit of its descriptors.
    """

    def __init__(
        self,
        folder: Path,
        settings: str = "",
        flags: Sequence[str] = (),
        python: str | Path = sys.executable,
        open_files: int | None = None,
    ) -> None:
        self._open_files = open_files
        self.folder = folder
        self._flags = flags
        self._python = python
        self.http = f"127.0.0.1:{free_port()}"
        self.native = f"127.0.0.1:{free_port()}"
        self._grpc = f"127.0.0.1:{free_port()}"
        self._config = folder / "goqueue.toml"
        self._config.write_text(settings)
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self.launch()
        self.wait_until_serving()

    def launch(self) -> None:
        """Start without waiting for it to serve."""
        assert not self.is_running
        command = [
            *(self._python, "-W", "error", "-m", "goqueue", "server", "--log-format", "json"),
            *("--data", self.folder / "data", "--config", self._config, "--http", self.http, "--native", self.native),
            *("--grpc", self._grpc),
            *self._flags,
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=None if self._open_files is None else self._limit_files,  # noqa: PLW1509
            )

    def _limit_files(self) -> None:
        most = self._open_files
        assert most is not None
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def wait_until_serving(self) -> None:
        deadline = time.monotonic() + START_WITHIN_S
        while not any(line.get("event") == "goqueue is serving" for line in self.log()):
            assert self.is_running, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(LOOK_EVERY_S)

    @property
    def grpc(self) -> str:
        """The address, which is served a moment after the others: gRPC is loaded in the background."""
        if self.is_running and "--grpc" not in self._flags:
            eventually(self._serves_grpc, START_WITHIN_S)
        return self._grpc

    @grpc.setter
    def grpc(self, address: str) -> None:
        self._grpc = address

    def _serves_grpc(self) -> bool:
        return not self.is_running or any(line.get("event") == "gRPC is serving" for line in self.log())

    def log(self) -> list[dict[str, object]]:
        """What the broker has said since its last start."""
        lines = self._log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def kill(self) -> None:
        """Without a chance to tidy up (kill −9)."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Alive but silent inside."""
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> float:
        """Ask it to stop (SIGTERM); how many seconds that took. It must leave without a complaint."""
        assert self._process is not None
        began = time.monotonic()
        self._process.terminate()
        code = self._process.wait(STOP_WITHIN_S)
        took = time.monotonic() - began
        assert code == 0, self._log.read_text()
        self.check_log()
        return took

    def restart(self) -> None:
        self.stop()
        self.start()

    def crash_and_restart(self) -> None:
        self.kill()
        self.start()

    def check_log(self) -> None:
        """Nothing that only a bug can cause was said."""
        text = self._log.read_text()
        for sign in ("Traceback", '"bug"', "Warning", "never retrieved", "was destroyed"):
            assert sign not in text, text


@contextmanager
def running_server(
    folder: Path, settings: str = "", flags: Sequence[str] = (), open_files: int | None = None
) -> Iterator[Server]:
    """Serving while inside, gone afterwards whatever happens."""
    folder.mkdir(exist_ok=True)
    server = Server(folder, settings, flags, open_files=open_files)
    try:
        server.start()
        yield server
        if server.is_running:
            server.check_log()
    finally:
        if server.is_running:
            server.kill()


def free_port() -> int:
    """One that no outgoing connection of this machine is given: a restarted broker must get it back."""
    start, span = 20_000, 12_000
    for attempt in range(span):
        port = start + (os.getpid() * 97 + attempt + _given.__len__()) % span
        if port in _given:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise AssertionError("there is no free port")


_given: set[int] = set()


def name_of(node_id: str) -> str:
    """For topics and groups of one test: no other test of any file has the same."""
    return re.sub(r"[^A-Za-z0-9]+", "-", node_id.removeprefix("tests/"))[-200:].strip("-")


def eventually(holds: Callable[[], object], within_s: float = 10.0, every_s: float = 0.01) -> None:
    """Look until it holds; fails with the condition's last answer when it does not in time."""
    deadline = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"still {found!r} after {within_s} s"
        time.sleep(every_s)
