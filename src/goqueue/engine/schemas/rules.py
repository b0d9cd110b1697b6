"""Which schemas the values of a topic have to fit, and what they are checked with."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from goqueue.errors import UnknownSubject
from goqueue.model.topic import SchemaValidation, Topic

if TYPE_CHECKING:
    from goqueue.core.schemas.payloads import Payloads
    from goqueue.core.schemas.registry import Registry

__all__ = ["Rules", "ValueRules"]

MOST_SUBJECTS = 20_000
MOST_PAYLOADS = 500
OFF, ON = SchemaValidation.OFF, SchemaValidation.ON


class Rules(msgspec.Struct, frozen=True):
    """Of one subject, until the registry changes. `plain` is the schema for values that name none."""

    subject: str
    ids: frozenset[int] = frozenset()
    plain: int | None = None
    type: str = ""
    """Of the newest schema."""


class ValueRules:
    """Most publishes ask only whether there is anything to check: that is a look into a dictionary."""

    def __init__(self) -> None:
        self.registry: Registry | None = None
        """None as long as nobody has registered anything."""
        self._revision = -1
        self._purges = -1
        self._rules: dict[str, Rules | None] = {}
        self._payloads: OrderedDict[int, Payloads] = OrderedDict()
        self.making: dict[int, asyncio.Task[Payloads]] = {}
        """Those that somebody waits for."""

    def use(self, registry: "Registry") -> None:
        self.registry = registry

    def of(self, topic: Topic) -> Rules | None:
        """None when every value may be published."""
        config = topic.config
        validation = config.schema_validation
        if validation is OFF:
            return None
        registry = self.registry
        if registry is None and validation is not ON:
            return None
        subject = config.schema_subject or topic.name
        found = None if registry is None else self._of_subject(registry, subject)
        if found is None and validation is ON:
            return Rules(subject)
        return found

    def _of_subject(self, registry: "Registry", subject: str) -> Rules | None:
        self._keep_up(registry)
        try:
            return self._rules[subject]
        except KeyError:
            return self._find(registry, subject)

    def payloads(self, schema_id: int) -> "Payloads | None":
        """What values of the schema are checked with, if it is at hand."""
        if self.registry is not None:
            self._keep_up(self.registry)
        found = self._payloads.get(schema_id)
        if found is not None:
            self._payloads.move_to_end(schema_id)
        return found

    def keep(self, schema_id: int, payloads: "Payloads", *, purges: int) -> None:
        """`purges` is the count of the registry when the schema was parsed."""
        registry = self.registry
        if registry is not None and purges == registry.purges:
            self._keep_up(registry)
            self._payloads[schema_id] = payloads
            if len(self._payloads) > MOST_PAYLOADS:
                self._payloads.popitem(last=False)

    def _find(self, registry: "Registry", subject: str) -> Rules | None:
        if len(self._rules) >= MOST_SUBJECTS:
            self._rules.clear()
        found = self._rules[subject] = _made(registry, subject)
        return found

    def _keep_up(self, registry: "Registry") -> None:
        """Forget what was found in the registry as it was before."""
        if self._revision != registry.revision:
            self._revision = registry.revision
            self._rules.clear()
        if self._purges != registry.purges:
            self._purges = registry.purges
            self._payloads.clear()


def _made(registry: "Registry", subject: str) -> Rules | None:
    from goqueue.core.schemas.schema import LATEST

    view = registry.view
    try:
        newest = view.version(subject, LATEST)
    except UnknownSubject:
        return None
    ids = frozenset(view.version(subject, version).id for version in view.versions(subject))
    kind = newest.schema.type
    return Rules(subject, ids, newest.id if kind == "JSON" else None, kind)
