"""Each operation of the HTTP API has an example, which a broker has answered and which keeps to the document."""

import html
import json
import re

import jsonschema_rs
import pytest

from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.document.examples import examples
from goqueue.gateways.http.document.openapi import Document

ENDPOINTS = every_endpoint(None, None)
DOCUMENT = Document(lambda: ENDPOINTS).content
EXAMPLES = examples()
NAMES = [f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS]


def operation(name: str) -> dict:
    method, path = name.split(" ")
    return DOCUMENT["paths"][path][method.lower()]


def check(schema: dict, value: object) -> None:
    jsonschema_rs.validator_for({**schema, "components": DOCUMENT["components"]}).validate(value)


def test_every_operation_has_one_example_and_no_other_has():
    assert sorted(EXAMPLES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_keeps_to_the_document(name):
    example, described = EXAMPLES[name], operation(name)
    for parameter in described["parameters"]:
        if parameter["required"] or "example" in parameter:
            check(parameter["schema"], parameter["example"])
    if "requestBody" in described:
        for content in described["requestBody"]["content"].values():
            assert content["examples"]["example"]["value"] == example.body
            check(content["schema"], example.body)
    for content in described["responses"][str(example.status)]["content"].values():
        assert content["examples"]["example"]["value"] == example.answer
        check(content["schema"], example.answer)


async def test_the_page_to_read_shows_each_example(http):
    page = html.unescape((await http.get("/docs")).text)
    shown = set(re.findall(r"<pre>(curl.*?)</pre>", page))
    assert shown == {operation(name)["x-codeSamples"][0]["source"] for name in NAMES}
    assert json.dumps(EXAMPLES["POST /messages/ack"].answer, indent=2) in page
