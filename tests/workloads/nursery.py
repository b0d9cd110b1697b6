"""Brokers that start at once: a process that has everything loaded forks them, and may have them die at a chosen write.

Starting Python takes ten times as long as opening the data folder; what is forked is a process like any other.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.behaviour.serving import Server

__all__ = ["Death", "Nursery", "NurseryServer", "nursery_server"]

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("goqueue.cli.serving", "goqueue.app.http", "goqueue.cli.failures")
WRITES = ("pwritev", "pwrite", "fdatasync", "fsync", "ftruncate", "posix_fallocate", "replace", "unlink")
"""All by which the broker changes its folder."""


class Death(msgspec.Struct, frozen=True):
    """At the n-th write or sync after the file `armed` is there; torn means that half of it arrives."""

    armed: str
    at: int
    how: Literal["before", "torn", "after"] = "before"


class Child:
    """A broker that the nursery has forked."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            self._code = self._nursery.ask({"poll": self.pid})
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._code = self._nursery.ask({"wait": self.pid})
        return self._code

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        # Nobody else gets its number before the nursery was asked for the end of it.
        if self.poll() is None:
            os.kill(self.pid, number)


class Nursery:
    """Asked line by line; when it is closed its brokers are killed."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.workloads.nursery"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def launch(self, arguments: list[str], log: Path, death: Death | None) -> Child:
        wish = {"arguments": arguments, "log": str(log), "death": None if death is None else msgspec.to_builtins(death)}
        return Child(self, self.ask(wish))

    def ask(self, wish: dict[str, Any]) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with self._asking:
            process.stdin.write(json.dumps(wish) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class NurseryServer(Server):
    """As `Server`, started by a nursery."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        super().__init__(folder)
        self._nursery = nursery
        self.death: Death | None = None
        """For brokers that are started from now on."""

    def launch(self) -> None:
        assert not self.is_running
        arguments = ["server", "--log-format", "json", "--data", str(self.folder / "data")]
        arguments += ["--config", str(self._config), "--http", self.http, "--native", self.native, "--grpc", ""]
        self._log.write_bytes(b"")
        self._process = self._nursery.launch(arguments, self._log, self.death)  # type: ignore[assignment]


@contextmanager
def nursery_server(folder: Path) -> Iterator[NurseryServer]:
    """Serving while inside, gone afterwards whatever happens."""
    folder.mkdir(exist_ok=True)
    nursery = Nursery()
    try:
        server = NurseryServer(folder, nursery)
        server.start()
        yield server
        if server.is_running:
            server.check_log()
    finally:
        nursery.close()


# What runs in the process of the nursery.


def rear() -> None:
    from goqueue.cli.main import main

    for name in NEEDED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    children: dict[int, int | None] = {}
    for line in sys.stdin:
        wish = json.loads(line)
        if "arguments" in wish:
            pid = os.fork()
            if pid == 0:
                _become_broker(wish, main)
            children[pid] = None
            answer: int | None = pid
        else:
            asked = "wait" if "wait" in wish else "poll"
            pid = wish[asked]
            if children[pid] is None:
                ended, status = os.waitpid(pid, 0 if asked == "wait" else os.WNOHANG)
                children[pid] = os.waitstatus_to_exitcode(status) if ended else None
            answer = children[pid]
        print(json.dumps(answer), flush=True)
    for pid, code in children.items():
        if code is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _become_broker(wish: dict[str, Any], main: Callable[[], Any]) -> None:
    code = 1
    try:
        os.setsid()
        log = os.open(wish["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, log), (2, log)):
            os.dup2(source, target)
        if wish["death"] is not None:
            _prepare(msgspec.convert(wish["death"], Death))
        sys.argv = ["goqueue", *wish["arguments"]]
        code = main() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        os._exit(code)


def _prepare(death: Death) -> None:
    counting = threading.Lock()
    left = death.at
    write = os.pwrite

    def dying(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal left
            with counting:
                if not os.path.exists(death.armed):
                    return real(*arguments)
                left -= 1
                if left != 0:
                    return real(*arguments)
                if death.how == "torn" and name == "pwritev":
                    fd, buffers, position = arguments
                    whole = b"".join(buffers)
                    write(fd, whole[: len(whole) // 2], position)
                elif death.how == "after":
                    real(*arguments)
                os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in WRITES:
        setattr(os, name, dying(name, getattr(os, name)))


if __name__ == "__main__":
    rear()
