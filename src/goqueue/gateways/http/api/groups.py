"""Consumer groups: join, say alive, poll, commit, leave; and what operators ask."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET

from goqueue import codec
from goqueue.core.delivery.delivery import Attempts
from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.views import Assignment, GroupView
from goqueue.engine import group_views, groups
from goqueue.engine.broker import Broker
from goqueue.engine.browse import as_given
from goqueue.engine.expiry import expires_at
from goqueue.engine.fetch import LONGEST_WAIT_MS
from goqueue.engine.poll import Poll, poll, reach
from goqueue.engine.queue import settle
from goqueue.engine.queue.policies import set_policy
from goqueue.engine.queue.positions import committed_offsets
from goqueue.engine.queue.receipts import Receipt
from goqueue.engine.queue.take import Taken
from goqueue.engine.workers import WorkerClient, WorkerView
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.http.api.group_shapes import (
    CooperativeJoinBody,
    Done,
    GroupList,
    GroupOut,
    GroupParams,
    GroupSummary,
    HeartbeatBody,
    JoinBody,
    Joined,
    LagOut,
    MemberBody,
    MemberOut,
    MemberQuery,
    OffsetChange,
    Offsets,
    OffsetsBody,
    Partitions,
    Polled,
    PolledMessage,
    PollQuery,
    RebalanceList,
    RebalanceOut,
    ResetBody,
    ResetDone,
    RevokeBody,
    Told,
    WorkerOut,
)
from goqueue.gateways.http.api.reading import message_of
from goqueue.gateways.http.endpoint import Endpoint, Handler, Nothing, keep
from goqueue.gateways.http.forms.times import duration_ms, instant_ns, instant_text
from goqueue.gateways.http.forms.values import Form
from goqueue.gateways.http.lists import json_list, json_stream
from goqueue.model.log import LogId

__all__ = ["ENDPOINTS", "partition_number"]

TAG = "Groups"
FIRST_ATTEMPT = Attempts(1, 0)


# What members ask.


async def join(broker: Broker, params: GroupParams, _: Nothing, body: JoinBody) -> Joined:
    request = groups.JoinRequest(
        body.client_id,
        body.topics,
        body.pattern,
        body.protocol,
        body.assignor,
        duration_ms(body.session, "session"),
        body.instance_id,
        body.member_id,
    )
    assignment = await groups.join_group(broker, params.group, request)
    view = broker.groups.group(params.group).describe()
    return Joined(
        assignment.member_id,
        assignment.generation,
        view.leader_id,
        _by_topic(assignment.partitions),
        [member.profile.member_id for member in view.members],
        groups.HEARTBEAT_MS,
    )


async def join_cooperative(broker: Broker, params: GroupParams, query: Nothing, body: CooperativeJoinBody) -> Joined:
    return await join(broker, params, query, msgspec.convert(msgspec.structs.asdict(body), JoinBody))


async def heartbeat(broker: Broker, params: GroupParams, _: Nothing, body: HeartbeatBody) -> Told:
    owned = None if body.owned is None else _logs(body.owned)
    assignment = await groups.heartbeat(broker, params.group, body.member_id, body.generation, owned, body.wait_ms)
    return _told(broker, params, assignment)


async def revoke(broker: Broker, params: GroupParams, _: Nothing, body: RevokeBody) -> Told:
    gone = _logs(body.partitions)
    return _told(
        broker, params, await groups.confirm_revoked(broker, params.group, body.member_id, body.generation, gone)
    )


async def leave(broker: Broker, params: GroupParams, _: Nothing, body: MemberBody) -> Done:
    await groups.leave_group(broker, params.group, body.member_id)
    return Done()


async def assignment_of(broker: Broker, params: GroupParams, query: MemberQuery, _: None) -> Told:
    return _told(broker, params, broker.groups.group(params.group).assignment(query.member_id))


def _told(broker: Broker, params: GroupParams, assignment: Assignment) -> Told:
    return Told(
        assignment.member_id,
        assignment.generation,
        assignment.state.value,
        _by_topic(assignment.partitions),
        _by_topic(assignment.revoking),
        broker.groups.group(params.group).is_paused,
    )


async def commit(broker: Broker, params: GroupParams, _: Nothing, body: OffsetsBody) -> Offsets:
    wanted = {
        LogId(topic, partition_number(partition)): OffsetAndMetadata(offset)
        for topic, by_partition in body.offsets.items()
        for partition, offset in by_partition.items()
    }
    await groups.commit_offsets(broker, params.group, wanted, body.member_id, body.generation)
    return await committed(broker, params, Nothing(), None)


async def committed(broker: Broker, params: GroupParams, _: Nothing, __: None) -> Offsets:
    found: dict[str, dict[str, int]] = {}
    if groups.group_name(params.group) in broker.groups:
        for log, offset in sorted(committed_offsets(broker, params.group).items()):
            found.setdefault(log.topic, {})[str(log.partition)] = offset
    return Offsets(params.group, found)


# What operators ask.


async def reset(broker: Broker, params: GroupParams, _: Nothing, body: ResetBody) -> ResetDone:
    target: str | int = body.to
    if body.to == "offset":
        assert body.offset is not None
        target = body.offset
    if body.to == "timestamp":
        assert body.timestamp is not None
        target = instant_ns(body.timestamp, "timestamp")
    wanted = groups.OffsetReset(target, body.to == "timestamp", body.topics, body.dry_run)
    changes = await groups.reset_offsets(broker, params.group, wanted)
    return ResetDone(
        body.dry_run,
        [OffsetChange(one.partition.topic, one.partition.partition, one.before, one.after) for one in changes],
    )


async def listing(broker: Broker, _: Nothing, __: Nothing, ___: None) -> msgspec.Raw:
    return await json_stream("groups", (_summary(one) async for one in group_views.group_summaries(broker)))


async def describe(broker: Broker, params: GroupParams, _: Nothing, __: None) -> GroupOut:
    group = broker.groups.group(params.group)
    view = group.describe()
    lags = groups.lag_of(broker, group)
    workers = broker.workers.count(group)
    return GroupOut(
        view.name,
        group_views.shown_state(group, workers).value,
        view.protocol.value if view.protocol else None,
        view.assignor.value if view.assignor else None,
        view.generation,
        view.is_paused,
        view.pause_reason or None,
        view.leader_id,
        [
            MemberOut(
                member.profile.member_id,
                member.profile.client_id,
                member.profile.instance_id,
                member.epoch,
                _by_topic(member.partitions),
                _by_topic(member.revoking),
            )
            for member in view.members
        ],
        sum(one.lag for one in lags),
        [
            LagOut(
                one.partition.topic,
                one.partition.partition,
                one.committed,
                one.end,
                one.lag,
                one.member_id,
                one.delayed,
            )
            for one in lags
        ],
        None if (at := expires_at(broker, group)) is None else instant_text(at),
        sum(one.delayed for one in lags),
        [_worker(one) for one in broker.workers.of(group, group_views.MOST_WORKERS_SHOWN)],
        workers,
    )


def _worker(one: WorkerView) -> WorkerOut:
    since = None if one.since is None else instant_text(one.since)
    return WorkerOut(one.consumer, one.protocol or None, one.address or None, since, one.in_flight)


async def delete(broker: Broker, params: GroupParams, _: Nothing, __: None) -> Done:
    await groups.delete_group(broker, params.group)
    return Done()


async def policy_of(broker: Broker, params: GroupParams, _: Nothing, __: None) -> GroupPolicy:
    return broker.policies.of(broker.groups.group(params.group).name)


async def put_policy(broker: Broker, params: GroupParams, _: Nothing, body: GroupPolicy) -> GroupPolicy:
    return await set_policy(broker, params.group, body)


async def pause(broker: Broker, params: GroupParams, _: Nothing, __: None) -> Done:
    await groups.pause_group(broker, params.group, paused=True)
    return Done()


async def resume(broker: Broker, params: GroupParams, _: Nothing, __: None) -> Done:
    await groups.pause_group(broker, params.group, paused=False)
    return Done()


async def rebalances(broker: Broker, _: Nothing, __: Nothing, ___: None) -> msgspec.Raw:
    def shown(name: str) -> RebalanceOut | None:
        return _rebalance(broker.groups.group(name).describe()) if name in broker.groups else None

    return await json_list("groups", sorted(group.name for group in broker.groups), shown)


async def rebalance(broker: Broker, params: GroupParams, _: Nothing, __: None) -> RebalanceOut:
    return _rebalance(broker.groups.group(params.group).describe())


def _rebalance(view: GroupView) -> RebalanceOut:
    stats = view.stats
    return RebalanceOut(
        view.name,
        stats.count,
        stats.last_reason.value if stats.last_reason else None,
        stats.last_duration_ms,
        stats.last_moved,
        stats.total_moved,
        list(view.awaited),
    )


def _summary(one: group_views.GroupSummary) -> GroupSummary:
    protocol = one.protocol.value if one.protocol else None
    return GroupSummary(one.name, one.state.value, protocol, one.members, one.lag, one.delayed, one.workers)


def _by_topic(logs: tuple[LogId, ...]) -> Partitions:
    found: Partitions = {}
    for log in logs:
        found.setdefault(log.topic, []).append(log.partition)
    return found


def _logs(partitions: Partitions) -> set[LogId]:
    return {LogId(topic, number) for topic, numbers in partitions.items() for number in numbers}


def partition_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5):
        raise InvalidRequest(f"{text[:60]!r} is not a partition number", hint='write partitions as "0", "1", …')
    return int(text)


async def poll_group(
    broker: Broker, params: GroupParams, query: PollQuery, _: None, client: WorkerClient | None
) -> Polled:
    wait_ms = duration_ms(query.timeout, "timeout")
    if wait_ms > LONGEST_WAIT_MS:
        raise InvalidRequest(f"timeout must be at most {LONGEST_WAIT_MS // 1000}s, got {query.timeout[:60]}")
    consumer = query.consumer if query.member_id is UNSET else query.member_id
    wanted = Poll(
        params.group,
        consumer,
        None if query.generation is UNSET else query.generation,
        [name for name in query.topics.split(",") if name],
        query.limit,
        wait_ms=wait_ms,
        visibility_ms=None if query.visibility is UNSET else duration_ms(query.visibility, "visibility"),
        in_key_order=query.order == "key",
        start=query.from_,
        client=client,
    )
    taken = await poll(broker, wanted)
    form = None if query.format is UNSET else query.format
    after: dict[str, dict[str, int]] = {}
    for log, offset in reach(broker, params.group, consumer, [part.log for part in taken]).items():
        after.setdefault(log.topic, {})[str(log.partition)] = offset
    messages = [message for part in taken for message in _polled(params.group, part, form)]
    if query.order != "key":
        # They come in the order of the log; within what was taken, the most urgent are first.
        messages.sort(key=lambda message: message.priority)
    return Polled(messages, after)


async def take_back(broker: Broker, answer: Polled) -> None:
    """The client went away before it had the answer: its records are for others."""
    leases: dict[tuple[str, LogId, int, str], list[int]] = {}
    for message in answer.messages:
        receipt = Receipt.parse(message.receipt_handle)
        leases.setdefault((receipt.group, receipt.log, receipt.grant, receipt.token), []).append(receipt.offset)
    for key, offsets in leases.items():
        # What cannot be given back comes back when its time is up.
        with suppress(GoQueueError):
            await settle.give_back(broker, settle.Lease(*key, offsets))


def _polled(group: str, part: Taken, form: Form | None) -> Iterator[PolledMessage]:
    until = instant_text(part.deadline)
    for record in codec.decode(part.records):
        attempts = part.attempts.get(record.offset, FIRST_ATTEMPT)
        receipt = Receipt(part.log, record.offset, attempts.deliveries, group, part.grant, part.token)
        yield PolledMessage(
            topic=part.log.topic,
            delivery_count=attempts.deliveries,
            failure_count=attempts.failures,
            receipt_handle=str(receipt),
            visible_until=until,
            **msgspec.structs.asdict(message_of(as_given(part.log.partition, record), form)),
        )


def _one(
    method: str,
    path: str,
    summary: str,
    handler: Handler,
    response: type,
    *,
    query: type = Nothing,
    body: type | None = None,
    changes: bool = False,
    waits: bool = False,
    of_worker: bool = False,
    take_back: Callable[[Broker, Any], Awaitable[None]] = keep,
) -> Endpoint:
    takes_group = "{group}" in path
    return Endpoint(
        method=method,
        path=path,
        tag=TAG,
        summary=summary,
        handler=handler,
        params=GroupParams if takes_group else Nothing,
        query=query,
        body=body,
        response=response,
        errors=(404, 409) if takes_group else (),
        changes=changes,
        waits=waits,
        of_worker=of_worker,
        take_back=take_back,
    )


_AT = "/groups/{group}"
ENDPOINTS = (
    _one(
        "GET",
        f"{_AT}/poll",
        "Records for a member, waiting for some",
        poll_group,
        Polled,
        query=PollQuery,
        changes=True,
        waits=True,
        of_worker=True,
        take_back=take_back,
    ),
    _one("POST", f"{_AT}/join", "Become a member of a group", join, Joined, body=JoinBody),
    _one("POST", f"{_AT}/heartbeat", "Say that a member is alive", heartbeat, Told, body=HeartbeatBody, waits=True),
    _one("POST", f"{_AT}/leave", "Leave a group", leave, Done, body=MemberBody),
    _one(
        "POST",
        f"{_AT}/join/cooperative",
        "Become a member of a cooperative group",
        join_cooperative,
        Joined,
        body=CooperativeJoinBody,
    ),
    _one(
        "POST",
        f"{_AT}/heartbeat/cooperative",
        "Say that a member is alive",
        heartbeat,
        Told,
        body=HeartbeatBody,
        waits=True,
    ),
    _one("POST", f"{_AT}/leave/cooperative", "Leave a group", leave, Done, body=MemberBody),
    _one("POST", f"{_AT}/revoke", "Confirm that partitions are given up", revoke, Told, body=RevokeBody),
    _one("GET", f"{_AT}/assignment", "What a member is to read", assignment_of, Told, query=MemberQuery),
    _one("GET", f"{_AT}/offsets", "Where a group goes on reading", committed, Offsets),
    _one("POST", f"{_AT}/offsets", "Commit offsets", commit, Offsets, body=OffsetsBody),
    _one("POST", f"{_AT}/offsets/reset", "Set where a group goes on", reset, ResetDone, body=ResetBody),
    _one("GET", f"{_AT}/policy", "What the group wants otherwise than its topics", policy_of, GroupPolicy),
    _one("PUT", f"{_AT}/policy", "Set leases and retries for the group", put_policy, GroupPolicy, body=GroupPolicy),
    _one("POST", f"{_AT}/pause", "Deliver nothing to the group for now", pause, Done),
    _one("POST", f"{_AT}/resume", "Deliver to the group again", resume, Done),
    _one("GET", f"{_AT}/rebalance/stats", "How often and why a group was rebalanced", rebalance, RebalanceOut),
    _one("GET", f"{_AT}/cooperative", "A group with members, partitions and lag", describe, GroupOut),
    _one("GET", _AT, "A group with members, partitions and lag", describe, GroupOut),
    _one("DELETE", _AT, "Forget a group that has no members", delete, Done),
    _one("GET", "/groups", "All groups", listing, GroupList),
    _one("GET", "/rebalance/stats", "Rebalances of all groups", rebalances, RebalanceList),
)
