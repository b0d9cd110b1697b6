"""Validation rules: the schemas that the values of a topic have to fit, and their checkers."""

import asyncio
from collections import OrderedDict

import msgspec

from goqueue.core.schemas.payloads import Payloads
from goqueue.core.schemas.registry import Registry
from goqueue.core.schemas.schema import LATEST
from goqueue.errors import UnknownSubject
from goqueue.model.topic import SchemaValidation, Topic

__all__ = ["Rules", "ValueRules"]

MOST_SUBJECTS = 20_000
MOST_PAYLOADS = 500
OFF, ON = SchemaValidation.OFF, SchemaValidation.ON


class Rules(msgspec.Struct, frozen=True):
    """The rules of one subject, until the registry changes. `plain` is the schema for values that name none."""

    subject: str
    ids: frozenset[int] = frozenset()
    plain: int | None = None
    type: str = ""
    """The type of the newest schema."""


class ValueRules:
    """Caches rules by subject: most publishes only ask whether values are validated at all."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._revision = -1
        self._purges = -1
        self._rules: dict[str, Rules | None] = {}
        self._payloads: OrderedDict[int, Payloads] = OrderedDict()
        self.making: dict[int, asyncio.Task[Payloads]] = {}
        """Checkers that are being created."""

    def of(self, topic: Topic) -> Rules | None:
        """None if every value may be published."""
        config = topic.config
        validation = config.schema_validation
        if validation is OFF:
            return None
        subject = config.schema_subject or topic.name
        found = self._of_subject(subject)
        if found is None and validation is ON:
            return Rules(subject)
        return found

    def _of_subject(self, subject: str) -> Rules | None:
        self._keep_up()
        try:
            return self._rules[subject]
        except KeyError:
            return self._find(subject)

    def payloads(self, schema_id: int) -> Payloads | None:
        """The checker of the schema, None if the schema must be parsed first."""
        self._keep_up()
        found = self._payloads.get(schema_id)
        if found is not None:
            self._payloads.move_to_end(schema_id)
        return found

    def keep(self, schema_id: int, payloads: Payloads, *, purges: int) -> None:
        """Keep a checker; `purges` is the registry's count at the time the schema was parsed."""
        if purges == self._registry.purges:
            self._keep_up()
            self._payloads[schema_id] = payloads
            if len(self._payloads) > MOST_PAYLOADS:
                self._payloads.popitem(last=False)

    def _find(self, subject: str) -> Rules | None:
        if len(self._rules) >= MOST_SUBJECTS:
            self._rules.clear()
        found = self._rules[subject] = _made(self._registry, subject)
        return found

    def _keep_up(self) -> None:
        """Drop what was derived from an older state of the registry."""
        registry = self._registry
        if self._revision != registry.revision:
            self._revision = registry.revision
            self._rules.clear()
        if self._purges != registry.purges:
            self._purges = registry.purges
            self._payloads.clear()


def _made(registry: Registry, subject: str) -> Rules | None:
    view = registry.view
    try:
        newest = view.version(subject, LATEST)
    except UnknownSubject:
        return None
    ids = frozenset(view.version(subject, version).id for version in view.versions(subject))
    kind = newest.schema.type
    return Rules(subject, ids, newest.id if kind == "JSON" else None, kind)
