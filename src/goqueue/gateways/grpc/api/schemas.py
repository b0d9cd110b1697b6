"""What calls to the schema registry do: register, look up, compare, delete."""

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

from goqueue.core.schemas.schema import LATEST, Reference, Schema, check_version
from goqueue.core.schemas.views import RegistryView, VersionView
from goqueue.engine.broker import Broker
from goqueue.engine.schemas import changing
from goqueue.engine.schemas.looking import find_schema, incompatibilities, settled_registry
from goqueue.engine.schemas.parsing import serialized_text
from goqueue.gateways.grpc.api.schema_policies import policy_methods
from goqueue.gateways.grpc.forms.asking import limited, optional
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.wire.grpc.v1 import schemas_pb2 as wire

__all__ = ["schema_service"]

AVRO = "AVRO"
MOST_LISTED = 20_000
MOST_SCHEMAS_LISTED = 1000

T = TypeVar("T")
Paged = (
    wire.ListSubjectsRequest
    | wire.ListSchemaVersionsRequest
    | wire.ListSchemaUsesRequest
    | wire.ListSchemaReferrersRequest
)


def schema_service(broker: Broker) -> Service:
    registry, listing = _Registry(broker), _Listing(broker)
    methods: dict[str, Handler] = {
        "RegisterSchema": registry.register,
        "LookUpSchema": registry.look_up,
        "GetSchema": registry.by_id,
        "GetSchemaVersion": registry.version,
        "CheckCompatibility": registry.compare,
        "DeleteSubject": registry.delete_subject,
        "DeleteSchemaVersion": registry.delete_version,
        "ListSubjects": listing.subjects,
        "ListSchemaVersions": listing.versions,
        "ListSchemas": listing.schemas,
        "ListSchemaUses": listing.uses,
        "ListSchemaReferrers": listing.referrers,
        "GetSchemaStats": listing.stats,
        **policy_methods(broker),
    }
    return Service(wire.DESCRIPTOR.services_by_name["SchemaService"], methods)


class _Registry:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def register(self, request: wire.RegisterSchemaRequest, _: Call) -> wire.RegisterSchemaResponse:
        done = await changing.register_schema(
            self._broker,
            request.subject,
            _schema(request.schema),
            normalize=request.normalize,
            schema_id=optional(request, "id"),
            version=optional(request, "version"),
        )
        return show(wire.RegisterSchemaResponse, done)

    async def look_up(self, request: wire.LookUpSchemaRequest, _: Call) -> wire.LookUpSchemaResponse:
        how = {"normalize": request.normalize, "deleted": request.deleted}
        found = await find_schema(self._broker, request.subject, _schema(request.schema), **how)
        return wire.LookUpSchemaResponse(version=show(wire.SchemaVersion, found, schema=_shown(found.schema)))

    async def by_id(self, request: wire.GetSchemaRequest, _: Call) -> wire.GetSchemaResponse:
        view = await _view(self._broker)
        schema = await _in_form(self._broker, request.id, view.schema(request.id), request.format)
        return wire.GetSchemaResponse(schema=schema, highest_id=view.counts().highest_id)

    async def version(self, request: wire.GetSchemaVersionRequest, _: Call) -> wire.GetSchemaVersionResponse:
        view = await _view(self._broker)
        found = view.version(request.subject, request.version, deleted=request.deleted)
        schema = await _in_form(self._broker, found.id, found.schema, request.format)
        return wire.GetSchemaVersionResponse(version=show(wire.SchemaVersion, found, schema=schema))

    async def compare(self, request: wire.CheckCompatibilityRequest, _: Call) -> wire.CheckCompatibilityResponse:
        version = optional(request, "version")
        reasons = await incompatibilities(
            self._broker,
            request.subject,
            _schema(request.schema),
            version=None if version is None else check_version(version),
            normalize=request.normalize,
        )
        return wire.CheckCompatibilityResponse(is_compatible=not reasons, reasons=reasons)

    async def delete_subject(self, request: wire.DeleteSubjectRequest, _: Call) -> wire.DeleteSubjectResponse:
        gone = await changing.delete_subject(self._broker, request.subject, permanent=request.permanent)
        return wire.DeleteSubjectResponse(versions=gone)

    async def delete_version(
        self, request: wire.DeleteSchemaVersionRequest, _: Call
    ) -> wire.DeleteSchemaVersionResponse:
        number = check_version(request.version)
        gone = await changing.delete_version(self._broker, request.subject, number, permanent=request.permanent)
        return wire.DeleteSchemaVersionResponse(version=gone)


