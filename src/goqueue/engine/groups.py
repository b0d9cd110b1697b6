"""Consumer groups: members join, heartbeat, commit and leave; operators describe, reset, pause and delete groups.

A request that changes nothing is answered without a write, so a heartbeat in a quiet group costs none.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

import msgspec

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.events import GroupEvent, OffsetsCommitted
from goqueue.core.groups.group import Group
from goqueue.core.groups.registry import GroupChange
from goqueue.core.groups.state.members import DEFAULT_SESSION_MS, Protocol
from goqueue.core.groups.views import Assignment
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import offset_at
from goqueue.engine.group_lag import GroupLags
from goqueue.engine.queue.positions import committed_offsets, follow_group, go_to
from goqueue.engine.slices import in_slices
from goqueue.engine.state_log import NOTHING_ELSE, Also
from goqueue.engine.stream_names import GROUPS, POLICIES
from goqueue.engine.tracing.delivering import committed_offset, note_committed
from goqueue.errors import InvalidRequest, OffsetOutOfRange, StateConflict, UnknownGroup
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName, topic_name

__all__ = [
    "HEARTBEAT_MS",
    "JoinRequest",
    "Lag",
    "OffsetChange",
    "OffsetReset",
    "check_offsets",
    "commit_offsets",
    "confirm_revoked",
    "delete_group",
    "expire_members",
    "group_name",
    "heartbeat",
    "join_group",
    "lag_of",
    "leave_group",
    "note_use",
    "pause_group",
    "refresh_groups",
    "remember_group",
    "reset_offsets",
]

HEARTBEAT_MS = 3000
MOST_GROUPS = 100_000
LONGEST_MEMBER_ID = 512
LONGEST_NAME = 200
"""The longest client id or instance id."""
MOST_TOPICS = 1000
NS_PER_MS = 1_000_000
INTERNAL_PREFIX = "__"


class JoinRequest(msgspec.Struct, frozen=True):
    """The wishes of a member; `member_id` is set when it joins again."""

    client_id: str
    topics: Sequence[str] = ()
    pattern: str | None = None
    protocol: Protocol = Protocol.COOPERATIVE
    assignor: Assignor | None = None
    session_ms: int = DEFAULT_SESSION_MS
    instance_id: str | None = None
    member_id: str | None = None


class Lag(msgspec.Struct, frozen=True):
    """Lag of a group in one partition; `committed` is None if the group never committed there."""

    partition: LogId
    committed: int | None
    end: int
    lag: int
    member_id: str | None
    delayed: int = 0
    """Records of a queue that are not due yet; the lag does not include them."""


class OffsetReset(msgspec.Struct, frozen=True):
    """The target of a reset: `earliest`, `latest`, an offset, or the first record not older than a time."""

    to: str | int
    is_time: bool = False
    topics: Sequence[str] | None = None
    dry_run: bool = False


class OffsetChange(msgspec.Struct, frozen=True):
    partition: LogId
    before: int | None
    after: int


# Requests of members.


async def join_group(broker: Broker, name: str, request: JoinRequest) -> Assignment:
    """Join the group, or join again."""
    if name not in broker.groups:
        _check_room(broker)
    client_id = request.client_id or "client"
    _check_wish(request)
    member_id = request.member_id or f"{client_id}-{broker.entropy.token_bytes(8).hex()}"
    await _change(
        broker,
        name,
        lambda group, now: group.join(
            member_id,
            client_id,
            topics=request.topics,
            pattern=request.pattern,
            protocol=request.protocol,
            assignor=request.assignor,
            session_ms=request.session_ms,
            instance_id=request.instance_id,
            available=_available(broker),
            now=now,
        ),
        is_new=True,
    )
    return broker.groups.group(name).assignment(member_id)


def _check_wish(request: JoinRequest) -> None:
    """Check lengths: names are kept for each member and written with each change of the group."""
    for what, text, most in (
        ("client id", request.client_id, LONGEST_NAME),
        ("instance id", request.instance_id, LONGEST_NAME),
        ("member id", request.member_id, LONGEST_MEMBER_ID),
    ):
        if text is not None and len(text) > most:
            raise InvalidRequest(
                f"the {what} must have at most {most} characters, got {len(text)}", hint="use a shorter one"
            )
    if len(request.topics) > MOST_TOPICS:
        raise InvalidRequest(
            f"topics must be at most {MOST_TOPICS}, got {len(request.topics)}",
            hint="name fewer topics, or give a pattern",
        )
    for topic in request.topics:
        topic_name(topic)


def _check_room(broker: Broker) -> None:
    if len(broker.groups) >= MOST_GROUPS:
        raise StateConflict(f"there are {MOST_GROUPS} groups already", hint="delete groups that are no longer used")


async def heartbeat(
    broker: Broker,
    name: str,
    member_id: str,
    generation: int,
    owned: Collection[LogId] | None,
    wait_ms: int = 0,
) -> Assignment:
    """Note that the member is alive and return its assignment. With `wait_ms`, wait for a change of it."""
    broker.group_news.end_wait(name, member_id)
    await _change(broker, name, lambda group, now: group.heartbeat(member_id, generation, owned=owned, now=now))
    group = broker.groups.group(name)
    assignment, was_paused = group.assignment(member_id), group.is_paused
    if wait_ms > 0 and not _is_news(assignment, generation, owned):
        unchanged = assignment
        deadline = broker.clock.now_ns() + min(wait_ms, HEARTBEAT_MS) * NS_PER_MS
        while assignment == unchanged and broker.groups.group(name).is_paused == was_paused:
            left_s = (deadline - broker.clock.now_ns()) / 1e9
            if left_s <= 0 or not await broker.group_news.wait(name, member_id, left_s):
                break
            await _change(broker, name, lambda group, now: group.tell(member_id, generation, now=now))
            assignment = broker.groups.group(name).assignment(member_id)
    # A recent change by another caller may not be durable yet.
    await broker.state_log.settled(broker.state_log.owner(GROUPS, name))
    return assignment


def _is_news(assignment: Assignment, generation: int, owned: Collection[LogId] | None) -> bool:
    has_changed = assignment.generation != generation or bool(assignment.revoking)
    return has_changed or (owned is not None and set(assignment.partitions) != set(owned))


async def confirm_revoked(
    broker: Broker, name: str, member_id: str, generation: int, partitions: Collection[LogId]
) -> Assignment:
    """Note that the member has stopped reading these partitions."""
    await _change(broker, name, lambda group, now: group.confirm_revoked(member_id, generation, partitions, now=now))
    return broker.groups.group(name).assignment(member_id)


async def leave_group(broker: Broker, name: str, member_id: str) -> None:
    await _change(broker, name, lambda group, now: group.leave(member_id, now=now))


async def commit_offsets(
    broker: Broker,
    name: str,
    offsets: Mapping[LogId, OffsetAndMetadata],
    member_id: str | None,
    generation: int | None,
) -> None:
    """Commit offsets; partitions and offsets that do not exist are refused."""
    check_offsets(broker, offsets)
    start_ns = broker.clock.now_ns()
    before = {log: committed_offset(broker, name, log) for log in offsets} if broker.tracing.is_on else {}
    await _change(
        broker,
        name,
        lambda group, now: group.commit(offsets, member_id=member_id, generation=generation, now=now),
        is_new=member_id is None,
    )
    broker.groups.group(name).use(now=broker.clock.now_ns())
    for log, offset in before.items():
        note_committed(broker, name, log, offset, offsets[log].offset, member=member_id or "", start_ns=start_ns)
    for log, wanted in offsets.items():
        await go_to(broker, name, log, wanted.offset)


def check_offsets(broker: Broker, offsets: Mapping[LogId, OffsetAndMetadata]) -> None:
    """Raise if a partition or an offset does not exist."""
    for log, wanted in offsets.items():
        partition = broker.partition(TopicName(log.topic), log.partition)
        if not 0 <= wanted.offset <= partition.high_watermark:
            raise OffsetOutOfRange(f"offset {wanted.offset} is outside 0 to {partition.high_watermark} of {log}")


async def remember_group(broker: Broker, name: str) -> None:
    """Create a group without members, for workers that only poll."""
    if name not in broker.groups:
        _check_room(broker)
        await _change(broker, name, lambda _, now: [OffsetsCommitted(now, ())], is_new=True)


# Requests of operators.


async def reset_offsets(broker: Broker, name: str, reset: OffsetReset) -> list[OffsetChange]:
    """Set the committed offsets of the group; with `dry_run`, only return the changes."""
    group = broker.groups.group_or_new(group_name(name))
    before = committed_offsets(broker, name)
    topics = reset.topics if reset.topics is not None else sorted({log.topic for log in before})
    wanted: dict[LogId, OffsetAndMetadata] = {}
    for topic in topics:
        for partition in broker.partitions(TopicName(topic)):
            wanted[partition.id] = OffsetAndMetadata(await _target(broker, partition.id, reset))
    changes = [OffsetChange(log, before.get(log), to.offset) for log, to in wanted.items()]
    if reset.dry_run:
        group.reset(wanted, now=broker.clock.now_ns())
    else:
        await _change(broker, name, lambda found, now: found.reset(wanted, now=now), is_new=True)
        for log, to in wanted.items():
            await go_to(broker, name, log, to.offset)
    return changes


async def _target(broker: Broker, log: LogId, reset: OffsetReset) -> int:
    name = TopicName(log.topic)
    partition = broker.partition(name, log.partition)
    if isinstance(reset.to, str) or reset.is_time:
        return await offset_at(broker, name, log.partition, reset.to)
    return min(max(reset.to, partition.log.start_offset), partition.high_watermark)


async def pause_group(broker: Broker, name: str, *, paused: bool, reason: str = "") -> None:
    """Pause or resume the group. `reason` is given when the broker itself pauses it."""

    def decide(group: Group, now: InstantNs) -> list[GroupEvent]:
        return group.pause(reason=reason, now=now) if paused else group.resume(now=now)

    await _change(broker, name, decide)


async def delete_group(
    broker: Broker, name: str, *, only_if: Callable[[Group, InstantNs], bool] = lambda _, __: True
) -> None:
    """Delete the group and its queue state in one entry, so that a later group of this name starts empty."""

    def decide(group: Group, now: InstantNs) -> list[GroupEvent]:
        return group.delete(now=now) if only_if(group, now) else []

    def end_queues() -> Also:
        states = broker.queues.of_group(name)
        policies = broker.state_log.owner(POLICIES)
        forgotten = [(policies, event) for event in broker.policies.forget(name)]

        def forget() -> None:
            broker.queues.remove(states)
            broker.breakers.forget(name)

        return Also(tuple(broker.queues.end(states)), forgotten, written=forget)

    await _change(broker, name, decide, also=end_queues)


def lag_of(broker: Broker, group: Group) -> list[Lag]:
    """The lag in every partition that the group reads, by topic and number."""
    owners = group.owners
    found: list[Lag] = []
    for one in GroupLags(broker).of(group):
        for part in one.parts:
            lag, delayed = one.of(part)
            found.append(Lag(part.log, one.committed(part), part.end, lag, owners.get(part.log), delayed))
    return found


# Changes caused by time and by topics.


async def note_use(broker: Broker, name: str, *, after_ns: int) -> None:
    """Write down when the group was last used, if that is `after_ns` later than the time written before."""
    await _change(broker, name, lambda group, _: group.note_use(after_ns=after_ns))


async def expire_members(broker: Broker) -> None:
    """Remove members whose session has expired."""
    now = broker.clock.now_ns()
    members = broker.groups.with_members()
    due = [group.name for group in members if (deadline := group.next_deadline()) is not None and deadline <= now]
    for name in due:
        with suppress(UnknownGroup):
            await _change(broker, name, lambda group, at: group.expire(now=at))


async def refresh_groups(broker: Broker) -> None:
    """Topics were created or deleted: reassign the groups that read them."""
    available = _available(broker)
    async for name in in_slices([group.name for group in broker.groups]):
        # It may be deleted while this waits for the write of another one.
        with suppress(UnknownGroup):
            await _change(broker, name, lambda group, now: group.refresh(available, now=now))


def _available(broker: Broker) -> dict[str, int]:
    return {topic.name: topic.partitions for topic in broker.catalog}


async def _change(
    broker: Broker,
    name: str,
    decide: Callable[[Group, InstantNs], list[GroupEvent]],
    *,
    is_new: bool = False,
    also: Callable[[], Also] = lambda: NOTHING_ELSE,
) -> None:
    events: list[GroupEvent] = []

    def change() -> list[GroupChange]:
        nonlocal events
        group = broker.groups.group_or_new(group_name(name)) if is_new else broker.groups.group(name)
        events = decide(group, broker.clock.now_ns())
        return [GroupChange(name, tuple(events))] if events else []

    def tell_members() -> Also:
        given = also()

        def written() -> None:
            given.written()
            broker.group_news.happened(name, events)

        return given._replace(written=written)

    if await broker.state_log.change(broker.state_log.owner(GROUPS, name), change, tell_members):
        await follow_group(broker, name, events)


def group_name(name: str) -> str:
    """Check a group name by the rule for topics. Names that begin with two underscores are reserved for the broker."""
    if name.startswith(INTERNAL_PREFIX):
        raise InvalidRequest(
            f"{name[:60]} is a name for internal groups", hint="choose one that does not begin with __"
        )
    try:
        return topic_name(name)
    except InvalidRequest as error:
        raise InvalidRequest(f"{name[:60]!r} is not a group name", hint=error.hint) from None
