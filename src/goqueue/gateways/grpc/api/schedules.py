"""What calls about recurring schedules do."""

from typing import Any

from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch
from goqueue.core.schedules.state import HistoryEntry, ScheduleState
from goqueue.engine import schedules
from goqueue.engine.broker import Broker
from goqueue.engine.slices import in_slices
from goqueue.gateways.grpc.forms.asking import convert, given, without
from goqueue.gateways.grpc.forms.showing import headers_out, show
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.wire.grpc.v1 import schedules_pb2 as wire

__all__ = ["schedule_service"]

ID_BYTES = 6
CLEARABLE = frozenset({"key", "headers", "start_ns", "end_ns", "max_firings"})
"""Settings that may have no value."""


def schedule_service(broker: Broker) -> Service:
    async def create(request: wire.CreateScheduleRequest, _: Call) -> wire.CreateScheduleResponse:
        name = request.id if request.HasField("id") else broker.entropy.token_bytes(ID_BYTES).hex()
        config = convert({"topic": "", **_settings(request.settings), "id": name}, ScheduleConfig)
        made = await schedules.create_schedule(broker, config)
        return wire.CreateScheduleResponse(schedule=_shown(broker, made))

    async def listing(_: wire.ListSchedulesRequest, __: Call) -> wire.ListSchedulesResponse:
        found = [_shown(broker, state) async for state in in_slices(list(broker.schedules))]
        return wire.ListSchedulesResponse(schedules=found)

    async def one_schedule(request: wire.GetScheduleRequest, _: Call) -> wire.GetScheduleResponse:
        return wire.GetScheduleResponse(schedule=_shown(broker, broker.schedules.state(request.id)))

    async def update(request: wire.UpdateScheduleRequest, _: Call) -> wire.UpdateScheduleResponse:
        patch = convert(_settings(request.settings), SchedulePatch)
        changed = await schedules.change_schedule(broker, request.id, patch)
        return wire.UpdateScheduleResponse(schedule=_shown(broker, changed))

    async def pause(request: wire.PauseScheduleRequest, _: Call) -> wire.PauseScheduleResponse:
        changed = await schedules.pause_schedule(broker, request.id, paused=True)
        return wire.PauseScheduleResponse(schedule=_shown(broker, changed))

    async def resume(request: wire.ResumeScheduleRequest, _: Call) -> wire.ResumeScheduleResponse:
        changed = await schedules.pause_schedule(broker, request.id, paused=False)
        return wire.ResumeScheduleResponse(schedule=_shown(broker, changed))

    async def delete(request: wire.DeleteScheduleRequest, _: Call) -> wire.DeleteScheduleResponse:
        await schedules.delete_schedule(broker, request.id)
        return wire.DeleteScheduleResponse()

    methods: dict[str, Handler] = {
        "CreateSchedule": create,
        "ListSchedules": listing,
        "GetSchedule": one_schedule,
        "UpdateSchedule": update,
        "PauseSchedule": pause,
        "ResumeSchedule": resume,
        "DeleteSchedule": delete,
    }
    return Service(wire.DESCRIPTOR.services_by_name["ScheduleService"], methods)


def _settings(settings: wire.ScheduleSettings) -> dict[str, Any]:
    """By the names that the broker has for them."""
    found = without(given(settings), CLEARABLE)
    if "headers" in found:
        found["headers"] = [(one.name, one.value) for one in settings.headers]
    for name in ("start", "end"):
        if f"{name}_ns" in found:
            found[name] = found.pop(f"{name}_ns")
    return found


def _shown(broker: Broker, state: ScheduleState) -> wire.Schedule:
    config = state.config
    headers = headers_out(config.headers)
    return show(
        wire.Schedule,
        state,
        id=config.id,
        settings=show(
            wire.ScheduleSettings, config, headers=headers, start_ns=config.start, end_ns=config.end, cleared=()
        ),
        created_ns=state.created_at,
        changed_ns=state.changed_at,
        next_due_ns=broker.schedules.due_at(config.id),
        history=[_firing(entry) for entry in reversed(state.history)],
    )


def _firing(entry: HistoryEntry) -> wire.Firing:
    place = entry.place
    return show(
        wire.Firing,
        entry,
        occurrence_ns=entry.occurrence,
        at_ns=entry.at,
        partition=None if place is None else place.partition,
        offset=None if place is None else place.offset,
    )
