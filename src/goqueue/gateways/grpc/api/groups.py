"""What calls about consumer groups do: those of members, and those of operators."""

from collections.abc import Iterable

from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.core.groups.views import Assignment, GroupView, MemberView
from goqueue.engine import groups
from goqueue.engine.broker import Broker
from goqueue.engine.expiry import expires_at
from goqueue.engine.group_views import MOST_WORKERS_SHOWN, group_summaries, shown_state
from goqueue.engine.queue.policies import set_policy
from goqueue.gateways.grpc.forms.asking import optional, read
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.held import HeldMembers
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.log import LogId
from goqueue.wire.grpc.v1 import groups_pb2 as wire
from goqueue.wire.grpc.v1 import places_pb2

__all__ = ["group_service"]


def group_service(broker: Broker, held: HeldMembers) -> Service:
    members, operators = _Members(broker, held), _Operators(broker)
    methods: dict[str, Handler] = {
        "JoinGroup": members.join,
        "Heartbeat": members.heartbeat,
        "RevokePartitions": members.revoke,
        "LeaveGroup": members.leave,
        "GetAssignment": members.assignment,
        "ListGroups": operators.listing,
        "GetGroup": operators.describe,
        "DeleteGroup": operators.delete,
        "PauseGroup": operators.pause,
        "ResumeGroup": operators.resume,
        "GetGroupPolicy": operators.policy,
        "SetGroupPolicy": operators.put_policy,
        "ListRebalances": operators.rebalances,
    }
    return Service(wire.DESCRIPTOR.services_by_name["GroupService"], methods, frozenset({"Heartbeat"}))


class _Members:
    def __init__(self, broker: Broker, held: HeldMembers) -> None:
        self._broker = broker
        self._held = held

    async def join(self, request: wire.JoinGroupRequest, _: Call) -> wire.JoinGroupResponse:
        wanted = read(request, groups.JoinRequest, client_id=request.client_id)
        assignment = await groups.join_group(self._broker, request.group, wanted)
        view = self._broker.groups.group(request.group).describe()
        return wire.JoinGroupResponse(
            member_id=assignment.member_id,
            generation=assignment.generation,
            leader_id=view.leader_id or "",
            partitions=_partitions(assignment.partitions),
            members=[member.profile.member_id for member in view.members],
            heartbeat_ms=groups.HEARTBEAT_MS,
            paused=view.is_paused,
        )

    async def heartbeat(self, request: wire.HeartbeatRequest, _: Call) -> wire.HeartbeatResponse:
        owned = _logs(request.owned.partitions) if request.HasField("owned") else None
        who = (request.member_id, request.generation)
        assignment = await groups.heartbeat(self._broker, request.group, *who, owned, request.wait_ms)
        return wire.HeartbeatResponse(assignment=self._told(request.group, assignment))

    async def revoke(self, request: wire.RevokePartitionsRequest, _: Call) -> wire.RevokePartitionsResponse:
        generation = self._held.generation(request.group, request.member_id, request.generation)
        who = (request.member_id, request.generation if generation is None else generation)
        assignment = await groups.confirm_revoked(self._broker, request.group, *who, _logs(request.partitions))
        return wire.RevokePartitionsResponse(assignment=self._told(request.group, assignment))

    async def leave(self, request: wire.LeaveGroupRequest, _: Call) -> wire.LeaveGroupResponse:
        await groups.leave_group(self._broker, request.group, request.member_id)
        return wire.LeaveGroupResponse()

    async def assignment(self, request: wire.GetAssignmentRequest, _: Call) -> wire.GetAssignmentResponse:
        found = self._broker.groups.group(request.group).assignment(request.member_id)
        return wire.GetAssignmentResponse(assignment=self._told(request.group, found))

    def _told(self, name: str, assignment: Assignment) -> wire.Assignment:
        paused = self._broker.groups.group(name).is_paused
        return show(wire.Assignment, assignment, revoke=assignment.revoking, paused=paused)


class _Operators:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def listing(self, _: wire.ListGroupsRequest, __: Call) -> wire.ListGroupsResponse:
        some = [show(wire.GroupSummary, one, group=one.name) async for one in group_summaries(self._broker)]
        return wire.ListGroupsResponse(groups=some)

    async def describe(self, request: wire.GetGroupRequest, _: Call) -> wire.GetGroupResponse:
        group = self._broker.groups.group(request.group)
        view = group.describe()
        lags = groups.lag_of(self._broker, group)
        workers = self._broker.workers.count(group)
        found = show(
            wire.Group,
            view,
            group=view.name,
            state=shown_state(group, workers),
            paused=view.is_paused,
            members=[show(wire.GroupMember, one.profile, **_member(one)) for one in view.members],
            lag=sum(one.lag for one in lags),
            partitions=[show(wire.PartitionLag, one, **one.partition._asdict()) for one in lags],
            expires_at_ns=expires_at(self._broker, group),
            delayed=sum(one.delayed for one in lags),
            workers=[
                show(wire.GroupWorker, one, since_ns=one.since)
                for one in self._broker.workers.of(group, MOST_WORKERS_SHOWN)
            ],
            worker_count=workers,
        )
        return wire.GetGroupResponse(group=found)

    async def delete(self, request: wire.DeleteGroupRequest, _: Call) -> wire.DeleteGroupResponse:
        await groups.delete_group(self._broker, request.group)
        return wire.DeleteGroupResponse()

    async def pause(self, request: wire.PauseGroupRequest, _: Call) -> wire.PauseGroupResponse:
        await groups.pause_group(self._broker, request.group, paused=True)
        return wire.PauseGroupResponse()

    async def resume(self, request: wire.ResumeGroupRequest, _: Call) -> wire.ResumeGroupResponse:
        await groups.pause_group(self._broker, request.group, paused=False)
        return wire.ResumeGroupResponse()

    async def policy(self, request: wire.GetGroupPolicyRequest, _: Call) -> wire.GetGroupPolicyResponse:
        found = self._broker.policies.of(self._broker.groups.group(request.group).name)
        return wire.GetGroupPolicyResponse(policy=show(wire.GroupPolicy, found))

    async def put_policy(self, request: wire.SetGroupPolicyRequest, _: Call) -> wire.SetGroupPolicyResponse:
        found = await set_policy(self._broker, request.group, read(request.policy, GroupPolicy))
        return wire.SetGroupPolicyResponse(policy=show(wire.GroupPolicy, found))

    async def rebalances(self, request: wire.ListRebalancesRequest, _: Call) -> wire.ListRebalancesResponse:
        name = optional(request, "group")
        some = (
            sorted(self._broker.groups, key=lambda one: one.name) if name is None else [self._broker.groups.group(name)]
        )
        return wire.ListRebalancesResponse(groups=[_rebalances(group.describe()) for group in some])


def _member(view: MemberView) -> dict[str, object]:
    return {"generation": view.epoch, "partitions": view.partitions, "revoking": view.revoking}


def _rebalances(view: GroupView) -> wire.Rebalances:
    return show(wire.Rebalances, view.stats, group=view.name, awaited=view.awaited)


def _logs(partitions: Iterable[places_pb2.TopicPartition]) -> set[LogId]:
    return {LogId(one.topic, one.partition) for one in partitions}


def _partitions(logs: Iterable[LogId]) -> list[places_pb2.TopicPartition]:
    return [places_pb2.TopicPartition(topic=log.topic, partition=log.partition) for log in logs]
