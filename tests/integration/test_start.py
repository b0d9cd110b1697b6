"""What a broker loads when it starts, and what only when somebody asks for it."""

import http.client
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goqueue.client.sync import Admin, Producer
from tests.behaviour.serving import Server, running_server

WITHIN_S = 60.0
UNNEEDED = {
    "typer": "reads the command line of everything else; flags of the server are simple enough without it",
    "pydantic": "comes with typer",
    "rich": "is for tables on a terminal",
    "starlette": "routes HTTP requests, and there was none",
    "uvicorn": "reads HTTP requests",
    "click": "comes with uvicorn",
    "jinja2": "is for pages of the console",
    "fastavro": "is for Avro schemas",
    "jsonschema_rs": "is for JSON schemas",
    "google": "is for Protobuf schemas, and for gRPC",
    "grpc": "is loaded after the start, and there was no port for it",
    "prometheus_client": "shows metrics, and nobody has asked for them",
    "pathlib": "brings much with it for what a broker does with paths at its start",
    "urllib": "reads the address of a collector, and none was named",
    "tempfile": "is for the compiler of Protobuf schemas",
    "zoneinfo": "is for schedules",
    "opentelemetry": "exports spans to a collector, and none was named",
    "pyarrow": "is for Spark",
    "cronsim": "is for schedules",
    "lz4": "is for compressed values, and none had to be looked into",
    "zstandard": "is for compressed values",
    "stringprep": "is for names of hosts, and addresses are none",
}
UNASKED = {
    "goqueue.core.groups.registry": "is for groups",
    "goqueue.core.schedules.schedules": "is for schedules",
    "goqueue.core.schemas.registry": "is for schemas",
    "goqueue.core.transactions.coordinator": "is for transactions",
    "goqueue.engine.groups": "is for groups",
    "goqueue.engine.queue.settle": "is for the queue",
    "goqueue.engine.queue.take": "is for the queue",
    "goqueue.engine.schedules": "is for schedules",
    "goqueue.engine.schemas.validation": "is for schemas",
    "goqueue.engine.transactions.ending": "is for transactions",
    "goqueue.engine.workbench": "is for dead letters",
    "goqueue.gateways.native.group_handlers": "answers members of groups",
    "goqueue.gateways.native.letter_handlers": "is for dead letters",
    "goqueue.gateways.native.queue_handlers": "is for the queue",
    "goqueue.gateways.native.transaction_handlers": "is for transactions",
    "goqueue.wire.native.letters": "is for dead letters",
}
"""Parts of the broker itself that nobody has asked for."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        # Python then says of each module when it is imported, in the same place as the log.
        patch.setenv("PYTHONPROFILEIMPORTTIME", "1")
        with running_server(tmp_path_factory.mktemp("start"), flags=("--grpc", "")) as server:
            yield server


def imported(server: Server) -> set[str]:
    lines = (server.folder / "server.log").read_text().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def packages(server: Server) -> set[str]:
    return {name.partition(".")[0] for name in imported(server)}


def get(address: str, path: str) -> int:
    connection = http.client.HTTPConnection(address, timeout=WITHIN_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_each_part_is_loaded_when_it_is_first_used_and_not_before(server: Server):
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("t")
        producer.send("t", b"value").result(WITHIN_S)
    assert {"goqueue", "msgspec", "uvloop"} <= packages(server), "the test sees what is imported"
    assert {name: UNNEEDED[name] for name in packages(server) & UNNEEDED.keys()} == {}
    assert {name: UNASKED[name] for name in imported(server) & UNASKED.keys()} == {}

    with Admin(server.native) as admin:
        assert admin.list_groups() == ()
    assert {"goqueue.gateways.native.group_handlers", "goqueue.core.groups.registry"} <= imported(server)
    assert "goqueue.gateways.native.letter_handlers" not in imported(server)
    assert "goqueue.core.transactions.coordinator" not in imported(server)

    assert get(server.http, "/health") == 200
    assert {"starlette", "uvicorn", "prometheus_client"} <= packages(server)
    assert "jinja2" not in packages(server), "nobody has looked at the console"

    assert get(server.http, "/console") == 200
    assert "jinja2" in packages(server)


def test_a_start_does_not_wait_for_grpc(tmp_path: Path):
    """It is loaded in a thread, and native clients are served meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPROFILEIMPORTTIME", "1")
        with running_server(tmp_path) as server:
            with Admin(server.native) as admin:
                admin.create_topic("t")
            assert server.grpc
            lines = (server.folder / "server.log").read_text().splitlines()
            (serving,) = [number for number, line in enumerate(lines) if "goqueue is serving" in line]
            (loaded,) = [
                number
                for number, line in enumerate(lines)
                if line.startswith("import time:") and line.split()[-1] == "grpc._cython.cygrpc"
            ]
            assert serving < loaded, "gRPC was loaded before the broker served"


def at_once(count: int, ask: Callable[[], int]) -> list[int]:
    """Of all that ask in the same moment."""
    ready = threading.Barrier(count)

    def one(_: int) -> int:
        ready.wait(WITHIN_S)
        return ask()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_all_who_come_while_http_or_the_console_is_being_loaded_are_answered(tmp_path: Path):
    with running_server(tmp_path, flags=("--grpc", "")) as server:
        assert at_once(20, lambda: get(server.http, "/health")) == [200] * 20
        assert at_once(8, lambda: get(server.http, "/console")) == [200] * 8
        server.stop()


def test_a_broker_stops_cleanly_whether_or_not_anybody_connected_to_its_http_port(tmp_path: Path):
    with running_server(tmp_path, flags=("--grpc", "")) as server:
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
