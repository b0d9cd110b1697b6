"""Workers that serve a queue without being members, as operators see them over every way to the broker."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from goqueue.client import sync
from goqueue.wire.grpc.v1.queue_pb2 import WorkRequest
from goqueue.wire.grpc.v1.queue_pb2_grpc import QueueServiceStub
from tests.behaviour.exposed import exposed
from tests.behaviour.serving import Server
from tests.integration.conftest import client_of
from tests.integration.grpc.talking import connected

LONG_S = 20


def described(http: httpx.Client, group: str) -> dict[str, Any]:
    answer = http.get(f"/groups/{group}")
    return answer.json() if answer.status_code == 200 else {"workers": [], "state": None}


def until(seen: Callable[[], bool]) -> None:
    """Each look is a request of its own, which lets the others go on."""
    with httpx.Client():
        for _ in range(2000):
            if seen():
                return
    raise AssertionError("it was never seen")


def cli(server: Server, *arguments: str) -> Any:
    command = [sys.executable, "-m", "goqueue", *arguments, "--server", server.native, "--output", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


def test_two_anonymous_workers_over_http_are_shown_until_they_hang_up(shared_server: Server, http, topic) -> None:
    def poll(client: httpx.Client) -> int:
        query = {"topics": topic, "timeout": f"{LONG_S}s", "limit": 1}
        return len(client.get(f"/groups/{topic}/poll", params=query).json()["messages"])

    with client_of(shared_server) as one, client_of(shared_server) as two, ThreadPoolExecutor() as threads:
        polls = [threads.submit(poll, client) for client in (one, two)]
        until(lambda: len(described(http, topic)["workers"]) == 2)
        found = described(http, topic)
        assert (found["state"], found["members"], found["worker_count"]) == ("Working", [], 2)
        assert {one["consumer"] for one in found["workers"]} == {"anonymous"}
        assert {one["protocol"] for one in found["workers"]} == {"http"}
        assert len({one["address"] for one in found["workers"]}) == 2
        assert [one["in_flight"] for one in found["workers"]] == [None, None]
        (listed,) = [one for one in http.get("/groups").json()["groups"] if one["group"] == topic]
        assert (listed["state"], listed["members"], listed["workers"]) == ("Working", 0, 2)
        assert cli(shared_server, "group", "describe", topic)["worker_count"] == 2
        (line,) = [one for one in cli(shared_server, "group", "list") if one["group"] == topic]
        assert (line["state"], line["workers"]) == ("Working", 2)
        assert exposed(shared_server).value("goqueue_consumer_workers", group=topic) == 2
        values = [{"value": "a", "partition": 0}, {"value": "b", "partition": 0}]
        http.post(f"/topics/{topic}/messages", json={"messages": values})
        assert [poll.result() for poll in polls] == [1, 1]
    # They hold what they took.
    until(lambda: [one["address"] for one in described(http, topic)["workers"]] == [None])
    assert [one["in_flight"] for one in described(http, topic)["workers"]] == [2]


def test_a_worker_of_the_client_is_shown_until_it_is_closed(shared_server: Server, http, topic) -> None:
    http.post(f"/topics/{topic}/messages", json={"messages": [{"value": "a"}]})
    with sync.Worker(topic, group=topic, bootstrap=shared_server.native) as worker:
        (job,) = worker.take(wait_ms=5000)
        (seen,) = described(http, topic)["workers"]
        assert (seen["protocol"], seen["in_flight"]) == ("native", 1)
        worker.ack(job)
    until(lambda: described(http, topic)["state"] == "Empty")
    assert described(http, topic)["workers"] == []


def test_a_worker_whose_stream_is_cancelled_is_not_shown_any_more(shared_server: Server, http, topic) -> None:
    with connected(shared_server.grpc) as stubs:
        queue = QueueServiceStub(stubs.channel)
        stream = queue.Work(WorkRequest(group=topic, topics=[topic], consumer="packer"))
        until(lambda: len(described(http, topic)["workers"]) == 1)
        (seen,) = described(http, topic)["workers"]
        assert (seen["consumer"], seen["protocol"], seen["in_flight"]) == ("packer", "grpc", 0)
        assert seen["address"].startswith("127.0.0.1:")
        stream.cancel()
        until(lambda: described(http, topic)["state"] == "Empty")


def test_the_metrics_tell_delayed_records_apart_from_lag(shared_server: Server, http, topic) -> None:
    messages = [{"value": "later", "partition": 0, "delay": 3_600_000}]
    messages += [{"value": "now", "partition": 0} for _ in range(5)]
    http.post(f"/topics/{topic}/messages", json={"messages": messages})
    found = http.get(f"/groups/{topic}/poll", params={"topics": topic, "timeout": 0}).json()["messages"]
    assert len(found) == 5
    http.post("/messages/ack", json={"receipt_handles": [one["receipt_handle"] for one in found]})
    metrics = exposed(shared_server)
    assert metrics.value("goqueue_consumer_lag_records", group=topic, topic=topic) == 0
    assert metrics.value("goqueue_consumer_delayed_records", group=topic, topic=topic) == 1
    (part,) = [one for one in described(http, topic)["partitions"] if one["partition"] == 0]
    assert (part["lag"], part["delayed"]) == (0, 1)
