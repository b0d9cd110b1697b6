"""Writes docs/reference/http.md from the OpenAPI document that the broker serves."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from goqueue.gateways.http.api import every_endpoint
from goqueue.gateways.http.document.openapi import ERRORS_EVERYWHERE, ERRORS_WITH_BODY, Document
from scripts.references import DOCS, code, one_line, table

__all__ = ["PAGE", "Tree", "document", "kind_of", "name_of", "page", "short_name"]

Tree = dict[str, Any]

PAGE = DOCS / "reference" / "http.md"
BOUNDS = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
LARGEST = (1 << 63) - 1
"""A bound that every whole number here has is none to talk about."""
HEAD = """# HTTP API

Everything that can be asked over HTTP. This page is made from the code (`make references`); a running broker serves
the same for machines at `/openapi.json` (OpenAPI 3.1), and to read at `/docs`. How it is used stands in the
[guide](../guides/http.md).

- JSON over HTTP/1.1, on `127.0.0.1:8080` unless [`listen.http`](settings.md#listen) says otherwise.
- Every path also stands under `/v1`.
- Unknown fields and parameters are errors that list what is allowed.
- Each request may be refused with EVERYWHERE, and one with a body also with BODY; other statuses are named. See
  [errors](errors.md).
- A parameter in bold must be given. Bodies and answers are described by their [shapes](http-shapes.md).
"""


def page() -> str:
    described = document()
    everywhere = ", ".join(map(str, ERRORS_EVERYWHERE))
    lines = [HEAD.replace("EVERYWHERE", everywhere).replace("BODY", " or ".join(map(str, ERRORS_WITH_BODY)))]
    for tag in described["tags"]:
        operations = list(_operations(described, tag["name"]))
        lines += [f"## {tag['name']}", ""]
        lines += table(("Request", ""), ((f"[`{name}`](#{_anchor(name)})", one["summary"]) for name, one in operations))
        for name, operation in operations:
            lines += _operation(name, operation)
    return "\n".join(lines)


def document() -> Tree:
    async def nothing() -> bytes:
        return b""

    # Endpoints keep what they are given for when they are called, which nobody does here.
    unused: Any = None
    endpoints = every_endpoint(unused, nothing)
    return Document(lambda: endpoints).content


def _operations(described: Tree, tag: str) -> Iterator[tuple[str, Tree]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield f"{method.upper()} {path}", operation


def _anchor(title: str) -> str:
    """Of a heading, as it is made from its words."""
    return re.sub(r"[^\w\s-]", "", title).lower().replace(" ", "-")


def _operation(name: str, operation: Tree) -> list[str]:
    lines = [f"### {code(name)}", "", one_line(operation["description"]), ""]
    if parameters := list(_parameters(operation)):
        lines += table(("Parameter", "In", "Type", ""), parameters)
    if "requestBody" in operation:
        lines += [f"- Body: {_kinds(operation['requestBody']['content'].values())}"]
    usual = {*ERRORS_EVERYWHERE, *(ERRORS_WITH_BODY if "requestBody" in operation else ())}
    answers: dict[str, list[str]] = {}
    for status, response in operation["responses"].items():
        if int(status) not in usual or int(status) < 400:
            answers.setdefault(_kinds(response["content"].values()), []).append(status)
    lines += [f"- {', '.join(statuses)}: {kind}" for kind, statuses in answers.items()]
    return [*lines, "", *_example(operation)]


def _example(operation: Tree) -> Iterator[str]:
    """The request as a command, and what was answered to it."""
    for sample in operation["x-codeSamples"]:
        yield from ("```sh", sample["source"], "```", "")
    for response in operation["responses"].values():
        media_type, content = next(iter(response["content"].items()))
        for example in content.get("examples", {}).values():
            value = example["value"]
            is_text = isinstance(value, str) and "json" not in media_type
            text = value if is_text else json.dumps(value, indent=2, ensure_ascii=False)
            yield from ("```text" if is_text else "```json", text, "```", "")


def _parameters(operation: Tree) -> Iterator[tuple[str, str, str, str]]:
    """Of an object that is written as fields, each field."""
    for one in operation["parameters"]:
        schema = one["schema"]
        if not one.get("explode"):
            yield name_of(one["name"], one["required"]), one["in"], kind_of(schema), one.get("description", "")
            continue
        for name, field in schema["properties"].items():
            must = name in schema["required"]
            yield name_of(name, must), one["in"], kind_of(field), field.get("description", "")


def name_of(name: str, must: bool) -> str:
    return f"**{code(name)}**" if must else code(name)


def short_name(name: str) -> str:
    """Where two shapes share a name, the module that has it stands before it."""
    return ".".join(name.split(".")[-2:])


def _kinds(contents: Iterable[Tree]) -> str:
    return " or ".join(dict.fromkeys(kind_of(one["schema"]) for one in contents))


def kind_of(schema: Tree) -> str:
    """A link to a named shape, or the schema in short."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        kind = f"[{short_name(name)}](http-shapes.md#{_anchor(short_name(name))})"
    elif several := schema.get("oneOf") or schema.get("anyOf"):
        kind = " or ".join(dict.fromkeys(map(kind_of, several)))
    elif "enum" in schema:
        kind = " ".join(code(one if isinstance(one, str) else json.dumps(one)) for one in schema["enum"])
    elif "const" in schema:
        kind = code(json.dumps(schema["const"]))
    elif schema.get("type") == "array":
        kind = f"list of {kind_of(schema['items'])}" if schema.get("items") else "list"
    elif schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        kind = f"object of {kind_of(schema['additionalProperties'])}"
    else:
        bounds = [f"{sign} {schema[key]}" for key, sign in BOUNDS if abs(schema.get(key, LARGEST)) < LARGEST]
        kind = " ".join([schema.get("type", "any"), *bounds])
    if "examples" in schema:
        kind += ", such as " + ", ".join(map(code, schema["examples"]))
    return kind + (f", {code(json.dumps(schema['default']))} if left out" if "default" in schema else "")
