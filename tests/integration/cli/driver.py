"""Commands as a shell runs them, and a broker in a process of its own."""

import asyncio
import itertools
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from goqueue.client import Admin, Consumer, Message, Producer, TopicConfig

Answer = TypeVar("Answer")

SECONDS = 60
_numbers = itertools.count(1)


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """Runs `goqueue …` against one broker."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._started: list[subprocess.Popen[bytes]] = []
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("GOQUEUE_")}
        self._environment |= {"GOQUEUE_SERVER": server}

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "goqueue", *map(str, arguments)]

    def run(self, *arguments: object, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> Done:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            self.command(*arguments),
            input=given,
            capture_output=True,
            env=self._environment | (env or {}),
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode())

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> str:
        """Standard output of a command that must succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, done
        return done.out

    def json(self, *arguments: object, stdin: str | bytes = b"") -> Any:
        return json.loads(self(*arguments, "-o", "json", stdin=stdin))

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """A command that goes on; it is ended with the test, if it has not by itself."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(self.command(*arguments), env=self._environment, bufsize=0, **pipes)
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()

    def on_terminal(self, *arguments: object, typed: str = "", term: str = "dumb") -> tuple[int, str]:
        """As somebody at a terminal runs it: exit code, and everything that appeared."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(sys.executable, self.command(*arguments), self._environment | {"TERM": term})
        os.write(terminal, typed.encode())
        shown = b""
        try:
            while select.select([terminal], [], [], SECONDS)[0] and (more := os.read(terminal, 65536)):
                shown += more
        except OSError:
            # How Linux says that nobody has the other end open any more.
            pass
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


class Server:
    """A broker that can be stopped and started again at the same address."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.native = "127.0.0.1:0"
        self.http = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            sys.executable,
            "-W",
            "error",
            "-m",
            "goqueue",
            "server",
            "--log-format",
            "json",
            "--data",
            str(self._data),
        ]
        command += ["--http", "127.0.0.1:0", "--native", self.native, "--grpc", "127.0.0.1:0"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GOQUEUE_")}
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith(b"{") and json.loads(line)["event"] == "goqueue is serving":
                self.native = json.loads(line)["native"]
                self.http = json.loads(line)["http"].removeprefix("http://")
                return
        raise AssertionError("the broker ended before it served")

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=SECONDS)


class Inside:
    """The same broker through the client library, for what is not the command under test."""

    def __init__(self, server: str) -> None:
        self._server = server

    def ask(self, question: Callable[[Admin], Awaitable[Answer]]) -> Answer:
        async def answer() -> Answer:
            async with Admin(self._server) as admin:
                return await question(admin)

        return asyncio.run(answer())

    def new_topic(self, *, partitions: int = 1, config: TopicConfig | None = None) -> str:
        name = f"topic-{next(_numbers)}"
        self.ask(lambda admin: admin.create_topic(name, partitions, config))
        return name

    def publish(self, topic: str, *values: bytes, **options: Any) -> None:
        async def publish() -> None:
            async with Producer(self._server) as producer:
                for value in values:
                    await producer.send(topic, value, **options)

        asyncio.run(publish())

    def messages(self, topic: str) -> list[Message]:
        """Everything that is in a topic now, partition after partition."""

        async def read() -> list[Message]:
            async with Consumer(topic, bootstrap=self._server) as consumer:
                ends = await consumer.offsets_at(consumer.assigned, "latest")
                found: list[Message] = []
                while any(consumer.position(log) < end for log, end in ends.items()):
                    found += await consumer.poll(limit=1_000_000)
                return found

        return sorted(asyncio.run(read()), key=lambda message: (message.partition, message.offset))

    def values(self, topic: str) -> list[bytes | None]:
        return [message.value for message in self.messages(topic)]

    def committed(self, group: str) -> dict[int, int]:
        """Of a group that reads one topic."""
        found = self.ask(lambda admin: admin.committed_offsets(group))
        return {log.partition: offset for log, offset in found.items()}
