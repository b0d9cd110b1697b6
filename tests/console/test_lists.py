"""Lists of the console: order, lag, retention and dead letters of topics, workers of groups, texts in records."""

import re
from collections.abc import Iterator

import httpx
import pytest

from goqueue.client.sync import Admin, Consumer, Producer, Worker
from goqueue.model.topic import TopicConfig
from tests.behaviour.serving import Server, eventually, running_server

OWN = {"sec-fetch-site": "same-origin"}
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
ON_PHONES = re.compile(r'<a class="[^"]*only-on-phones".*?</a>', re.DOTALL)
"""What other columns say on a desktop."""
CELL = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("lists")) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("small", 1, TopicConfig(retention_ms=3_600_000))
        admin.create_topic("large", 3, TopicConfig(retention_ms=None, retention_bytes=1 << 30))
        admin.create_topic("middle", 2)
        for topic, count in (("small", 5), ("middle", 20), ("large", 60)):
            for number in range(count):
                producer.send(topic, b'{"city": "%s"}' % (b"Porto" if number == 3 else b"Graz"), key=b"k%d" % number)
    with httpx.Client(base_url=f"http://{server.http}") as client:
        yield client


def rows(http: httpx.Client, path: str) -> list[list[str]]:
    """The texts of each row of the table."""
    answer = http.get(f"/console{path}")
    assert answer.status_code == 200, answer.text
    body = ON_PHONES.sub("", answer.text.partition("<tbody>")[2].partition("</tbody>")[0])
    texts = ([re.sub(r"<[^>]*>", "", cell).strip() for cell in CELL.findall(row)] for row in ROW.findall(body))
    return list(texts)


def column(http: httpx.Client, path: str, label: str) -> dict[str, str]:
    """The values of a column by what the first one says."""
    head = http.get(f"/console{path}").text.partition("<thead>")[2].partition("</thead>")[0]
    labels = [re.sub(r"<[^>]*>", "", cell).strip() for cell in CELL.findall(head)]
    return {row[0]: row[labels.index(label)] for row in rows(http, path)}


@pytest.mark.parametrize(
    ("sort", "first"), [("name", "large"), ("-name", "small"), ("records", "small"), ("-records", "large")]
)
def test_topics_are_sorted_as_the_head_of_a_column_asks(http, sort: str, first: str) -> None:
    assert rows(http, f"/topics?sort={sort}")[0][0] == first


def test_the_head_of_a_column_sorts_and_turns_the_order_round(http) -> None:
    page = http.get("/console/topics").text
    assert 'aria-sort="ascending"><a href="/console/topics?sort=-name"' in page
    down = re.search(r'href="([^"]*sort=-records[^"]*)"', page)[1]
    turned = http.get(down).text
    assert re.search(r'aria-sort="descending"><a href="[^"]*sort=records"[^>]*>Records<', turned)


def test_a_filter_keeps_the_order_and_the_order_keeps_the_filter(http) -> None:
    page = http.get("/console/topics?q=l&sort=-records").text
    assert [row[0] for row in rows(http, "/topics?q=l&sort=-records")] == ["large", "middle", "small"]
    assert '<input type="hidden" form="filter" name="sort" value="-records">' in page
    assert "/console/topics?q=l&amp;sort=-size" in page


def test_an_order_that_is_not_known_is_by_name(http) -> None:
    assert [row[0] for row in rows(http, "/topics?sort=%3Cb%3E")] == ["large", "middle", "small"]


def test_topics_say_how_long_records_are_kept(http) -> None:
    kept = column(http, "/topics", "Kept for")
    assert (kept["small"], kept["large"], kept["middle"]) == ("1h", "1 GiB", "7d")
    assert [row[0] for row in rows(http, "/topics?sort=kept")] == ["small", "middle", "large"]


def test_topics_say_the_lag_of_the_group_that_is_furthest_behind(http, server: Server) -> None:
    assert column(http, "/topics", "Lag")["middle"] == "–"
    with Consumer("middle", group="near", bootstrap=server.native, start="earliest") as consumer:
        seen = 0
        while seen < 20:
            seen += len(consumer.poll(wait_ms=1000))
        consumer.commit()
    with Worker("middle", group="far", bootstrap=server.native) as worker:
        worker.ack(*worker.take(limit=2, wait_ms=5000))
    eventually(lambda: column(http, "/topics", "Lag")["middle"] == "18", within_s=20, every_s=0.3)
    assert column(http, "/topics?sort=-lag", "Lag")["middle"] == "18"
    assert rows(http, "/topics?sort=-lag")[0][0] == "middle"


