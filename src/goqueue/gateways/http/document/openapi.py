"""The API described for machines: an OpenAPI 3.1 document made from the table of endpoints."""

import functools
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import inspect

from goqueue import __version__
from goqueue.gateways.http.document.examples import Example, curl_command, examples
from goqueue.gateways.http.document.fields import field_description
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.rules import rules_schema
from goqueue.gateways.http.trace_headers import NAMES as TRACE_NAMES

__all__ = ["Document"]

Tree = dict[str, Any]

ERRORS_EVERYWHERE = (400, 403, 414, 431, 500, 503)
ERRORS_WITH_BODY = (408, 413)
TRACE_HEADER: Tree = {"type": "string", "description": "W3C Trace Context; what does not follow it is disregarded"}

_STATUSES = {
    200: "Done.",
    201: "Created.",
    207: "Some of it was done; each result says which.",
    400: "The request breaks a rule of this document.",
    403: "The Host or Origin of the request is not allowed.",
    404: "What the request names does not exist.",
    406: "The answer has none of the media types that are accepted.",
    408: "The request did not arrive in time.",
    409: "The request does not go with the present state.",
    413: "The body is too large.",
    414: "The URL is too long.",
    415: "The body is of a media type that is not read.",
    422: "The request is well formed, and what it contains cannot be used.",
    431: "The headers are too large.",
    500: "The broker failed; its log says why.",
    503: "Not now: the broker is busy, stopping or cannot write. The header Retry-After says when to try again.",
}

