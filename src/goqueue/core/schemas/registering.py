"""Registration decisions: whether a schema can be registered under a subject, and with which id and version."""

from typing import Any

import msgspec

from goqueue.core.schemas.compatibility import Version, compared, reasons
from goqueue.core.schemas.events import Registered
from goqueue.core.schemas.parsing import ParseJob, Parser
from goqueue.core.schemas.policies import Mode, Policies
from goqueue.core.schemas.schema import (
    LATEST,
    MOST_ID,
    Reference,
    Schema,
    check_schema,
    check_subject,
    check_version,
    lightly_canonical,
)
from goqueue.core.schemas.subjects import Entry, Subjects
from goqueue.core.schemas.views import RegistryView
from goqueue.errors import (
    IncompatibleSchema,
    InvalidRequest,
    InvalidSchema,
    InvalidVersion,
    OperationNotPermitted,
    SchemaIdMismatch,
    UnknownSchema,
    UnknownVersion,
)

__all__ = ["MOST_SCHEMAS", "MOST_VERSIONS", "Known", "Registering"]

MOST_SCHEMAS = 100_000
"""Maximum number of versions of all subjects together."""
MOST_VERSIONS = 1000
"""Maximum per subject: a new schema may have to be compared with all of them."""
MOST_CHARACTERS = 256 * 1024 * 1024
"""Maximum length of all texts together."""


class Known(msgspec.Struct, frozen=True):
    """The subject has the schema already; there is nothing to write."""

    subject: str
    version: int
    id: int
    schema: Schema


