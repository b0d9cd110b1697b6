"""Messages of the gRPC API as what the behaviour suite speaks of, and the other way round."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc

from goqueue import codec
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig
from goqueue.wire.grpc.v1 import delays_pb2, errors_pb2, places_pb2, queue_pb2, records_pb2, topics_pb2
from tests.behaviour.path import DelayFacts, Got, Lent, Out, Refused, TopicFacts

__all__ = [
    "changed",
    "check_all",
    "check_item",
    "delay_facts",
    "got",
    "lent_of",
    "logs",
    "offsets_of",
    "partitions_of",
    "record_out",
    "refusals",
    "settings_in",
    "settled",
    "topic_facts",
]

CHOICES = {"durability", "cleanup", "expired", "lane_mode", "schema_validation"}
"""Settings of topics of which there are only so many."""


@contextmanager
def refusals() -> Iterator[None]:
    """Errors of calls, and values that no message can hold, are the broker's or the client's way to say no."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        code = dict(error.trailing_metadata() or ()).get("goqueue-code")
        if code is None:
            # Nothing that the broker has said: it is gone, or has failed.
            raise
        raise Refused(str(code), error.details() or "") from None
    except (ValueError, TypeError) as error:
        raise Refused("invalid_request", str(error)) from None


def check_item(answer: Any) -> None:
    """Raises what an answer says of one item."""
    error: errors_pb2.ErrorDetail = answer.error
    if answer.HasField("error"):
        raise Refused(error.code, error.message)


def check_all(answer: Any) -> None:
    for one in answer.results:
        check_item(one)


def settings_in(config: dict[str, Any]) -> topics_pb2.TopicSettings:
    values = {name: value for name, value in config.items() if value is not None}
    for name in CHOICES & values.keys():
        values[name] = f"{name}_{values[name].replace(',', '_')}".upper()
    return topics_pb2.TopicSettings(**values, cleared=[name for name, value in config.items() if value is None])


def topic_facts(topic: topics_pb2.Topic) -> TopicFacts:
    settings = topic.settings
    config: dict[str, Any] = {}
    for name in TopicConfig.__struct_fields__:
        field = settings.DESCRIPTOR.fields_by_name[name]
        value = getattr(settings, name)
        if name in CHOICES:
            text = field.enum_type.values_by_number[value].name.removeprefix(f"{name.upper()}_").lower()
            config[name] = text.replace("compact_delete", "compact,delete")
        elif name == "lane_weights":
            config[name] = list(value)
        else:
            config[name] = value if settings.HasField(name) else None
    ranges = tuple((one.range_start, one.range_stop) for one in topic.partitions)
    return TopicFacts(topic.name, len(topic.partitions), topic.epoch, ranges, config, topic.created_ns)


def record_out(given: Out) -> records_pb2.Record:
    fields = given._asdict() | {
        "headers": [records_pb2.Header(name=name, value=value) for name, value in given.headers]
    }
    try:
        return records_pb2.Record(**fields)
    except (ValueError, TypeError) as error:
        raise Refused("invalid_record", str(error)) from None


def got(record: records_pb2.StoredRecord) -> Got:
    return Got(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp_ns,
        record.key if record.HasField("key") else None,
        record.value if record.HasField("value") else None,
        tuple((header.name, header.value) for header in record.headers),
        record.priority,
    )


def lent_of(group: str, lease: queue_pb2.Lease) -> Iterator[Lent]:
    again = {one.offset: (one.deliveries, one.failures) for one in lease.redelivered}
    for r in codec.decode(lease.records):
        place = (lease.topic, lease.partition, r.offset, r.timestamp_ns)
        receipt = queue_pb2.LeasedRecords(
            topic=lease.topic,
            partition=lease.partition,
            grant=lease.grant,
            token=lease.token,
            runs=[places_pb2.OffsetRun(first=r.offset, count=1)],
        )
        record = Got(*place, r.key, r.value, r.headers, r.priority)
        yield Lent(record, *again.get(r.offset, (1, 0)), (group, receipt))


def settled(lent: Sequence[Lent]) -> queue_pb2.Settled:
    """Those of one lease together."""
    (group,) = {one.receipt[0] for one in lent}
    leases: dict[tuple[Any, ...], queue_pb2.LeasedRecords] = {}
    for _, one in (one.receipt for one in lent):
        key = (one.topic, one.partition, one.grant, one.token)
        leases.setdefault(key, changed(one, runs=())).runs.extend(one.runs)
    return queue_pb2.Settled(group=group, leases=leases.values())


def changed(lease: queue_pb2.LeasedRecords, **changes: Any) -> queue_pb2.LeasedRecords:
    other = queue_pb2.LeasedRecords()
    other.CopyFrom(lease)
    offset, runs = changes.pop("offset", None), changes.pop("runs", None)
    if offset is not None:
        other.runs[0].first = offset
    if runs is not None:
        del other.runs[:]
    for name, value in changes.items():
        setattr(other, name, value)
    return other


def delay_facts(found: delays_pb2.Delay) -> DelayFacts:
    state = delays_pb2.DelayState.Name(found.state).removeprefix("DELAY_STATE_").lower()
    due_ns = found.deliver_at_ns if found.HasField("deliver_at_ns") else None
    return DelayFacts(found.partition, found.offset, state, due_ns)


def logs(partitions: Sequence[places_pb2.TopicPartition]) -> frozenset[LogId]:
    return frozenset(LogId(one.topic, one.partition) for one in partitions)


def partitions_of(logs: frozenset[LogId]) -> list[places_pb2.TopicPartition]:
    return [places_pb2.TopicPartition(topic=log.topic, partition=log.partition) for log in sorted(logs)]


def offsets_of(found: Sequence[places_pb2.PartitionOffset]) -> dict[LogId, int]:
    return {LogId(one.topic, one.partition): one.offset for one in found}
