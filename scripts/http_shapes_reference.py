"""Writes docs/reference/http-shapes.md: what bodies and answers of the HTTP API are made of."""

from scripts.http_reference import Tree, document, kind_of, name_of, short_name
from scripts.references import DOCS, one_line, table

__all__ = ["PAGE", "page"]

PAGE = DOCS / "reference" / "http-shapes.md"
HEAD = """# Shapes of the HTTP API

What bodies and answers of the [HTTP API](http.md) are made of. This page is made from the code (`make references`).
A field in bold must be given in a body, and is always there in an answer.
"""


def page() -> str:
    schemas: Tree = document()["components"]["schemas"]
    lines = [HEAD]
    for name in sorted(schemas, key=lambda one: short_name(one).lower()):
        lines += _shape(name, schemas[name])
    return "\n".join(lines)


def _shape(name: str, schema: Tree) -> list[str]:
    lines = [f"## {short_name(name)}", ""]
    if "description" in schema:
        lines += [one_line(schema["description"]), ""]
    fields: Tree = schema.get("properties", {})
    if not fields:
        return [*lines, kind_of(schema), ""]
    must = set(schema.get("required", ()))
    rows = [(name_of(field, field in must), kind_of(one), one.get("description", "")) for field, one in fields.items()]
    return [*lines, *table(("Field", "Type", ""), rows)]
