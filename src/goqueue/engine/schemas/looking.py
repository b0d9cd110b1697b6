"""Queries of the schema registry, answered from durable state."""

from goqueue.core.schemas.registering import Known
from goqueue.core.schemas.registry import Registry
from goqueue.core.schemas.schema import Schema
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.deciding import decide
from goqueue.engine.schemas.parsing import readable
from goqueue.engine.stream_names import SCHEMAS

__all__ = ["find_schema", "incompatibilities", "settled_registry"]


async def settled_registry(broker: Broker) -> Registry:
    """The registry, once its changes are durable: an id that a power failure could take back is never shown."""
    await broker.state_log.settled(broker.state_log.owner(SCHEMAS))
    return broker.schemas


async def find_schema(
    broker: Broker, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
) -> Known:
    schema = await readable(broker, schema)
    return await decide(
        broker,
        lambda registering: registering.unparsed(subject, schema, normalize=normalize),
        lambda registering: registering.find(subject, schema, normalize=normalize, deleted=deleted),
    )


async def incompatibilities(
    broker: Broker, subject: str, schema: Schema, *, version: int | None = None, normalize: bool = False
) -> list[str]:
    """Why the schema could not be registered now; with a version, as if only that one came before it."""
    schema = await readable(broker, schema)
    return await decide(
        broker,
        lambda registering: registering.unparsed(
            subject, schema, version=version, normalize=normalize, also_known=True
        ),
        lambda registering: registering.incompatibilities(subject, schema, version=version, normalize=normalize),
    )
