"""Create, look at and remove topics and groups; look at delayed records and transactions and change them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Self, Unpack

import msgspec
from msgspec import UNSET

from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses
from goqueue.client.cancelling import Cancellation, cancel_requests, cancellation_of
from goqueue.client.link import Link
from goqueue.client.message import Message, RawBatch, open_batch
from goqueue.client.options import (
    AdminOptions,
    GroupPolicyOptions,
    NewScheduleOptions,
    ProducerOptions,
    ScheduleOptions,
)
from goqueue.client.part import PART_TIMEOUT_MS, Part
from goqueue.client.settings import checked_settings, settings_in_ms
from goqueue.client.times import duration_ms, instant_ns, ns_of, seconds_of
from goqueue.client.transaction_admin import TransactionAdmin
from goqueue.client.values import as_headers, as_key, as_value
from goqueue.errors import InvalidRequest, TopicExists
from goqueue.model.delay import due_ns
from goqueue.model.log import LogId
from goqueue.model.topic import Topic, TopicConfig, WantedConfig
from goqueue.wire.native import letters, messages, transactions
from goqueue.wire.native.frames import Opcode

__all__ = ["Admin"]

DECIDE_WITHIN_S = 60.0


class AdminSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long connecting may take."""

    connect_timeout_ms: int = 5000

    def __post_init__(self) -> None:
        if self.connect_timeout_ms < 1:
            raise InvalidRequest(f"connect_timeout_ms must be at least 1, got {self.connect_timeout_ms}")


