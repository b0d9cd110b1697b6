import re

import jsonschema_rs
import pytest

from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.document.openapi import Document
from goqueue.gateways.http.endpoint import Endpoint
from goqueue.gateways.http.responses import STATUS_BY_CODE

ENDPOINTS = every_endpoint(None, None)
DOCUMENT = Document(lambda: ENDPOINTS).content


def pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", path))


def test_no_route_stands_before_one_that_it_would_hide():
    paths = list(dict.fromkeys(endpoint.path for endpoint in ENDPOINTS))
    for number, path in enumerate(paths):
        example = re.sub(r"\{\w+\}", "x", path)
        assert [before for before in paths[:number] if pattern(before).fullmatch(example)] == []


def test_the_path_parameters_are_those_that_the_handler_gets():
    for endpoint in ENDPOINTS:
        assert set(re.findall(r"\{(\w+)\}", endpoint.path)) == set(endpoint.params.__struct_fields__), endpoint.path


def test_every_reference_leads_somewhere():
    schemas = DOCUMENT["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/([\w.]+)", str(DOCUMENT))) == schemas.keys()


def test_every_schema_is_a_schema():
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.validator_for({**schema, "components": DOCUMENT["components"]})


def test_operations_have_names_of_their_own():
    names = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names)) == len(ENDPOINTS)


def test_every_status_that_an_error_code_can_have_is_documented_somewhere():
    documented = {
        int(status)
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    assert {status for code, status in STATUS_BY_CODE.items()} <= documented


async def test_the_document_and_the_page_list_every_path(http):
    document = (await http.get("/openapi.json")).json()
    page = await http.get("/docs")
    assert document["openapi"] == "3.1.0"
    for endpoint in ENDPOINTS:
        assert endpoint.method.lower() in document["paths"][endpoint.path]
        assert endpoint.path in page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"


async def test_the_page_asks_nothing_of_anybody_else(http):
    page = await http.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert set(re.findall(r"(?:src|href)='?([^#'>][^'>]*)", page.text)) == {"openapi.json"}
    assert "<script" not in page.text


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
async def test_every_endpoint_also_stands_under_v1(http, endpoint: Endpoint):
    url = re.sub(r"\{\w+\}", "0", endpoint.path)
    plain, versioned = [
        await http.request(endpoint.method, prefix + url, content=b"{" if endpoint.body else None)
        for prefix in ("", "/v1")
    ]
    assert plain.status_code == versioned.status_code
    assert plain.json() if plain.status_code >= 400 else True
    assert "unknown_route" not in versioned.text.replace(plain.text, "")
