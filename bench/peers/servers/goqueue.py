"""GoQueue as it comes: every publish is confirmed after a sync of the disk."""

import json
import sys
import time
from pathlib import Path

from bench.peers.processes import ProcessTree, free_port
from bench.peers.servers.server import Server
from goqueue import __version__, codec

__all__ = ["GoQueueServer"]

START_WITHIN_S = 120.0


class GoQueueServer(Server):
    name = "GoQueue"
    setting = "fsync before confirm (the default)"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.http_port = free_port()
        self.grpc_port = free_port()

    def launch(self) -> ProcessTree:
        command = [sys.executable, "-m", "goqueue", "server", "--data", str(self.folder / "data")]
        command += ["--http", self.http_address, "--native", self.address, "--grpc", self.grpc_address]
        command += ["--log-format", "json"]
        self._said_before = self.log.stat().st_size if self.log.exists() else 0
        return ProcessTree(self.name, command, self.log, {})

    def wait_until_listening(self) -> None:
        """It says so when everything has been recovered."""
        deadline = time.monotonic() + START_WITHIN_S
        while not self._serves():
            self.tree.check_alive()
            if time.monotonic() > deadline:
                raise TimeoutError(f"GoQueue does not serve within {START_WITHIN_S:.0f} s; see {self.log}")
            time.sleep(0.005)

    def _serves(self) -> bool:
        for line in self.log.read_bytes()[self._said_before :].splitlines():
            if line.startswith(b"{") and line.endswith(b"}") and json.loads(line).get("event") == "goqueue is serving":
                return True
        return False

    @property
    def http_address(self) -> str:
        return f"127.0.0.1:{self.http_port}"

    @property
    def grpc_address(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    def version(self) -> str:
        return f"{__version__}, codec {codec.ACTIVE}"