class _Listing:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def subjects(self, request: wire.ListSubjectsRequest, _: Call) -> wire.ListSubjectsResponse:
        how = {"deleted": request.deleted, "deleted_only": request.deleted_only}
        found = (await _view(self._broker)).subjects(prefix=request.prefix, **how)
        return wire.ListSubjectsResponse(subjects=_page(found, request))

    async def versions(self, request: wire.ListSchemaVersionsRequest, _: Call) -> wire.ListSchemaVersionsResponse:
        how = {"deleted": request.deleted, "deleted_only": request.deleted_only}
        found = (await _view(self._broker)).versions(request.subject, **how)
        return wire.ListSchemaVersionsResponse(versions=_page(found, request))

    async def schemas(self, request: wire.ListSchemasRequest, _: Call) -> wire.ListSchemasResponse:
        limit = limited(optional(request, "limit"), MOST_SCHEMAS_LISTED, MOST_SCHEMAS_LISTED)
        how = {"deleted": request.deleted, "latest_only": request.latest_only}
        found = (await _view(self._broker)).schemas(prefix=request.prefix, **how)
        first = max(request.offset, 0)
        return wire.ListSchemasResponse(versions=[_version(one) for one in islice(found, first, first + limit)])

    async def uses(self, request: wire.ListSchemaUsesRequest, _: Call) -> wire.ListSchemaUsesResponse:
        found = (await _view(self._broker)).places(request.id, deleted=request.deleted)
        wanted = [place for place in found if not request.subject or place[0] == request.subject]
        page = _page(wanted, request)
        return wire.ListSchemaUsesResponse(uses=[wire.SchemaUse(subject=one, version=number) for one, number in page])

    async def referrers(self, request: wire.ListSchemaReferrersRequest, _: Call) -> wire.ListSchemaReferrersResponse:
        view = await _view(self._broker)
        found = view.referrers(request.subject, request.version, deleted=request.deleted)
        return wire.ListSchemaReferrersResponse(ids=_page(found, request))

    async def stats(self, _: wire.GetSchemaStatsRequest, __: Call) -> wire.GetSchemaStatsResponse:
        counts = (await _view(self._broker)).counts()
        return show(wire.GetSchemaStatsResponse, counts, types=self._broker.schemas.types)


async def _view(broker: Broker) -> RegistryView:
    return (await settled_registry(broker)).view


# What is asked.


def _schema(given: wire.Schema) -> Schema:
    references = (Reference(one.name, one.subject, one.version or LATEST) for one in given.references)
    return Schema(given.schema_type or AVRO, given.schema, tuple(references))


def _page(items: Sequence[T], asked: Paged) -> Sequence[T]:
    first = max(asked.offset, 0)
    return items[first : first + limited(optional(asked, "limit"), MOST_LISTED, MOST_LISTED)]


# What is answered.


async def _in_form(broker: Broker, schema_id: int, schema: Schema, form: str) -> wire.Schema:
    """Only Protobuf has another form than the one that was registered."""
    serialized = await serialized_text(broker, schema_id) if form == "serialized" else None
    return _shown(schema, serialized)


def _shown(schema: Schema, text: str | None = None) -> wire.Schema:
    return show(wire.Schema, schema, schema=schema.text if text is None else text, schema_type=schema.type)


def _version(view: VersionView) -> wire.SchemaVersion:
    return show(wire.SchemaVersion, view, schema=_shown(view.schema))
