"""Topics over HTTP, against a broker in a process of its own."""

from pathlib import Path

import httpx
import pytest

CONFIG = {
    "retention_hours": 1.5,
    "retention_ms": 5_400_000,
    "retention_bytes": 1_000_000,
    "cleanup": "compact,delete",
    "durability": "memory",
    "delete_retention_ms": 1000,
    "max_value_bytes": 100_000,
    "dedup_window_ms": 5000,
}


def config_of(topic: dict) -> dict:
    return {name: topic[name] for name in CONFIG}


def everything_under(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if "/journal" not in str(path)}


def test_a_topic_has_the_defaults_that_are_documented(http):
    response = http.post("/topics", json={"name": "plain"})
    assert response.status_code == 201
    assert response.headers["location"] == "/topics/plain"
    topic = response.json()
    assert (topic["name"], topic["num_partitions"], topic["retention_hours"], topic["epoch"]) == ("plain", 3, 168, 1)
    assert config_of(topic) == {
        "retention_hours": 168,
        "retention_ms": 604_800_000,
        "retention_bytes": None,
        "cleanup": "delete",
        "durability": "fsync",
        "delete_retention_ms": 86_400_000,
        "max_value_bytes": 16 * 1024 * 1024,
        "dedup_window_ms": 600_000,
    }
    assert topic["partitions"] == [
        {"partition": n, "earliest": 0, "latest": 0, "stable": 0, "size": 0} for n in range(3)
    ]
    assert [one["start"] for one in topic["ranges"]] == [0, 1_431_655_765, 2_863_311_530]
    assert topic["ranges"][-1]["stop"] == 1 << 32
    assert http.get("/topics/plain").json() == topic


def test_topics_are_listed_altered_and_deleted(http):
    http.post("/topics", json={"name": "passing", "num_partitions": 1})
    assert "passing" in [topic["name"] for topic in http.get("/topics").json()["topics"]]
    altered = http.patch("/topics/passing", json={"retention_hours": None, "cleanup": "compact"})
    assert altered.status_code == 200
    assert (altered.json()["retention_ms"], altered.json()["cleanup"], altered.json()["epoch"]) == (None, "compact", 2)
    assert http.delete("/topics/passing").json() == {"name": "passing", "deleted": True}
    assert http.get("/topics/passing").status_code == 404
    assert http.delete("/topics/passing").status_code == 404
    assert http.post("/topics", json={"name": "passing"}).status_code == 201


def test_partitions_say_where_their_records_and_keys_are(http, topic):
    http.post(f"/topics/{topic}/messages", json={"messages": [{"value": "x" * 100, "partition": 1}] * 3})
    answer = http.get(f"/topics/{topic}/partitions").json()
    assert answer["topic"] == topic
    first, second, third = answer["partitions"]
    assert (second["earliest"], second["latest"], second["size"]) == (0, 3, 3 * 134)
    assert (second["segments"], second["read_only"]) == (1, None)
    assert (first["range_stop"], second["range_stop"]) == (second["range_start"], third["range_start"])
    assert http.get(f"/topics/{topic}").json()["size"] == 3 * 134


def test_settings_survive_a_restart_and_a_crash(server, client):
    given = {name: value for name, value in CONFIG.items() if name != "retention_ms"}
    assert client.post("/topics", json={"name": "kept", "num_partitions": 5, **given}).status_code == 201
    server.restart()
    found = client.get("/topics/kept").json()
    assert (found["num_partitions"], config_of(found)) == (5, CONFIG)
    client.patch("/topics/kept", json={"retention_bytes": 7})
    client.post("/topics", json={"name": "dropped"})
    client.delete("/topics/dropped")
    server.crash_and_restart()
    found = client.get("/topics/kept").json()
    assert (found["epoch"], config_of(found)) == (2, {**CONFIG, "retention_bytes": 7})
    assert [topic["name"] for topic in client.get("/topics").json()["topics"]] == ["kept"]


@pytest.mark.parametrize("name", ["..%2F..%2Fesc", "%2e%2e", "..%5C..%5Cesc", "a%00b", "%2Fetc%2Fpasswd", "a" * 250])
def test_a_name_that_is_none_touches_no_disk(http: httpx.Client, shared_server, name):
    before = everything_under(shared_server.folder.parent)
    for method, url, body in (
        ("POST", f"/topics/{name}/messages", b'{"value": 1}'),
        ("GET", f"/topics/{name}", None),
        ("PATCH", f"/topics/{name}", b"{}"),
        ("DELETE", f"/topics/{name}", None),
        ("GET", f"/topics/{name}/partitions/0/messages", None),
        ("POST", f"/admin/topics/{name}/compact", None),
    ):
        response = http.request(method, url, content=body)
        assert (response.status_code, response.json()["code"]) == (400, "invalid_request"), (method, url)
    for plain in ("../../esc", "..", ".", "", "a/b", "a\0b", "ä"):
        assert http.post("/topics", json={"name": plain}).status_code == 400
    assert everything_under(shared_server.folder.parent) == before


def test_compaction_by_hand_keeps_the_newest_of_each_key(tmp_path):
    from tests.behaviour.serving import running_server

    with (
        running_server(tmp_path / "broker", "[storage]\nsegment_bytes = 4096\n") as server,
        httpx.Client(base_url=f"http://{server.http}", timeout=30) as client,
    ):
        client.post("/topics", json={"name": "t", "num_partitions": 1, "cleanup": "compact"})
        for number in range(10):
            messages = [{"key": f"k{key}", "value": f"{number} {'x' * 100}"} for key in range(10)]
            assert client.post("/topics/t/messages", json={"messages": messages}).status_code == 200
        [compacted] = client.post("/admin/topics/t/compact").json()["partitions"]
        assert compacted["size"] < compacted["size_before"] / 2
        page = client.get("/topics/t/partitions/0/messages?limit=1000").json()
        newest = {message["key"]: message["value"][:2] for message in page["messages"]}
        assert newest == {f"k{key}": "9 " for key in range(10)}
        assert page["next_offset"] == 100


def test_what_the_process_says_about_itself(http):
    assert [http.get(path).json() for path in ("/health", "/healthz", "/livez")] == [{"status": "ok"}] * 3
    assert http.get("/readyz").json() == {"status": "ready"}
    assert http.get("/readyz?verbose=true").json()["checks"] == {"storage": "ok", "disk": "ok"}
    assert http.get("/version").json()["version"]
    assert http.get("/stats").json().keys() == {
        *("topics", "partitions", "records", "bytes", "journal_bytes", "disk_used_share")
    }
    metrics = http.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "goqueue_broker_topics" in metrics.text
    assert http.get("/openapi.json").json()["openapi"] == "3.1.0"
    assert http.get("/docs").text.startswith("<!doctype html>")
    assert http.get("/v1/topics").status_code == 200
    head = http.head("/topics")
    assert (head.status_code, head.content) == (200, b"")
