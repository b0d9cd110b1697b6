"""Deletion of versions and subjects, soft or permanent."""

from goqueue.core.schemas.events import SubjectDeleted, SubjectPurged, VersionDeleted, VersionPurged
from goqueue.core.schemas.policies import Policies
from goqueue.core.schemas.subjects import Subjects
from goqueue.errors import (
    ReferenceExists,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    UnknownSubject,
    UnknownVersion,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)

__all__ = ["delete_subject", "delete_version", "purge_rest"]


def delete_version(
    subjects: Subjects, policies: Policies, subject: str, version: int, *, permanent: bool
) -> VersionDeleted | VersionPurged:
    if not subjects.has(subject, deleted=True):
        raise UnknownSubject(f"Subject {subject!r:.270} not found.")
    found = subjects.entry(subject, version, deleted=True)
    if found is None:
        raise UnknownVersion(f"Version {version} not found.")
    number, entry = found
    if entry.is_deleted and not permanent:
        raise VersionSoftDeleted(
            f"Subject {subject!r:.270} Version {number} was soft deleted. Set permanent=true to delete permanently"
        )
    policies.check_writable(subject)
    if subjects.referrers(subject, number, deleted=permanent):
        raise ReferenceExists(
            f"One or more references exist to the schema {{subject={subject:.249},version={number}}}."
        )
    if not permanent:
        return VersionDeleted(subject, number)
    if not entry.is_deleted:
        raise VersionNotSoftDeleted(
            f"Subject {subject!r:.270} Version {number} was not deleted first before being permanently deleted"
        )
    return VersionPurged(subject, number)


def delete_subject(
    subjects: Subjects, policies: Policies, subject: str, *, permanent: bool
) -> SubjectDeleted | SubjectPurged:
    if not subjects.has(subject, deleted=True):
        raise UnknownSubject(f"Subject {subject!r:.270} not found.")
    current = subjects.versions(subject, deleted=False)
    if not current and not permanent:
        raise SubjectSoftDeleted(f"Subject {subject!r:.270} was soft deleted. Set permanent=true to delete permanently")
    policies.check_writable(subject)
    versions = subjects.versions(subject, deleted=True) if permanent else current
    _check_not_referred_to(subjects, subject, versions, permanent=permanent)
    if permanent and current:
        raise SubjectNotSoftDeleted(f"Subject {subject!r:.270} was not deleted first before being permanently deleted")
    return SubjectPurged(subject, tuple(versions)) if permanent else SubjectDeleted(subject, tuple(versions))


def purge_rest(subjects: Subjects, subject: str | None) -> list[SubjectPurged]:
    """Permanently delete the remaining soft-deleted versions, so that versions with their numbers can be imported."""
    gone = list(subjects.names()) if subject is None else [subject]
    events = []
    for name in gone:
        versions = subjects.versions(name, deleted=True)
        if subject is not None:
            _check_not_referred_to(subjects, name, versions, permanent=True)
        if versions:
            events.append(SubjectPurged(name, tuple(versions)))
    return events


def _check_not_referred_to(subjects: Subjects, subject: str, versions: list[int], *, permanent: bool) -> None:
    """Schemas of the same subject are deleted together with it."""
    for version in versions:
        for schema_id in subjects.referrers(subject, version, deleted=permanent):
            others = (name for name, _ in subjects.places(schema_id, deleted=permanent) if name != subject)
            other = next(others, None)
            if other is not None:
                raise ReferenceExists(
                    f"One or more references exist to the schema {{subject={subject:.249},version={version}}}, "
                    f"from {other!r:.270}."
                )
