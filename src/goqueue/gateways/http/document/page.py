"""The API described for people: one page of plain HTML that needs nothing from outside."""

import html
import json
from collections.abc import Iterator
from typing import Any

__all__ = ["docs_page"]

Tree = dict[str, Any]

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin-top:2.5rem;border-bottom:1px solid #ccc}details{margin:.4rem 0;border:1px solid #ddd;border-radius:4px}
summary{padding:.4rem .6rem;cursor:pointer}details>div{padding:0 1rem 1rem}
code,pre{font:14px/1.4 ui-monospace,monospace}
.method{display:inline-block;min-width:4.5rem;font-weight:700}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;border-bottom:1px solid #eee}
pre{background:#f6f6f6;padding:.6rem;overflow:auto}a{color:#05c}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}a{color:#8bf}
details,td,th{border-color:#444}}
"""


def docs_page(document: Tree) -> bytes:
    info = document["info"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>{_text(info['title'])} HTTP API</title><style>{STYLE}</style>",
        f"<h1>{_text(info['title'])} HTTP API</h1><p>{_text(info['description'])}</p>",
        f"<p>Version {_text(info['version'])}. Every path also stands under <code>/v1</code>. ",
        "For machines: <a href='openapi.json'>openapi.json</a>.</p>",
    ]
    for tag in document["tags"]:
        parts.append(f"<h2>{_text(tag['name'])}</h2>")
        parts += [
            _operation(method, path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if tag["name"] in operation["tags"]
        ]
    parts.append("<h2>Schemas</h2>")
    parts += [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return "\n".join(parts).encode()


def _operation(method: str, path: str, operation: Tree) -> str:
    bodies = operation.get("requestBody", {}).get("content", {})
    body = next((content["schema"] for content in bodies.values()), None)
    return (
        f"<details id='{_text(operation['operationId'])}'><summary><code><span class=method>{_text(method.upper())}"
        f"</span>{_text(path)}</code> {_text(operation['summary'])}</summary><div>"
        + f"<p>{_text(operation['description'])}</p>"
        + _parameters(operation["parameters"])
        + (f"<p>Body: {_kind(body)}</p>" if body is not None else "")
        + _responses(operation["responses"])
        + _example(operation)
        + "</div></details>"
    )


def _example(operation: Tree) -> str:
    """The command, and the answer to it."""
    commands = [sample["source"] for sample in operation.get("x-codeSamples", ())]
    answers = [
        example["value"]
        for response in operation["responses"].values()
        for example in next(iter(response["content"].values())).get("examples", {}).values()
    ]
    shown = [one if isinstance(one, str) else json.dumps(one, indent=2, ensure_ascii=False) for one in answers]
    return "".join(f"<pre>{_text(one)}</pre>" for one in (*commands, *shown))


def _parameters(parameters: list[Tree]) -> str:
    if not parameters:
        return ""
    rows = "".join(
        f"<tr><td><code>{_text(name)}</code><td>{place}<td>{_kind(schema)}<td>{_text(described)}"
        for name, place, schema, described in _fields(parameters)
    )
    return f"<table><tr><th>Parameter<th>In<th>Type<th>{rows}</table>"


def _fields(parameters: list[Tree]) -> Iterator[tuple[str, str, Tree, str]]:
    """Name, place, schema and description; of an object that is written as fields, those of each field."""
    for one in parameters:
        if one.get("explode"):
            for name, schema in one["schema"]["properties"].items():
                yield name, one["in"], schema, schema.get("description", "")
        else:
            yield one["name"], one["in"], one["schema"], one.get("description", "")


def _responses(responses: Tree) -> str:
    rows = "".join(
        f"<tr><td>{status}<td>{_text(response['description'])}"
        f"<td>{' '.join(dict.fromkeys(_kind(one['schema']) for one in response['content'].values()))}"
        for status, response in responses.items()
    )
    return f"<table><tr><th>Status<th><th>Answer{rows}</table>"


def _schema(name: str, schema: Tree) -> str:
    return (
        f"<details id='{_text(name)}'><summary><code>{_text(name)}</code> {_text(schema.get('description', ''))}"
        f"</summary><div><pre>{_text(json.dumps(schema, indent=2, ensure_ascii=False))}</pre></div></details>"
    )


def _kind(schema: Tree) -> str:
    """A link to a named schema, or the schema in short."""
    if "$ref" in schema:
        name = _text(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(_kind(one) for one in schema[several])
    if "enum" in schema:
        return " ".join(f"<code>{_text(one)}</code>" for one in schema["enum"])
    limits = [f"{sign} {schema[name]}" for name, sign in (("minimum", "≥"), ("maximum", "≤")) if name in schema]
    default = f", {json.dumps(schema['default'])} if left out" if "default" in schema else ""
    return _text(" ".join([str(schema.get("type", "any")), *limits]) + default)


def _text(given: object) -> str:
    return html.escape(str(given), quote=True)
