"""What native requests about schedules do."""

from typing import Any

import msgspec

from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch
from goqueue.core.schedules.state import HistoryEntry, ScheduleState
from goqueue.engine import schedules
from goqueue.engine.broker import Broker
from goqueue.engine.slices import in_slices
from goqueue.errors import InvalidRequest
from goqueue.gateways.native.routes import Answer, Route
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["schedule_routes"]


def schedule_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    def answer(*states: ScheduleState) -> Answer:
        return messages.ScheduleReply(tuple(_shown(broker, state) for state in states)), []

    async def listing(request: messages.ListSchedules) -> Answer:
        if request.schedule is None:
            found = [_shown(broker, state) async for state in in_slices(list(broker.schedules))]
            return messages.ScheduleReply(tuple(found)), []
        return answer(broker.schedules.state(request.schedule))

    async def put(request: messages.PutSchedule) -> Answer:
        given = dict(request.settings)
        if request.is_new:
            return answer(await schedules.create_schedule(broker, _read(given, ScheduleConfig)))
        schedule_id = str(given.pop("id", ""))
        return answer(await schedules.change_schedule(broker, schedule_id, _read(given, SchedulePatch)))

    async def delete(request: messages.DeleteSchedule) -> Answer:
        await schedules.delete_schedule(broker, request.schedule)
        return messages.Done(), []

    return [
        Route(Opcode.LIST_SCHEDULES, messages.ListSchedules, listing),
        Route(Opcode.PUT_SCHEDULE, messages.PutSchedule, put),
        Route(Opcode.DELETE_SCHEDULE, messages.DeleteSchedule, delete),
    ]


def _read(settings: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(settings, kind, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        known = ", ".join(kind.__struct_fields__)
        raise InvalidRequest(f"settings are wrong: {error}", hint=f"there are {known}") from None


def _shown(broker: Broker, state: ScheduleState) -> messages.Schedule:
    settings = msgspec.to_builtins(state.config, builtin_types=(bytes,))
    return messages.Schedule(
        **settings,
        status=state.status.value,
        next_due_ns=broker.schedules.due_at(state.config.id),
        fired=state.fired,
        history=tuple(_firing(entry) for entry in reversed(state.history)),
    )


def _firing(entry: HistoryEntry) -> messages.ScheduleFiring:
    place = entry.place
    return messages.ScheduleFiring(
        entry.occurrence,
        entry.at,
        entry.outcome.value,
        entry.count,
        None if place is None else place.partition,
        None if place is None else place.offset,
        entry.reason,
    )
