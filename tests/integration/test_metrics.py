"""/metrics of a real broker: all that is promised, nothing else, in a form that Prometheus itself takes."""

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from goqueue.adapters.telemetry.metrics import FAMILIES
from goqueue.client.sync import Admin, Consumer, LetterSelect, Producer, Worker
from tests.behaviour.exposed import Exposed, exposed
from tests.behaviour.serving import Server, eventually, free_port, running_server
from tests.integration.conftest import client_of

OWN = re.compile(r"goqueue_(broker|consumer|storage|cluster)_[a-z_]+")
NOT_OURS = ("python_", "process_")

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="needs Prometheus (Debian: prometheus)"
)


@pytest.fixture(scope="module")
def busy(tmp_path_factory) -> Iterator[Server]:
    """A broker that has seen a little of everything."""
    with running_server(tmp_path_factory.mktemp("busy") / "broker") as server:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic("orders", 1)
            for number in range(10):
                producer.send("orders", b"%d" % number, priority=number % 5).result()
            with Worker("orders", group="billing", bootstrap=server.native) as worker:
                jobs = worker.take(limit=4)
                worker.ack(*jobs[:2])
                worker.reject(*jobs[2:], reason="no")
            admin.redrive_dead_letters("orders", LetterSelect(), limit=10)
        with client_of(server) as http:
            assert http.post("/topics/nowhere/messages", json={"messages": [{"value": "a"}]}).status_code == 404
            assert http.get("/nothing/of/the/kind").status_code == 404
            http.post("/topics", json={"name": "small", "max_value_bytes": 10})
            assert http.post("/topics/small/messages", json={"messages": [{"value": "x" * 11}]}).status_code == 413
        yield server


def test_exactly_the_promised_metrics_are_exported_with_their_types_and_labels(busy):
    seen = exposed(busy)
    promised = {family.exported: family for family in FAMILIES}
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", seen.text, re.MULTILINE))
    ours = {name: kind for name, kind in types.items() if not name.startswith(NOT_OURS)}
    assert ours == {name: family.kind for name, family in promised.items()}
    by_series = {
        name: family
        for family in FAMILIES
        for name in (
            [f"{family.name}_{part}" for part in ("bucket", "count", "sum")]
            if family.kind == "histogram"
            else [family.exported]
        )
    }
    for sample in seen.samples:
        if not sample.name.startswith(NOT_OURS):
            assert set(sample.labels) - {"le"} == set(by_series[sample.name].labels), sample