def test_topics_say_how_many_dead_letters_wait_and_lead_to_them(http, server: Server) -> None:
    with Worker("small", group="breaking", bootstrap=server.native) as worker:
        worker.reject(*worker.take(limit=2, wait_ms=5000), reason="broken")
    eventually(lambda: column(http, "/topics", "Dead letters")["small"] == "2", within_s=20, every_s=0.3)
    assert 'href="/console/dlq/small.dlq">2</a>' in http.get("/console/topics").text
    assert rows(http, "/topics?sort=-letters")[0][0] == "small"


def test_anonymous_workers_are_shown_on_the_pages_of_their_group_and_their_queue(http, server: Server) -> None:
    with Worker("large", group="loaders", bootstrap=server.native) as worker:
        jobs = worker.take(limit=7, wait_ms=5000)
        group = http.get("/console/groups/loaders").text
        assert ">working<" in group and ">empty<" not in group
        assert re.search(r"<dt>Workers</dt><dd>1</dd>", group)
        assert re.search(r'aria-label="Workers">.*<td class="n">7</td>', group, re.DOTALL)
        queue = http.get("/console/topics/large/queue?group=loaders").text
        assert re.search(r'aria-label="Workers">.*<td class="n">7</td>', queue, re.DOTALL)
        assert column(http, "/groups", "State")["loaders"] == "working"
        assert column(http, "/groups", "Workers")["loaders"] == "1"
        worker.ack(*jobs)


def test_queues_lead_with_what_is_ready_in_flight_and_how_fast_it_goes(http, server: Server) -> None:
    with Worker("large", group="leading", bootstrap=server.native) as worker:
        worker.ack(*worker.take(limit=10, wait_ms=5000))
        jobs = worker.take(limit=4, wait_ms=5000)
        eventually(lambda: column(http, "/queues?q=leading", "In flight").get("large") == "4", 20, 0.3)
        found = rows(http, "/queues?q=leading")[0]
        assert found[:4] == ["large", "leading", "46", "4"]
        assert float(found[5]) > 0
        worker.ack(*jobs)
    head = http.get("/console/queues").text.partition("<thead>")[2].partition("</thead>")[0]
    labels = [re.sub(r"<[^>]*>", "", cell).strip() for cell in CELL.findall(head)]
    assert labels[:6] == ["Topic", "Group", "Ready", "In flight", "In /s", "Out /s"]


def test_queues_with_the_most_ready_records_come_first(http, server: Server) -> None:
    with Worker("small", group="idle", bootstrap=server.native) as worker:
        worker.ack(*worker.take(limit=1, wait_ms=5000))
    ready = [int(row[2].replace(",", "")) for row in rows(http, "/queues")]
    assert ready == sorted(ready, reverse=True)
    ready = [int(row[2].replace(",", "")) for row in rows(http, "/queues?sort=ready")]
    assert ready == sorted(ready)


@pytest.mark.parametrize("at", ["newest", "oldest"])
def test_records_are_found_by_a_text_in_their_values_in_either_case(http, at: str) -> None:
    found = rows(http, f"/topics/large/records?at={at}&text=porto")
    assert [row[2] for row in found] == ["k3"]


def test_records_are_found_by_a_text_in_keys_headers_and_compressed_values(http, server: Server) -> None:
    with Producer(server.native, compression="zstd") as producer:
        producer.send("middle", b"x" * 5000, key=b"needle-1")
        producer.send("middle", b"y", headers=(("source", b"Needle-2"),))
        producer.send("middle", b"z" * 5000 + b"needle-3")
    found = rows(http, "/topics/middle/records?text=needle")
    assert {row[3][:1] for row in found} == {"x", "y", "z"}
    assert rows(http, "/topics/middle/records?text=nothing-like-it") == []
    assert "Nothing found" in http.get("/console/topics/middle/records?text=nothing-like-it").text


def test_a_text_is_kept_while_pages_are_turned(http) -> None:
    page = http.get("/console/topics/large/records?text=Graz").text
    older = re.search(r'href="([^"]*before=[^"]*)"[^>]*>Older', page)[1].replace("&amp;", "&")
    assert "text=Graz" in older
    first = rows(http, "/topics/large/records?text=Graz")
    second = rows(http, older.removeprefix("/console"))
    assert (len(first), len(second)) == (50, 9)
    assert not {row[0] for row in first} & {row[0] for row in second}


def test_every_record_says_when_it_was_published(http) -> None:
    page = http.get("/console/topics/large/records").text
    times = re.findall(r'<time datetime="(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"', page)
    assert len(times) == 50
    assert times == sorted(times, reverse=True)


def test_a_text_longer_than_two_hundred_characters_is_refused(http) -> None:
    assert http.get(f"/console/topics/large/records?text={'x' * 201}").status_code == 400
