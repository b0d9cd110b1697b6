"""Commands of the schema registry: one at a time, decided, written, and answered once durable."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from goqueue.core.schemas.events import Registered, RegistryEvent
from goqueue.core.schemas.policies import Config, Mode
from goqueue.core.schemas.registering import Known
from goqueue.core.schemas.registry import Registry
from goqueue.core.schemas.schema import Schema
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.deciding import decide
from goqueue.engine.schemas.parsing import readable
from goqueue.engine.stream_names import SCHEMAS

__all__ = [
    "delete_subject",
    "delete_version",
    "register_schema",
    "remove_config",
    "remove_mode",
    "set_config",
    "set_mode",
]

Event = TypeVar("Event", bound=RegistryEvent)


async def register_schema(
    broker: Broker,
    subject: str,
    schema: Schema,
    *,
    normalize: bool = False,
    schema_id: int | None = None,
    version: int | None = None,
) -> Registered | Known:
    """Register a schema; returns it with its id and version, new or not, and durable in both cases."""
    schema = await readable(broker, schema)
    return await decide(
        broker,
        lambda registering: registering.unparsed(subject, schema, normalize=normalize),
        lambda registering: registering.register(
            subject, schema, normalize=normalize, schema_id=schema_id, version=version
        ),
    )


async def delete_subject(broker: Broker, subject: str, *, permanent: bool = False) -> tuple[int, ...]:
    """Delete a subject; returns the deleted versions."""
    (event,) = await _change(broker, lambda registry: [registry.delete_subject(subject, permanent=permanent)])
    return event.versions


async def delete_version(broker: Broker, subject: str, version: int, *, permanent: bool = False) -> int:
    """Delete a version; returns its number."""
    (event,) = await _change(broker, lambda registry: [registry.delete_version(subject, version, permanent=permanent)])
    return event.version


async def set_config(broker: Broker, subject: str | None, config: Config) -> None:
    """Set a configuration; `subject` is None for the global one, here and below."""
    await _change(broker, lambda registry: [registry.policies.set_config(subject, config)])


async def remove_config(broker: Broker, subject: str | None) -> Config:
    """Remove a configuration; returns the one before."""
    before = Config()

    def removing(registry: Registry) -> Sequence[RegistryEvent]:
        nonlocal before
        event = registry.policies.remove_config(subject)
        before = registry.policies.config(subject)
        return [event]

    await _change(broker, removing)
    return before


async def set_mode(broker: Broker, subject: str | None, mode: Mode, *, force: bool = False) -> None:
    await _change(broker, lambda registry: registry.set_mode(subject, mode, force=force))


async def remove_mode(broker: Broker, subject: str | None) -> Mode:
    """Remove a mode; returns the one before."""
    before = Mode.READWRITE

    def removing(registry: Registry) -> Sequence[RegistryEvent]:
        nonlocal before
        event = registry.policies.remove_mode(subject)
        before = registry.policies.mode(subject)
        return [event]

    await _change(broker, removing)
    return before


async def _change(broker: Broker, command: Callable[[Registry], Sequence[Event]]) -> Sequence[Event]:
    return await broker.state_log.change(broker.state_log.owner(SCHEMAS), lambda: command(broker.schemas))
