"""Edits of redriven dead letters: the original record, with optional changes."""

from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER, DeadLetter
from goqueue.engine.schemas.validation import check_record
from goqueue.engine.workbench.desk import Desk
from goqueue.errors import InvalidRequest, RecordTooLarge, UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.record import Flag, Record
from goqueue.model.topic import Topic, TopicName

__all__ = ["REDRIVEN_HEADER", "Edit", "EditedLetter", "Mending"]

REDRIVEN_HEADER = "goqueue-redriven-from"
"""Topic, partition and offset of the dead letter."""

_OWN_HEADERS = (DEAD_LETTER_HEADER, REDRIVEN_HEADER)


class Edit(msgspec.Struct, frozen=True):
    """Changes to the record; UNSET leaves a field as it was."""

    value: bytes | UnsetType | None = UNSET
    key: bytes | UnsetType | None = UNSET
    headers: tuple[tuple[str, bytes], ...] | UnsetType = UNSET
    """All headers of the record."""
    marks: tuple[tuple[str, bytes], ...] = ()
    """Headers added unless the record has headers of these names."""
    topic: TopicName | None = None
    """The target, instead of the original topic."""


class EditedLetter(NamedTuple):
    """The encoded record to append, and its partition."""

    target: LogId
    record: bytes


class Mending:
    """Applies one edit to letters of one topic."""

    def __init__(self, desk: Desk, edit: Edit) -> None:
        if edit.topic == desk.name:
            raise InvalidRequest(
                f"{desk.name} already holds these dead letters",
                hint="choose another topic, or none for their original topic",
            )
        if edit.topic is not None:
            desk.broker.catalog.topic(edit.topic)
        self._desk = desk
        self._edit = edit
        self._placement = Placement()

    async def mend(self, source: LogId, record: Record, origin: DeadLetter | None) -> EditedLetter:
        """`record` is the letter as stored in the log."""
        topic = self._topic(self._desk.broker, origin)
        mended = self._changed(source, record)
        size, limit = len(mended.value or b""), topic.config.max_value_bytes
        if size > limit:
            raise RecordTooLarge(f"a value of {size} bytes, the limit of {topic.name} is {limit}")
        await check_record(self._desk.broker, topic, mended)
        return EditedLetter(LogId(topic.name, self._partition(topic, mended, origin)), codec.encode((mended,)))

    def _topic(self, broker: Broker, origin: DeadLetter | None) -> Topic:
        if self._edit.topic is not None:
            return broker.catalog.topic(self._edit.topic)
        if origin is None:
            raise InvalidRequest("the original topic of the record is unknown", hint="name the topic to send it to")
        try:
            return broker.catalog.topic(TopicName(origin.topic))
        except UnknownTopic as error:
            error.hint = "create the topic again, or name another topic to send it to"
            raise

    def _changed(self, source: LogId, record: Record) -> Record:
        edit = self._edit
        headers = record.headers if edit.headers is UNSET else edit.headers
        kept = tuple(one for one in headers if one[0] not in _OWN_HEADERS)
        names = {name.lower() for name, _ in kept}
        kept += tuple(mark for mark in edit.marks if mark[0] not in names)
        place = f"{source}/{record.offset}".encode()
        is_new = edit.value is not UNSET
        return Record(
            value=record.value if edit.value is UNSET else edit.value,
            key=record.key if edit.key is UNSET else edit.key,
            headers=(*kept, (REDRIVEN_HEADER, place)),
            priority=record.priority,
            flags=record.flags & Flag.COMPRESSED if not is_new else 0,
        )

    def _partition(self, topic: Topic, record: Record, origin: DeadLetter | None) -> int:
        """The original partition if it still exists and the key is unchanged; otherwise that of the key."""
        is_home = origin is not None and topic.name == origin.topic
        if origin is not None and is_home and self._edit.key is UNSET and origin.partition < topic.partitions:
            return origin.partition
        places = self._placement.of(topic)
        if record.key is not None:
            return places.by_key(record.key)
        return origin.partition % topic.partitions if origin is not None else places.by_turn()
