"""What the console answers, without a browser: addresses, caching, errors, and what its forms do."""

import base64
import io
import json
import re
from collections.abc import Iterator

import fastavro
import httpx
import pytest

from goqueue.client.sync import Admin, Producer, Worker
from tests.behaviour.serving import Server, running_server

OWN = {"sec-fetch-site": "same-origin"}
SECRET = "not-for-every-eye"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(
        tmp_path_factory.mktemp("serving"), f'[tracing]\nheaders = "authorization={SECRET}"'
    ) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server):
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("orders", 2)
        for number in range(120):
            producer.send("orders", b'{"number": %d}' % number, key=b"k%d" % (number % 7))
    with Worker("orders", group="fulfilment", bootstrap=server.native) as worker:
        worker.ack(*worker.take(limit=20, wait_ms=5000))
    with httpx.Client(base_url=f"http://{server.http}") as client:
        yield client


def asset_of(http: httpx.Client, name: str) -> str:
    return re.search(rf'"(/console/static/[0-9a-f]+/{re.escape(name)})"', http.get("/console").text)[1]


def test_the_root_leads_to_the_console(http) -> None:
    answer = http.get("/")
    assert answer.status_code == 307
    assert answer.headers["location"] == "/console"
    assert http.get("/console").status_code == 200
    assert http.get("/topics").headers["content-type"] == "application/json"


def test_assets_are_kept_by_browsers_until_they_change(http) -> None:
    path = asset_of(http, "console.css")
    answer = http.get(path)
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    old = http.get(re.sub("/[0-9a-f]{12}/", "/000000000000/", path))
    assert old.status_code == 200
    assert old.headers["cache-control"] == "no-cache"
    assert http.get("/console").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["../app.py", "..%2Fapp.py", "/etc/passwd", "nothing.css"])
def test_no_other_files_are_served(http, name: str) -> None:
    assert http.get(f"/console/static/x/{name}").status_code == 404


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/console/nowhere", 404, "there is no such page"),
        ("/console/topics/missing", 404, "there is no topic missing"),
        ("/console/groups/missing", 404, "missing"),
        ("/console/topics/a%20b", 400, "is not a topic name"),
        ("/console/topics/orders/records?at=offset", 400, "choose a partition"),
        ("/console/topics/orders/records?partition=99", 404, "partitions 0 to 1"),
        ("/console/topics/orders/records?partition=x", 400, "partition"),
        ("/console/topics/orders/records?at=nowhere", 400, "at"),
        ("/console/topics/orders/records?at=time&time=soon", 400, "is not a time"),
        ("/console/topics/orders/records?before=1", 400, "is not a place"),
        ("/console/topics/orders/records/0/99999", 404, "99999"),
        ("/console/topics/orders/records/0/x", 400, "offset"),
        ("/console/topics/%ff", 400, "UTF-8"),
    ],
)
def test_an_error_is_a_page_that_says_what_is_wrong(http, path: str, status: int, says: str) -> None:
    answer = http.get(path)
    assert answer.status_code == status, answer.text
    assert says in answer.text
    assert "<h1>" in answer.text
    assert "Traceback" not in answer.text


def test_htmx_is_given_the_error_alone(http) -> None:
    answer = http.get("/console/topics/orders/records?at=offset", headers={"hx-request": "true"})
    assert answer.status_code == 400
    assert "choose a partition" in answer.text
    assert "<h1>" not in answer.text


def test_a_topic_is_made_changed_and_deleted(http) -> None:
    made = http.post(
        "/console/new-topic", headers=OWN, data={"name": "parcels", "partitions": "5", "retention_ms": "2d"}
    )
    assert made.status_code == 303
    assert made.headers["location"] == "/console/topics/parcels?notice=topic-created"
    found = http.get("/topics/parcels").json()
    assert (found["num_partitions"], found["retention_ms"]) == (5, 2 * 86_400_000)
    changed = http.post("/console/topics/parcels/settings", headers=OWN, data={"retention_ms": "", "max_attempts": "9"})
    assert changed.status_code == 303
    found = http.get("/topics/parcels").json()
    assert (found["retention_ms"], found["max_attempts"]) == (None, 9)
    kept = http.post("/console/topics/parcels/delete", headers=OWN, data={"name": "parcel"})
    assert kept.status_code == 400 and "does not match" in kept.text
    gone = http.post("/console/topics/parcels/delete", headers=OWN, data={"name": "parcels"})
    assert gone.headers["location"] == "/console/topics?notice=topic-deleted"
    assert http.get("/topics/parcels").status_code == 404


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "a b"}, "is not a topic name"),
        ({"name": "orders"}, "orders"),
        ({"name": "p", "partitions": "0"}, "partitions"),
        ({"name": "p", "retention_ms": "soon"}, "Kept for"),
        ({"name": "p", "max_value_bytes": "1 XB"}, "Largest value"),
        ({"name": "p", "max_attempts": "many"}, "Attempts"),
        ({"name": "p", "durability": "perhaps"}, "Durability"),
        ({"name": "p", "lane_weights": "1 2"}, "Weights"),
        ({}, "name"),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_what_was_typed_still_there(http, fields, says) -> None:
    answer = http.post("/console/new-topic", headers=OWN, data=fields)
    assert answer.status_code == 400
    assert says in answer.text
    if fields.get("name", "").isalpha():
        assert f'value="{fields["name"]}"' in answer.text


