"""The schema registry over HTTP, as clients of Confluent's expect it."""

import base64
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.adapters.schemas.protoc import compile_files
from goqueue.engine.broker import Broker
from goqueue.errors import ERRORS_BY_CODE
from goqueue.gateways.http.api.schemas import ENDPOINTS, ROOT_ENDPOINTS
from goqueue.gateways.http.api.schemas.dialect import NUMBER_BY_CODE
from goqueue.gateways.http.app import http_app, schemas_app
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.responses import STATUS_BY_CODE
from goqueue.testing.entropy import SeededEntropy

CONFLUENT = "application/vnd.schemaregistry.v1+json"
PROTO = 'syntax = "proto3"; package shop; message Order { int32 id = 1; }'
JSON_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})


def record(name, **fields):
    listed = [{"name": field, **({"type": kind} if isinstance(kind, str) else kind)} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": listed})


V1 = record("Order", id="int")
V2 = record("Order", id="int", note={"type": "string", "default": ""})
BROKEN = record("Order", id="int", note="string")


@pytest.fixture
async def broker(clock) -> AsyncIterator[Broker]:
    store = MemoryStore(MemoryDisk())
    async with Broker(store, clock, SeededEntropy(), MemoryIdIndex(), compile_files) as opened:
        yield opened


@pytest.fixture(params=["under the broker's API", "under v1", "at a root of its own"])
async def registry(request, broker, bugs) -> AsyncIterator[httpx.AsyncClient]:
    if request.param == "at a root of its own":
        app, base = schemas_app(broker, bugs.append, HttpLimits()), "http://127.0.0.1"
    else:
        app = http_app(broker, None, None, bugs.append, HttpLimits())
        base = "http://127.0.0.1/v1/schemas" if "v1" in request.param else "http://127.0.0.1/schemas"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client:
        yield client
    assert bugs == []


async def register(registry, subject, schema=V1, kind=None, references=None, **query):
    body = {"schema": schema, "schemaType": kind, "references": references}
    return await registry.post(f"/subjects/{subject}/versions", json=body, params=query)


async def id_of(registry, *given, **more):
    answer = await register(registry, *given, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"id"}
    return answer.json()["id"]


async def got(registry, url, **query):
    answer = await registry.get(url, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refusal(answer):
    body = answer.json()
    assert body.keys() == {"error_code", "message"}
    return answer.status_code, body["error_code"]


async def test_a_schema_is_registered_once_and_found_by_id_version_and_content(registry):
    assert await id_of(registry, "orders") == 1
    assert await id_of(registry, "orders") == 1
    assert await id_of(registry, "orders", V2) == 2
    assert await id_of(registry, "bills", V1) == 1
    assert await got(registry, "/schemas/ids/1") == {"schema": V1.replace(" ", "")}
    assert await got(registry, "/ids/1") == {"schema": V1.replace(" ", "")}
    second = {"subject": "orders", "version": 2, "id": 2, "schema": V2.replace(" ", "")}
    for version in ("2", "latest", "-1"):
        assert await got(registry, f"/subjects/orders/versions/{version}") == second
    assert (await registry.post("/subjects/orders", json={"schema": V2})).json() == second
    assert await got(registry, "/subjects/orders/versions") == [1, 2]
    assert (await registry.get("/subjects/orders/versions/1/schema")).text == V1.replace(" ", "")
    assert (await registry.get("/schemas/ids/2/schema")).text == V2.replace(" ", "")
    assert await got(registry, "/schemas/ids/1", fetchMaxId=True) == {"schema": V1.replace(" ", ""), "maxId": 2}


async def test_a_schema_has_its_id_whichever_subject_is_named(registry):
    await id_of(registry, "orders")
    for subject in ("orders", "others"):
        assert await got(registry, "/schemas/ids/1", subject=subject) == {"schema": V1.replace(" ", "")}


async def test_who_has_a_schema_is_listed(registry):
    for subject in ("b", "a"):
        await id_of(registry, subject)
    await registry.delete("/subjects/b")
    assert await got(registry, "/schemas/ids/1/subjects") == ["a"]
    assert await got(registry, "/schemas/ids/1/subjects", deleted=True) == ["a", "b"]
    assert await got(registry, "/schemas/ids/1/subjects", deleted=True, offset=1, limit=-1) == ["b"]
    assert await got(registry, "/schemas/ids/1/versions") == [{"subject": "a", "version": 1}]
    assert await got(registry, "/schemas/ids/1/versions", subject="x") == []


async def test_subjects_are_listed_by_prefix_page_and_state(registry):
    for subject in ("orders-value", "orders-key", "bills-value"):
        await id_of(registry, subject)
    await registry.delete("/subjects/orders-key")
    assert await got(registry, "/subjects") == ["bills-value", "orders-value"]
    for prefix in ("orders", ":.:orders", ":*:orders"):
        assert await got(registry, "/subjects", subjectPrefix=prefix) == ["orders-value"]
    assert await got(registry, "/subjects", subjectPrefix=":*:") == ["bills-value", "orders-value"]
    assert await got(registry, "/subjects", deleted="true") == ["bills-value", "orders-key", "orders-value"]
    assert await got(registry, "/subjects", deletedOnly=True) == ["orders-key"]
    assert await got(registry, "/subjects", deleted_only="True", deleted="False") == ["orders-key"]
    assert await got(registry, "/subjects", offset=1, limit=1) == ["orders-value"]
    assert await got(registry, "/subjects", limit=0) == []


async def test_all_schemas_are_listed(registry):
    await id_of(registry, "orders")
    await id_of(registry, "orders", V2)
    await id_of(registry, "json", JSON_SCHEMA, "JSON")
    assert [(one["subject"], one["version"]) for one in await got(registry, "/schemas")] == [
        ("json", 1),
        ("orders", 1),
        ("orders", 2),
    ]
    latest = await got(registry, "/schemas", latestOnly=True, subjectPrefix="o")
    assert [(one["subject"], one["version"]) for one in latest] == [("orders", 2)]
    assert len(await got(registry, "/schemas", offset=1, limit=1)) == 1
    assert await got(registry, "/stats") == {
        "subjects": 2,
        "versions": 3,
        "schemas": 3,
        "characters": sum(len(text.replace(" ", "")) for text in (V1, V2, JSON_SCHEMA)),
        "highest_id": 3,
    }


async def test_formats_and_contexts_are_listed(registry):
    assert sorted(await got(registry, "/schemas/types")) == ["AVRO", "JSON", "PROTOBUF"]
    assert await got(registry, "/contexts") == ["."]
    assert await got(registry, "") == {}


@pytest.mark.parametrize("subject", ["a/b", "größe", "a b", "x%2Fy", "shop/order.proto", "#?&", "日本"])
async def test_subjects_may_have_any_printable_name(registry, subject):
    quoted = httpx.URL("http://x", params={"s": subject}).query.decode()[2:].replace("+", "%20")
    assert await id_of(registry, quoted) == 1
    assert await got(registry, "/subjects") == [subject]
    assert (await got(registry, f"/subjects/{quoted}/versions/latest"))["subject"] == subject
    assert (await registry.put(f"/config/{quoted}", json={"compatibility": "NONE"})).status_code == 200
    assert (await registry.delete(f"/subjects/{quoted}")).json() == [1]


async def test_types_and_references_are_told_where_they_are_not_the_usual(registry):
    await id_of(registry, "money", record("Money", cents="long"))
    order = record("Order", price="Money")
    money = [{"name": "Money", "subject": "money", "version": -1}]
    assert await id_of(registry, "orders", order, "AVRO", money) == 2
    found = await got(registry, "/schemas/ids/2")
    assert found["references"] == [{"name": "Money", "subject": "money", "version": 1}]
    assert "schemaType" not in found
    assert await got(registry, "/subjects/money/versions/latest/referencedby") == [2]
    assert await got(registry, "/subjects/orders/versions/1/referencedby") == []
    assert refusal(await registry.delete("/subjects/money")) == (422, 42206)
    assert refusal(await registry.delete("/subjects/money/versions/1")) == (422, 42206)
    await id_of(registry, "json", JSON_SCHEMA, "JSON")
    assert (await got(registry, "/subjects/json/versions/1"))["schemaType"] == "JSON"


async def test_protobuf_comes_as_text_or_as_a_descriptor(registry):
    await id_of(registry, "orders", PROTO, "PROTOBUF")
    assert (await got(registry, "/schemas/ids/1"))["schema"] == PROTO
    assert (await registry.get("/schemas/ids/1/schema")).text == PROTO
    for url in ("/schemas/ids/1", "/subjects/orders/versions/latest"):
        serialized = (await got(registry, url, format="serialized"))["schema"]
        descriptor = FileDescriptorProto.FromString(base64.b64decode(serialized))
        assert (descriptor.package, descriptor.message_type[0].name) == ("shop", "Order")
    looked_up = await registry.post(
        "/subjects/orders", json={"schema": PROTO, "schemaType": "PROTOBUF"}, params={"format": "serialized"}
    )
    assert looked_up.json()["schema"] == serialized
    assert (await got(registry, "/schemas/ids/1", format="whatever"))["schema"] == PROTO


async def test_with_normalize_what_means_the_same_is_the_same(registry):
    await id_of(registry, "orders", V1)
    other = json.dumps({"name": "Order", "type": "record", "doc": "", "fields": [{"type": "int", "name": "id"}]})
    assert refusal(await registry.post("/subjects/orders", json={"schema": other})) == (404, 40403)
    found = await registry.post("/subjects/orders?normalize=True", json={"schema": other})
    assert found.status_code == 200, found.text
    assert await id_of(registry, "orders", other, normalize="true") == 1
    assert await id_of(registry, "orders", other) == 2


async def test_what_does_not_fit_is_refused_with_every_reason(registry):
    await id_of(registry, "orders")
    answer = await register(registry, "orders", record("Order", a="int", b="int"))
    assert refusal(answer) == (409, 409)
    message = answer.json()["message"]
    assert message.count("READER_FIELD_MISSING_DEFAULT_VALUE") == 2
    assert "/fields/0" in message
    assert "BACKWARD" in message


async def test_compatibility_can_be_asked_for_without_registering(registry):
    url = "/compatibility/subjects/orders/versions"
    for path in (url, f"{url}/latest"):
        assert (await registry.post(path, json={"schema": V1})).json() == {"is_compatible": True}
    assert refusal(await registry.post(f"{url}/1", json={"schema": V1})) == (404, 40402)
    await id_of(registry, "orders")
    for path in (url, f"{url}/latest", f"{url}/1"):
        assert (await registry.post(path, json={"schema": V2})).json() == {"is_compatible": True}
        assert (await registry.post(path, json={"schema": BROKEN})).json() == {"is_compatible": False}
        told = (await registry.post(f"{path}?verbose=true", json={"schema": BROKEN})).json()
        assert told["is_compatible"] is False
        assert "note" in told["messages"][0]
        assert (await registry.post(f"{path}?verbose=True", json={"schema": V2})).json()["messages"] == []
    assert refusal(await registry.post(url, json={"schema": "{"})) == (422, 42201)
    assert await got(registry, "/subjects/orders/versions") == [1]


async def test_levels_are_set_globally_and_for_subjects(registry):
    assert await got(registry, "/config") == {"compatibilityLevel": "BACKWARD"}
    assert refusal(await registry.get("/config/orders")) == (404, 40408)
    assert await got(registry, "/config/orders", defaultToGlobal=True) == {"compatibilityLevel": "BACKWARD"}
    assert (await registry.put("/config", json={"compatibility": "full"})).json() == {"compatibility": "FULL"}
    assert (await registry.put("/config/orders", json={"compatibilityLevel": "NONE"})).json() == {
        "compatibility": "NONE"
    }
    assert await got(registry, "/config") == {"compatibilityLevel": "FULL"}
    assert await got(registry, "/config/orders") == {"compatibilityLevel": "NONE"}
    assert (await registry.put("/config/orders", json={"normalize": True})).json() == {"normalize": True}
    assert (await registry.delete("/config/orders")).json() == {"compatibilityLevel": "NONE", "normalize": True}
    assert refusal(await registry.delete("/config/orders")) == (404, 40401)
    assert (await registry.delete("/config")).json() == {"compatibilityLevel": "FULL"}
    assert await got(registry, "/config") == {"compatibilityLevel": "BACKWARD"}
    assert refusal(await registry.put("/config", json={"compatibility": "SIDEWAYS"})) == (422, 42203)
    assert refusal(await registry.put("/config", json={"alias": "other"})) == (400, 400)


async def test_modes_are_set_globally_and_for_subjects(registry):
    assert await got(registry, "/mode") == {"mode": "READWRITE"}
    assert refusal(await registry.get("/mode/orders")) == (404, 40409)
    assert await got(registry, "/mode/orders", defaultToGlobal="true") == {"mode": "READWRITE"}
    assert (await registry.put("/mode/orders", json={"mode": "READONLY"})).json() == {"mode": "READONLY"}
    assert refusal(await register(registry, "orders")) == (422, 42205)
    assert (await registry.delete("/mode/orders")).json() == {"mode": "READONLY"}
    assert refusal(await registry.delete("/mode/orders")) == (404, 40401)
    await id_of(registry, "orders")
    assert refusal(await registry.put("/mode", json={"mode": "IMPORT"})) == (422, 42205)
    assert (await registry.put("/mode?force=True", json={"mode": "IMPORT"})).json() == {"mode": "IMPORT"}
    assert refusal(await registry.put("/mode", json={"mode": "SLEEPY"})) == (422, 42204)
    assert (await registry.delete("/mode")).json() == {"mode": "IMPORT"}


async def test_schemas_are_imported_with_the_ids_and_versions_they_had(registry):
    await registry.put("/mode", json={"mode": "IMPORT"})
    body = {"schema": V1, "id": 100_007, "version": 12}
    assert (await registry.post("/subjects/orders/versions", json=body)).json() == {"id": 100_007}
    assert (await got(registry, "/subjects/orders/versions/12"))["id"] == 100_007
    again = {"schema": V2, "id": 100_007, "version": 13}
    assert refusal(await registry.post("/subjects/orders/versions", json=again)) == (422, 42205)
    await registry.put("/mode", json={"mode": "READWRITE"})
    other = {"schema": V2, "id": -1, "version": -1}
    assert (await registry.post("/subjects/orders/versions", json=other)).json() == {"id": 100_008}


async def test_versions_and_subjects_go_in_two_steps(registry):
    await id_of(registry, "orders")
    await id_of(registry, "orders", V2)
    assert refusal(await registry.delete("/subjects/orders/versions/1?permanent=true")) == (404, 40407)
    assert (await registry.delete("/subjects/orders/versions/1")).json() == 1
    assert refusal(await registry.delete("/subjects/orders/versions/1")) == (404, 40406)
    assert refusal(await registry.get("/subjects/orders/versions/1")) == (404, 40402)
    hidden = await got(registry, "/subjects/orders/versions/1", deleted=True)
    assert hidden == {"subject": "orders", "version": 1, "id": 1, "schema": V1.replace(" ", "")}
    assert await got(registry, "/subjects/orders/versions") == [2]
    assert await got(registry, "/subjects/orders/versions", deleted=True) == [1, 2]
    assert await got(registry, "/subjects/orders/versions", deletedOnly=True) == [1]
    assert await got(registry, "/schemas/ids/1") == {"schema": V1.replace(" ", "")}
    assert (await registry.delete("/subjects/orders/versions/1?permanent=true")).json() == 1
    assert refusal(await registry.get("/schemas/ids/1")) == (404, 40403)
    assert refusal(await registry.delete("/subjects/orders?permanent=true")) == (404, 40405)
    assert (await registry.delete("/subjects/orders")).json() == [2]
    assert refusal(await registry.delete("/subjects/orders")) == (404, 40404)
    assert refusal(await registry.get("/subjects/orders/versions")) == (404, 40401)
    assert (await registry.delete("/subjects/orders?permanent=true")).json() == [2]
    assert refusal(await registry.delete("/subjects/orders")) == (404, 40401)
    assert await id_of(registry, "orders", V2) == 3


@pytest.mark.parametrize(
    ("method", "url", "body", "status", "number"),
    [
        ("GET", "/nowhere", None, 404, 404),
        ("PATCH", "/subjects", None, 405, 405),
        ("GET", "/schemas/ids/77", None, 404, 40403),
        ("GET", "/schemas/ids/x", None, 404, 404),
        ("GET", "/subjects/none/versions", None, 404, 40401),
        ("GET", "/subjects/none/versions/1", None, 404, 40401),
        ("GET", "/subjects/there/versions/9", None, 404, 40402),
        ("GET", "/subjects/there/versions/0", None, 422, 42202),
        ("GET", "/subjects/there/versions/first", None, 422, 42202),
        ("GET", "/subjects/there/versions/9/referencedby", None, 404, 40402),
        ("GET", "/subjects/%ff/versions", None, 400, 400),
        ("GET", "/subjects?limit=x", None, 400, 400),
        ("POST", "/subjects/none", {"schema": V1}, 404, 40401),
        ("POST", "/subjects/there", {"schema": V2}, 404, 40403),
        ("POST", "/subjects/there/versions", {}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": ""}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": '"strin"'}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": V1, "schemaType": "XML"}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": "message {", "schemaType": "PROTOBUF"}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": "YQ==", "schemaType": "PROTOBUF"}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": '{"type": 5}', "schemaType": "JSON"}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": V1, "ruleSet": {"domainRules": [{"name": "x"}]}}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": V2, "id": 5}, 422, 42205),
        ("POST", "/subjects/there/versions", {"schema": '"' + "x" * (1 << 20) + '"'}, 422, 42209),
        ("POST", "/subjects/%0a/versions", {"schema": V1}, 422, 42208),
        ("POST", "/subjects/there/versions", {"schema": 5}, 400, 400),
        ("POST", "/subjects/there/versions", None, 400, 400),
        (
            "POST",
            "/subjects/there/versions",
            {"schema": '"Money"', "references": [{"name": "Money", "subject": "money", "version": 1}]},
            422,
            42201,
        ),
        ("POST", "/compatibility/subjects/there/versions/0", {"schema": V1}, 422, 42202),
        ("PUT", "/mode", {}, 400, 400),
    ],
)
async def test_errors_have_the_status_and_the_number_that_clients_know(registry, method, url, body, status, number):
    await id_of(registry, "there")
    answer = await registry.request(method, url, json=body)
    assert refusal(answer) == (status, number)
    assert answer.headers["content-type"] == CONFLUENT


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", CONFLUENT),
        (f"{CONFLUENT}, application/vnd.schemaregistry+json, application/json", CONFLUENT),
        ("application/vnd.schemaregistry+json", "application/vnd.schemaregistry+json"),
        ("application/json", "application/json"),
        ("application/*;q=0.5, text/html", CONFLUENT),
        ("text/html, application/json; q=0.1", "application/json"),
    ],
)
async def test_answers_are_called_what_the_client_asks_for(registry, accept, media_type):
    for url in ("/subjects", "/subjects/none/versions"):
        assert (await registry.get(url, headers={"accept": accept})).headers["content-type"] == media_type


