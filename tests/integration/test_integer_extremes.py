"""Integers of every route of the HTTP API are tried with their extremes: no request is too strange for an answer."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.behaviour.serving import Server, running_server

EXTREMES: tuple[Any, ...] = (0, -1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, "1.0", "abc", "")
WAITS = ("wait", "timeout")
"""In the names of parameters that say how long to wait: the small ones of the extremes are enough."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("extremes") / "broker") as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{server.http}", trust_env=False, timeout=60) as client:
        client.post("/topics", json={"name": "x", "num_partitions": 1}).raise_for_status()
        client.post("/topics/x/messages", json={"messages": [{"value": "one"}]}).raise_for_status()
        schema = {"schema": '"int"'}
        client.post("/schemas/subjects/x/versions", json=schema).raise_for_status()
        yield client


class Document:
    """The OpenAPI document, with what it refers to."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in self._content["paths"].items():
            for method, operation in methods.items():
                if method in ("get", "post", "put", "patch", "delete"):
                    yield method.upper(), path, operation

    def parameters(self, operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Of an object that is written as fields, each field."""
        for one in operation.get("parameters", []):
            if not one.get("explode"):
                yield one
                continue
            for name, schema in one["schema"]["properties"].items():
                yield {"name": name, "in": one["in"], "required": name in one["schema"]["required"], "schema": schema}

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            found: Any = self._content
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def forms(self, schema: dict[str, Any] | bool) -> list[dict[str, Any]]:
        """Of a schema with several, each."""
        if isinstance(schema, bool):
            return [{}]
        schema = self.resolved(schema)
        several = schema.get("anyOf") or schema.get("oneOf")
        return [form for one in several for form in self.forms(one)] if several else [schema]

    def is_integer(self, schema: dict[str, Any]) -> bool:
        return any("integer" in (form.get("type") or ()) for form in self.forms(schema))

    def bodies(self, schema: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
        """Values with one integer that is extreme, and with what else is required; where it is, and the value."""
        for form in self.forms(schema):
            if form.get("type") == "integer":
                for extreme in EXTREMES:
                    yield "", extreme
            elif form.get("type") == "array" and depth < 4:
                for place, value in self.bodies(form.get("items", {}), depth + 1):
                    yield f"[]{place}", [value]
            elif form.get("type") == "object" and depth < 4:
                properties = form.get("properties", {})
                needed = {name: self.plain(properties[name]) for name in form.get("required", ()) if name in properties}
                for name, inner in properties.items():
                    for place, value in self.bodies(inner, depth + 1):
                        yield f".{name}{place}", {**needed, name: value}

    def plain(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """Some value of the schema."""
        form = self.forms(schema)[0]
        if "enum" in form:
            return form["enum"][0]
        match form.get("type"):
            case "integer" | "number":
                return 1
            case "boolean":
                return False
            case "array":
                return [self.plain(form.get("items", {}), depth + 1)] if depth < 4 else []
            case "object":
                names = form.get("required", ())
                return {name: self.plain(form["properties"][name], depth + 1) for name in names}
        return "x"


@pytest.mark.slow
def test_no_integer_of_any_route_is_too_much_for_the_broker(server, http):
    document = Document(http.get("/openapi.json").json())
    tried = 0
    for method, path, operation in document.operations():
        parameters = list(document.parameters(operation))
        plain = {
            one["name"]: "x" if one["schema"].get("type") == "string" else document.plain(one["schema"])
            for one in parameters
            if one["in"] == "path" or one.get("required")
        }
        content = operation.get("requestBody", {}).get("content", {})
        schema = next((one["schema"] for kind, one in content.items() if "json" in kind), None)
        body = None if schema is None else document.plain(schema)
        for one in parameters:
            if one["in"] in ("path", "query") and document.is_integer(one["schema"]):
                for extreme in EXTREMES:
                    send(http, method, path, plain | {one["name"]: extreme}, parameters, body, one["name"])
                    tried += 1
        for place, value in () if schema is None else document.bodies(schema):
            send(http, method, path, plain, parameters, value, f"the body at {place}")
            tried += 1
    assert tried > 1000
    server.check_log()


def send(http, method, path, values, parameters, body, what):
    """One request; the answer may be any but that something broke."""
    where = {one["name"]: one["in"] for one in parameters}
    for name, value in values.items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    query = {name: str(value) for name, value in values.items() if where.get(name) == "query"}
    for name, place in where.items():
        if place == "query" and any(wait in name.lower() for wait in WAITS) and what != name:
            query.setdefault(name, "0")
    answer = (
        http.request(method, path, params=query, json=body)
        if body is not None
        else http.request(method, path, params=query)
    )
    assert answer.status_code < 500, (method, path, query, body, what, answer.text)
