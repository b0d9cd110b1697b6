from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Schema(_message.Message):
    __slots__ = ("schema", "schema_type", "references")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_TYPE_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    schema: str
    schema_type: str
    references: _containers.RepeatedCompositeFieldContainer[SchemaReference]
    def __init__(self, schema: _Optional[str] = ..., schema_type: _Optional[str] = ..., references: _Optional[_Iterable[_Union[SchemaReference, _Mapping]]] = ...) -> None: ...

class SchemaReference(_message.Message):
    __slots__ = ("name", "subject", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    subject: str
    version: int
    def __init__(self, name: _Optional[str] = ..., subject: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SchemaVersion(_message.Message):
    __slots__ = ("subject", "version", "id", "schema")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    subject: str
    version: int
    id: int
    schema: Schema
    def __init__(self, subject: _Optional[str] = ..., version: _Optional[int] = ..., id: _Optional[int] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ...) -> None: ...

class RegisterSchemaRequest(_message.Message):
    __slots__ = ("subject", "schema", "normalize", "id", "version")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    subject: str
    schema: Schema
    normalize: bool
    id: int
    version: int
    def __init__(self, subject: _Optional[str] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ..., normalize: _Optional[bool] = ..., id: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class RegisterSchemaResponse(_message.Message):
    __slots__ = ("id", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: int
    version: int
    def __init__(self, id: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class LookUpSchemaRequest(_message.Message):
    __slots__ = ("subject", "schema", "normalize", "deleted")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    subject: str
    schema: Schema
    normalize: bool
    deleted: bool
    def __init__(self, subject: _Optional[str] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ..., normalize: _Optional[bool] = ..., deleted: _Optional[bool] = ...) -> None: ...

class LookUpSchemaResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: SchemaVersion
    def __init__(self, version: _Optional[_Union[SchemaVersion, _Mapping]] = ...) -> None: ...

class GetSchemaRequest(_message.Message):
    __slots__ = ("id", "format")
    ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    id: int
    format: str
    def __init__(self, id: _Optional[int] = ..., format: _Optional[str] = ...) -> None: ...

class GetSchemaResponse(_message.Message):
    __slots__ = ("schema", "highest_id")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_ID_FIELD_NUMBER: _ClassVar[int]
    schema: Schema
    highest_id: int
    def __init__(self, schema: _Optional[_Union[Schema, _Mapping]] = ..., highest_id: _Optional[int] = ...) -> None: ...

class GetSchemaVersionRequest(_message.Message):
    __slots__ = ("subject", "version", "deleted", "format")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    version: int
    deleted: bool
    format: str
    def __init__(self, subject: _Optional[str] = ..., version: _Optional[int] = ..., deleted: _Optional[bool] = ..., format: _Optional[str] = ...) -> None: ...

class GetSchemaVersionResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: SchemaVersion
    def __init__(self, version: _Optional[_Union[SchemaVersion, _Mapping]] = ...) -> None: ...

class ListSubjectsRequest(_message.Message):
    __slots__ = ("prefix", "deleted", "deleted_only", "offset", "limit")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    DELETED_ONLY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    deleted: bool
    deleted_only: bool
    offset: int
    limit: int
    def __init__(self, prefix: _Optional[str] = ..., deleted: _Optional[bool] = ..., deleted_only: _Optional[bool] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListSubjectsResponse(_message.Message):
    __slots__ = ("subjects",)
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    subjects: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, subjects: _Optional[_Iterable[str]] = ...) -> None: ...

class ListSchemaVersionsRequest(_message.Message):
    __slots__ = ("subject", "deleted", "deleted_only", "offset", "limit")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    DELETED_ONLY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    deleted: bool
    deleted_only: bool
    offset: int
    limit: int
    def __init__(self, subject: _Optional[str] = ..., deleted: _Optional[bool] = ..., deleted_only: _Optional[bool] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListSchemaVersionsResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, versions: _Optional[_Iterable[int]] = ...) -> None: ...

class ListSchemasRequest(_message.Message):
    __slots__ = ("prefix", "deleted", "latest_only", "offset", "limit")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    LATEST_ONLY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    deleted: bool
    latest_only: bool
    offset: int
    limit: int
    def __init__(self, prefix: _Optional[str] = ..., deleted: _Optional[bool] = ..., latest_only: _Optional[bool] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListSchemasResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[SchemaVersion]
    def __init__(self, versions: _Optional[_Iterable[_Union[SchemaVersion, _Mapping]]] = ...) -> None: ...

class ListSchemaUsesRequest(_message.Message):
    __slots__ = ("id", "subject", "deleted", "offset", "limit")
    ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    id: int
    subject: str
    deleted: bool
    offset: int
    limit: int
    def __init__(self, id: _Optional[int] = ..., subject: _Optional[str] = ..., deleted: _Optional[bool] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListSchemaUsesResponse(_message.Message):
    __slots__ = ("uses",)
    USES_FIELD_NUMBER: _ClassVar[int]
    uses: _containers.RepeatedCompositeFieldContainer[SchemaUse]
    def __init__(self, uses: _Optional[_Iterable[_Union[SchemaUse, _Mapping]]] = ...) -> None: ...

class SchemaUse(_message.Message):
    __slots__ = ("subject", "version")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    subject: str
    version: int
    def __init__(self, subject: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ListSchemaReferrersRequest(_message.Message):
    __slots__ = ("subject", "version", "deleted", "offset", "limit")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    version: int
    deleted: bool
    offset: int
    limit: int
    def __init__(self, subject: _Optional[str] = ..., version: _Optional[int] = ..., deleted: _Optional[bool] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListSchemaReferrersResponse(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ...) -> None: ...

class CheckCompatibilityRequest(_message.Message):
    __slots__ = ("subject", "schema", "version", "normalize")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    subject: str
    schema: Schema
    version: int
    normalize: bool
    def __init__(self, subject: _Optional[str] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ..., version: _Optional[int] = ..., normalize: _Optional[bool] = ...) -> None: ...

class CheckCompatibilityResponse(_message.Message):
    __slots__ = ("is_compatible", "reasons")
    IS_COMPATIBLE_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    is_compatible: bool
    reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, is_compatible: _Optional[bool] = ..., reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteSubjectRequest(_message.Message):
    __slots__ = ("subject", "permanent")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PERMANENT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    permanent: bool
    def __init__(self, subject: _Optional[str] = ..., permanent: _Optional[bool] = ...) -> None: ...

class DeleteSubjectResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, versions: _Optional[_Iterable[int]] = ...) -> None: ...

class DeleteSchemaVersionRequest(_message.Message):
    __slots__ = ("subject", "version", "permanent")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PERMANENT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    version: int
    permanent: bool
    def __init__(self, subject: _Optional[str] = ..., version: _Optional[int] = ..., permanent: _Optional[bool] = ...) -> None: ...

class DeleteSchemaVersionResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class SchemaConfig(_message.Message):
    __slots__ = ("compatibility", "normalize")
    COMPATIBILITY_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    compatibility: str
    normalize: bool
    def __init__(self, compatibility: _Optional[str] = ..., normalize: _Optional[bool] = ...) -> None: ...

class GetSchemaConfigRequest(_message.Message):
    __slots__ = ("subject", "default_to_global")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_TO_GLOBAL_FIELD_NUMBER: _ClassVar[int]
    subject: str
    default_to_global: bool
    def __init__(self, subject: _Optional[str] = ..., default_to_global: _Optional[bool] = ...) -> None: ...

class GetSchemaConfigResponse(_message.Message):
    __slots__ = ("config",)
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    config: SchemaConfig
    def __init__(self, config: _Optional[_Union[SchemaConfig, _Mapping]] = ...) -> None: ...

class SetSchemaConfigRequest(_message.Message):
    __slots__ = ("subject", "config")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    subject: str
    config: SchemaConfig
    def __init__(self, subject: _Optional[str] = ..., config: _Optional[_Union[SchemaConfig, _Mapping]] = ...) -> None: ...

class SetSchemaConfigResponse(_message.Message):
    __slots__ = ("config",)
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    config: SchemaConfig
    def __init__(self, config: _Optional[_Union[SchemaConfig, _Mapping]] = ...) -> None: ...

class DeleteSchemaConfigRequest(_message.Message):
    __slots__ = ("subject",)
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    def __init__(self, subject: _Optional[str] = ...) -> None: ...

class DeleteSchemaConfigResponse(_message.Message):
    __slots__ = ("config",)
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    config: SchemaConfig
    def __init__(self, config: _Optional[_Union[SchemaConfig, _Mapping]] = ...) -> None: ...

class GetSchemaModeRequest(_message.Message):
    __slots__ = ("subject", "default_to_global")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_TO_GLOBAL_FIELD_NUMBER: _ClassVar[int]
    subject: str
    default_to_global: bool
    def __init__(self, subject: _Optional[str] = ..., default_to_global: _Optional[bool] = ...) -> None: ...

class GetSchemaModeResponse(_message.Message):
    __slots__ = ("mode",)
    MODE_FIELD_NUMBER: _ClassVar[int]
    mode: str
    def __init__(self, mode: _Optional[str] = ...) -> None: ...

class SetSchemaModeRequest(_message.Message):
    __slots__ = ("subject", "mode", "force")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    subject: str
    mode: str
    force: bool
    def __init__(self, subject: _Optional[str] = ..., mode: _Optional[str] = ..., force: _Optional[bool] = ...) -> None: ...

class SetSchemaModeResponse(_message.Message):
    __slots__ = ("mode",)
    MODE_FIELD_NUMBER: _ClassVar[int]
    mode: str
    def __init__(self, mode: _Optional[str] = ...) -> None: ...

class DeleteSchemaModeRequest(_message.Message):
    __slots__ = ("subject",)
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    def __init__(self, subject: _Optional[str] = ...) -> None: ...

class DeleteSchemaModeResponse(_message.Message):
    __slots__ = ("mode",)
    MODE_FIELD_NUMBER: _ClassVar[int]
    mode: str
    def __init__(self, mode: _Optional[str] = ...) -> None: ...

class GetSchemaStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetSchemaStatsResponse(_message.Message):
    __slots__ = ("subjects", "versions", "schemas", "characters", "highest_id", "types")
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_ID_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    subjects: int
    versions: int
    schemas: int
    characters: int
    highest_id: int
    types: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, subjects: _Optional[int] = ..., versions: _Optional[int] = ..., schemas: _Optional[int] = ..., characters: _Optional[int] = ..., highest_id: _Optional[int] = ..., types: _Optional[_Iterable[str]] = ...) -> None: ...
