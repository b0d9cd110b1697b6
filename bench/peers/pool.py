"""Client processes that wait for work, and the measurement that several of them make together."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.peers.board import Board
from bench.peers.client import READY
from bench.peers.work import Done, Work

__all__ = ["MOST_PROCESSES", "ClientFailed", "Pool"]

MOST_PROCESSES = 16
START_IN_S = 0.02


class ClientFailed(Exception):
    """A client process could not do its work."""


class Pool:
    """Processes are started once and used for all brokers, so that nobody pays for imports while the clock runs."""

    def __init__(self, folder: Path) -> None:
        self._board_path = folder / "board"
        self._board = Board(self._board_path, MOST_PROCESSES)
        self._log = (folder / "clients.log").open("wb")
        self._clients: list[subprocess.Popen[bytes]] = []

    def _client(self, number: int) -> subprocess.Popen[bytes]:
        while len(self._clients) <= number:
            command = [sys.executable, "-W", "ignore", "-m", "bench.peers.client"]
            made = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True
            )
            self._clients.append(made)
        return self._clients[number]

    def do(self, work: Work) -> Done:
        """Something that is done at once, by one of them."""
        client = self._client(0)
        _tell(client, msgspec.json.encode(work) + b"\n")
        return _done(_heard(client))

    def measure(self, works: Sequence[Work]) -> tuple[float, list[Done]]:
        """When all began, and what became of the work of each."""
        self._board.clear()
        clients = [self._client(number) for number in range(len(works))]
        for number, (client, work) in enumerate(zip(clients, works, strict=True)):
            mine = msgspec.structs.replace(work, board=str(self._board_path), row=number, rows=MOST_PROCESSES)
            _tell(client, msgspec.json.encode(mine) + b"\n")
        said = [_heard(client) for client in clients]
        start_at = time.monotonic() + START_IN_S
        for client, line in zip(clients, said, strict=True):
            if line == READY:
                _tell(client, b"%.6f\n" % start_at)
        answers = [_heard(client) if line == READY else line for client, line in zip(clients, said, strict=True)]
        return start_at, [_done(line) for line in answers]

    def close(self) -> None:
        for client in self._clients:
            client.kill()
            client.wait()
            for pipe in (client.stdin, client.stdout):
                if pipe is not None:
                    pipe.close()
        self._clients.clear()
        self._log.close()
        self._board.__exit__(None, None, None)


def _tell(client: subprocess.Popen[bytes], line: bytes) -> None:
    assert client.stdin is not None
    client.stdin.write(line)
    client.stdin.flush()


def _heard(client: subprocess.Popen[bytes]) -> bytes:
    assert client.stdout is not None
    line = client.stdout.readline()
    if not line:
        raise ClientFailed(f"a client process ended with {client.wait()}")
    return line


def _done(line: bytes) -> Done:
    done = msgspec.json.decode(line, type=Done)
    if done.error:
        raise ClientFailed(done.error)
    return done
