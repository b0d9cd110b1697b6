"""A broker on a disk that is full to the last byte; the simulated disk has tests for each moment of a crash."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from goqueue.client.direct import Publisher
from tests.behaviour.serving import Server, eventually, running_server
from tests.integration.conftest import client_of

QUICK = "[maintenance]\nretention_every_ms = 100\ntick_ms = 100\n[storage]\nsegment_bytes = 1048576\n"
SIZES = ["120m", pytest.param("600m", marks=pytest.mark.slow)]


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    folder = tmp_path / "data"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def server(disk: Path) -> Iterator[Server]:
    with running_server(disk.parent, QUICK) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with client_of(server) as opened:
        yield opened


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def fill(disk: Path) -> Path:
    """A file of another program takes all that is left."""
    other = disk / "other"
    with other.open("ab") as file:
        while free := free_bytes(disk):
            # The broker may take some of it meanwhile.
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size + free)
    return other


def publish(client: httpx.Client, topic: str) -> httpx.Response:
    return client.post(f"/topics/{topic}/messages", json={"value": "later"})


@pytest.mark.parametrize("disk", SIZES, indirect=True)
def test_a_broker_that_is_killed_on_a_full_disk_starts_reads_deletes_and_recovers_by_itself(disk, server, client):
    for topic in ("large", "kept", "jobs"):
        assert client.post("/topics", json={"name": topic, "num_partitions": 1}).status_code == 201
    with Publisher(server.native) as publisher:
        for number in range(40):
            publisher.publish_many("large", [bytes(1000)] * 1000)
            if number < 5:
                publisher.publish_many("kept", [bytes(1000)] * 1000)
        publisher.publish_many("jobs", [b"job"] * 3)
    for restart in range(4):
        other = fill(disk)
        server.crash_and_restart()
        assert client.get("/readyz").status_code == 503
        assert publish(client, "kept").json()["code"] == "disk_full"
        found = client.get("/topics/kept/partitions/0/messages", params={"offset": 4999})
        assert [record["offset"] for record in found.json()["messages"]] == [4999]
        if restart < 3:
            other.unlink()
    # A worker goes on: leases and acknowledgements are small entries of the journal.
    (job,) = client.get("/groups/workers/poll", params={"topics": "jobs", "limit": 1}).json()["messages"]
    assert client.post("/messages/ack", json={"receipt_handles": [job["receipt_handle"]]}).status_code == 200
    # Retention makes room, and so does deleting a topic.
    assert client.patch("/topics/kept", json={"retention_bytes": 2_000_000}).status_code == 200
    eventually(lambda: free_bytes(disk) > 1_000_000)
    fill(disk)
    assert client.delete("/topics/large").status_code == 200
    eventually(lambda: free_bytes(disk) > 30_000_000)
    server.crash_and_restart()
    other.unlink()
    eventually(lambda: client.get("/readyz").status_code == 200)
    assert publish(client, "kept").status_code == 200
    assert [topic["name"] for topic in client.get("/topics").json()["topics"]] == ["jobs", "kept"]
    server.check_log()
