"""What `.option(…)` means: names follow Spark's Kafka source, and whatever is not known is refused with what is."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec

from goqueue.errors import InvalidRequest
from goqueue.wire.native.messages import IsolationName

__all__ = ["EARLIEST", "LATEST", "Offsets", "ReadOptions", "WriteOptions", "read_options", "write_options"]

EARLIEST, LATEST = -2, -1
"""In place of an offset, as in Spark's Kafka source."""

Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition."""

NAMES = {
    "bootstrap": "host:port of the native listener (127.0.0.1:7171); of several, with commas, the first that answers",
    "path": "a data folder of a broker that is not running, or a copy of one, to read instead",
    "subscribe": "topics to read, with commas",
    "subscribePattern": "a regular expression for the names of topics",
    "assign": 'partitions to read, as JSON: {"orders": [0, 1]}',
    "startingOffsets": 'earliest, latest, or JSON: {"orders": {"0": 23, "1": -2}}, where -2 is earliest and -1 latest',
    "endingOffsets": "latest, or JSON as above",
    "startingTimestamp": "milliseconds since 1970, or ISO 8601: records that are not older",
    "endingTimestamp": "as above: records that are older",
    "maxOffsetsPerTrigger": "records in one micro-batch, at most",
    "alignByTime": "whether the partitions of a limited micro-batch are read up to the same time (false)",
    "minPartitions": "pieces to read side by side, at least",
    "maxRecordsPerPartition": "records in a piece, at most (250000; in a stream a partition is one piece)",
    "failOnDataLoss": "whether records that retention has taken are an error (true)",
    "includeHeaders": "whether there is a column for headers (false)",
    "isolation": "read_committed or read_uncommitted",
    "groupIdPrefix": "the group to which a stream commits what it has done, so that its lag can be seen",
    "queue": "the group as whose worker a stream takes records: they are acknowledged when their batch is committed",
    "visibilityTimeout": "milliseconds that records of a queue stay leased when nobody extends that (30000)",
    "topic": "where to write, for rows without a topic of their own",
    "queryName": "part of the key under which a batch is written once, for batches that are to be repeated safely",
    "partTimeout": "milliseconds that a batch may take until it is committed (900000)",
}
DEFAULT_BOOTSTRAP = "127.0.0.1:7171"
PART_TIMEOUT_MS = 15 * 60 * 1000
VISIBILITY_MS = 30_000
QUEUE_BATCH = 10_000
LARGEST_QUEUE_BATCH = 100_000
"""More a broker does not settle at once."""
_KNOWN = {name.lower(): name for name in NAMES}
_PASSED_BY_SPARK = {"checkpointlocation", "checkpointpath"}
_PROPERTY_OF_TABLE = "option."
"""With this prefix `CREATE TABLE` passes each option a second time."""
_PASSED_TO_SINKS = _PASSED_BY_SPARK | {"path"}
_READING = set(NAMES) - {"topic", "queryName", "partTimeout"}
_WRITING = {"bootstrap", "topic", "queryName", "partTimeout"}
_OF_QUEUES = {
    *("bootstrap", "queue", "visibilityTimeout", "subscribe", "subscribePattern", "startingOffsets"),
    *("maxOffsetsPerTrigger", "minPartitions", "includeHeaders", "failOnDataLoss"),
}


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
    align_by_time: bool = False
    min_partitions: int = 1
    piece_records: int | None = None
    fail_on_data_loss: bool = True
    include_headers: bool = False
    isolation: IsolationName = "read_committed"
    group: str | None = None
    path: str | None = None
    queue: str | None = None
    visibility_ms: int = VISIBILITY_MS

    @property
    def queue_batch(self) -> int:
        return self.max_per_trigger or QUEUE_BATCH


class WriteOptions(msgspec.Struct, frozen=True):
    bootstrap: str
    topic: str | None = None
    query_name: str | None = None
    part_timeout_ms: int = PART_TIMEOUT_MS


def read_options(options: Mapping[str, str]) -> ReadOptions:
    given = _named(options, _READING, "reading", _PASSED_BY_SPARK)
    _check_kind(given)
    chosen = [name for name in ("subscribe", "subscribePattern", "assign") if name in given]
    if len(chosen) != 1:
        raise InvalidRequest(
            f"{' and '.join(chosen) or 'no topic'} given", hint="give one of subscribe, subscribePattern and assign"
        )
    if "startingOffsets" in given and "startingTimestamp" in given:
        raise InvalidRequest("startingOffsets and startingTimestamp given", hint="give one of them")
    if "endingOffsets" in given and "endingTimestamp" in given:
        raise InvalidRequest("endingOffsets and endingTimestamp given", hint="give one of them")
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
        align_by_time=_truth("alignByTime", given.get("alignByTime", "false")),
        min_partitions=_number("minPartitions", given.get("minPartitions")) or 1,
        piece_records=_number("maxRecordsPerPartition", given.get("maxRecordsPerPartition")),
        fail_on_data_loss=_truth("failOnDataLoss", given.get("failOnDataLoss", "true")),
        include_headers=_truth("includeHeaders", given.get("includeHeaders", "false")),
        isolation=_isolation(given.get("isolation", "read_committed")),
        group=given.get("groupIdPrefix"),
        path=given.get("path"),
        queue=given.get("queue"),
        visibility_ms=_number("visibilityTimeout", given.get("visibilityTimeout")) or VISIBILITY_MS,
    )


def _check_kind(given: Mapping[str, str]) -> None:
    """A broker, a folder or a queue: not all options are for all of them."""
    if "path" in given and "bootstrap" in given:
        raise InvalidRequest("bootstrap and path given", hint="give one of them: a broker that runs, or a folder")
    if "path" in given and "groupIdPrefix" in given:
        raise InvalidRequest("groupIdPrefix and path given", hint="a folder has nobody to commit offsets to")
    if "queue" not in given:
        if "visibilityTimeout" in given:
            raise InvalidRequest("visibilityTimeout without queue", hint="it is for the option queue")
        return
    if not given["queue"]:
        raise InvalidRequest("queue = nothing", hint=f"queue is {NAMES['queue']}")
    others = sorted(set(given) - _OF_QUEUES)
    if others:
        raise InvalidRequest(
            f"{others[0]} is not an option of a queue", hint=f"there are {', '.join(sorted(_OF_QUEUES))}"
        )
    if given.get("startingOffsets", "earliest") not in ("earliest", "latest"):
        raise InvalidRequest(
            f"startingOffsets = {given['startingOffsets'][:80]}",
            hint="a new group of a queue begins at earliest or latest",
        )
    if (_number("maxOffsetsPerTrigger", given.get("maxOffsetsPerTrigger")) or 0) > LARGEST_QUEUE_BATCH:
        raise InvalidRequest(
            f"maxOffsetsPerTrigger = {given['maxOffsetsPerTrigger']}",
            hint=f"of a queue it is at most {LARGEST_QUEUE_BATCH}",
        )


def write_options(options: Mapping[str, str]) -> WriteOptions:
    given = _named(options, _WRITING, "writing", _PASSED_TO_SINKS)
    return WriteOptions(
        bootstrap=given.get("bootstrap", DEFAULT_BOOTSTRAP),
        topic=given.get("topic") or None,
        query_name=given.get("queryName"),
        part_timeout_ms=_number("partTimeout", given.get("partTimeout")) or PART_TIMEOUT_MS,
    )


def _named(options: Mapping[str, str], allowed: set[str], what: str, ignored: set[str]) -> dict[str, str]:
    """Spark hands over names in lower case."""
    if any(name.startswith(_PROPERTY_OF_TABLE) for name in options):
        raise InvalidRequest(
            "CREATE TABLE ... USING goqueue is not supported: Spark passes the options of a table to no reader",
            hint="use CREATE TEMPORARY VIEW ... USING goqueue OPTIONS (...)",
        )
    given = {}
    for name, value in options.items():
        if name.lower() in ignored:
            continue
        known = _KNOWN.get(name.lower())
        if known is None or known not in allowed:
            lines = "; ".join(f"{one}: {NAMES[one]}" for one in sorted(allowed))
            raise InvalidRequest(f"{name} is not an option for {what}", hint=f"there are {lines}")
        given[known] = str(value)
    return given


def _isolation(text: str) -> IsolationName:
    isolation: dict[str, IsolationName] = {name: name for name in get_args(IsolationName)}
    if text not in isolation:
        raise InvalidRequest(f"isolation = {text}", hint=f"it is {' or '.join(isolation)}")
    return isolation[text]


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
