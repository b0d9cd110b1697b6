"""Kinds of state: the streams of a broker, the types of their events and snapshots, and their machines."""

from collections.abc import Callable, Mapping
from typing import Any

from goqueue.core.catalog.events import CatalogEvent
from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import DelayEvent, Fired, KeptDelays
from goqueue.core.delivery.events import DeliveryEvent, KeptDelivery
from goqueue.core.delivery.group_policies import KeptPolicy, PolicySet
from goqueue.core.groups.registry import GroupChange
from goqueue.core.groups.state.snapshot import GroupSnapshot
from goqueue.core.ids.events import IdEvent, KnownIds
from goqueue.core.priority.lane_index import LaneIndex, LaneKept, LanesMarked
from goqueue.core.producers.identities import IdentityGiven, KnownIdentities
from goqueue.core.producers.window import BatchWritten, ProducerEvent, ProducerWindow
from goqueue.core.schedules.events import ScheduleEvent
from goqueue.core.schedules.state import ScheduleState
from goqueue.core.schemas.events import RegistryEvent
from goqueue.core.schemas.registry import RegistrySnapshot
from goqueue.core.transactions.events import (
    Began,
    CoordinatorEvent,
    Ended,
    Joined,
    KeptCoordinator,
    OffsetsAdded,
    Pledged,
)
from goqueue.core.transactions.outcomes import KeptOutcomes, OutcomeEvent, Outcomes
from goqueue.engine.partition import delays_stream, lanes_stream, outcomes_stream, producers_stream
from goqueue.engine.queue.receipts import ReceiptKeyGiven
from goqueue.engine.queue.states import DELIVERIES
from goqueue.engine.remembered_ids import IDS
from goqueue.engine.stream_names import (
    CATALOG,
    COORDINATOR,
    GROUPS,
    POLICIES,
    PRODUCER_IDS,
    RECEIPTS,
    SCHEDULES,
    SCHEMAS,
)
from goqueue.engine.streams import Kind, Machine
from goqueue.model.topic import Topic

__all__ = ["broker_kinds"]


def broker_kinds(single: Mapping[str, Machine], make_delivery: Callable[[str], Machine]) -> tuple[Kind, ...]:
    """The kinds of a broker's streams. `single` has, by name, the machine of each stream of which there is only one."""
    one = single.__getitem__
    return (
        Kind(CATALOG, CatalogEvent, tuple[Topic, ...], one, is_frozen=True),
        Kind(PRODUCER_IDS, IdentityGiven, KnownIdentities, one),
        Kind(producers_stream(), ProducerEvent, tuple[BatchWritten, ...], lambda _: ProducerWindow(), is_frozen=True),
        Kind(IDS, IdEvent, KnownIds, one),
        Kind(lanes_stream(), LanesMarked, tuple[LaneKept, ...], lambda _: LaneIndex()),
        Kind(delays_stream(), DelayEvent, KeptDelays, lambda _: Delays(), needs_sync=_is_not_fired),
        Kind(outcomes_stream(), OutcomeEvent, KeptOutcomes, lambda _: Outcomes()),
        Kind(DELIVERIES, DeliveryEvent, KeptDelivery, make_delivery, is_bundled=True),
        Kind(SCHEMAS, RegistryEvent, RegistrySnapshot, one),
        Kind(POLICIES, PolicySet, tuple[KeptPolicy, ...], one),
        Kind(RECEIPTS, ReceiptKeyGiven, ReceiptKeyGiven, one),
        Kind(GROUPS, GroupChange, tuple[GroupSnapshot, ...], one, part_of=lambda change: change.group),
        Kind(SCHEDULES, ScheduleEvent, tuple[ScheduleState, ...], one, is_frozen=True),
        Kind(COORDINATOR, CoordinatorEvent, KeptCoordinator, one, is_frozen=True, needs_sync=_outlives_power_cuts),
    )


def _is_not_fired(event: Any) -> bool:
    """A power failure may take back that a record fired: it is due at the next start, and fires again."""
    return not isinstance(event, Fired)


def _outlives_power_cuts(event: Any) -> bool:
    """Transactions that are open when the broker stops are aborted in any case."""
    if isinstance(event, Ended):
        return event.committed
    return not isinstance(event, Began | Joined | OffsetsAdded | Pledged)
