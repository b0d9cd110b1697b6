"""A broker in a process of its own, for measurements over real sockets."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from goqueue.client import Admin, TopicConfig

__all__ = ["BenchServer", "create_topics", "put_load", "running_server"]


class BenchServer(NamedTuple):
    native: str
    http: str
    pid: int
    grpc: str = ""

    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running_server(folder: str, *flags: str, sources: str | None = None) -> Iterator[BenchServer]:
    """With `sources` of another version, in which what is compiled must be built."""
    command = [sys.executable, "-m", "goqueue", "server", "--data", folder]
    command += ["--http", "127.0.0.1:0", "--native", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]
    command += ["--log-format", "json", *flags]
    environment = os.environ | ({} if sources is None else {"PYTHONPATH": sources})
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            said: dict[str, Any] = {}
            while not said.keys() >= {"native", "grpc"}:
                # It says first what its limits are, and gRPC serves a moment after the others.
                said |= json.loads(process.stderr.readline())
            yield BenchServer(said["native"], said["http"].removeprefix("http://"), process.pid, said["grpc"])
        finally:
            process.terminate()
            process.communicate()


def put_load(module: str, name: str, **arguments: object) -> dict[str, Any]:
    """Run one of the loads of a client module in a process of its own; its figures."""
    command = [sys.executable, "-m", f"bench.{module}", name, json.dumps(arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the load {name} of {module} failed:\n{done.stderr[-4000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def create_topics(server: BenchServer, *topics: str, partitions: int = 3, config: TopicConfig | None = None) -> None:
    async def create() -> None:
        async with Admin(server.native) as admin:
            for topic in topics:
                await admin.create_topic(topic, partitions, config)

    uvloop.run(create())