@pytest.mark.parametrize("media_type", [CONFLUENT, "application/json", "application/vnd.schemaregistry+json"])
async def test_bodies_may_be_called_what_the_client_likes(registry, media_type):
    body = json.dumps({"schema": V1, "propertyOfTheFuture": 1})
    answer = await registry.post(
        "/subjects/orders/versions?verbosity=9", content=body, headers={"content-type": media_type}
    )
    assert answer.json() == {"id": 1}


@pytest.mark.parametrize("accept", ["text/html", "application/xml, text/*", "application/json;q=0"])
async def test_an_answer_in_a_form_that_there_is_not_is_not_acceptable(registry, accept):
    for url in ("/subjects", "/schemas/ids/77"):
        answer = await registry.get(url, headers={"accept": accept})
        assert refusal(answer) == (406, 406)
        assert "application/json" in answer.json()["message"]


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml; a=b"])
async def test_a_body_of_another_type_is_not_taken(registry, media_type):
    content = json.dumps({"schema": V1})
    answer = await registry.post("/subjects/orders/versions", content=content, headers={"content-type": media_type})
    assert refusal(answer) == (415, 415)
    assert refusal(await registry.get("/subjects/orders/versions", headers={"content-type": media_type})) == (
        404,
        40401,
    )
    for taken in ("application/json; charset=utf-8", "application/octet-stream", ""):
        answer = await registry.post("/subjects/orders/versions", content=content, headers={"content-type": taken})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("method", "url", "message"),
    [
        ("GET", "/subjects/none/versions", "Subject 'none' not found."),
        ("GET", "/subjects/none/versions/1", "Subject 'none' not found."),
        ("DELETE", "/subjects/none", "Subject 'none' not found."),
        ("GET", "/subjects/there/versions/5", "Version 5 not found."),
        ("DELETE", "/subjects/there/versions/5", "Version 5 not found."),
        ("GET", "/schemas/ids/7", "Schema 7 not found"),
        ("POST", "/subjects/there", "Schema not found"),
        (
            "GET",
            "/subjects/there/versions/x",
            "The specified version 'x' is not a valid version id. "
            'Allowed values are between [1, 2^31-1] and the string "latest"',
        ),
        ("GET", "/config/none", "Subject 'none' does not have subject-level compatibility configured"),
        ("GET", "/mode/none", "Subject 'none' does not have subject-level mode configured"),
        (
            "DELETE",
            "/subjects/there?permanent=true",
            "Subject 'there' was not deleted first before being permanently deleted",
        ),
    ],
)
async def test_errors_have_the_texts_that_clients_compare(registry, method, url, message):
    await id_of(registry, "there")
    answer = await registry.request(method, url, json={"schema": V2} if method == "POST" else None)
    assert answer.json()["message"] == message


