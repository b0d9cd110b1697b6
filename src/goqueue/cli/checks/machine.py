"""Can this machine run a broker: Python, codec, open files, memory, clock; and pipelines: Spark, Java?"""

import platform
import resource
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from goqueue.cli.checks.finding import Check, ok, problem, warning
from goqueue.cli.times import bytes_text
from goqueue.errors import GoQueueError

__all__ = ["check_machine"]

OLDEST_PYTHON = (3, 11)
FEW_FILES, SOME_FILES = 1024, 8192
LITTLE_MEMORY, SOME_MEMORY = 256 << 20, 1 << 30
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_machine() -> Iterator[Check]:
    yield _python()
    yield _codec()
    yield _open_files()
    yield _memory()
    yield from _spark()
    yield _grpc()


def _python() -> Check:
    if sys.version_info[:2] < OLDEST_PYTHON:
        return problem("python", platform.python_version(), "install Python 3.11 or later")
    return ok("python", platform.python_version())


def _codec() -> Check:
    from goqueue.codec import ACTIVE

    if ACTIVE != "compiled":
        return warning("codec", "in Python, which is slow", "install a C compiler, then GoQueue once more")
    return ok("codec", "compiled")


def _open_files() -> Check:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return ok("open files", "no limit")
    found = f"{most:,} at most"
    if most < FEW_FILES:
        return problem(
            "open files", found, "each partition and connection takes one: ulimit -Hn 65536, or LimitNOFILE="
        )
    if most < SOME_FILES:
        return warning("open files", found, "enough for a few hundred partitions: raise it with LimitNOFILE=65536")
    return ok("open files", found)


def _memory() -> Check:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        free, total = kib["MemAvailable"] * 1024, kib["MemTotal"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return ok("memory", "this system does not say")
    limit = min((_limit(path) for path in CGROUP_LIMITS), default=total)
    free, total = min(free, limit), min(total, limit)
    found = f"{bytes_text(free)} of {bytes_text(total)} available"
    if free < LITTLE_MEMORY:
        return problem("memory", found, "a broker needs about 100 MiB and what its journal and queues take; free some")
    if free < SOME_MEMORY:
        return warning("memory", found, "enough for a small broker; Spark needs 1 GiB more")
    return ok("memory", found)


def _limit(path: str) -> int:
    """What a container may have."""
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return sys.maxsize


def _spark() -> Iterator[Check]:
    if find_spec("pyspark") is None:
        yield warning("spark", "not installed", "only `goqueue pipeline` needs it: pip install 'goqueue[spark]'")
        return
    yield ok("spark", "PySpark is installed")
    from goqueue.spark.session import check_java

    try:
        yield ok("java", f"Java {check_java()}")
    except GoQueueError as error:
        yield warning("java", error.message, f"only `goqueue pipeline` needs it: {error.hint}")


def _grpc() -> Check:
    if find_spec("grpc") is None:
        return warning("grpc", "not installed", "only gRPC clients and listeners need it: pip install grpcio")
    return ok("grpc", "installed")
