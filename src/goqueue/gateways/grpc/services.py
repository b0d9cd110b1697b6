"""Which services there are."""

from collections.abc import Callable

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.engine.placement import Placement
from goqueue.gateways.grpc.api.admin import admin_service
from goqueue.gateways.grpc.api.dead_letters import dead_letter_service
from goqueue.gateways.grpc.api.delays import delay_service
from goqueue.gateways.grpc.api.groups import group_service
from goqueue.gateways.grpc.api.offsets import offset_service
from goqueue.gateways.grpc.api.queue import queue_service
from goqueue.gateways.grpc.api.schedules import schedule_service
from goqueue.gateways.grpc.api.schemas import schema_service
from goqueue.gateways.grpc.api.topics import topic_service
from goqueue.gateways.grpc.api.traces import trace_service
from goqueue.gateways.grpc.api.transactions import transaction_service
from goqueue.gateways.grpc.consume.service import consume_service
from goqueue.gateways.grpc.held import HeldMembers
from goqueue.gateways.grpc.limits import GrpcSettings
from goqueue.gateways.grpc.publish.service import publish_service
from goqueue.gateways.grpc.service import Service

__all__ = ["services"]


def services(
    broker: Broker, maintenance: Maintenance, settings: GrpcSettings, report_bug: Callable[[BaseException], None]
) -> tuple[Service, ...]:
    """All of them, but for health and reflection, which come with the listener."""
    placement, held = Placement(), HeldMembers()
    return (
        publish_service(broker, placement, settings.publishes_per_stream, report_bug),
        consume_service(broker, held),
        queue_service(broker),
        group_service(broker, held),
        offset_service(broker, held),
        transaction_service(broker),
        topic_service(broker, maintenance),
        dead_letter_service(broker),
        delay_service(broker),
        schedule_service(broker),
        schema_service(broker),
        trace_service(broker),
        admin_service(broker),
    )
