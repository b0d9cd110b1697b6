"""The brokers of a run: installed, started together, frozen but for the one whose turn it is, and ended for certain."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.peers.servers.server import Missing, Server
from bench.peers.targets import Target, why_not

__all__ = ["Arena", "open_arena"]

Say = Callable[[str], None]


class Arena:
    """One server for all targets of the same class: HTTP and the native protocol are doors to one broker."""

    def __init__(self, folder: Path, say: Say) -> None:
        self.folder = folder
        self._say = say
        self._servers: dict[Callable[[Path], Server], Server] = {}
        self._numbers = 0
        self.targets: list[Target] = []
        self.missing: list[str] = []

    def start(self, targets: Sequence[Target]) -> None:
        """Those that cannot be had are left out, with a word about it."""
        missing: dict[Callable[[Path], Server], str] = {}
        for target in targets:
            reason = why_not(target) or missing.get(target.server)
            if reason is None and target.server not in self._servers:
                try:
                    self._begin(target.server)
                except Missing as error:
                    reason = missing[target.server] = str(error)
            if reason is None:
                self.targets.append(target)
            else:
                self.missing.append(f"{target.name}: {reason}")
                self._say(f"left out: {target.name}: {reason}")

    def _begin(self, kind: Callable[[Path], Server]) -> None:
        server = self.fresh(kind)
        self._servers[kind] = server
        self._say(f"starting {server.name}, {server.setting}")
        server.start()
        server.tree.freeze()

    def fresh(self, kind: Callable[[Path], Server]) -> Server:
        """Another one, over a folder of its own; it is for the caller to start and to end."""
        self._numbers += 1
        return kind(self.folder / f"server-{self._numbers}")

    def server(self, target: Target) -> Server:
        return self._servers[target.server]

    @contextmanager
    def turn(self, target: Target) -> Iterator[Server]:
        """All else stands still, and what others have written is on the disk."""
        os.sync()
        server = self.server(target)
        server.tree.thaw()
        try:
            yield server
        finally:
            server.tree.freeze()

    def versions(self) -> dict[str, str]:
        return {server.name: server.version() for server in self._servers.values()}

    def end(self) -> None:
        """Whatever happens to one of them, the others are ended too."""
        with ExitStack() as all_of_them:
            for server in self._servers.values():
                all_of_them.callback(server.end)
        self._servers.clear()


@contextmanager
def open_arena(targets: Sequence[Target], say: Say) -> Iterator[Arena]:
    """On the disk of this repository, where a broker's data would be."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-", ignore_cleanup_errors=True) as folder:
        arena = Arena(Path(folder), say)
        try:
            arena.start(targets)
            yield arena
        finally:
            with contextlib.suppress(ProcessLookupError):
                arena.end()
