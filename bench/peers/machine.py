"""On what it was measured: the machine, its disk, and the versions of all that took part."""

import os
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.peers.offering import percentiles
from bench.report import machine_facts

__all__ = ["client_versions", "facts"]

LIBRARIES = ("redis", "hiredis", "nats-py", "pika", "rstream", "aiohttp", "grpcio", "uvloop", "msgspec")
SYNCS = 200


def facts() -> dict[str, Any]:
    return {**machine_facts(), "disk": _file_system(Path.cwd()), "fdatasync_ms": _sync_times()}


def client_versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _file_system(folder: Path) -> str:
    """Device and kind of the mount that a folder is on."""
    best = ("", "", "")
    for line in Path("/proc/mounts").read_text().splitlines():
        device, place, kind, *_ = line.split()
        if folder.is_relative_to(place) and len(place) >= len(best[1]):
            best = (device, place, kind)
    return f"{best[0]} ({best[2]})"


def _sync_times() -> dict[str, float]:
    """What a broker pays at least for each sync of a small write at the end of a file."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=Path.cwd(), prefix=".bench-") as file:
        for _ in range(SYNCS):
            os.write(file.fileno(), bytes(200))
            before = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - before)
    return {name: round(value, 3) for name, value in percentiles(times).items()}
