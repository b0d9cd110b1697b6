"""Everything in the OpenAPI document says what it is."""

from collections.abc import Iterator
from typing import Any

from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.document.fields import FIELDS
from goqueue.gateways.http.document.openapi import Document

ENDPOINTS = every_endpoint(None, None)
DOCUMENT = Document(lambda: ENDPOINTS).content


def described() -> Iterator[tuple[str, Any]]:
    """Each operation, parameter, body, answer, shape and field: where it is, and what it says of itself."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            where = f"{method.upper()} {path}"
            yield where, operation.get("description")
            for parameter in operation["parameters"]:
                yield f"{where} {parameter['name']}", parameter.get("description")
                for name, field in parameter["schema"].get("properties", {}).items():
                    yield f"{where} {parameter['name']}.{name}", field.get("description")
            if "requestBody" in operation:
                yield f"{where} body", operation["requestBody"].get("description")
            for status, response in operation["responses"].items():
                yield f"{where} {status}", response.get("description")
    for tag in DOCUMENT["tags"]:
        yield f"tag {tag['name']}", tag.get("description")
    for shape, schema in DOCUMENT["components"]["schemas"].items():
        yield shape, schema.get("description")
        for name, field in schema.get("properties", {}).items():
            yield f"{shape}.{name}", field.get("description")


def test_nothing_is_without_a_description():
    missing = [where for where, text in described() if not text or not text.strip()]
    assert missing == [], f"{len(missing)} descriptions are missing; those of fields can be added to document/fields.py"


def test_every_description_of_a_field_belongs_to_one():
    said = {text for _, text in described()}
    assert sorted(name for name, text in FIELDS.items() if text not in said) == []
