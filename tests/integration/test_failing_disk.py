"""A broker whose files are damaged while it is stopped, or whose disk refuses to read while it runs."""

import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.behaviour.serving import Server, eventually, running_server
from tests.integration.conftest import client_of
from tests.unit.disk.test_damaged_files import DAMAGES, folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Iterator[Server]:
    """One broker; its data folder is put back to the same state for each test."""
    home = tmp_path_factory.mktemp("failing")
    with running_server(home) as running:
        with client_of(running) as client:
            client.post("/topics", json={"name": "orders", "num_partitions": 1})
            for number in range(20):
                message = {"value": "x" * 900, "id": f"id-{number}"}
                assert client.post("/topics/orders/messages", json=message).status_code == 200
        running.stop()
        shutil.copytree(home / "data", home / "copy")
        yield running


@pytest.fixture
def server(kept: Server) -> Iterator[Server]:
    shutil.rmtree(kept.folder / "data")
    shutil.copytree(kept.folder / "copy", kept.folder / "data")
    yield kept
    if kept.is_running:
        kept.kill()


def offsets(client: httpx.Client) -> list[int]:
    answer = client.get("/topics/orders/partitions/0/messages", params={"offset": 0})
    return [message["offset"] for message in answer.json()["messages"]]


def metric(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broker_starts_over_every_damage_that_can_be_healed_and_reports_it(
    server: Server, damage: Callable[[Path], None]
) -> None:
    data = server.folder / "data"
    copies = ("checkpoint", "snapshots/*.snap.copy", "logs/orders/0/*.timeindex", "ids/index.db")
    for path in [path for pattern in copies for path in data.glob(pattern)]:
        damage(path)
    server.start()
    with client_of(server) as client:
        assert offsets(client) == list(range(20))
        assert client.get("/readyz").status_code == 200
        assert metric(client, "goqueue_storage_damaged_files_total") > 1
        # Once the index of ids is whole again, an id that is known is still known.
        again = {"value": "again", "id": "id-7"}
        eventually(lambda: client.post("/topics/orders/messages", json=again).status_code == 200)
        assert offsets(client) == list(range(20))
        if damage is folder:
            assert metric(client, "goqueue_storage_id_index_rebuilds_total") == 1
            assert (data / "ids" / "index.db.aside-1" / "note").exists()
    server.stop()


def test_records_that_the_disk_refuses_to_read_are_an_error_with_a_code_and_then_skipped(server: Server) -> None:
    server.start()
    (segment,) = (server.folder / "data" / "logs" / "orders" / "0").glob("*.log")
    if shutil.which("strace") is None:
        pytest.skip("strace makes reads fail here; the simulated disk has the same tests")
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(segment), "-e", "inject=pread64:error=EIO"]
    with client_of(server) as client:
        assert offsets(client) == list(range(20))
        tracer = subprocess.Popen([*command, "-p", str(server.pid)])
        try:
            address = "/topics/orders/partitions/0/messages"
            eventually(lambda: client.get(address).status_code == 503)
            refused = client.get(address)
            assert (refused.status_code, refused.json()["code"]) == (503, "read_failed")
            eventually(lambda: client.get(address).status_code == 200)
            assert offsets(client) == []
            assert metric(client, "goqueue_storage_failed_reads_total") >= 3
            assert metric(client, "goqueue_storage_damaged_ranges_total") == 1
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        assert offsets(client) == list(range(20))
    server.stop()