def test_every_setting_of_a_topic_survives_its_own_form(http) -> None:
    page = http.get("/console/topics/orders/settings").text
    before = http.get("/topics/orders").json()
    fields = dict(re.findall(r'<input id="(\w+)" name="\w+" type="text" value="([^"]*)"', page))
    fields |= dict(re.findall(r'<select id="(\w+)" .*?<option value="([^"]*)" selected', page))
    fields.pop("name")
    assert len(fields) >= 20
    assert http.post("/console/topics/orders/settings", headers=OWN, data=fields).status_code == 303
    after = http.get("/topics/orders").json()
    assert {**after, "epoch": 0} == {**before, "epoch": 0}


def test_a_record_is_published_as_the_form_says(http) -> None:
    answer = http.post(
        "/console/topics/orders/publish",
        headers=OWN,
        data={
            "kind": "json",
            "value": '{"a":\r\n 1}',
            "key": "k",
            "headers": "source: shop\r\nempty:",
            "priority": "high",
            "partition": "1",
        },
    )
    place = re.search(r"partition (\d+), offset (\d+)", answer.text)
    assert place[1] == "1"
    read = http.get(f"/topics/orders/partitions/1/messages?offset={place[2]}").json()["messages"][0]
    assert read["value"] == '{"a":\n 1}'
    assert read["priority"] == 1
    assert read["headers"] == {"source": "shop", "empty": "", "content-type": "application/json"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"kind": "json", "value": "{"}, "is not JSON"),
        ({"kind": "base64", "value": "?"}, "is not base64"),
        ({"value": "x", "headers": "nameless"}, "has no name"),
        ({"value": "x", "delay": "5"}, "has no unit"),
        ({"value": "x", "partition": "7"}, "partitions 0 to 1"),
        ({"value": "x", "priority": "urgent"}, "priority"),
    ],
)
def test_a_record_that_cannot_be_is_refused(http, fields, says) -> None:
    answer = http.post("/console/topics/orders/publish", headers=OWN, data=fields)
    assert answer.status_code in (400, 404)
    assert says in answer.text


def test_a_value_that_breaks_its_schema_is_refused_with_the_reason(http) -> None:
    http.post("/topics", json={"name": "checked", "num_partitions": 1}).raise_for_status()
    schema = '{"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}'
    made = http.post("/schemas/subjects/checked/versions", json={"schemaType": "JSON", "schema": schema})
    made.raise_for_status()
    data = {"kind": "json", "value": '{"total": "much"}'}
    answer = http.post("/console/topics/checked/publish", headers=OWN, data=data)
    assert answer.status_code == 400
    assert "schema_violation" in answer.text and "/total" in answer.text


def test_a_group_is_paused_reset_given_a_policy_and_deleted(http) -> None:
    assert http.post("/console/groups/fulfilment/pause", headers=OWN).status_code == 303
    assert http.get("/groups/fulfilment").json()["paused"] is True
    assert ">Resume<" in http.get("/console/groups/fulfilment").text
    assert http.post("/console/groups/fulfilment/resume", headers=OWN).status_code == 303
    preview = http.post("/console/groups/fulfilment/reset", headers=OWN, data={"to": "latest", "do": "preview"})
    assert "What the reset would change" in preview.text
    assert http.get("/groups/fulfilment").json()["lag"] > 0
    assert http.post("/console/groups/fulfilment/reset", headers=OWN, data={"to": "latest", "do": "reset"}).is_redirect
    assert http.get("/groups/fulfilment").json()["lag"] == 0
    policy = {"visibility": "45s", "max_attempts": "7"}
    assert http.post("/console/groups/fulfilment/policy", headers=OWN, data=policy).is_redirect
    found = http.get("/groups/fulfilment/policy").json()
    assert (found["visibility_timeout_ms"], found["max_attempts"]) == (45_000, 7)
    wrong = http.post("/console/groups/fulfilment/policy", headers=OWN, data={"max_attempts": "0"})
    assert wrong.status_code == 400
    gone = http.post("/console/groups/fulfilment/delete", headers=OWN, data={"name": "fulfilment"})
    assert gone.is_redirect
    assert http.get("/groups/fulfilment").status_code == 404


