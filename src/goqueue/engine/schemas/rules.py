"""Which schemas the values of a topic have to fit, and what they are checked with."""

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


class Rules(msgspec.Struct, frozen=True):
    """Of one subject, until the registry changes. `plain` is the schema for values that name none."""

    subject: str
    ids: frozenset[int] = frozenset()
    plain: int | None = None
    type: str = ""
    """Of the newest schema."""


class ValueRules:
    """Most publishes ask only whether there is anything to check: that is a look into a dictionary."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._revision = registry.revision
        self._purges = registry.purges
        self._rules: dict[str, Rules | None] = {}
        self._payloads: OrderedDict[int, Payloads] = OrderedDict()
        self.making: dict[int, asyncio.Task[Payloads]] = {}
        """Those that somebody waits for."""

    def of(self, topic: Topic) -> Rules | None:
        """None when every value may be published."""
        config = topic.config
        if config.schema_validation is SchemaValidation.OFF:
            return None
        subject = config.schema_subject or topic.name
        if self._revision != self._registry.revision:
            self._forget()
        try:
            found = self._rules[subject]
        except KeyError:
            found = self._find(subject)
        if found is None and config.schema_validation is SchemaValidation.ON:
            return Rules(subject)
        return found

    def payloads(self, schema_id: int) -> Payloads | None:
        """What values of the schema are checked with, if it is at hand."""
        if self._purges != self._registry.purges:
            self._forget()
        found = self._payloads.get(schema_id)
        if found is not None:
            self._payloads.move_to_end(schema_id)
        return found

    def keep(self, schema_id: int, payloads: Payloads, *, purges: int) -> None:
        """`purges` is the count of the registry when the schema was parsed."""
        if purges == self._registry.purges:
            self._payloads[schema_id] = payloads
            if len(self._payloads) > MOST_PAYLOADS:
                self._payloads.popitem(last=False)

    def _find(self, subject: str) -> Rules | None:
        if len(self._rules) >= MOST_SUBJECTS:
            self._rules.clear()
        found = self._rules[subject] = self._made(subject)
        return found

    def _made(self, subject: str) -> Rules | None:
        view = self._registry.view
        try:
            newest = view.version(subject, LATEST)
        except UnknownSubject:
            return None
        ids = frozenset(view.version(subject, version).id for version in view.versions(subject))
        kind = newest.schema.type
        return Rules(subject, ids, newest.id if kind == "JSON" else None, kind)

    def _forget(self) -> None:
        self._revision = self._registry.revision
        self._rules.clear()
        if self._purges != self._registry.purges:
            self._purges = self._registry.purges
            self._payloads.clear()