def test_every_metric_says_whose_it_is_and_what_it_means(busy):
    assert all(OWN.fullmatch(family.name) for family in FAMILIES)
    assert all(family.text and not family.text.endswith(".") for family in FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@needs_prometheus
def test_promtool_finds_nothing_wrong_with_the_metrics(busy):
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=exposed(busy).text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_letters_that_are_sent_back_are_counted_for_their_topic(busy):
    seen = exposed(busy)
    assert seen.value("goqueue_consumer_dead_lettered_records_total", topic="orders") == 2
    assert seen.value("goqueue_consumer_redriven_records_total", topic="orders") == 2
    assert seen.value("goqueue_broker_published_records_total", topic="orders") == 12
    assert seen.value("goqueue_broker_published_records_total", topic="orders.dlq") == 2
    # The broker is done with the letters, but that is nobody's delivery.
    assert seen.value("goqueue_consumer_acked_records_total", topic="orders.dlq") == 0


def test_what_waits_is_shown_by_priority(busy):
    seen = exposed(busy)
    shown = {
        one.labels["priority"]: one.value
        for one in seen.families["goqueue_consumer_ready_records"].samples
        if one.value
    }
    assert sum(shown.values()) == 8
    assert set(shown) <= {"critical", "high", "normal", "low", "background"}
    assert len(shown) > 1


def test_requests_are_counted_by_kind_and_outcome(busy):
    seen = exposed(busy)
    requests = "goqueue_broker_requests_total"
    assert seen.value(requests, listener="native", kind="publish", outcome="ok") >= 10
    assert seen.value(requests, listener="http", kind="unknown", outcome="refused") >= 1
    assert seen.value(requests, listener="http", kind="messages", outcome="refused") >= 1
    assert seen.sum(requests, outcome="failed") == 0
    answered = seen.value("goqueue_broker_request_seconds_count", listener="native", kind="publish")
    assert answered == seen.sum(requests, listener="native", kind="publish")
    assert seen.value("goqueue_broker_connections", listener="http") >= 1


def test_open_connections_are_counted_until_they_are_closed(busy):
    before = exposed(busy).value("goqueue_broker_connections", listener="native")
    with Consumer("orders", bootstrap=busy.native) as consumer:
        consumer.poll(limit=1)
        assert exposed(busy).value("goqueue_broker_connections", listener="native") > before
    eventually(lambda: exposed(busy).value("goqueue_broker_connections", listener="native") == before)


def test_every_sync_and_every_write_is_timed_or_counted(busy):
    before = exposed(busy)
    with Producer(busy.native) as producer:
        producer.send("orders", b"one more").result()
    after = exposed(busy)
    for histogram in ("goqueue_storage_sync_seconds", "goqueue_storage_write_group_entries"):
        assert after.value(f"{histogram}_count") > before.value(f"{histogram}_count")
        assert after.value(f"{histogram}_bucket", le="+Inf") == after.value(f"{histogram}_count")


def test_a_loop_that_was_held_up_says_so(busy):
    def late() -> float:
        seen = exposed(busy)
        return seen.value("goqueue_broker_loop_lag_seconds_count") - seen.value(
            "goqueue_broker_loop_lag_seconds_bucket", le="0.25"
        )

    before = late()
    with busy.frozen():
        subprocess.run(["sleep", "0.6"], check=True)
    eventually(lambda: late() > before)


# Bounds.


@contextmanager
def narrow(folder: Path) -> Iterator[tuple[Server, Admin]]:
    with running_server(folder, "[metrics]\ntopics = 3\ngroups = 2\n") as server, Admin(server.native) as admin:
        yield server, admin


def names_of(seen: Exposed, label: str) -> set[str]:
    return {one.labels[label] for one in seen.samples if label in one.labels}


def test_so_many_topics_and_groups_have_names_and_the_others_are_summed(tmp_path):
    with narrow(tmp_path / "broker") as (server, admin), Producer(server.native) as producer:
        for number in range(8):
            admin.create_topic(f"t{number}", 1)
            for _ in range(number + 1):
                producer.send(f"t{number}", b"x").result()
            with Worker(f"t{number}", group=f"g{number}", bootstrap=server.native) as worker:
                worker.ack(*worker.take(limit=1))
        seen = exposed(server)
        assert names_of(seen, "topic") == {"t0", "t1", "t2", "other"}
        assert names_of(seen, "group") == {"g0", "g1", "other"}
        published = "goqueue_broker_published_records_total"
        assert [seen.value(published, topic=name) for name in ("t0", "t1", "t2", "other")] == [
            1,
            2,
            3,
            4 + 5 + 6 + 7 + 8,
        ]
        assert seen.value("goqueue_consumer_settled_records_total", group="other", topic="other") == 6
        assert seen.value("goqueue_consumer_lag_records", group="other", topic="other") == 2 + 3 + 4 + 5 + 6 + 7
        assert seen.value("goqueue_storage_topic_records", topic="other") == 30
        # One that goes takes nothing back, and gives its name to none that is there already.
        admin.delete_topic("t1")
        admin.delete_topic("t7")
        admin.create_topic("new", 1)
        producer.send("t6", b"x").result()
        seen = exposed(server)
        assert names_of(seen, "topic") == {"t0", "t2", "new", "other"}
        assert seen.value(published, topic="other") == 31
        assert seen.value("goqueue_storage_topic_records", topic="other") == 23


# Prometheus.


@contextmanager
def prometheus_of(server: Server, folder: Path) -> Iterator[str]:
    """A Prometheus of Debian's that scrapes the broker; the address of its API."""
    folder.mkdir()
    address = f"127.0.0.1:{free_port()}"
    config = folder / "prometheus.yml"
    scraped = {"job_name": "goqueue", "static_configs": [{"targets": [server.http]}]}
    times = {"scrape_interval": "200ms", "evaluation_interval": "1s"}
    rules = Path(__file__).parents[2] / "deploy" / "prometheus" / "alerts.yml"
    # JSON is YAML.
    config.write_text(json.dumps({"global": times, "rule_files": [str(rules)], "scrape_configs": [scraped]}))
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        eventually(lambda: is_ready(address) or process.poll() is not None, within_s=60, every_s=0.1)
        assert process.poll() is None, (folder / "log").read_text()
        yield f"http://{address}/api/v1"
    finally:
        process.kill()
        process.wait()


def is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def asked(api: str, what: str, **query: str):
    with urllib.request.urlopen(f"{api}/{what}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
        found = json.load(answer)
    assert found["status"] == "success"
    return found["data"]


def value_of(api: str, expression: str) -> float | None:
    result = asked(api, "query", query=expression)["result"]
    return float(result[0]["value"][1]) if result else None


@needs_prometheus
def test_a_real_prometheus_scrapes_the_broker_and_answers_for_it(busy, tmp_path):
    with prometheus_of(busy, tmp_path / "prometheus") as api, Producer(busy.native) as producer:
        eventually(lambda: value_of(api, 'up{job="goqueue"}') == 1, within_s=60, every_s=0.2)
        counted = 'goqueue_broker_published_records_total{topic="orders"}'
        before = value_of(api, counted)
        for _ in range(7):
            producer.send("orders", b"x").result()
        eventually(lambda: value_of(api, counted) == before + 7, within_s=60, every_s=0.2)
        quantile = "histogram_quantile(0.99, sum by (le) (goqueue_broker_request_seconds_bucket))"
        assert value_of(api, quantile) > 0
        known = {name for name, *_ in asked(api, "metadata").items()}
        assert {family.exported for family in FAMILIES} <= known
        rules = [rule for group in asked(api, "rules")["groups"] for rule in group["rules"]]
        eventually(
            lambda: all(rule["health"] == "ok" for group in asked(api, "rules")["groups"] for rule in group["rules"]),
            within_s=60,
            every_s=0.5,
        )
        assert len(rules) > 20
        firing = {one["labels"]["alertname"] for one in asked(api, "alerts")["alerts"] if one["state"] == "firing"}
        assert firing <= {"GoQueueDiskFilling"}