async def test_a_body_that_is_too_large_is_refused_in_the_words_of_the_registry(broker, bugs):
    app = http_app(broker, None, None, bugs.append, HttpLimits(body_bytes=2048))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        for url in ("/schemas/subjects/x/versions", "/v1/schemas/subjects/x/versions"):
            assert refusal(await client.post(url, content=b"x" * 3000)) == (413, 413)
        assert (await client.post("/topics", content=b"x" * 3000)).json()["code"] == "body_too_large"


def test_every_number_stands_for_an_error_and_begins_with_its_status():
    assert NUMBER_BY_CODE.keys() <= ERRORS_BY_CODE.keys()
    for code, number in NUMBER_BY_CODE.items():
        assert str(number)[0] == str(STATUS_BY_CODE[code])[0], code
        assert str(number).startswith(str(STATUS_BY_CODE[code])) or number == 50001


def test_at_its_own_root_the_registry_has_the_same_routes():
    under = {(one.method, one.path) for one in ENDPOINTS}
    assert under == {(one.method, f"/schemas{one.path}") for one in ROOT_ENDPOINTS} | {("GET", "/schemas")}


async def test_the_root_can_be_asked_for_with_a_slash_at_the_end_and_without(http):
    assert (await http.get("/schemas")).json() == (await http.get("/schemas/")).json() == {}
