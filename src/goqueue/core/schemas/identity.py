"""Schema identity: the common key of texts that differ only in notation.

It is computed without parsing, because it is needed for every schema when the broker starts. For Protobuf, comments and
white space are ignored; for Avro and JSON Schema, white space and the escaping of strings. In Avro, a type name alone
is the same as `{"type": …}`.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from goqueue.core.schemas.json_text import load_json
from goqueue.core.schemas.schema import Reference, Schema
from goqueue.errors import InvalidSchema

__all__ = ["Identity", "identity_of"]

Identity = tuple[str, bytes, tuple[Reference, ...]]

DIGEST_BYTES = 20

_TYPE_ALONE = re.compile(r'\{"type":("[^"\\]*+")\}')

_PROTOBUF_TOKEN = re.compile(
    r"""(?P<layout>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))"""
    r"""|"(?:\\.|[^"\\\n])*+"?|'(?:\\.|[^'\\\n])*+'?|[\w.+-]++|\S""",
    re.DOTALL,
)
"""Unterminated strings and comments extend to the end of their line or of the text: each character is read once."""


@lru_cache(maxsize=16)
def identity_of(schema: Schema) -> Identity:
    """Identity of a stored schema, without layout. Cached, because it is requested several times per operation."""
    written = _WRITTEN.get(schema.type, str)(schema.text)
    digest = blake2b(written.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).digest()
    return schema.type, digest, schema.references


def _protobuf(text: str) -> str:
    return "\n".join(token[0] for token in _PROTOBUF_TOKEN.finditer(text) if token["layout"] is None)


def _avro(text: str) -> str:
    """Most texts need not be parsed: strings contain no unescaped quote, so a match is never inside one."""
    while True:
        text, count = _TYPE_ALONE.subn(r"\1", text)
        if not count:
            break
    return _json(text, _plain_avro) if "\\" in text or '{"type":{' in text or '{"type":[' in text else text


def _json_schema(text: str) -> str:
    return _json(text, lambda document: document) if "\\" in text else text


def _json(text: str, simplified: Callable[[Any], Any]) -> str:
    try:
        return json.dumps(simplified(load_json(text, "schema")), separators=(",", ":"), ensure_ascii=False)
    except (InvalidSchema, RecursionError):
        # Not a schema; or one that was stored before there was a limit.
        return text


def _plain_avro(schema: Any) -> Any:
    """Defaults and attributes without a meaning are left unchanged."""
    if isinstance(schema, list):
        return [_plain_avro(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.keys() == {"type"}:
        return _plain_avro(schema["type"])
    plain = schema | {name: _plain_avro(schema[name]) for name in ("type", "items", "values") if name in schema}
    if isinstance(schema.get("fields"), list):
        plain["fields"] = [_plain_field(field) for field in schema["fields"]]
    return plain


def _plain_field(field: Any) -> Any:
    return field | {"type": _plain_avro(field["type"])} if isinstance(field, dict) and "type" in field else field


_WRITTEN = {"AVRO": _avro, "JSON": _json_schema, "PROTOBUF": _protobuf}
