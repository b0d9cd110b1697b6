"""Where in two Avro schemas the trouble is; the library that reads does not say."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["mismatch"]

PROMOTED = {
    "int": {"int", "long", "float", "double"},
    "long": {"long", "float", "double"},
    "float": {"float", "double"},
    "string": {"string", "bytes"},
    "bytes": {"string", "bytes"},
}
"""As which types a reader may read what was written as one of these."""
NAMED = ("record", "error", "enum", "fixed")


def mismatch(writer: Any, reader: Any) -> tuple[str, str] | None:
    """The path to the first place that does not fit, and why; None if the schemas do not show it."""
    return _mismatch(writer, reader, "", _names(writer), _names(reader), set())


def _mismatch(
    writer: Any,
    reader: Any,
    path: str,
    written: Mapping[str, Any],
    known: Mapping[str, Any],
    seen: set[tuple[str, str]],
) -> tuple[str, str] | None:
    writer, reader = _resolved(writer, written), _resolved(reader, known)
    if isinstance(writer, list) or isinstance(reader, list):
        # Which branches meet depends on the value.
        return None
    wrote, reads = _type(writer), _type(reader)
    if wrote == reads == "record":
        pair = (writer["name"], reader["name"])
        if pair in seen:
            return None
        seen.add(pair)
        return _record_mismatch(writer, reader, path, written, known, seen)
    if wrote == reads and wrote in ("array", "map"):
        inner = "items" if wrote == "array" else "values"
        return _mismatch(writer[inner], reader[inner], f"{path}/{inner}", written, known, seen)
    if wrote != reads and reads not in PROMOTED.get(wrote, ()):
        return path or "/", f"{wrote} was written, and {reads} is expected"
    return None


def _record_mismatch(
    writer: Any,
    reader: Any,
    path: str,
    written: Mapping[str, Any],
    known: Mapping[str, Any],
    seen: set[tuple[str, str]],
) -> tuple[str, str] | None:
    fields = {field["name"]: field for field in writer["fields"]}
    for field in reader["fields"]:
        other = next((fields[name] for name in (field["name"], *field.get("aliases", ())) if name in fields), None)
        place = f"{path}/{field['name']}"
        if other is None:
            if "default" not in field:
                return place, "the writer has no such field, and the reader has no default for it"
            continue
        found = _mismatch(other["type"], field["type"], place, written, known, seen)
        if found is not None:
            return found
    return None


def _names(schema: Any) -> dict[str, Any]:
    return {part["name"]: part for part in _parts(schema) if isinstance(part, dict) and _type(part) in NAMED}


def _parts(schema: Any) -> Iterator[Any]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += [part[inner] for inner in ("items", "values") if inner in part]
            waiting += [field["type"] for field in part.get("fields", ())]
            if isinstance(part.get("type"), dict | list):
                waiting.append(part["type"])


def _resolved(schema: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(schema, str):
        return names.get(schema, schema)
    if isinstance(schema, dict) and isinstance(schema.get("type"), dict | list):
        return _resolved(schema["type"], names)
    return schema


def _type(schema: Any) -> str:
    if isinstance(schema, list):
        return "union"
    kind = schema["type"] if isinstance(schema, dict) else schema
    return "record" if kind == "error" else str(kind)
