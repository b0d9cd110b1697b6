"""Schema registry: schemas are registered under subjects, in versions that keep the subject's compatibility level.

Commands decide: they return events and change nothing; `apply` is the only writer. The events of a command are written
together and applied before the next command is given. Only texts are stored; they are parsed for comparisons.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from goqueue.core.schemas.deleting import delete_subject, delete_version, purge_rest
from goqueue.core.schemas.events import (
    Registered,
    RegistryEvent,
    SubjectDeleted,
    SubjectPurged,
    VersionDeleted,
    VersionPurged,
)
from goqueue.core.schemas.formats import SchemaFormat
from goqueue.core.schemas.parsing import ParseJob, Parser
from goqueue.core.schemas.policies import Mode, ModeSet, Policies, PolicySnapshot
from goqueue.core.schemas.registering import Known, Registering
from goqueue.core.schemas.schema import Reference, Schema, check_version
from goqueue.core.schemas.subjects import Subjects, SubjectsSnapshot
from goqueue.core.schemas.views import RegistryView
from goqueue.errors import OperationNotPermitted

__all__ = ["Registry", "RegistrySnapshot"]


class RegistrySnapshot(msgspec.Struct, frozen=True):
    subjects: SubjectsSnapshot = SubjectsSnapshot()
    policies: PolicySnapshot = PolicySnapshot()


class Registry:
    """`policies` has levels and modes, with commands of its own; their events are applied here too."""

    def __init__(self, formats: Mapping[str, SchemaFormat]) -> None:
        self.policies = Policies()
        self.revision = 0
        """Changes with every event: values derived from the registry are valid until then."""
        self.purges = 0
        """Changes with every permanent deletion: parsed schemas are valid until then."""
        self._subjects = Subjects()
        self._parser = Parser(formats, self._referred_to)

    @property
    def view(self) -> RegistryView:
        return RegistryView(self._subjects)

    @property
    def _registering(self) -> Registering:
        return Registering(self._subjects, self.policies, self._parser)

    # Registration

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> Registered | Known:
        """A schema that the subject already has is returned, also in a registry that accepts no new ones.

        An id, and a version other than the next, can be given in import mode only, where an id is required.
        """
        return self._registering.register(subject, schema, normalize=normalize, schema_id=schema_id, version=version)

    def find(self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False) -> Known:
        """The version under which the subject has the schema."""
        return self._registering.find(subject, schema, normalize=normalize, deleted=deleted)

    def incompatibilities(
        self, subject: str, schema: Schema, *, version: int | None = None, normalize: bool = False
    ) -> list[str]:
        """Why the schema could not be registered now; with a version, as if that were the only earlier one."""
        return self._registering.incompatibilities(subject, schema, version=version, normalize=normalize)

    def unparsed(
        self,
        subject: str,
        schema: Schema,
        *,
        version: int | None = None,
        normalize: bool = False,
        also_known: bool = False,
    ) -> list[ParseJob]:
        """The parse jobs that the three methods above need now.

        Some are slow: run them elsewhere, and `keep` the results.

        A schema that the subject has need not be parsed to be registered or found, only to be compared.
        """
        return self._registering.unparsed(subject, schema, version=version, normalize=normalize, also_known=also_known)

    def keep(self, job: ParseJob, parsed: Any) -> None:
        """Does nothing when a referenced schema has changed meanwhile."""
        self._parser.keep(job, parsed)

    def deciding(self, done: Iterable[tuple[ParseJob, Any]]) -> Registering:
        """A registration with all these parse results, also those that the cache would evict.

        It may be used in a thread, as long as no event is applied meanwhile.
        """
        return Registering(self._subjects, self.policies, self._parser.having(done))

    # Parsed schemas, for reading and validating data

    @property
    def types(self) -> tuple[str, ...]:
        return self._parser.types

    def parsed(self, schema_id: int) -> tuple[SchemaFormat, Any]:
        schema = self.view.schema(schema_id)
        return self._parser.format(schema), self._parser.parse(schema)

    def unparsed_id(self, schema_id: int) -> ParseJob | None:
        """The parse job that `parsed` would need now; None when the schema is cached."""
        schema = self.view.schema(schema_id)
        return None if schema in self._parser else self._parser.job(schema)

    # Deletion and modes

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> VersionDeleted | VersionPurged:
        return delete_version(self._subjects, self.policies, subject, check_version(version), permanent=permanent)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> SubjectDeleted | SubjectPurged:
        return delete_subject(self._subjects, self.policies, subject, permanent=permanent)

    def set_mode(self, subject: str | None, mode: Mode, *, force: bool = False) -> list[SubjectPurged | ModeSet]:
        """Import mode requires an empty registry or subject, as imported ids may be taken; `force` skips the check."""
        change = self.policies.set_mode(subject, mode)
        if mode is not Mode.IMPORT or force or self.policies.mode_in_effect(subject) is Mode.IMPORT:
            return [change]
        names = self._subjects.names() if subject is None else [subject]
        if any(self._subjects.has(name, deleted=False) for name in names):
            raise OperationNotPermitted("there are schemas already, so none can be imported", hint="or force it")
        return [*purge_rest(self._subjects, subject), change]

    # Snapshots

    def apply(self, event: RegistryEvent) -> None:
        self.revision += 1
        match event:
            case Registered(subject, version, schema_id, schema, replaces):
                self._subjects.add(subject, version, schema_id, schema)
                self._purge(subject, replaces)
            case VersionDeleted(subject, version):
                self._subjects.hide(subject, version)
            case SubjectDeleted(subject, versions):
                for version in versions:
                    self._subjects.hide(subject, version)
            case VersionPurged(subject, version):
                self._purge(subject, (version,))
            case SubjectPurged(subject, versions):
                self._purge(subject, versions)
            case _:
                self.policies.apply(event)

    def snapshot(self) -> RegistrySnapshot:
        return RegistrySnapshot(self._subjects.snapshot(), self.policies.snapshot())

    def restore(self, snapshot: RegistrySnapshot) -> None:
        self._subjects = Subjects.restored(snapshot.subjects)
        self.policies.restore(snapshot.policies)
        self.revision += 1
        self.purges += 1
        self._parser.forget()

    def _purge(self, subject: str, versions: tuple[int, ...]) -> None:
        for version in versions:
            if self._subjects.purge(subject, version):
                self.policies.forget(subject)
        if versions:
            self.purges += 1
            self._parser.forget()

    def _referred_to(self, reference: Reference) -> Schema | None:
        """Also a deleted schema, as long as schemas that refer to it can be looked up."""
        found = self._subjects.entry(reference.subject, reference.version, deleted=True)
        return None if found is None else self._subjects.schema(found[1].id)
