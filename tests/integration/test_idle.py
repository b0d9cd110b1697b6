"""An idle broker sleeps, however much there is that will be due one day."""

import json
import re
import time
import urllib.request
from pathlib import Path

import pytest

from goqueue import Admin, Producer, Worker
from tests.behaviour.serving import Server, running_server

WATCHED_S = 15
HOUR_MS = 3_600_000


def context_switches(server: Server) -> int:
    """How often a thread of the broker went to sleep."""
    found = (task.read_text() for task in Path(f"/proc/{server.pid}/task").glob("*/status"))
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[1]) for status in found)


def commit(server: Server, group: str) -> None:
    request = urllib.request.Request(
        f"http://{server.http}/groups/{group}/offsets",
        data=json.dumps({"offsets": {"orders": {"0": 1}}}).encode(),
        headers={"content-type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=10).close()


@pytest.mark.slow
def test_groups_leases_and_delays_that_are_not_due_wake_nobody(tmp_path):
    # The library of gRPC has threads of its own that look around eight times a second.
    with running_server(tmp_path, flags=("--grpc", "")) as server, Admin(server.native) as admin:
        admin.create_topic("orders", partitions=1)
        with Producer(server.native) as producer:
            producer.send_many("orders", [b"now"] * 1000)
            sent = [producer.send("orders", b"later", delay_ms=HOUR_MS) for _ in range(2000)]
            assert all(one.result().offset >= 1000 for one in sent)
        for number in range(200):
            commit(server, f"group-{number}")
        with Worker("orders", group="work", bootstrap=server.native, visibility_ms=HOUR_MS) as worker:
            assert len(worker.take(1000)) == 1000
            # What follows a busy time, such as the sync of what was written last, is over soon.
            time.sleep(7)
            before = context_switches(server)
            time.sleep(WATCHED_S)
            switches = context_switches(server) - before
    # A look at the disk, the clock and the connections every five seconds; looking ten times a second makes 150 alone.
    assert switches < 4 * WATCHED_S
