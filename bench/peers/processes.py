"""Processes of a broker: started on free ports, frozen while others are measured, counted, and ended for certain."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["ProcessTree", "free_port", "wait_for_port"]

END_WITHIN_S = 20.0
LOOK_EVERY_S = 0.005


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_for_port(port: int, tree: "ProcessTree", within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while True:
        tree.check_alive()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{tree.name} does not listen within {within_s:.0f} s; its output is in {tree.log}")
        time.sleep(LOOK_EVERY_S)


class ProcessTree:
    """A process with all of its descendants, in a session of its own."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **environment},
                cwd=log.parent,
                start_new_session=True,
            )

    def check_alive(self) -> None:
        if self._process.poll() is not None:
            said = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.name} ended with {self._process.returncode}: {said}")

    def pids(self) -> list[int]:
        """Parents first."""
        children: dict[int, list[int]] = {}
        for pid, fields in _all_stats():
            children.setdefault(int(fields[1]), []).append(pid)
        found = [self._process.pid]
        for pid in found:
            found += children.get(pid, [])
        return found

    def resident_mb(self) -> float:
        """What is shared between the processes counts for each of them in part (Pss)."""
        return sum(map(_proportional_kb, self.pids())) / 1000

    def cpu_seconds(self) -> float:
        """Also of children that have ended and were waited for."""
        mine = set(self.pids())
        ticks = sum(sum(map(int, fields[11:15])) for pid, fields in _all_stats() if pid in mine)
        return ticks / os.sysconf("SC_CLK_TCK")

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self) -> None:
        """Ask, wait, and kill what is left."""
        if self._process.poll() is None:
            self.thaw()
            family = self.pids()
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_WITHIN_S)
            self._kill(family)
        self._process.wait()

    def kill(self) -> None:
        """As a crash would, of all of them at once."""
        self._kill(self.pids())
        self._process.wait()

    def _kill(self, family: Sequence[int]) -> None:
        for pid in family:
            # A number may have gone to another program meanwhile; those of this session are ours.
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(pid) == self._process.pid or pid == self._process.pid:
                    os.kill(pid, signal.SIGKILL)


def _all_stats() -> Iterator[tuple[int, list[str]]]:
    """Of each process the fields behind its name: state, parent and so on."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry), Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()


def _proportional_kb(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1]) * 1.024
    return 0.0
