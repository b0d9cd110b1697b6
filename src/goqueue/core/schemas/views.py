"""Views of the registry: subjects, versions, schemas by id, and references."""

from collections.abc import Iterator

import msgspec

from goqueue.core.schemas.schema import Schema, check_version
from goqueue.core.schemas.subjects import Subjects
from goqueue.errors import UnknownSchema, UnknownSubject, UnknownVersion

__all__ = ["Counts", "RegistryView", "VersionView"]


class VersionView(msgspec.Struct, frozen=True):
    subject: str
    version: int
    id: int
    schema: Schema
    is_deleted: bool = False


class Counts(msgspec.Struct, frozen=True):
    """Including deleted versions that are not permanently deleted; `characters` is the total length of all texts."""

    subjects: int
    versions: int
    schemas: int
    characters: int
    highest_id: int


class RegistryView:
    """With `deleted`, soft-deleted versions are included."""

    def __init__(self, subjects: Subjects) -> None:
        self._subjects = subjects

    def subjects(self, *, prefix: str = "", deleted: bool = False, deleted_only: bool = False) -> list[str]:
        """Sorted by name. With `deleted_only`, subjects of which only deleted versions are left."""
        names = (name for name in self._subjects.names() if name.startswith(prefix))
        if deleted_only:
            return sorted(name for name in names if not self._subjects.has(name, deleted=False))
        return sorted(name for name in names if self._subjects.has(name, deleted=deleted))

    def versions(self, subject: str, *, deleted: bool = False, deleted_only: bool = False) -> list[int]:
        self.check_subject(subject, deleted=deleted or deleted_only)
        everything = self._subjects.versions(subject, deleted=deleted or deleted_only)
        hidden_from = set(self._subjects.versions(subject, deleted=False)) if deleted_only else set()
        return [version for version in everything if version not in hidden_from]

    def version(self, subject: str, version: int, *, deleted: bool = False) -> VersionView:
        check_version(version)
        found = self._subjects.entry(subject, version, deleted=deleted)
        if found is None:
            self.check_subject(subject, deleted=deleted)
            raise UnknownVersion(f"Version {version} not found.")
        number, entry = found
        return VersionView(subject, number, entry.id, self.schema(entry.id), entry.is_deleted)

    def schemas(self, *, prefix: str = "", deleted: bool = False, latest_only: bool = False) -> Iterator[VersionView]:
        """All versions of all subjects."""
        for subject in self.subjects(prefix=prefix, deleted=deleted):
            versions = self._subjects.versions(subject, deleted=deleted)
            for version in versions[-1:] if latest_only else versions:
                yield self.version(subject, version, deleted=deleted)

    def schema(self, schema_id: int) -> Schema:
        """Also of a deleted version: records that were written with it still exist."""
        schema = self._subjects.schema(schema_id)
        if schema is None:
            raise UnknownSchema(f"Schema {schema_id} not found")
        return schema

    def places(self, schema_id: int, *, deleted: bool = False) -> list[tuple[str, int]]:
        """Subjects and versions that have the schema."""
        self.schema(schema_id)
        return self._subjects.places(schema_id, deleted=deleted)

    def referrers(self, subject: str, version: int, *, deleted: bool = False) -> list[int]:
        """Ids of the schemas that refer to a version."""
        found = self.version(subject, version, deleted=True)
        return self._subjects.referrers(subject, found.version, deleted=deleted)

    def counts(self) -> Counts:
        """`highest_id` is the highest id ever given."""
        kept = self._subjects
        return Counts(
            len(kept.names()), kept.total_versions, kept.total_schemas, kept.total_characters, kept.next_id - 1
        )

    def check_subject(self, subject: str, *, deleted: bool = False) -> None:
        if not self._subjects.has(subject, deleted=deleted):
            raise UnknownSubject(f"Subject {subject!r:.270} not found.")