def test_settings_say_where_they_came_from(http, server: Server) -> None:
    page = http.get("/console/settings").text
    assert server.http in page
    assert ">flag<" in page and ">default<" in page
    assert "goqueue.toml" in page
    assert SECRET not in page


def test_all_pages_of_a_topic_together_have_each_record_once(http) -> None:
    seen, path = [], "/console/topics/orders/records"
    for _ in range(20):
        page = http.get(path).text
        seen += re.findall(r'href="/console/topics/orders/records/(\d+/\d+)"', page)
        older = re.search(r'href="([^"]*before=[^"]*)"', page)
        if older is None:
            break
        path = older[1].replace("&amp;", "&")
    expected = sum(one["latest"] for one in http.get("/topics/orders").json()["partitions"])
    assert len(seen) == len(set(seen)) == expected


def test_pages_from_the_beginning_have_each_record_once_and_lead_back(http) -> None:
    seen, path, paths = [], "/console/topics/orders/records?at=oldest&partition=0", []
    while path:
        paths.append(path)
        page = http.get(path).text
        seen += map(int, re.findall(r'href="/console/topics/orders/records/0/(\d+)"', page))
        newer = re.search(r'href="([^"]*after=[^"]*)"', page)
        path = newer[1].replace("&amp;", "&") if newer else ""
    assert seen == list(range(http.get("/topics/orders").json()["partitions"][0]["latest"]))
    back = re.search(r'href="([^"]*before=[^"]*)"', http.get(paths[1]).text)[1].replace("&amp;", "&")
    assert re.findall(r'records/0/(\d+)"', http.get(back).text) == re.findall(
        r'records/0/(\d+)"', http.get(paths[0]).text
    )


def test_records_are_sought_by_time_and_by_offset(http) -> None:
    read = http.get("/topics/orders/partitions/0/messages?offset=20&limit=1").json()["messages"][0]
    page = http.get("/console/topics/orders/records", params={"at": "offset", "partition": 0, "offset": 20}).text
    assert re.findall(r'records/0/(\d+)"', page)[0] == "20"
    at = read["timestamp"][:26] + "Z"
    page = http.get("/console/topics/orders/records", params={"at": "time", "partition": 0, "time": at}).text
    assert int(re.findall(r'records/0/(\d+)"', page)[0]) <= 20
    page = http.get("/console/topics/orders/records?at=time&time=2100-01-01").text
    assert "No records here" in page


def test_records_are_found_by_key(http) -> None:
    page = http.get("/console/topics/orders/records?at=key&key=k3").text
    assert len(re.findall("<tr><th", page)) - 1 == 17


def test_an_avro_value_is_shown_decoded(http) -> None:
    http.post("/topics", json={"name": "avro", "num_partitions": 1}).raise_for_status()
    schema = {"type": "record", "name": "R", "fields": [{"name": "city", "type": "string"}]}
    made = http.post("/schemas/subjects/avro/versions", json={"schema": json.dumps(schema)}).json()
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, {"city": "Graz"})
    value = b"\0" + made["id"].to_bytes(4, "big") + buffer.getvalue()
    publish(http, "avro", value)
    page = http.get("/console/topics/avro/records/0/0").text
    assert "&#34;city&#34;: &#34;Graz&#34;" in page
    assert f"schema {made['id']}" in page


def test_a_protobuf_value_is_shown_decoded(http) -> None:
    http.post("/topics", json={"name": "proto", "num_partitions": 1}).raise_for_status()
    text = 'syntax = "proto3"; message Parcel { string city = 1; int32 grams = 2; }'
    body = {"schemaType": "PROTOBUF", "schema": text}
    made = http.post("/schemas/subjects/proto/versions", json=body).json()
    publish(http, "proto", b"\0" + made["id"].to_bytes(4, "big") + b"\0" + b"\x0a\x04Graz\x10\x07")
    page = http.get("/console/topics/proto/records/0/0").text
    assert "&#34;city&#34;: &#34;Graz&#34;" in page and "&#34;grams&#34;: 7" in page
    assert "Graz" in http.get("/console/topics/proto/records").text


def test_a_value_that_only_looks_as_if_it_named_a_schema_is_shown_as_it_is(http) -> None:
    http.post("/topics", json={"name": "looks", "num_partitions": 1}).raise_for_status()
    publish(http, "looks", b"\0\xff\xff\xff\xffrest")
    page = http.get("/console/topics/looks/records/0/0").text
    assert "00 ff ff ff ff 72 65 73 74" in page


def publish(http: httpx.Client, topic: str, value: bytes) -> None:
    body = {"value": {"base64": base64.b64encode(value).decode()}}
    http.post(f"/topics/{topic}/messages", json=body).raise_for_status()
