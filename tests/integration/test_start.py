"""Starts: how quick they are, what they leave in memory, and clients that come while a part is still being loaded."""

import http.client
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from goqueue.client.sync import Admin, Producer
from tests.behaviour.serving import running_server

WITHIN_S = 60.0
RECORDS = 20_000
RESTARTS = 3
MOST_CPU_S = 0.5
"""Accepted for a restart on an idle machine are 0.3 s; processor time grows, too, when others use the machine."""
MOST_OWN_BYTES = 30 * 1024 * 1024
NO_GRPC = ("--grpc", "")


def cpu_s(pid: int) -> float:
    """Processor time that the process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def own_bytes(pid: int) -> int:
    """Memory of the process that is no mapped file: programs and libraries may be shared with other processes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))


def get(address: str, path: str) -> int:
    connection = http.client.HTTPConnection(address, timeout=WITHIN_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_restarted_broker_soon_confirms_a_record_and_takes_little_memory(tmp_path: Path):
    with running_server(tmp_path, flags=NO_GRPC) as server:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic("t", 1)
            for _ in range(RECORDS):
                last = producer.send("t", b"x" * 100)
            last.result(WITHIN_S)
        used = []
        for _ in range(RESTARTS):
            server.restart()
            with Producer(server.native) as producer:
                assert producer.send("t", b"x" * 100).result(WITHIN_S).offset >= RECORDS
            used.append(cpu_s(server.pid))
            assert own_bytes(server.pid) < MOST_OWN_BYTES
        assert min(used) < MOST_CPU_S


def test_native_clients_are_served_before_grpc_is(tmp_path: Path):
    with running_server(tmp_path) as server:
        with Admin(server.native) as admin:
            admin.create_topic("t")
        assert server.grpc
        events = [line.get("event") for line in server.log()]
        assert events.index("goqueue is serving") < events.index("gRPC is serving")


def at_once(count: int, ask: Callable[[], int]) -> list[int]:
    """Of all that ask in the same moment."""
    ready = threading.Barrier(count)

    def one(_: int) -> int:
        ready.wait(WITHIN_S)
        return ask()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_all_who_come_while_http_or_the_console_is_being_loaded_are_answered(tmp_path: Path):
    with running_server(tmp_path, flags=NO_GRPC) as server:
        assert at_once(20, lambda: get(server.http, "/health")) == [200] * 20
        assert at_once(8, lambda: get(server.http, "/console")) == [200] * 8
        server.stop()


def test_a_broker_stops_cleanly_whether_or_not_anybody_connected_to_its_http_port(tmp_path: Path):
    with running_server(tmp_path, flags=NO_GRPC) as server:
        server.stop()
        server.start()
        connection = http.client.HTTPConnection(server.http, timeout=WITHIN_S)
        # Perhaps it is loading when it is told to stop, perhaps it has not noticed anybody yet.
        connection.connect()
        server.stop()
        connection.close()
        server.start()
        assert get(server.http, "/health") == 200
        server.stop()
