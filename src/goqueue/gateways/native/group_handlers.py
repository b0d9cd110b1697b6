"""What native requests about consumer groups do."""

from collections.abc import Iterable
from typing import Any

import msgspec

from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.groups.state.members import Protocol
from goqueue.core.groups.views import Assignment
from goqueue.engine import groups
from goqueue.engine.broker import Broker
from goqueue.engine.expiry import expires_at
from goqueue.engine.group_views import MOST_WORKERS_SHOWN, GroupSummary, group_summaries, shown_state
from goqueue.engine.queue.policies import set_policy
from goqueue.engine.queue.positions import committed_offsets
from goqueue.errors import InvalidRequest
from goqueue.gateways.native.routes import Answer, Route
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["group_routes"]


def group_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    async def join(request: messages.JoinGroup) -> Answer:
        assignment = await groups.join_group(
            broker,
            request.group,
            groups.JoinRequest(
                request.client_id,
                request.topics,
                request.pattern,
                Protocol(request.protocol),
                Assignor(request.assignor) if request.assignor is not None else None,
                request.session_ms,
                request.instance_id,
                request.member_id,
            ),
        )
        reply = messages.Joined(
            assignment.member_id,
            assignment.generation,
            _partitions(assignment.partitions),
            groups.HEARTBEAT_MS,
            broker.groups.group(request.group).is_paused,
        )
        return reply, []

    async def heartbeat(request: messages.Heartbeat) -> Answer:
        owned = None if request.owned is None else {LogId(one.topic, one.partition) for one in request.owned}
        assignment = await groups.heartbeat(
            broker, request.group, request.member_id, request.generation, owned, request.wait_ms
        )
        return _assigned(broker, request.group, assignment), []

    async def leave(request: messages.LeaveGroup) -> Answer:
        await groups.leave_group(broker, request.group, request.member_id)
        return messages.Done(), []

    async def commit(request: messages.CommitOffsets) -> Answer:
        offsets = {
            LogId(one.topic, one.partition): OffsetAndMetadata(one.offset, one.metadata) for one in request.offsets
        }
        await groups.commit_offsets(broker, request.group, offsets, request.member_id, request.generation)
        return messages.Done(), []

    async def committed(request: messages.FetchOffsets) -> Answer:
        kept = broker.groups.group_or_new(request.group).offsets
        found = [
            messages.PartitionOffset(log.topic, log.partition, offset, kept[log].metadata if log in kept else "")
            for log, offset in sorted(committed_offsets(broker, request.group).items())
            if request.topics is None or log.topic in request.topics
        ]
        return messages.OffsetsReply(tuple(found)), []

    async def reset(request: messages.ResetOffsets) -> Answer:
        needs_value = request.to in ("offset", "timestamp")
        if needs_value and request.value is None:
            raise InvalidRequest(f"a reset to {request.to} needs a value")
        target = request.value if needs_value and request.value is not None else request.to
        wanted = groups.OffsetReset(target, request.to == "timestamp", request.topics, request.dry_run)
        changes = await groups.reset_offsets(broker, request.group, wanted)
        reply = messages.ResetReply(
            tuple(
                messages.OffsetChange(one.partition.topic, one.partition.partition, one.before, one.after)
                for one in changes
            ),
            request.dry_run,
        )
        return reply, []

    async def listing(_: messages.ListGroups) -> Answer:
        found = [_summary(one) async for one in group_summaries(broker)]
        return messages.GroupList(tuple(found)), []

    async def describe(request: messages.DescribeGroup) -> Answer:
        return _description(broker, request.group), []

    async def delete(request: messages.DeleteGroup) -> Answer:
        await groups.delete_group(broker, request.group)
        return messages.Done(), []

    async def pause(request: messages.PauseGroup) -> Answer:
        await groups.pause_group(broker, request.group, paused=request.paused)
        return messages.Done(), []

    async def policy(request: messages.GroupPolicyQuestion) -> Answer:
        if request.settings is None:
            found = broker.policies.of(broker.groups.group(request.group).name)
        else:
            found = await set_policy(broker, request.group, _policy(request.settings))
        return messages.GroupPolicyReply(**msgspec.structs.asdict(found)), []

    return [
        Route(Opcode.GROUP_POLICY, messages.GroupPolicyQuestion, policy),
        Route(Opcode.JOIN_GROUP, messages.JoinGroup, join),
        Route(Opcode.HEARTBEAT, messages.Heartbeat, heartbeat),
        Route(Opcode.LEAVE_GROUP, messages.LeaveGroup, leave),
        Route(Opcode.COMMIT_OFFSETS, messages.CommitOffsets, commit),
        Route(Opcode.FETCH_OFFSETS, messages.FetchOffsets, committed),
        Route(Opcode.RESET_OFFSETS, messages.ResetOffsets, reset),
        Route(Opcode.LIST_GROUPS, messages.ListGroups, listing),
        Route(Opcode.DESCRIBE_GROUP, messages.DescribeGroup, describe),
        Route(Opcode.DELETE_GROUP, messages.DeleteGroup, delete),
        Route(Opcode.PAUSE_GROUP, messages.PauseGroup, pause),
    ]


def _policy(settings: dict[str, Any]) -> GroupPolicy:
    try:
        return msgspec.convert(settings, GroupPolicy)
    except msgspec.ValidationError as error:
        known = ", ".join(GroupPolicy.__struct_fields__)
        raise InvalidRequest(f"settings are wrong: {error}", hint=f"there are {known}") from None


def _partitions(logs: Iterable[LogId]) -> tuple[messages.TopicPartition, ...]:
    return tuple(messages.TopicPartition(log.topic, log.partition) for log in logs)


def _assigned(broker: Broker, name: str, assignment: Assignment) -> messages.Assigned:
    return messages.Assigned(
        assignment.generation,
        _partitions(assignment.partitions),
        _partitions(assignment.revoking),
        broker.groups.group(name).is_paused,
    )


def _summary(one: GroupSummary) -> messages.GroupSummary:
    return messages.GroupSummary(
        one.name, one.state.value, _value(one.protocol), one.members, one.lag, one.delayed, one.workers
    )


def _description(broker: Broker, name: str) -> messages.GroupDescription:
    group = broker.groups.group(name)
    view = group.describe()
    workers = broker.workers.count(group)
    return messages.GroupDescription(
        name,
        shown_state(group, workers).value,
        _value(view.protocol),
        _value(view.assignor),
        view.generation,
        view.is_paused,
        tuple(
            messages.MemberDescription(
                member.profile.member_id,
                member.profile.client_id,
                member.profile.instance_id,
                _partitions(member.partitions),
            )
            for member in view.members
        ),
        tuple(
            messages.PartitionLag(
                one.partition.topic,
                one.partition.partition,
                one.committed,
                one.end,
                one.lag,
                one.member_id,
                one.delayed,
            )
            for one in groups.lag_of(broker, group)
        ),
        view.pause_reason,
        expires_at(broker, group),
        tuple(
            messages.WorkerDescription(one.consumer, one.protocol, one.address, one.since, one.in_flight)
            for one in broker.workers.of(group, MOST_WORKERS_SHOWN)
        ),
        workers,
    )


def _value(choice: Protocol | Assignor | None) -> str:
    return choice.value if choice is not None else ""
