"""Schema registry events."""

import msgspec

from goqueue.core.schemas.policies import ConfigRemoved, ConfigSet, ModeRemoved, ModeSet
from goqueue.core.schemas.schema import Schema

__all__ = [
    "ConfigRemoved",
    "ConfigSet",
    "ModeRemoved",
    "ModeSet",
    "Registered",
    "RegistryEvent",
    "SubjectDeleted",
    "SubjectPurged",
    "VersionDeleted",
    "VersionPurged",
]


class Registered(msgspec.Struct, frozen=True, tag="schema_registered"):
    """`replaces` are deleted versions of the same schema, which are permanently deleted with this event."""

    subject: str
    version: int
    id: int
    schema: Schema
    replaces: tuple[int, ...] = ()


class VersionDeleted(msgspec.Struct, frozen=True, tag="schema_version_deleted"):
    """Soft deletion: the version is hidden, and its id can still be looked up."""

    subject: str
    version: int


class VersionPurged(msgspec.Struct, frozen=True, tag="schema_version_purged"):
    """Permanent deletion."""

    subject: str
    version: int


class SubjectDeleted(msgspec.Struct, frozen=True, tag="schema_subject_deleted"):
    """`versions` are those that were not deleted before."""

    subject: str
    versions: tuple[int, ...]


class SubjectPurged(msgspec.Struct, frozen=True, tag="schema_subject_purged"):
    subject: str
    versions: tuple[int, ...]


RegistryEvent = (
    Registered
    | VersionDeleted
    | VersionPurged
    | SubjectDeleted
    | SubjectPurged
    | ConfigSet
    | ConfigRemoved
    | ModeSet
    | ModeRemoved
)