class Registering:
    """Decides, and changes nothing but the parser cache. The methods are documented in `Registry`."""

    def __init__(self, subjects: Subjects, policies: Policies, parser: Parser) -> None:
        self._subjects = subjects
        self._policies = policies
        self._parser = parser

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> Registered | Known:
        check_subject(subject)
        _check_numbers(schema_id, version)
        schema, parsed = self._prepared(subject, schema, normalize=normalize)
        known = self._known(subject, schema, version, deleted=False)
        if known is None and version is None and self._is_normalized(subject, normalize):
            known = self._equivalent(subject, schema, deleted=False)
        if known is not None and schema_id in (None, known.id):
            return known
        mode = self._check_may_register(subject, schema_id)
        if mode is not Mode.IMPORT:
            self._check_compatible(subject, schema, parsed)
        number = self._next_version(subject, version, mode)
        given_id = self._next_id(schema, schema_id)
        self._check_room(subject, schema, given_id)
        # The text as it was first registered under this id.
        schema = self._subjects.schema(given_id) or schema
        return Registered(subject, number, given_id, schema, self._replaced(subject, number, given_id))

    def find(self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False) -> Known:
        RegistryView(self._subjects).check_subject(subject, deleted=deleted)
        schema, _ = self._prepared(subject, schema, normalize=normalize)
        known = self._known(subject, schema, None, deleted=deleted)
        if known is None and self._is_normalized(subject, normalize):
            known = self._equivalent(subject, schema, deleted=deleted)
        if known is None:
            raise UnknownSchema("Schema not found")
        return known

    def incompatibilities(
        self, subject: str, schema: Schema, *, version: int | None = None, normalize: bool = False
    ) -> list[str]:
        check_subject(subject)
        versions = self._versions(subject, version)
        schema, parsed = self._prepared(subject, schema, normalize=normalize)
        return self._reasons(subject, schema, parsed, versions)

    def unparsed(
        self,
        subject: str,
        schema: Schema,
        *,
        version: int | None = None,
        normalize: bool = False,
        also_known: bool = False,
    ) -> list[ParseJob]:
        check_subject(subject)
        versions = self._versions(subject, version)
        light = self._light(schema)
        is_normalized = self._is_normalized(subject, normalize)
        if not is_normalized and not also_known and self._known(subject, light, None, deleted=False) is not None:
            return []
        numbers = versions if is_normalized else compared(self._policies.level(subject), versions)
        earlier = (self._kept_schema(subject, number) for number in numbers)
        needed = dict.fromkeys([light, *(other for other in earlier if other.type == light.type)])
        return [self._parser.job(each) for each in needed if each not in self._parser]

    # Steps

    def _versions(self, subject: str, version: int | None) -> list[int]:
        """All versions, or the requested one."""
        if version is None:
            return self._subjects.versions(subject, deleted=False)
        found = self._subjects.entry(subject, check_version(version), deleted=False)
        if found is None and version != LATEST:
            raise UnknownVersion(f"Version {version} not found.")
        return [] if found is None else [found[0]]

    def _prepared(self, subject: str, schema: Schema, *, normalize: bool) -> tuple[Schema, Any]:
        """The schema as it would be stored; also parsed, unless it is registered already."""
        light = self._light(schema)
        is_normalized = self._is_normalized(subject, normalize)
        if not is_normalized and self._subjects.ids_alike(light):
            return light, None
        parsed = self._parser.parse(light)
        if not is_normalized:
            return light, parsed
        normal = Schema(light.type, self._parser.format(light).canonical(parsed), light.references)
        check_schema(normal)
        return normal, parsed

    def _is_normalized(self, subject: str, asked: bool) -> bool:
        return asked or bool(self._policies.config_in_effect(subject).normalize)

    def _light(self, schema: Schema) -> Schema:
        check_schema(schema)
        self._parser.format(schema)
        references = tuple(self._settled(reference) for reference in schema.references)
        return Schema(schema.type, lightly_canonical(schema.type, schema.text), references)

    def _settled(self, reference: Reference) -> Reference:
        """The latest version is resolved now: the references of a schema do not change."""
        found = self._subjects.entry(reference.subject, reference.version, deleted=True)
        return reference if found is None else Reference(reference.name, reference.subject, found[0])

    def _known(self, subject: str, schema: Schema, version: int | None, *, deleted: bool) -> Known | None:
        """Under the given version, or else under the highest that has the schema."""
        for schema_id in self._subjects.ids_alike(schema):
            if version is None:
                number = self._subjects.version_of(subject, schema_id, deleted=deleted)
            else:
                found = self._subjects.entry(subject, version, deleted=deleted)
                number = version if found is not None and found[1].id == schema_id else None
            if number is not None:
                return Known(subject, number, schema_id, self._subjects.schema(schema_id) or schema)
        return None

    def _equivalent(self, subject: str, normal: Schema, *, deleted: bool) -> Known | None:
        """The highest version whose text differs but which is equivalent."""
        for number in reversed(self._subjects.versions(subject, deleted=deleted)):
            found = RegistryView(self._subjects).version(subject, number, deleted=deleted)
            kept = found.schema
            is_like = (kept.type, kept.references) == (normal.type, normal.references)
            if is_like and self._parser.format(kept).canonical(self._parser.parse(kept)) == normal.text:
                return Known(subject, number, found.id, kept)
        return None

    def _check_may_register(self, subject: str, schema_id: int | None) -> Mode:
        self._policies.check_writable(subject)
        mode = self._policies.mode_in_effect(subject)
        if schema_id is not None and mode is not Mode.IMPORT:
            raise OperationNotPermitted(f"Subject {subject:.249} is not in import mode, and an id is given")
        if schema_id is None and mode is Mode.IMPORT:
            raise OperationNotPermitted(f"Subject {subject:.249} is in import mode, and no id is given")
        return mode

    def _check_compatible(self, subject: str, schema: Schema, parsed: Any) -> None:
        for reference in schema.references:
            if self._subjects.entry(reference.subject, reference.version, deleted=False) is None:
                raise InvalidSchema(f"what the reference {reference.name[:100]!r} leads to has been deleted")
        found = self._reasons(subject, schema, parsed, self._subjects.versions(subject, deleted=False))
        if found:
            level = self._policies.level(subject)
            raise IncompatibleSchema(
                f'Schema being registered is incompatible with an earlier schema for subject "{subject:.249}", '
                f"details: [{found[0]}, {{compatibility: '{level}'}}]",
                reasons=tuple(found),
            )

    def _reasons(self, subject: str, schema: Schema, parsed: Any, versions: list[int]) -> list[str]:
        """Only the schemas to compare are parsed."""
        level = self._policies.level(subject)
        numbers = compared(level, versions)
        if not numbers:
            return []
        form = self._parser.format(schema)
        new = self._parser.parse(schema) if parsed is None else parsed
        return reasons(level, form, new, (self._version(subject, number) for number in numbers))

    def _kept_schema(self, subject: str, number: int) -> Schema:
        return RegistryView(self._subjects).version(subject, number).schema

    def _version(self, subject: str, number: int) -> Version:
        schema = self._kept_schema(subject, number)
        return Version(number, schema.type, self._parser.parse(schema))

    def _next_version(self, subject: str, version: int | None, mode: Mode) -> int:
        following = self._subjects.next_version(subject)
        number = following if version is None else version
        if mode is not Mode.IMPORT and number != following:
            raise InvalidSchema(f"version {number} is not the next one", hint=f"the next version is {following}")
        if self._subjects.entry(subject, number, deleted=True) is not None:
            raise OperationNotPermitted(f"there is a version {number} of {subject!r:.270} already")
        if number > MOST_ID:
            raise InvalidRequest(f"the subject {subject!r:.270} can have no more versions", hint="use another subject")
        return number

    def _next_id(self, schema: Schema, schema_id: int | None) -> int:
        if schema_id is None:
            return next(iter(self._subjects.ids_alike(schema)), self._subjects.next_id)
        existing = self._subjects.id_of(schema)
        if existing is not None and existing != schema_id:
            raise SchemaIdMismatch(f"the schema has the id {existing} already, and cannot have {schema_id} as well")
        if existing is None and self._subjects.schema(schema_id) is not None:
            raise OperationNotPermitted(f"the id {schema_id} belongs to another schema")
        return schema_id

    def _replaced(self, subject: str, number: int, schema_id: int) -> tuple[int, ...]:
        """Deleted versions of the same schema are replaced by the new one, unless they are referred to."""
        return tuple(
            older
            for older in self._subjects.versions(subject, deleted=True)
            if older < number
            and self._subjects.entry(subject, older, deleted=True) == (older, Entry(schema_id, is_deleted=True))
            and not self._subjects.referrers(subject, older, deleted=True)
        )

    def _check_room(self, subject: str, schema: Schema, schema_id: int) -> None:
        hint = "delete what is not used any more, permanently"
        if len(self._subjects.versions(subject, deleted=True)) >= MOST_VERSIONS:
            raise InvalidRequest(f"{subject!r:.270} has {MOST_VERSIONS} versions, and can have no more", hint=hint)
        if self._subjects.total_versions >= MOST_SCHEMAS or schema_id > MOST_ID:
            raise InvalidRequest(f"the registry has {MOST_SCHEMAS} schemas, and can have no more", hint=hint)
        if self._subjects.total_characters + len(schema.text) > MOST_CHARACTERS:
            raise InvalidRequest("all schemas together have become too large", hint=hint)


def _check_numbers(schema_id: int | None, version: int | None) -> None:
    if schema_id is not None and not 1 <= schema_id <= MOST_ID:
        raise InvalidRequest(f"{schema_id} is not an id", hint=f"a number from 1 to {MOST_ID}")
    if version is not None and not 1 <= version <= MOST_ID:
        raise InvalidVersion(f"{version} is not a version to register under")
