"""The settings of a topic as a form: what each is called, how it is written, and how it is read again."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from goqueue.errors import InvalidRequest
from goqueue.gateways.console.forms import byte_count, duration_text, size_text
from goqueue.model.durations import parse_duration_ms
from goqueue.model.topic import (
    Cleanup,
    Durability,
    Expired,
    LaneMode,
    SchemaValidation,
    TopicConfig,
    WantedConfig,
)

__all__ = ["SECTIONS", "Field", "config_of", "texts_of"]


class Field(NamedTuple):
    """`kind` is duration, size, number, text, weights or choice; `options` are those of a choice."""

    name: str
    label: str
    kind: str
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()


def _choice(name: str, label: str, kind: type[StrEnum], hint: str = "") -> Field:
    return Field(name, label, "choice", hint, tuple((one.value, one.value.replace("_", " ")) for one in kind))


SECTIONS: tuple[tuple[str, tuple[Field, ...]], ...] = (
    (
        "Keeping records",
        (
            _choice("durability", "Durability", Durability, "fsync: confirmed once it is on disk"),
            _choice("cleanup", "Cleanup", Cleanup, "compact keeps the newest record of each key"),
            Field("retention_ms", "Kept for", "duration", "empty for ever"),
            Field("retention_bytes", "Kept at most, per partition", "size", "empty for no limit"),
            Field("delete_retention_ms", "Tombstones kept for", "duration"),
            Field("max_value_bytes", "Largest value", "size"),
            Field("dedup_window_ms", "Ids remembered for", "duration", "0ms for not at all"),
            Field("offsets_retention_ms", "Empty groups kept for", "duration", "empty for the broker's setting"),
        ),
    ),
    (
        "Queue",
        (
            Field("visibility_timeout_ms", "Visibility timeout", "duration", "how long a consumer has a record"),
            Field("max_attempts", "Attempts", "number", "then it is a dead letter"),
            Field("retry_backoff_ms", "First pause between attempts", "duration"),
            Field("retry_backoff_max_ms", "Longest pause", "duration"),
            Field("retry_jitter", "Jitter", "number", "0 to 1: share of the pause left to chance"),
            Field("dead_letter_topic", "Dead letter topic", "text", "empty for the topic's name with .dlq"),
            Field("dead_letter_breaker_per_minute", "Breaker", "number", "dead letters a minute that pause a group"),
            _choice("expired", "Expired records", Expired),
        ),
    ),
    (
        "Priorities",
        (
            _choice("lane_mode", "Order", LaneMode),
            Field("lane_weights", "Weights", "weights", "critical, high, normal, low, background"),
            Field("lane_starvation_ms", "Longest wait of a priority", "duration"),
        ),
    ),
    (
        "Schemas and traces",
        (
            _choice("schema_validation", "Check values", SchemaValidation, "auto: as soon as there is a schema"),
            Field("schema_subject", "Subject", "text", "empty for the topic's name"),
            Field("trace_rate", "Share traced", "number", "0 to 1; empty for the broker's setting"),
        ),
    ),
)

_FIELDS = {field.name: field for _, fields in SECTIONS for field in fields}


def texts_of(config: TopicConfig) -> dict[str, str]:
    """Each setting as it stands in the form."""
    given = msgspec.to_builtins(config)
    return {name: _text(field, given[name]) for name, field in _FIELDS.items()}


def _text(field: Field, value: Any) -> str:
    if value is None:
        return ""
    match field.kind:
        case "duration":
            return duration_text(value)
        case "size":
            return size_text(value)
        case "weights":
            return " ".join(map(str, value))
        case _:
            return str(value)


def config_of(before: TopicConfig, texts: Mapping[str, str]) -> TopicConfig:
    """The settings with what the form says; what it does not mention stays."""
    given = msgspec.to_builtins(before)
    for name, field in _FIELDS.items():
        if name in texts:
            given[name] = _value(field, texts[name].strip())
    for name, value in given.items():
        if value is None and getattr(TopicConfig(), name) is not None and name not in ("retention_ms",):
            raise InvalidRequest(f"{_FIELDS[name].label} is empty", hint="give a value")
    try:
        return msgspec.convert(given, WantedConfig, strict=False).config()
    except msgspec.ValidationError as error:
        words, _, where = str(error).partition(" - at `$.")
        label = _FIELDS[where.split("[")[0].rstrip("`")].label if where else "settings"
        raise InvalidRequest(f"{label}: {words}") from None


def _value(field: Field, text: str) -> Any:
    if not text:
        return None
    match field.kind:
        case "duration":
            return parse_duration_ms(text, field.label)
        case "size":
            return byte_count(text, field.label)
        case "weights":
            return text.replace(",", " ").split()
        case _:
            return text
