"""The API described for machines: an OpenAPI 3.1 document made from the table of endpoints."""

import functools
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from goqueue import __version__
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.trace_headers import NAMES as TRACE_NAMES

__all__ = ["Document"]

Tree = dict[str, Any]

ERRORS_EVERYWHERE = (400, 403, 414, 431, 500, 503)
ERRORS_WITH_BODY = (408, 413)
TRACE_HEADER: Tree = {"type": "string", "description": "W3C Trace Context; what does not follow it is disregarded"}

_PARAMETER = re.compile(r"\{(\w+)\}")
_REFERENCE = "#/components/schemas/{name}"


class Document:
    """Made when it is first asked for, as the table has to be complete by then."""

    def __init__(self, endpoints: Callable[[], Iterable[Endpoint]]) -> None:
        self._endpoints = endpoints

    @functools.cached_property
    def content(self) -> Tree:
        endpoints = tuple(self._endpoints())
        schemas = _Schemas(endpoints)
        paths: Tree = {}
        for endpoint in endpoints:
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
        return {
            "openapi": "3.1.0",
            "info": {
                "title": "GoQueue",
                "version": __version__,
                "description": "One durable log as a stream, a queue and a table. Errors have the shape of "
                "ErrorBody, those of the schema registry that of RegistryError; their codes are stable.",
            },
            "servers": [{"url": "/"}, {"url": "/v1"}],
            "tags": [{"name": tag} for tag in dict.fromkeys(endpoint.tag for endpoint in endpoints)],
            "paths": paths,
            "components": {"schemas": schemas.components},
        }


class _Schemas:
    """The JSON Schema of every type that is used."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        types: dict[Any, None] = {}
        for endpoint in endpoints:
            types |= dict.fromkeys(
                (endpoint.dialect.error_type, endpoint.response, endpoint.body, *endpoint.body_forms)
            )
        types.pop(None, None)
        for endpoint in endpoints:
            if endpoint.body_forms:
                types.pop(endpoint.body, None)
        found, self.components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
        self._schemas: dict[Any, Tree] = dict(zip(types, found, strict=True))
        for schema in self.components.values():
            if "description" in schema:
                # An example in Python is for users of the client.
                words, _, _ = schema["description"].partition("Example:\n\n")
                schema["description"] = " ".join(words.split())

    def of(self, kind: Any) -> Tree:
        return self._schemas[kind]

    @staticmethod
    def fields(kind: type) -> list[tuple[str, Tree, bool]]:
        """Name, schema and whether it must be given, of each field of a struct without structs in it."""
        if kind is Nothing:
            return []
        (_,), components = msgspec.json.schema_components((kind,), ref_template=_REFERENCE)
        schema = components[kind.__name__]
        return [(name, one, name in schema["required"]) for name, one in schema["properties"].items()]


def _operation(endpoint: Endpoint, schemas: _Schemas) -> Tree:
    operation: Tree = {
        "operationId": _operation_id(endpoint),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "parameters": [
            *(_parameter("path", name, schema, True) for name, schema, _ in schemas.fields(endpoint.params)),
            *(_parameter("query", name, schema, must) for name, schema, must in schemas.fields(endpoint.query)),
            *(_parameter("header", name, TRACE_HEADER, False) for name in (TRACE_NAMES if endpoint.traced else ())),
        ],
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.body is not None:
        forms = [schemas.of(form) for form in endpoint.body_forms or (endpoint.body,)]
        schema = forms[0] if len(forms) == 1 else {"oneOf": forms}
        operation["requestBody"] = {"required": True, "content": _content(endpoint.dialect.media_types, schema)}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    words = [_PARAMETER.sub(r"by_\1", part) for part in endpoint.path.removeprefix("/").split("/")]
    return "_".join([endpoint.method.lower(), *words]).replace(".", "_").replace("-", "_")


def _parameter(place: str, name: str, schema: Tree, required: bool) -> Tree:
    schema = dict(schema)
    described = {"description": schema.pop("description")} if "description" in schema else {}
    return {"name": name, "in": place, "required": required, **described, "schema": schema}


def _responses(endpoint: Endpoint, schemas: _Schemas) -> Tree:
    json = endpoint.dialect.media_types
    media_types = json if endpoint.media_type == "application/json" else (endpoint.media_type.split(";")[0],)
    content = _content(media_types, schemas.of(endpoint.response))
    refused = _content(json, schemas.of(endpoint.dialect.error_type))
    errors = {*ERRORS_EVERYWHERE, *endpoint.errors, *(ERRORS_WITH_BODY if endpoint.body is not None else ())}
    contents = dict.fromkeys(errors, refused)
    for status in (endpoint.status, *endpoint.other_statuses):
        contents[status] = content
    return {
        str(status): {"description": HTTPStatus(status).phrase, "content": contents[status]}
        for status in sorted(contents)
    }


def _content(media_types: Iterable[str], schema: Tree) -> Tree:
    return {media_type: {"schema": schema} for media_type in media_types}
