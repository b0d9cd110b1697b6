"""RabbitMQ on one node: quorum queues, which sync before they confirm, and streams, which never do."""

import os
import shutil
from pathlib import Path

from bench.peers.processes import ProcessTree, free_port, wait_for_port
from bench.peers.servers.server import Missing, Server

__all__ = ["RabbitMqServer"]

INSTALLED = "/usr/lib/rabbitmq/lib"
CONFIG = """\
listeners.tcp.1 = 127.0.0.1:{amqp}
stream.listeners.tcp.1 = 127.0.0.1:{stream}
log.console = true
log.console.level = warning
log.file = false
disk_free_limit.absolute = 50MB
"""


class RabbitMqServer(Server):
    """The name daemon that Erlang needs is a child of ours as well, so that nothing is left behind."""

    name = "RabbitMQ"
    setting = "quorum queue: fsync before confirm (the default); stream: never synced before confirm"

    def __init__(self, folder: Path) -> None:
        # Not the one on the path: it would change to another user, who may not see our folder.
        found = sorted(Path(INSTALLED).glob("rabbitmq_server-*/sbin/rabbitmq-server"))
        if not found or shutil.which("epmd") is None:
            raise Missing("rabbitmq-server is not installed (Debian: apt-get install rabbitmq-server)")
        self._program = found[-1]
        super().__init__(folder)
        self.stream_port = free_port()
        self._names_port = free_port()
        self._names: ProcessTree | None = None
        (folder / "rabbitmq.conf").write_text(CONFIG.format(amqp=self.port, stream=self.stream_port))
        (folder / "plugins").write_text("[rabbitmq_stream].\n")

    @property
    def stream_address(self) -> str:
        return f"127.0.0.1:{self.stream_port}"

    def launch(self) -> ProcessTree:
        if self._names is None:
            command = ["epmd", "-port", str(self._names_port), "-address", "127.0.0.1"]
            self._names = ProcessTree("epmd", command, self.folder / "epmd.log", {})
            wait_for_port(self._names_port, self._names)
        environment = {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._names_port),
            "RABBITMQ_NODENAME": f"bench{os.getpid()}-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.folder / "advanced.config"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "rabbitmq-env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
        }
        return ProcessTree(self.name, [str(self._program)], self.log, environment)

    def wait_until_listening(self) -> None:
        wait_for_port(self.port, self.tree)
        wait_for_port(self.stream_port, self.tree)

    def end(self) -> None:
        super().end()
        if self._names is not None:
            self._names.end()
            self._names = None

    def version(self) -> str:
        return self._program.parent.parent.name.partition("-")[2]
