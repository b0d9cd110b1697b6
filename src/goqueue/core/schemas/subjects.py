"""Subjects with their versions, and their schemas: by id, by content, and by reference."""

from collections.abc import Collection

import msgspec

from goqueue.core.schemas.identity import Identity, identity_of
from goqueue.core.schemas.schema import LATEST, Schema

__all__ = ["Entry", "Subjects", "SubjectsSnapshot"]

MOST_RETIRED = 100_000
"""Permanently deleted subjects whose next version is remembered."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """A version of a subject."""

    id: int
    is_deleted: bool = False


class SubjectSnapshot(msgspec.Struct, frozen=True, array_like=True):
    name: str
    last_version: int
    versions: tuple[tuple[int, Entry], ...]


class SubjectsSnapshot(msgspec.Struct, frozen=True):
    schemas: tuple[tuple[int, Schema], ...] = ()
    subjects: tuple[SubjectSnapshot, ...] = ()
    retired: tuple[tuple[str, int], ...] = ()
    first_version: int = 1
    next_id: int = 1


class Subjects:
    """Only changed by the methods at the end, which follow events.

    Neither an id nor a version is given twice, even after its owner is deleted. For that the last version of a deleted
    subject is remembered. When too many are remembered, the oldest is forgotten, and from then on no new subject begins
    with a version that the forgotten one may have had.
    """

    def __init__(self) -> None:
        self._versions: dict[str, dict[int, Entry]] = {}
        self._last_version: dict[str, int] = {}
        self._retired: dict[str, int] = {}
        self._first_version = 1
        self._schemas: dict[int, Schema] = {}
        self._ids: dict[Schema, int] = {}
        self._alike: dict[Identity, list[int]] = {}
        """Several only where they were registered as different ones: by an earlier release, or in import mode."""
        self._places: dict[int, set[tuple[str, int]]] = {}
        self._referrers: dict[tuple[str, int], set[int]] = {}
        self.next_id = 1
        self.total_versions = 0
        self.total_characters = 0

    # Schemas

    def schema(self, schema_id: int) -> Schema | None:
        return self._schemas.get(schema_id)

    @property
    def total_schemas(self) -> int:
        return len(self._schemas)

    def id_of(self, schema: Schema) -> int | None:
        return self._ids.get(schema)

    def ids_alike(self, schema: Schema) -> list[int]:
        """Ids of schemas that differ from it in notation at most; that of its exact text comes first."""
        alike, own = self._alike.get(identity_of(schema), []), self._ids.get(schema)
        return alike if own is None else [own, *(schema_id for schema_id in alike if schema_id != own)]

    def places(self, schema_id: int, *, deleted: bool) -> list[tuple[str, int]]:
        """Subjects and versions that have the schema, in order."""
        found = sorted(self._places.get(schema_id, ()))
        return found if deleted else [place for place in found if not self._entry(place).is_deleted]

    def referrers(self, subject: str, version: int, *, deleted: bool) -> list[int]:
        """Ids of the schemas that refer to it."""
        found = sorted(self._referrers.get((subject, version), ()))
        return found if deleted else [schema_id for schema_id in found if self.places(schema_id, deleted=False)]

    # Subjects

    def names(self) -> Collection[str]:
        return self._versions.keys()

    def has(self, subject: str, *, deleted: bool) -> bool:
        return any(deleted or not entry.is_deleted for entry in self._versions.get(subject, {}).values())

    def versions(self, subject: str, *, deleted: bool) -> list[int]:
        """In order; without deleted versions, unless `deleted`."""
        entries = self._versions.get(subject, {})
        return sorted(version for version, entry in entries.items() if deleted or not entry.is_deleted)

    def entry(self, subject: str, version: int, *, deleted: bool) -> tuple[int, Entry] | None:
        """The version with its number; the latest is the highest that is not deleted."""
        if version == LATEST:
            versions = self.versions(subject, deleted=False)
            if not versions:
                return None
            version = versions[-1]
        entry = self._versions.get(subject, {}).get(version)
        return None if entry is None or (entry.is_deleted and not deleted) else (version, entry)

    def version_of(self, subject: str, schema_id: int, *, deleted: bool) -> int | None:
        """The highest version of the subject with this schema."""
        entries = self._versions.get(subject, {})
        found = (v for v, entry in entries.items() if entry.id == schema_id and (deleted or not entry.is_deleted))
        return max(found, default=None)

    def next_version(self, subject: str) -> int:
        last = self._last_version.get(subject) or self._retired.get(subject)
        return self._first_version if last is None else last + 1

    # Changes by events

    def add(self, subject: str, version: int, schema_id: int, schema: Schema) -> None:
        if schema_id not in self._schemas:
            self._schemas[schema_id] = schema
            self._ids[schema] = schema_id
            self._alike.setdefault(identity_of(schema), []).append(schema_id)
            self._places[schema_id] = set()
            self.total_characters += len(schema.text)
            for reference in schema.references:
                self._referrers.setdefault((reference.subject, reference.version), set()).add(schema_id)
        self._place(subject, version, Entry(schema_id))
        last = max(self.next_version(subject) - 1, version)
        self._retired.pop(subject, None)
        self._last_version[subject] = last
        self.next_id = max(self.next_id, schema_id + 1)

    def hide(self, subject: str, version: int) -> None:
        entries = self._versions[subject]
        entries[version] = Entry(entries[version].id, is_deleted=True)

    def purge(self, subject: str, version: int) -> bool:
        """True if the subject is gone with it."""
        entries = self._versions[subject]
        entry = entries.pop(version)
        self.total_versions -= 1
        self._places[entry.id].discard((subject, version))
        if not self._places[entry.id]:
            self._drop(entry.id)
        if entries:
            return False
        del self._versions[subject]
        self._retire(subject, self._last_version.pop(subject))
        return True

    def snapshot(self) -> SubjectsSnapshot:
        subjects = tuple(
            SubjectSnapshot(name, self._last_version[name], tuple(sorted(self._versions[name].items())))
            for name in sorted(self._versions)
        )
        retired = tuple(self._retired.items())
        return SubjectsSnapshot(
            tuple(sorted(self._schemas.items())), subjects, retired, self._first_version, self.next_id
        )

    @classmethod
    def restored(cls, snapshot: SubjectsSnapshot) -> "Subjects":
        subjects = cls()
        schemas = dict(snapshot.schemas)
        for kept in snapshot.subjects:
            for version, entry in kept.versions:
                subjects.add(kept.name, version, entry.id, schemas[entry.id])
                subjects._versions[kept.name][version] = entry
            subjects._last_version[kept.name] = kept.last_version
        subjects._retired = dict(snapshot.retired)
        subjects._first_version = snapshot.first_version
        subjects.next_id = snapshot.next_id
        return subjects

    def _entry(self, place: tuple[str, int]) -> Entry:
        subject, version = place
        return self._versions[subject][version]

    def _place(self, subject: str, version: int, entry: Entry) -> None:
        self._versions.setdefault(subject, {})[version] = entry
        self._places[entry.id].add((subject, version))
        self.total_versions += 1

    def _drop(self, schema_id: int) -> None:
        schema = self._schemas.pop(schema_id)
        del self._ids[schema], self._places[schema_id]
        alike = self._alike[identity_of(schema)]
        alike.remove(schema_id)
        if not alike:
            del self._alike[identity_of(schema)]
        self.total_characters -= len(schema.text)
        for place in {(reference.subject, reference.version) for reference in schema.references}:
            self._referrers[place].discard(schema_id)
            if not self._referrers[place]:
                del self._referrers[place]

    def _retire(self, subject: str, last_version: int) -> None:
        self._retired[subject] = last_version
        if len(self._retired) > MOST_RETIRED:
            forgotten = self._retired.pop(next(iter(self._retired)))
            self._first_version = max(self._first_version, forgotten + 1)
