"""State machines that many brokers never need: each is loaded when its stream is first spoken of."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from goqueue.engine.ports import CompileProto
from goqueue.engine.schemas.formats import schema_formats
from goqueue.engine.streams import Kind, Machine

if TYPE_CHECKING:
    from goqueue.core.schemas.registry import Registry

__all__ = ["COORDINATOR", "GROUPS", "RARE_KINDS", "SCHEDULES", "SCHEMAS", "schema_kind"]

GROUPS = "groups"
SCHEDULES = "schedules"
SCHEMAS = "schemas"
COORDINATOR = "coordinator"


def _groups(_: str) -> Machine:
    from goqueue.core.groups.registry import Groups

    return Groups()


def _group_types() -> tuple[Any, Any]:
    from goqueue.core.groups.registry import GroupChange
    from goqueue.core.groups.state.snapshot import GroupSnapshot

    return GroupChange, tuple[GroupSnapshot, ...]


def _schedules(_: str) -> Machine:
    from goqueue.core.schedules.schedules import Schedules

    return Schedules()


def _schedule_types() -> tuple[Any, Any]:
    from goqueue.core.schedules.events import ScheduleEvent
    from goqueue.core.schedules.state import ScheduleState

    return ScheduleEvent, tuple[ScheduleState, ...]


def schema_kind(compile_proto: CompileProto, made: Callable[["Registry"], None]) -> Kind:
    """`made` is told of the registry when there is one."""

    def make(_: str) -> Machine:
        from goqueue.core.schemas.registry import Registry

        registry = Registry(schema_formats(compile_proto))
        made(registry)
        return registry

    return Kind(SCHEMAS, _schema_types, make)


def _schema_types() -> tuple[Any, Any]:
    from goqueue.core.schemas.events import RegistryEvent
    from goqueue.core.schemas.registry import RegistrySnapshot

    return RegistryEvent, RegistrySnapshot


def _coordinator(_: str) -> Machine:
    from goqueue.core.transactions.coordinator import Coordinator

    return Coordinator()


def _coordinator_types() -> tuple[Any, Any]:
    from goqueue.core.transactions.events import CoordinatorEvent, KeptCoordinator

    return CoordinatorEvent, KeptCoordinator


def _outlives_power_cuts(event: Any) -> bool:
    """Transactions that are open when the broker stops are aborted in any case."""
    from goqueue.core.transactions.events import Began, Ended, Joined, OffsetsAdded, Pledged

    if isinstance(event, Ended):
        return event.committed
    return not isinstance(event, Began | Joined | OffsetsAdded | Pledged)


RARE_KINDS = (
    Kind(GROUPS, _group_types, _groups, part_of=lambda change: change.group),
    Kind(SCHEDULES, _schedule_types, _schedules, is_frozen=True),
    Kind(COORDINATOR, _coordinator_types, _coordinator, is_frozen=True, needs_sync=_outlives_power_cuts),
)
