"""Who has the ports of a broker, does the broker of the context answer, and does its clock agree with this one?"""

import asyncio
import http.client
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path

from goqueue.adapters.clock import SystemClock
from goqueue.cli.checks.finding import Check, ok, problem, warning
from goqueue.cli.http_broker import host_and_port_of
from goqueue.errors import GoQueueError

__all__ = ["check_ports", "check_reach"]

WITHIN_S = 3.0
MOST_SKEW_S = 5.0


def check_ports(listen: Mapping[str, tuple[str, int]]) -> Iterator[Check]:
    """Of each listener that a broker started here would have."""
    for name, (host, port) in listen.items():
        if port:
            yield _port(f"port of {name}", host, port)


def _port(name: str, host: str, port: int) -> Check:
    where = f"{host}:{port}"
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
        return ok(name, f"{where} is free")
    except socket.gaierror as error:
        return problem(name, f"{where}: {error.strerror}", "name an address of this machine")
    except PermissionError:
        return problem(name, f"{where} is not allowed for this user", "take a port from 1024 on")
    except OSError as error:
        if _version("127.0.0.1" if host in {"0.0.0.0", "::"} else host, port) or _speaks_native(where):
            return ok(name, f"{where} is a GoQueue's")
        holder, is_goqueue = _holder(port)
        if is_goqueue:
            return ok(name, f"{where} is a GoQueue's")
        who = f"{where} is taken by {holder}" if holder else f"{where}: {error.strerror}"
        return problem(name, who, "stop that program, or start the broker with another address")


def check_reach(server: str, address: str, *, expected: bool) -> Iterator[Check]:
    """A broker that nobody named need not be there."""
    complain = problem if expected else warning
    start = "start it with `goqueue server`, or name another with --server, --http or a context"
    reason = _unreachable(server)
    if reason is None:
        yield ok("broker, native", f"{server} answers")
    else:
        yield complain("broker, native", reason, start)
    host, port = host_and_port_of(address)
    found = _version(host, port)
    if found is None:
        yield complain("broker, http", f"no GoQueue answers at {address}", start)
        return
    version, skew_s = found
    yield ok("broker, http", f"{address} answers, version {version}")
    if abs(skew_s) > MOST_SKEW_S:
        yield warning(
            "clock", f"{skew_s:+.0f} s from the broker's", "set both clocks by NTP: delays and ages go by them"
        )
    else:
        yield ok("clock", f"within {max(1, round(abs(skew_s)))} s of the broker's")


def _unreachable(server: str) -> str | None:
    from goqueue.client import Admin

    async def ask() -> None:
        async with asyncio.timeout(WITHIN_S), Admin(server) as admin:
            await admin.topics()

    try:
        asyncio.run(ask())
    except GoQueueError as error:
        return error.message
    except TimeoutError:
        return f"{server} does not answer within {WITHIN_S:.0f} s"
    return None


def _speaks_native(server: str) -> bool:
    return _unreachable(server) is None


def _version(host: str, port: int) -> tuple[str, float] | None:
    """The version of a GoQueue, and how far its clock is ahead; None for anything else."""
    connection = http.client.HTTPConnection(host, port, timeout=WITHIN_S)
    try:
        connection.request("GET", "/v1/version")
        reply = connection.getresponse()
        answer = json.loads(reply.read(65536))
        now_s = SystemClock().now_ns() / 1e9
        said = reply.getheader("Date")
        skew = parsedate_to_datetime(said).timestamp() - now_s if said else 0.0
        return (answer["version"], skew) if "codec" in answer else None
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _holder(port: int) -> tuple[str | None, bool]:
    """The program that listens there, and whether it is a broker, as far as this user may know."""
    inodes = {
        line.split()[9]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in _lines(table)
        if re.match(rf"\s*\d+: [0-9A-F]+:{port:04X} [0-9A-F]+:0000 0A ", line)
    }
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = {os.readlink(link) for link in (process / "fd").iterdir()}
        except OSError:
            continue
        if any(f"socket:[{inode}]" in links for inode in inodes):
            name = " ".join(_lines(str(process / "comm"))) or "a program"
            words = " ".join(_lines(str(process / "cmdline"))).split("\0")
            return f"{name} (process {process.name})", any(
                "goqueue" in word for word in words[:3]
            ) and "server" in words
    return None, False


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
