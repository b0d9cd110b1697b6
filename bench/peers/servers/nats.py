"""NATS JetStream with files: synced before each confirmation where its version can, and as it comes."""

import sys
from pathlib import Path

from bench.peers.processes import ProcessTree
from bench.peers.servers.server import Missing, Server, found_program, version_from

__all__ = ["NatsDefault", "NatsSafe"]


class NatsDefault(Server):
    name = "NATS"
    setting = "default: files, synced every 2 minutes"
    jetstream = ""

    def __init__(self, folder: Path) -> None:
        # The Python package has a newer one than Debian.
        self._program = found_program("nats-server", str(Path(sys.executable).parent / "nats-server"))
        super().__init__(folder)
        self._config = folder / "nats.conf"
        self._config.write_text(
            f'listen: "{self.address}"\njetstream {{ store_dir: "{folder / "store"}"\n{self.jetstream} }}\n'
        )

    def launch(self) -> ProcessTree:
        return ProcessTree(self.name, [self._program, "-c", str(self._config)], self.log, {})

    def version(self) -> str:
        return version_from(self._program, "--version").rpartition("v")[2]


class NatsSafe(NatsDefault):
    setting = "sync_interval always: fsync before confirm"
    jetstream = "sync_interval: always"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        said = version_from(self._program, "-t", "-c", str(self._config))
        if "unknown field" in said:
            raise Missing(f"nats-server {self.version()} cannot sync before it confirms (2.10 and later can)")