class Admin(TransactionAdmin):
    """Creates, shows and changes topics, groups, schedules, delayed records, dead letters and transactions.

    Example:

        from goqueue.client import Admin

        async with Admin() as admin:
            await admin.create_topic("orders", partitions=3, if_not_exists=True)
            print([topic.name for topic in await admin.list_topics()])

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    def __init__(self, bootstrap: Addresses = DEFAULT_BOOTSTRAP, **settings: Unpack[AdminOptions]) -> None:
        self._link = Link(bootstrap, checked_settings(settings, AdminSettings).connect_timeout_ms / 1000)

    async def __aenter__(self) -> Self:
        await self._link.connection()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection.

        Example:

            from goqueue.client import Admin

            admin = Admin()
            print(len(await admin.list_topics()))
            await admin.close()
        """
        await self._link.close()

    # Topics.

    async def list_topics(self) -> tuple[Topic, ...]:
        """Each topic with its partitions and settings.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                for topic in await admin.list_topics():
                    print(topic.name, topic.partitions)
        """
        return (await self._link.ask(Opcode.METADATA, messages.Metadata(), messages.MetadataReply)).topics

    async def describe_topic(self, name: str) -> Topic:
        """The partitions and settings of a topic.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                topic = await admin.describe_topic("orders")
                print(topic.partitions, topic.config.max_attempts)
        """
        reply = await self._link.ask(Opcode.METADATA, messages.Metadata((name,)), messages.MetadataReply)
        return reply.topics[0]

    async def topic_sizes(self) -> dict[str, int]:
        """The bytes on disk of each topic; none from a broker that does not tell.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                print((await admin.topic_sizes())["orders"])
        """
        reply = await self._link.ask(Opcode.METADATA, messages.Metadata(sizes=True), messages.MetadataReply)
        return {topic.name: size for topic, size in zip(reply.topics, reply.sizes, strict=False)}

    async def create_topic(
        self, name: str, partitions: int = 3, config: TopicConfig | None = None, *, if_not_exists: bool = False
    ) -> Topic:
        """Create a topic. With `if_not_exists` one that exists already is returned as it is, and nothing changes.

        Example:

            from goqueue.client import Admin, TopicConfig

            async with Admin() as admin:
                await admin.create_topic("payments", 6, TopicConfig(retention_ms=86_400_000), if_not_exists=True)
        """
        request = messages.CreateTopic(name, partitions, WantedConfig.of(config or TopicConfig()))
        try:
            return (await self._link.ask(Opcode.CREATE_TOPIC, request, messages.TopicReply)).topic
        except TopicExists:
            if not if_not_exists:
                raise
            return await self.describe_topic(name)

    async def alter_topic(self, name: str, config: TopicConfig) -> Topic:
        """Replace the settings of a topic, all that this client knows of.

        Example:

            from goqueue.client import Admin, TopicConfig

            async with Admin() as admin:
                await admin.alter_topic("invoices", TopicConfig(max_attempts=5))
        """
        request = messages.AlterTopic(name, msgspec.to_builtins(config))
        return (await self._link.ask(Opcode.ALTER_TOPIC, request, messages.TopicReply)).topic

    async def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.create_topic("old-orders", if_not_exists=True)
                await admin.delete_topic("old-orders")
        """
        await self._link.ask(Opcode.DELETE_TOPIC, messages.DeleteTopic(name), messages.Done)

    async def offsets_at(
        self,
        partitions: Iterable[LogId],
        at: Literal["earliest", "latest"] | int | datetime,
        *,
        isolation: messages.IsolationName = "read_committed",
    ) -> dict[LogId, int]:
        """The earliest or latest offset of each, or the first whose record is not older than a time.

        The time is a `datetime`, or nanoseconds since 1970.

        Example:

            from datetime import UTC, datetime, timedelta

            from goqueue.client import Admin, LogId

            async with Admin() as admin:
                partitions = [LogId("orders", number) for number in range(3)]
                print(await admin.offsets_at(partitions, datetime.now(UTC) - timedelta(hours=1)))
        """
        place = ns_of("at", at) if isinstance(at, datetime) else at
        questions = tuple(messages.OffsetQuestion(log.topic, log.partition, place) for log in partitions)
        if not questions:
            return {}
        request = messages.ListOffsets(questions, isolation)
        reply = await self._link.ask(Opcode.LIST_OFFSETS, request, messages.Offsets)
        return {LogId(one.topic, one.partition): one.offset for one in reply.answers}

    # Groups.

    async def list_groups(self) -> tuple[messages.GroupSummary, ...]:
        """Each consumer group and queue group, with its state.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                for group in await admin.list_groups():
                    print(group.group, group.state)
        """
        return (await self._link.ask(Opcode.LIST_GROUPS, messages.ListGroups(), messages.GroupList)).groups

    async def describe_group(self, name: str) -> messages.GroupDescription:
        """The members of a group, and for each partition its reader, the committed offset and the lag.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                group = await admin.describe_group("reporting")
                print(group.state, len(group.members))
        """
        return await self._link.ask(Opcode.DESCRIBE_GROUP, messages.DescribeGroup(name), messages.GroupDescription)

    async def delete_group(self, name: str) -> None:
        """Forget a group and its offsets; it must have no members.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.delete_group("outdated")
        """
        await self._link.ask(Opcode.DELETE_GROUP, messages.DeleteGroup(name), messages.Done)

    async def pause_group(self, name: str) -> None:
        """Deliver nothing to the group's members until `resume_group`; they stay members.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.pause_group("reporting")
        """
        await self._link.ask(Opcode.PAUSE_GROUP, messages.PauseGroup(name, True), messages.Done)

    async def resume_group(self, name: str) -> None:
        """Deliver to a paused group again.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.resume_group("reporting")
        """
        await self._link.ask(Opcode.PAUSE_GROUP, messages.PauseGroup(name, False), messages.Done)

    async def committed_offsets(self, group: str, topics: Sequence[str] | None = None) -> dict[LogId, int]:
        """The offset at which the group goes on, for each partition where it has committed one.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                for partition, offset in (await admin.committed_offsets("reporting", ["orders"])).items():
                    print(partition, offset)
        """
        request = messages.FetchOffsets(group, None if topics is None else tuple(topics))
        reply = await self._link.ask(Opcode.FETCH_OFFSETS, request, messages.OffsetsReply)
        return {LogId(one.topic, one.partition): one.offset for one in reply.offsets}

    async def reset_offsets(
        self,
        group: str,
        to: Literal["earliest", "latest", "offset", "timestamp"],
        value: int | datetime | None = None,
        *,
        topics: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> tuple[messages.OffsetChange, ...]:
        """Set where the group goes on, in these topics or in all it has read; it must have no members.

        `value` is the offset, or the time as a `datetime` or in nanoseconds. With `dry_run` nothing changes.

        Example:

            from datetime import UTC, datetime, timedelta

            from goqueue.client import Admin

            async with Admin() as admin:
                yesterday = datetime.now(UTC) - timedelta(days=1)
                for change in await admin.reset_offsets("reporting", "timestamp", yesterday, dry_run=True):
                    print(change.topic, change.partition, change.before, change.after)
        """
        value = ns_of("value", value) if isinstance(value, datetime) else value
        request = messages.ResetOffsets(group, to, value, None if topics is None else tuple(topics), dry_run)
        return (await self._link.ask(Opcode.RESET_OFFSETS, request, messages.ResetReply)).changes

    # Parts of larger transactions.

    def part(self, key: str, *, timeout_ms: int = PART_TIMEOUT_MS, **settings: Unpack[ProducerOptions]) -> Part:
        """One of many writers whose records become visible together, by `decide`; the settings are a producer's.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                async with admin.part("async-export-1") as part:
                    await part.send("orders", json={"id": 5})
                    token = await part.prepare()
                await admin.decide("async-export-1", [token])
        """
        return Part(self._link.bootstrap, key, timeout_ms, settings)

    async def decide(self, key: str, tokens: Iterable[int]) -> transactions.PartsDecided:
        """Make the records of these prepared parts visible and abort all others under the key; repeating it is safe.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                async with admin.part("async-export-2") as part:
                    await part.send("orders", json={"id": 5})
                    token = await part.prepare()
                await admin.decide("async-export-2", [token])
        """
        request = transactions.DecideParts(key, tuple(tokens))
        return await self._link.ask_within(DECIDE_WITHIN_S, Opcode.DECIDE_PARTS, request, transactions.PartsDecided)

    # Dead letters.

    async def list_dead_letters(
        self,
        topic: str,
        select: letters.LetterSelect = letters.EVERY_LETTER,
        *,
        limit: int = 100,
        after: letters.Cursor | None = None,
    ) -> letters.FoundLetters:
        """A page of the dead letters of a topic, in the order in which they died; `next` is where to go on.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                found = await admin.list_dead_letters("orders", limit=10)
                for letter in found.letters:
                    print(letter.origin, letter.value)
        """
        request = letters.FindLetters(topic, select, limit, after)
        return await self._link.ask(Opcode.FIND_LETTERS, request, letters.FoundLetters)

    async def dead_letter_stats(self, topic: str) -> letters.LetterCounts:
        """The number of dead letters of a topic, by cause, reason and group.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                print(await admin.dead_letter_stats("orders"))
        """
        return await self._link.ask(Opcode.COUNT_LETTERS, letters.CountLetters(topic), letters.LetterCounts)

    async def redrive_dead_letters(
        self,
        topic: str,
        select: letters.LetterSelect,
        edit: letters.LetterEdit = letters.UNCHANGED,
        *,
        dry_run: bool = False,
        limit: int = 1000,
        per_second: float | None = None,
        after: letters.Cursor | None = None,
        ends: tuple[int, ...] | None = None,
    ) -> letters.RedriveReply:
        """Send up to `limit` dead letters back to their topics; for more, go on after `next`, with `ends`.

        Example:

            from goqueue.client import Admin, LetterSelect

            async with Admin() as admin:
                done = await admin.redrive_dead_letters("orders", LetterSelect(reason="the bank is closed"), limit=100)
                print(done.matched)
        """
        request = letters.RedriveLetters(topic, select, edit, dry_run, limit, per_second, after, ends)
        return await self._link.ask(Opcode.REDRIVE_LETTERS, request, letters.RedriveReply)

    async def purge_dead_letters(
        self,
        topic: str,
        select: letters.LetterSelect,
        *,
        dry_run: bool = False,
        limit: int = 1000,
        after: letters.Cursor | None = None,
        ends: tuple[int, ...] | None = None,
    ) -> letters.RedriveReply:
        """Delete up to `limit` dead letters, for good.

        Example:

            from goqueue.client import Admin, LetterSelect

            async with Admin() as admin:
                would = await admin.purge_dead_letters("orders", LetterSelect(group="billing"), dry_run=True)
                print(would.matched)
        """
        request = letters.PurgeLetters(topic, select, dry_run, limit, after, ends)
        return await self._link.ask(Opcode.PURGE_LETTERS, request, letters.RedriveReply)

    # Delayed records.

    async def list_delayed(self, topic: str, *, skip: int = 0, limit: int = 100) -> messages.DelayedList:
        """The pending records of a topic, the next one to be due first, and how many there are in all.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                found = await admin.list_delayed("orders", limit=10)
                for record in found.records:
                    print(record.partition, record.offset, record.deliver_at_ns)
        """
        return await self._link.ask(Opcode.LIST_DELAYED, messages.ListDelayed(topic, skip, limit), messages.DelayedList)

    async def describe_delayed(
        self, topic: str, partition: int, offset: int
    ) -> tuple[messages.DelayedRecord, Message | None]:
        """The state of a delayed record, and the record itself; None when it is gone from the log.

        Example:

            from datetime import timedelta

            from goqueue.client import Admin, Producer

            async with Producer() as producer, Admin() as admin:
                (sent,) = await producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                record, message = await admin.describe_delayed("orders", sent.partition, sent.offset)
                print(record.state, message)
        """
        request = messages.ListDelayed(topic, partition=partition, offset=offset)
        reply, tail = await self._link.request(Opcode.LIST_DELAYED, request, messages.DelayedList)
        opened = open_batch(RawBatch(topic, partition, memoryview(tail), 0)).messages if tail else []
        return reply.records[0], opened[0] if opened else None

    async def cancel_delayed(self, topic: str, partition: int, offset: int) -> messages.DelayedRecord:
        """Never deliver a pending record.

        Example:

            from datetime import timedelta

            from goqueue.client import Admin, Producer

            async with Producer() as producer, Admin() as admin:
                (sent,) = await producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                await admin.cancel_delayed("orders", sent.partition, sent.offset)
        """
        return await self._link.ask(
            Opcode.CHANGE_DELAY, messages.ChangeDelay(topic, partition, offset), messages.DelayedRecord
        )

    async def cancel_delayed_many(self, topic: str, places: Iterable[tuple[int, int]]) -> Cancellation:
        """Never deliver these records, by partition and offset. One that cannot be cancelled stops no other.

        Ten thousand go in a request. When one fails, those before it are done; all can be asked again.

        Example:

            from datetime import timedelta

            from goqueue.client import Admin, Producer

            async with Producer() as producer, Admin() as admin:
                (sent,) = await producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                cancellation = await admin.cancel_delayed_many("orders", [(sent.partition, sent.offset)])
                print(len(cancellation.cancelled))
        """
        requests = cancel_requests(topic, places)
        replies = [
            await self._link.ask(Opcode.CANCEL_DELAYED, request, messages.CancelDelayedReply) for request in requests
        ]
        return cancellation_of(replies)

    async def reschedule_delayed(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        delay: timedelta | None = None,
        delay_ms: int | None = None,
        deliver_at: datetime | None = None,
        deliver_at_ns: int | None = None,
    ) -> messages.DelayedRecord:
        """Deliver a pending record at another time: after a delay from now, or at an instant.

        Example:

            from datetime import timedelta

            from goqueue.client import Admin, Producer

            async with Producer() as producer, Admin() as admin:
                (sent,) = await producer.send_many("orders", json=[{"id": 5}], delay=timedelta(hours=1))
                await admin.reschedule_delayed("orders", sent.partition, sent.offset, delay=timedelta(minutes=1))
        """
        delay_ms = duration_ms("delay", delay, delay_ms)
        deliver_at_ns = instant_ns("deliver_at", deliver_at, deliver_at_ns)
        if delay_ms is None and deliver_at_ns is None:
            raise InvalidRequest("neither a delay nor an instant", hint="give delay or deliver_at")
        due = due_ns(delay_ms, deliver_at_ns, now_ns=time.time_ns())
        request = messages.ChangeDelay(topic, partition, offset, due)
        return await self._link.ask(Opcode.CHANGE_DELAY, request, messages.DelayedRecord)

    async def delay_stats(self) -> tuple[messages.TopicDelays, ...]:
        """How many records are pending, delivered and cancelled, in each topic that has such.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                for topic in await admin.delay_stats():
                    print(topic.topic, topic.pending)
        """
        return (await self._link.ask(Opcode.DELAY_STATS, messages.DelayStats(), messages.DelayStatsReply)).topics

    async def group_policy(self, group: str) -> messages.GroupPolicyReply:
        """The group's own settings for leases and retries; None where its topics decide.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                policy = await admin.group_policy("reporting")
                print(policy.max_attempts)
        """
        question = messages.GroupPolicyQuestion(group)
        return await self._link.ask(Opcode.GROUP_POLICY, question, messages.GroupPolicyReply)

    async def set_group_policy(self, group: str, **settings: Unpack[GroupPolicyOptions]) -> messages.GroupPolicyReply:
        """Give a group settings of its own, and leave the others to its topics.

        Example:

            from datetime import timedelta

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.set_group_policy("reporting", visibility_timeout=timedelta(minutes=5), max_attempts=10)
        """
        question = messages.GroupPolicyQuestion(group, settings_in_ms(settings, messages.GroupPolicyReply))
        return await self._link.ask(Opcode.GROUP_POLICY, question, messages.GroupPolicyReply)

    # Schedules.

    async def list_schedules(self) -> tuple[messages.Schedule, ...]:
        """Each schedule, without its firings.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                for schedule in await admin.list_schedules():
                    print(schedule.id, schedule.cron, schedule.next_due_ns)
        """
        return (await self._link.ask(Opcode.LIST_SCHEDULES, messages.ListSchedules(), messages.ScheduleReply)).schedules

    async def describe_schedule(self, schedule: str) -> messages.Schedule:
        """A schedule with its last firings.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                schedule = await admin.describe_schedule("hourly")
                print(schedule.status, schedule.history)
        """
        request = messages.ListSchedules(schedule)
        return (await self._link.ask(Opcode.LIST_SCHEDULES, request, messages.ScheduleReply)).schedules[0]

    async def create_schedule(
        self, schedule: str, topic: str, **settings: Unpack[NewScheduleOptions]
    ) -> messages.Schedule:
        """Publish a record again and again: `cron` or `every` says when, `value` or `json` and `key` say what.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.create_schedule("monthly", "orders", cron="0 7 * * *", zone="Europe/Berlin", json={"id": 7})
        """
        return await self._put_schedule({"id": schedule, "topic": topic, **settings}, is_new=True)

    async def alter_schedule(self, schedule: str, **settings: Unpack[ScheduleOptions]) -> messages.Schedule:
        """Change these settings and leave the others as they are; `paused` is one of them.

        Example:

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.alter_schedule("hourly", paused=True)
        """
        return await self._put_schedule({"id": schedule, **settings}, is_new=False)

    async def _put_schedule(self, settings: dict[str, Any], *, is_new: bool) -> messages.Schedule:
        request = messages.PutSchedule(_schedule_settings(settings), is_new)
        return (await self._link.ask(Opcode.PUT_SCHEDULE, request, messages.ScheduleReply)).schedules[0]

    async def delete_schedule(self, schedule: str) -> None:
        """Delete a schedule: it fires no more. What it has published stays.

        Example:

            from datetime import timedelta

            from goqueue.client import Admin

            async with Admin() as admin:
                await admin.create_schedule("weekly", "orders", every=timedelta(days=7), json={"report": "weekly"})
                await admin.delete_schedule("weekly")
        """
        await self._link.ask(Opcode.DELETE_SCHEDULE, messages.DeleteSchedule(schedule), messages.Done)

    # Names from before there was one rule for them.

    topics = list_topics
    topic = describe_topic
    dead_letters = list_dead_letters
    delayed = describe_delayed
    schedules = list_schedules
    schedule = describe_schedule
    change_schedule = alter_schedule


def _schedule_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """As the broker takes them: bytes, milliseconds, seconds and nanoseconds."""
    found = settings_in_ms(given, messages.Schedule)
    if "value" in found or "json" in found:
        found["value"] = as_value(found.get("value", UNSET), found.pop("json", UNSET))
    if "key" in found:
        found["key"] = as_key(found["key"])
    if "headers" in found:
        found["headers"] = as_headers(found["headers"])
    if (every := found.pop("every", None)) is not None:
        if found.get("every_s") is not None:
            raise InvalidRequest("every and every_s are both given", hint="give one of them")
        found["every_s"] = seconds_of("every", every)
    for name in ("start", "end"):
        if isinstance(found.get(name), datetime):
            found[name] = ns_of(name, found[name])
    return found
