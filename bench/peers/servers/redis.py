"""Redis, whose streams are in memory: with a journal that is synced before each reply, and as it comes."""

from pathlib import Path

from bench.peers.processes import ProcessTree
from bench.peers.servers.server import Server, found_program, version_from

__all__ = ["RedisDefault", "RedisSafe"]


class RedisDefault(Server):
    name = "Redis"
    setting = "default: snapshots now and then, no journal"
    settings: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self._program = found_program("redis-server")
        super().__init__(folder)

    def launch(self) -> ProcessTree:
        command = [self._program, "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return ProcessTree(self.name, [*command, "--daemonize", "no", *self.settings], self.log, {})

    def version(self) -> str:
        return version_from(self._program, "--version").partition("v=")[2].split()[0]


class RedisSafe(RedisDefault):
    setting = "appendfsync always: fsync before confirm"
    # Snapshots beside a journal would cost time and make nothing safer.
    settings = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
