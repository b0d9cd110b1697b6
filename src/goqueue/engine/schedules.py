"""Recurring schedules: operators create and change them; each due occurrence is published exactly once.

The record of an occurrence and the event that it has fired share one journal entry: both happen or neither.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET

from goqueue import codec
from goqueue.core.schedules.events import RecordPlace, ScheduleEvent, ScheduleSkipped
from goqueue.core.schedules.misfire import Firing
from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch, patched
from goqueue.core.schedules.schedules import Schedules
from goqueue.core.schedules.state import ScheduleState
from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.schemas.validation import check_record
from goqueue.engine.state_log import Also
from goqueue.engine.stream_names import SCHEDULES
from goqueue.errors import InvalidRecord, RecordTooLarge, UnknownTopic
from goqueue.model.ids import InstantNs
from goqueue.model.topic import TopicName, topic_name

__all__ = [
    "SCHEDULE_HEADER",
    "change_schedule",
    "create_schedule",
    "delete_schedule",
    "fire_due",
    "pause_schedule",
]

SCHEDULE_HEADER = "goqueue-schedule"
"""The schedule and the occurrence that a record belongs to."""


async def create_schedule(broker: Broker, config: ScheduleConfig) -> ScheduleState:
    await _check_record(broker, config)
    await _change(broker, lambda schedules, now: schedules.create(config, now=now))
    return broker.schedules.state(config.id)


async def change_schedule(broker: Broker, schedule_id: str, patch: SchedulePatch) -> ScheduleState:
    if isinstance(patch.topic, str) or patch.value is not UNSET:
        await _check_record(broker, patched(broker.schedules.state(schedule_id).config, patch))
    await _change(broker, lambda schedules, now: schedules.change(schedule_id, patch, now=now))
    return broker.schedules.state(schedule_id)


async def pause_schedule(broker: Broker, schedule_id: str, *, paused: bool) -> ScheduleState:
    def decide(schedules: Schedules, now: InstantNs) -> Sequence[ScheduleEvent]:
        return schedules.pause(schedule_id, now=now) if paused else schedules.resume(schedule_id, now=now)

    await _change(broker, decide)
    return broker.schedules.state(schedule_id)


async def delete_schedule(broker: Broker, schedule_id: str) -> None:
    await _change(broker, lambda schedules, now: schedules.delete(schedule_id, now=now))


async def _check_record(broker: Broker, config: ScheduleConfig) -> None:
    """Raise if the record could not be published now. It is checked again when it fires."""
    await check_record(broker, broker.catalog.topic(topic_name(config.topic)), config.record())


async def fire_due(broker: Broker, placement: Placement) -> int:
    """Publish the due occurrences, earliest first; returns their number."""
    count = 0
    while (due := broker.schedules.next_due()) is not None and due <= broker.clock.now_ns():
        decision = broker.schedules.decide_firings(now=broker.clock.now_ns())
        for skipped in decision.skips:
            await _change_if_next(broker, skipped, lambda _, skipped=skipped: skipped)  # type: ignore[misc]
        for firing in decision.firings:
            await _fire(broker, placement, firing)
        count += len(decision.firings)
        if not decision.firings and not decision.skips:
            break
    return count


async def _fire(broker: Broker, placement: Placement, firing: Firing) -> None:
    refusal = ""
    try:
        await check_record(broker, broker.catalog.topic(TopicName(firing.topic)), firing.record)
        await _publish(broker, placement, firing)
    except (UnknownTopic, InvalidRecord, RecordTooLarge) as error:
        refusal = error.message
    if refusal:
        # It would be refused each time and block all later occurrences.
        await _change_if_next(broker, firing, lambda now: broker.schedules.passed_over(firing, now=now, reason=refusal))


async def _publish(broker: Broker, placement: Placement, firing: Firing) -> None:
    topic = broker.catalog.topic(TopicName(firing.topic))
    places = placement.of(topic)
    number = places.by_turn() if firing.record.key is None else places.by_key(firing.record.key)
    partition = broker.partition(topic.name, number)
    headers = (*firing.record.headers, (SCHEDULE_HEADER, firing.identity.encode()))
    batch = bytearray(codec.encode((msgspec.structs.replace(firing.record, headers=headers),)))

    def fired(now: InstantNs) -> ScheduleEvent:
        return broker.schedules.fired(firing, now=now, place=RecordPlace(number, partition.next_offset))

    def append() -> Also:
        return Also(appends=(partition.stage(batch, max_value_bytes=topic.config.max_value_bytes),))

    await _change_if_next(broker, firing, fired, append)


async def _change_if_next(
    broker: Broker,
    decided: Firing | ScheduleSkipped,
    event: Callable[[InstantNs], ScheduleEvent],
    also: Callable[[], Also] | None = None,
) -> None:
    """Write the event, unless the schedule was changed since the decision; then the next round decides again."""

    def decide(schedules: Schedules, now: InstantNs) -> Sequence[ScheduleEvent]:
        return [event(now)] if schedules.is_next(decided) else []

    await _change(broker, decide, also)


async def _change(
    broker: Broker,
    decide: Callable[[Schedules, InstantNs], Sequence[ScheduleEvent]],
    also: Callable[[], Also] | None = None,
) -> None:
    owner = broker.state_log.owner(SCHEDULES)
    await broker.state_log.change(owner, lambda: decide(broker.schedules, broker.clock.now_ns()), also)
    if (due := broker.schedules.next_due()) is not None:
        broker.timers.set(due)