_TAGS = {
    "Messages": "Publish records, and read them without consuming them.",
    "Acknowledgement": "Tell the broker what became of records that were polled.",
    "Groups": "Consumer groups: join, poll, commit, and look after them.",
    "Topics": "Create, describe, change and delete topics.",
    "Delays": "Records that are delivered later.",
    "Schedules": "Records that are published again and again.",
    "Schemas": "The schema registry, as clients of Confluent's speak to it.",
    "Priorities": "The five priorities of each queue.",
    "Dead letters": "Records that could not be processed: search them, send them back, purge them.",
    "Transactions": "Records, acknowledgements and offsets that count together or not at all.",
    "Traces": "What happened to which record.",
    "Admin": "Work that the broker also does by itself, started by hand.",
    "Meta": "The broker itself: health, version, figures, and this document.",
}

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
        shown = examples()
        paths: Tree = {}
        for endpoint in endpoints:
            operation = _operation(endpoint, schemas)
            if (example := shown.get(f"{endpoint.method} {endpoint.path}")) is not None:
                _show(operation, endpoint.method, example)
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
        return {
            "openapi": "3.1.0",
            "info": {
                "title": "GoQueue",
                "version": __version__,
                "description": "One durable log as a stream, a queue and a table. Errors have the shape of "
                "ErrorBody, those of the schema registry that of RegistryError; their codes are stable.",
            },
            "servers": [{"url": "/"}, {"url": "/v1"}],
            "tags": [
                {"name": tag, "description": _TAGS.get(tag, "")}
                for tag in dict.fromkeys(endpoint.tag for endpoint in endpoints)
            ],
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
        types |= dict.fromkeys(_structs(types))
        found, self.components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
        self._schemas: dict[Any, Tree] = dict(zip(types, found, strict=True))
        for kind in types:
            if (name := self._schemas[kind].get("$ref", "").rpartition("/")[2]) in self.components:
                _complete(self.components[name], kind)

    def of(self, kind: Any) -> Tree:
        return self._schemas[kind]

    @staticmethod
    def parameters(kind: type) -> Tree:
        """The schema of a struct without structs in it."""
        (_,), components = msgspec.json.schema_components((kind,), ref_template=_REFERENCE)
        schema: Tree = components[kind.__name__]
        _complete(schema, kind)
        return schema


def _complete(schema: Tree, kind: Any) -> None:
    """Add to the schema of a struct what its type does not say: rules between fields, and what each field is."""
    if "description" in schema:
        # An example in Python is for users of the client.
        words, _, _ = schema["description"].partition("Example:\n\n")
        schema["description"] = " ".join(words.split())
    for name, field in schema.get("properties", {}).items():
        if (text := field_description(kind, name, field.get("description"))) is not None:
            field["description"] = text
    if rules := rules_schema(kind):
        schema["allOf"] = rules


def _structs(types: Iterable[Any]) -> list[Any]:
    """Every struct in these types, at any depth."""
    found: dict[Any, None] = {}
    left = [inspect.type_info(one) for one in types]
    while left:
        match left.pop():
            case inspect.StructType() as struct:
                if struct.cls not in found:
                    found[struct.cls] = None
                    left += [field.type for field in struct.fields]
            case inspect.Metadata() as outer:
                left.append(outer.type)
            case inspect.UnionType() as union:
                left += union.types
            case inspect.ListType() | inspect.VarTupleType() as items:
                left.append(items.item_type)
            case inspect.DictType() as members:
                left.append(members.value_type)
            case _:
                pass
    return list(found)


def _operation(endpoint: Endpoint, schemas: _Schemas) -> Tree:
    operation: Tree = {
        "operationId": _operation_id(endpoint),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": _description(endpoint),
        "parameters": [
            *_parameters("path", endpoint.params),
            *_parameters("query", endpoint.query),
            *(_parameter("header", name, TRACE_HEADER, False) for name in (TRACE_NAMES if endpoint.traced else ())),
        ],
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.body is not None:
        forms = [schemas.of(form) for form in endpoint.body_forms or (endpoint.body,)]
        schema = forms[0] if len(forms) == 1 else {"oneOf": forms}
        described = " ".join((endpoint.body.__doc__ or "").split())
        operation["requestBody"] = {
            "description": described,
            "required": True,
            "content": _content(endpoint.dialect.media_types, schema),
        }
    return operation


def _description(endpoint: Endpoint) -> str:
    """The summary, and what else is true of the operation."""
    said = [f"{endpoint.summary}."]
    if endpoint.waits:
        said.append("The answer may be held back until there is something to tell.")
    if endpoint.changes:
        said.append("It changes something, so web pages of other sites may not send it.")
    if endpoint.always:
        said.append("It is answered also when the broker is too busy for anything else.")
    return " ".join(said)


def _show(operation: Tree, method: str, example: Example) -> None:
    """Add the example to an operation: to its parameters, its body and its answer, and as a command for a shell."""
    for parameter in operation["parameters"]:
        values = example.params if parameter["in"] == "path" else example.query
        if parameter.get("explode"):
            parameter["example"] = values
        elif parameter["name"] in values:
            parameter["example"] = values[parameter["name"]]
    if example.body is not None:
        _add_value(operation["requestBody"], example.body)
    _add_value(operation["responses"][str(example.status)], example.answer)
    operation["x-codeSamples"] = [{"lang": "Shell", "source": curl_command(method, example)}]


def _add_value(part: Tree, value: Any) -> None:
    part["content"] = {
        media_type: {**content, "examples": {"example": {"value": value}}}
        for media_type, content in part["content"].items()
    }


def _operation_id(endpoint: Endpoint) -> str:
    words = [_PARAMETER.sub(r"by_\1", part) for part in endpoint.path.removeprefix("/").split("/")]
    return "_".join([endpoint.method.lower(), *words]).replace(".", "_").replace("-", "_")


def _parameters(place: str, kind: type) -> list[Tree]:
    """One for each field; where there are rules between fields, one object that is written as fields."""
    if kind is Nothing:
        return []
    schema = _Schemas.parameters(kind)
    if "allOf" not in schema:
        return [_parameter(place, name, one, name in schema["required"]) for name, one in schema["properties"].items()]
    described = schema.pop("description", "The fields of the query.")
    del schema["title"]
    parameter = {"name": place, "in": place, "required": bool(schema["required"]), "style": "form", "explode": True}
    return [{**parameter, "description": f"{described} Each field is a parameter of its own.", "schema": schema}]


def _parameter(place: str, name: str, schema: Tree, required: bool) -> Tree:
    schema = dict(schema)
    described = {"description": schema.pop("description")} if "description" in schema else {}
    # A switch alone, such as `?verbose`, is on.
    empty = {"allowEmptyValue": True} if place == "query" and schema.get("type") == "boolean" else {}
    return {"name": name, "in": place, "required": required, **empty, **described, "schema": schema}


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
        str(status): {"description": _STATUSES.get(status, HTTPStatus(status).phrase), "content": contents[status]}
        for status in sorted(contents)
    }


def _content(media_types: Iterable[str], schema: Tree) -> Tree:
    return {media_type: {"schema": schema} for media_type in media_types}
