"""What `.option(…)` means: names follow Spark's Kafka source, and whatever is not known is refused with what is."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from goqueue.errors import InvalidRequest

__all__ = ["EARLIEST", "LATEST", "Offsets", "ReadOptions", "WriteOptions", "read_options", "write_options"]

EARLIEST, LATEST = -2, -1
"""In place of an offset, as in Spark's Kafka source."""

Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition."""

NAMES = {
    "bootstrap": "host:port of the native listener (127.0.0.1:7171)",
    "subscribe": "topics to read, with commas",
    "subscribePattern": "a regular expression for the names of topics",
    "assign": 'partitions to read, as JSON: {"orders": [0, 1]}',
    "startingOffsets": 'earliest, latest, or JSON: {"orders": {"0": 23, "1": -2}}, where -2 is earliest and -1 latest',
    "endingOffsets": "latest, or JSON as above; for batches",
    "startingTimestamp": "milliseconds since 1970, or ISO 8601: records that are not older",
    "endingTimestamp": "as above: records that are older; for batches",
    "maxOffsetsPerTrigger": "records in one micro-batch, at most",
    "minPartitions": "pieces to read side by side, at least",
    "maxRecordsPerPartition": "records in one of these pieces, at most (250000)",
    "failOnDataLoss": "whether records that retention has taken are an error (true)",
    "includeHeaders": "whether there is a column for headers (false)",
    "isolation": "read_committed or read_uncommitted",
    "groupIdPrefix": "the group to which a stream commits what it has done, so that its lag can be seen",
    "topic": "where to write, for rows without a topic of their own",
    "queryName": "part of the key under which a batch is written once, for batches that are to be repeated safely",
    "partTimeout": "milliseconds that a batch may take until it is committed (900000)",
}
DEFAULT_BOOTSTRAP = "127.0.0.1:7171"
PIECE_RECORDS = 250_000
PART_TIMEOUT_MS = 15 * 60 * 1000
_KNOWN = {name.lower(): name for name in NAMES}
_PASSED_BY_SPARK = {"path", "checkpointlocation", "checkpointpath"}
_READING = set(NAMES) - {"topic", "queryName", "partTimeout"}
_WRITING = {"bootstrap", "topic", "queryName", "partTimeout"}


class ReadOptions(msgspec.Struct, frozen=True):
    bootstrap: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: Mapping[str, tuple[int, ...]] | None = None
    starting: int | Offsets | None = None
    ending: int | Offsets = LATEST
    starting_ns: int | None = None
    ending_ns: int | None = None
    max_per_trigger: int | None = None
    min_partitions: int = 1
    piece_records: int = PIECE_RECORDS
    fail_on_data_loss: bool = True
    include_headers: bool = False
    isolation: str = "read_committed"
    group: str | None = None


class WriteOptions(msgspec.Struct, frozen=True):
    bootstrap: str
    topic: str | None = None
    query_name: str | None = None
    part_timeout_ms: int = PART_TIMEOUT_MS


def read_options(options: Mapping[str, str]) -> ReadOptions:
    given = _named(options, _READING, "reading")
    chosen = [name for name in ("subscribe", "subscribePattern", "assign") if name in given]
    if len(chosen) != 1:
        raise InvalidRequest(
            f"{' and '.join(chosen) or 'no topic'} given", hint="give one of subscribe, subscribePattern and assign"
        )
    if "startingOffsets" in given and "startingTimestamp" in given:
        raise InvalidRequest("startingOffsets and startingTimestamp given", hint="give one of them")
    if "endingOffsets" in given and "endingTimestamp" in given:
        raise InvalidRequest("endingOffsets and endingTimestamp given", hint="give one of them")
    isolation = given.get("isolation", "read_committed")
    if isolation not in ("read_committed", "read_uncommitted"):
        raise InvalidRequest(f"isolation = {isolation}", hint="it is read_committed or read_uncommitted")
    return ReadOptions(
        bootstrap=given.get("bootstrap", DEFAULT_BOOTSTRAP),
        topics=tuple(name.strip() for name in given.get("subscribe", "").split(",") if name.strip()),
        pattern=_pattern(given.get("subscribePattern")),
        assigned=_assigned(given.get("assign")),
        starting=_offsets("startingOffsets", given["startingOffsets"]) if "startingOffsets" in given else None,
        ending=_ending(given.get("endingOffsets", "latest")),
        starting_ns=_instant("startingTimestamp", given.get("startingTimestamp")),
        ending_ns=_instant("endingTimestamp", given.get("endingTimestamp")),
        max_per_trigger=_number("maxOffsetsPerTrigger", given.get("maxOffsetsPerTrigger")),
        min_partitions=_number("minPartitions", given.get("minPartitions")) or 1,
        piece_records=_number("maxRecordsPerPartition", given.get("maxRecordsPerPartition")) or PIECE_RECORDS,
        fail_on_data_loss=_truth("failOnDataLoss", given.get("failOnDataLoss", "true")),
        include_headers=_truth("includeHeaders", given.get("includeHeaders", "false")),
        isolation=isolation,
        group=given.get("groupIdPrefix"),
    )


def write_options(options: Mapping[str, str]) -> WriteOptions:
    given = _named(options, _WRITING, "writing")
    return WriteOptions(
        bootstrap=given.get("bootstrap", DEFAULT_BOOTSTRAP),
        topic=given.get("topic") or None,
        query_name=given.get("queryName"),
        part_timeout_ms=_number("partTimeout", given.get("partTimeout")) or PART_TIMEOUT_MS,
    )


def _named(options: Mapping[str, str], allowed: set[str], what: str) -> dict[str, str]:
    """Spark hands over names in lower case."""
    given = {}
    for name, value in options.items():
        if name.lower() in _PASSED_BY_SPARK:
            continue
        known = _KNOWN.get(name.lower())
        if known is None or known not in allowed:
            lines = "; ".join(f"{one}: {NAMES[one]}" for one in sorted(allowed))
            raise InvalidRequest(f"{name} is not an option for {what}", hint=f"there are {lines}")
        given[known] = str(value)
    return given


def _pattern(text: str | None) -> str | None:
    if text is not None:
        try:
            re.compile(text)
        except re.error as error:
            raise InvalidRequest(f"subscribePattern = {text}: {error}", hint="give a regular expression") from None
    return text


def _json(name: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind, strict=False)
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"{name} = {text[:80]}: {error}", hint=f"{name} is {NAMES[name]}") from None


def _assigned(text: str | None) -> Mapping[str, tuple[int, ...]] | None:
    return None if text is None else _json("assign", text, dict[str, tuple[int, ...]])


def _offsets(name: str, text: str) -> int | Offsets:
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    found: Offsets = _json(name, text, dict[str, dict[int, int]])
    return found


def _ending(text: str) -> int | Offsets:
    found = _offsets("endingOffsets", text)
    is_earliest = (
        found == EARLIEST if isinstance(found, int) else any(EARLIEST in one.values() for one in found.values())
    )
    if is_earliest:
        raise InvalidRequest("endingOffsets before the beginning", hint="endingOffsets is latest, or numbers")
    return found


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise InvalidRequest(f"{name} = {text}", hint=f"{name} is a number, at least 1")
    return number


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidRequest(f"{name} = {text}", hint=f"{name} is true or false")
    return text.lower() == "true"


def _instant(name: str, text: str | None) -> int | None:
    """In nanoseconds."""
    if text is None:
        return None
    if text.isdigit():
        return int(text) * 1_000_000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"{name} = {text}", hint=f"{name} is {NAMES[name]}") from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000) * 1000
