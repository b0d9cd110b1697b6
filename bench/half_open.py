"""Half-open connections: how much memory they cost a broker, and how much of it comes back when they are gone.

`python -m bench.half_open [CONNECTIONS [SOURCES]]` starts a broker and prints megabytes of resident memory; with the
`src` of another version, that one first.
"""

import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

KINDS = {
    "native, silent": ("native", b""),
    "native, frame begun": ("native", (4096).to_bytes(4, "big") + b"\x01\x00\x00\x00"),
    "http, silent": ("http", b""),
    "http, headers begun": ("http", b"GET /topics HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
    "grpc, silent": ("grpc", b""),
    "grpc, settings sent": ("grpc", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
}
SETTLE_S = 3.0


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def hold_open(port: int, begun: bytes, many: int) -> ExitStack:
    stack = ExitStack()
    for _ in range(many):
        stack.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(begun)
    return stack


def main(many: int, sources: str | None) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if sources is not None:
        print(f"the version in {sources}")
        measure(many, os.environ | {"PYTHONPATH": sources})
        print("this version")
    measure(many, os.environ)


def measure(many: int, environment: Mapping[str, str]) -> None:
    ports = {name: free_port() for name in ("native", "http", "grpc")}
    with tempfile.TemporaryDirectory() as folder:
        flags = [part for name, port in ports.items() for part in (f"--{name}", f"127.0.0.1:{port}")]
        command = [sys.executable, "-m", "goqueue", "server", "--data", f"{folder}/data", *flags]
        broker = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            time.sleep(SETTLE_S)
            for name, begun in KINDS.values():
                hold_open(ports[name], begun, 1).close()
            time.sleep(SETTLE_S)
            print(f"{'MB resident':22}{'before':>8}{'open':>8}{'closed':>8}   {many} connections each")
            for kind, (name, begun) in KINDS.items():
                before = resident_mb(broker.pid)
                with hold_open(ports[name], begun, many):
                    time.sleep(SETTLE_S)
                    opened = resident_mb(broker.pid)
                time.sleep(SETTLE_S)
                print(f"{kind:22}{before:8.0f}{opened:8.0f}{resident_mb(broker.pid):8.0f}")
        finally:
            broker.terminate()
            broker.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2500, sys.argv[2] if len(sys.argv) > 2 else None)
