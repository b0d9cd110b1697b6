"""Where values break a JSON schema: every fault of every value, by the path to it and the rule that it breaks."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import msgspec
import pyarrow as pa
from pyspark.sql import functions as F

from goqueue.client.schemas.references import texts_referred_to
from goqueue.client.schemas.registry import Registry
from goqueue.client.schemas.schema import JSON, Schema
from goqueue.codec.values.json import check_json
from goqueue.errors import DecodingLimit, InvalidSchema
from goqueue.spark.vectors import over_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Rules", "found_faults", "rules_from_registry", "rules_from_text", "violations"]

MOST_FAULTS = 20
"""Of one value: a value that is something else altogether would have one for every rule."""
MOST_PARTS = 10_000
"""Of a value of which more than the first fault is looked for."""
FAULT = "array<struct<path: string, rule: string, reason: string>>"
UNNAMED_BASE = "json-schema:///"
"""What the validator puts before references of a schema that has no address of its own."""
_FAULTS = pa.list_(pa.struct([("path", pa.string()), ("rule", pa.string()), ("reason", pa.string())]))


class Rules(msgspec.Struct, frozen=True):
    """A JSON schema, and the texts that it refers to by name; tasks get both."""

    text: str
    texts: tuple[tuple[str, str], ...] = ()
    name: str = "schema"


def rules_from_registry(registry: Registry, subject: str, version: int | None = None) -> Rules:
    found = registry.version(subject, version)
    if found.type != JSON:
        raise InvalidSchema(
            f"{subject} is {found.type}", hint="values are checked here against JSON schemas; choose another subject"
        )
    schema = Schema(found.text, found.type, found.references)
    return _checked(
        Rules(found.text, tuple(texts_referred_to(registry, schema).items()), f"{subject} version {found.version}")
    )


def rules_from_text(text: str, name: str) -> Rules:
    return _checked(Rules(text, name=name))


def _checked(rules: Rules) -> Rules:
    """Before anything is read: a schema that is none is the driver's to refuse."""
    _validator(rules)
    return rules


def found_faults(values: "DataFrame", rules: Rules) -> "DataFrame":
    """With the column `faults`, which is empty for good values, and null for those without JSON in `text`."""

    def faults(texts: pa.Array) -> pa.Array:
        validator = _validator(rules)
        return pa.array(
            [None if text is None else list(_faults(validator, text)) for text in texts.to_pylist()], _FAULTS
        )

    return values.withColumn("faults", over_columns(faults, FAULT)("text"))


def violations(checked: "DataFrame") -> "DataFrame":
    """How many values break which rule where, with the first and the last of them."""
    place = F.struct("partition", "offset")
    named = F.concat_ws("/", "partition", "offset")
    return (
        checked.select("partition", "offset", F.explode("faults").alias("fault"))
        .select("partition", "offset", "fault.*")
        .groupBy("path", "rule")
        .agg(
            F.count_distinct("partition", "offset").alias("values"),
            F.min_by("reason", place).alias("reason"),
            F.array_distinct(F.array(F.min_by(named, place), F.any_value(named), F.max_by(named, place))).alias(
                "examples"
            ),
        )
        .orderBy(F.desc("values"), "path", "rule")
    )


@lru_cache(maxsize=8)
def _validator(rules: Rules) -> Any:
    """Once in each process: that takes a while."""
    texts: Mapping[str, str] = dict(rules.texts)

    def retrieve(uri: str) -> Any:
        text = texts.get(uri, texts.get(uri.removeprefix(UNNAMED_BASE)))
        if text is None:
            raise KeyError(f"{uri} is not among the references of the schema")
        return json.loads(text)

    try:
        # What a value says is not part of the reason: those that break the same rule are counted together.
        return jsonschema_rs.validator_for(json.loads(rules.text), retriever=retrieve, mask="value")
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise InvalidSchema(f"{rules.name} is not a JSON schema: {error}") from None


def _faults(validator: Any, text: str) -> Iterator[dict[str, str]]:
    try:
        check_json(text.encode())
        value = json.loads(text)
        errors = list(_some(validator, value, text))
    except (ValueError, RecursionError, DecodingLimit) as error:
        yield {"path": "/", "rule": "json", "reason": f"no JSON that can be checked: {error}"}
        return
    for fault in errors:
        yield {"path": _path(fault.instance_path), "rule": fault.kind.name, "reason": fault.message}


def _some(validator: Any, value: Any, text: str) -> Iterator[Any]:
    """The validator makes an error of each part that does not fit before it gives the first of them."""
    if sum(map(text.count, ",[{")) <= MOST_PARTS:
        yield from islice(validator.iter_errors(value), MOST_FAULTS)
        return
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        yield error


def _path(parts: list[str | int]) -> str:
    """All elements of an array have the same."""
    return "/" + "/".join("*" if isinstance(part, int) else part for part in parts)
