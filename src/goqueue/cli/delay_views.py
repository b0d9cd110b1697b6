"""Delayed records as `goqueue delay` prints them."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from goqueue.cli.output import print_table
from goqueue.cli.times import instant_text
from goqueue.client import Cancellation, Message
from goqueue.gateways.http.forms.values import header_map, shown
from goqueue.wire.native.messages import DelayedList, DelayedRecord, TopicDelays

__all__ = [
    "cancelled_facts",
    "delayed_facts",
    "delayed_list",
    "print_cancelled",
    "print_delayed",
    "print_one",
    "print_stats",
    "records_text",
    "topic_delays",
]

Facts = dict[str, Any]


def delayed_list(found: DelayedList) -> Facts:
    return {"pending": found.pending, "records": [_line(one) for one in found.records]}


def delayed_facts(one: DelayedRecord, message: Message | None) -> Facts:
    facts = _line(one)
    if message is not None:
        facts |= {
            "timestamp": instant_text(message.timestamp_ns),
            "priority": message.priority,
            "key": None if message.key is None else _text(message.key),
            "value": None if message.value is None else _text(message.value),
            "headers": msgspec.to_builtins(header_map(message.headers)),
        }
    return facts


def cancelled_facts(ended: Cancellation) -> Facts:
    return {
        "cancelled": [{"partition": partition, "offset": offset} for partition, offset in ended.cancelled],
        "not_cancelled": [
            {"partition": partition, "offset": offset, "code": error.code, "error": error.message}
            for (partition, offset), error in sorted(ended.refused.items())
        ],
    }


def records_text(topic: str, places: Sequence[tuple[int, int]]) -> str:
    if len(places) == 1:
        partition, offset = places[0]
        return f"record {offset} of {topic}/{partition}"
    return f"{len(places):,} records of {topic}"


def topic_delays(topics: Iterable[TopicDelays]) -> list[Facts]:
    lines = []
    for one in topics:
        line = msgspec.structs.asdict(one)
        due = line.pop("next_due_ns")
        lines.append(line | {"next_due": None if due is None else instant_text(due)})
    return lines


def _line(one: DelayedRecord) -> Facts:
    facts = msgspec.structs.asdict(one)
    due = facts.pop("deliver_at_ns")
    return facts | {"deliver_at": None if due is None else instant_text(due)}


def _text(data: bytes) -> Any:
    return msgspec.to_builtins(shown(data, None)[0])


def print_delayed(topic: str, found: Facts) -> None:
    if not found["records"]:
        print(f"no record of {topic} is delayed")
        return
    columns = ("partition", "offset", "deliver_at")
    rows = [[line[name] for name in columns] for line in found["records"]]
    print_table(f"Delayed records of {topic}, {found['pending']:,} in all", columns, rows, numbers="partition,offset")


def print_one(facts: Facts) -> None:
    for name, value in facts.items():
        print(f"{name:10}  {'none' if value is None else value}")


def print_cancelled(topic: str, ended: Cancellation) -> None:
    """What was not cancelled goes where errors go."""
    if ended.cancelled:
        print(f"cancelled {records_text(topic, ended.cancelled)}")
    for place, error in sorted(ended.refused.items()):
        print(f"error: {records_text(topic, [place])}: {error.message}", file=sys.stderr)


def print_stats(lines: Sequence[Facts]) -> None:
    if not lines:
        print("no record is or was delayed; `goqueue produce TOPIC VALUE --delay 30s` delays one")
        return
    columns = ("topic", "pending", "delivered", "cancelled", "expired", "next_due")
    rows = [[line[name] for name in columns] for line in lines]
    print_table("Delays", columns, rows, numbers="pending,delivered,cancelled,expired")
