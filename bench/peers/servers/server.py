"""A broker that is being measured, whichever it is."""

import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path

from bench.peers.processes import ProcessTree, free_port, wait_for_port

__all__ = ["Missing", "Server", "found_program", "version_from"]


class Missing(Exception):
    """This broker, or this setting of it, is not on this machine."""


class Server(ABC):
    """Started over a folder of its own; frozen while another one has its turn."""

    name: str
    setting: str
    """Which promise it makes, in words for the table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.port = free_port()
        self._tree: ProcessTree | None = None

    @property
    def tree(self) -> ProcessTree:
        assert self._tree is not None, "the server has not been started"
        return self._tree

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @abstractmethod
    def launch(self) -> ProcessTree:
        """Start the process; nobody waits here until it serves."""

    @abstractmethod
    def version(self) -> str: ...

    def start(self) -> None:
        self._tree = self.launch()
        self.wait_until_listening()

    def wait_until_listening(self) -> None:
        wait_for_port(self.port, self.tree)

    def end(self) -> None:
        if self._tree is not None:
            self._tree.end()

    def kill(self) -> None:
        self.tree.kill()


def found_program(name: str, *places: str) -> str:
    """The program in one of these places, or else on the path."""
    for place in (*places, name):
        if (found := shutil.which(place)) is not None:
            return found
    raise Missing(f"{name} is not installed (Debian: apt-get install {name})")


def version_from(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip()
