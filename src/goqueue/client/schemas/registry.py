"""A schema registry, with calls that block: GoQueue's own, or any that speaks Confluent's API."""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from goqueue.client.schemas.http import RegistryAddress
from goqueue.client.schemas.keeping import Kept
from goqueue.client.schemas.schema import Schema, Version

__all__ = ["DEFAULT_REGISTRY", "Compatibility", "Registry"]

Answer = TypeVar("Answer")

DEFAULT_REGISTRY = "http://127.0.0.1:8080/schemas"
MOST_KEPT = 1000


class Compatibility(msgspec.Struct, frozen=True):
    """Whether a schema may follow, and if not, why."""

    is_compatible: bool
    messages: tuple[str, ...] = ()


class _Id(msgspec.Struct, frozen=True):
    id: int


class _Place(msgspec.Struct, frozen=True):
    subject: str
    version: int


class _Config(msgspec.Struct, frozen=True, rename={"level": "compatibilityLevel"}):
    level: str | None = None
    normalize: bool | None = None


class _Mode(msgspec.Struct, frozen=True):
    mode: str


class Registry:
    """Any thread may ask, and nothing has to be closed.

    registry = Registry("http://127.0.0.1:8080/schemas")
    schema_id = registry.register("orders-value", Schema(text))

    Schemas by id, ids by subject and schema, and numbered versions never change: they are asked for once.
    """

    def __init__(
        self,
        url: str = DEFAULT_REGISTRY,
        *,
        timeout_s: float = 10.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._address = RegistryAddress(url, timeout_s=timeout_s, retries=retries, headers=headers or {})
        self._schemas: Kept[Schema] = Kept(MOST_KEPT)
        self._ids: Kept[int] = Kept(MOST_KEPT)
        self._versions: Kept[Version] = Kept(MOST_KEPT)

    @property
    def blocking(self) -> "Registry":
        """Itself; what takes a registry takes this one and that of asyncio."""
        return self

    @property
    def url(self) -> str:
        return self._address.url

    # What serializers need.

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> int:
        """The id of the schema, which is registered under the subject unless it is there."""

        def ask() -> int:
            return self._post(_Id, f"{_subject(subject)}/versions", schema, normalize=normalize).id

        return self._ids.get((subject, schema, normalize), ask)

    def look_up(self, subject: str, schema: Schema, *, normalize: bool = False) -> Version:
        """The version as which the subject has the schema."""

        def ask() -> Version:
            return self._post(Version, _subject(subject), schema, normalize=normalize)

        return self._versions.get((subject, schema, normalize), ask)

    def schema(self, schema_id: int, *, serialized: bool = False) -> Schema:
        """The schema with this id; one of Protobuf `serialized` is its descriptor in base64."""

        def ask() -> Schema:
            query = {"format": "serialized" if serialized else ""}
            return self._address.ask(Schema, "GET", f"/schemas/ids/{schema_id}", query=query)

        return self._schemas.get((schema_id, serialized), ask)

    def version(self, subject: str, version: int | None = None, *, deleted: bool = False) -> Version:
        """A version of a subject; the latest, which is asked for each time, if none is named."""

        def ask() -> Version:
            path = f"{_subject(subject)}/versions/{'latest' if version is None else version}"
            return self._address.ask(Version, "GET", path, query={"deleted": deleted})

        return ask() if version is None else self._versions.get((subject, version, deleted), ask)

    def places(self, schema_id: int) -> list[tuple[str, int]]:
        """Subjects and versions that have the schema."""
        found = self._address.ask(list[_Place], "GET", f"/schemas/ids/{schema_id}/versions")
        return [(one.subject, one.version) for one in found]

    def referenced_by(self, subject: str, version: int) -> list[int]:
        """Ids of the schemas that refer to a version."""
        return self._address.ask(list[int], "GET", f"{_subject(subject)}/versions/{version}/referencedby")

    # What people need.

    def subjects(self, *, prefix: str = "", deleted: bool = False) -> list[str]:
        return self._address.ask(list[str], "GET", "/subjects", query={"subjectPrefix": prefix, "deleted": deleted})

    def stats(self) -> dict[str, Any]:
        """How much there is in a registry of GoQueue; others have no such answer."""
        return self._address.ask(dict[str, Any], "GET", "/stats")

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        return self._address.ask(list[int], "GET", f"{_subject(subject)}/versions", query={"deleted": deleted})

    def latest(self, *, prefix: str = "", deleted: bool = False, offset: int = 0, limit: int = 1000) -> list[Version]:
        """The latest version of each subject, by pages."""
        query = {"subjectPrefix": prefix, "deleted": deleted, "latestOnly": True, "offset": offset, "limit": limit}
        return self._address.ask(list[Version], "GET", "/schemas", query=query)

    def check(
        self, subject: str, schema: Schema, *, version: int | None = None, normalize: bool = False
    ) -> Compatibility:
        """Whether the schema could be registered now; with a version, as if that were the only one before it."""
        path = f"/compatibility{_subject(subject)}/versions" + ("" if version is None else f"/{version}")
        return self._post(Compatibility, path, schema, normalize=normalize, verbose=True)

    def delete(self, subject: str, version: int | None = None, *, permanent: bool = False) -> list[int]:
        """Versions that are gone: one, or all. Only what has been deleted can be deleted permanently."""
        path, query = _subject(subject), {"permanent": permanent}
        if version is None:
            gone = self._address.ask(list[int], "DELETE", path, query=query)
        else:
            gone = [self._address.ask(int, "DELETE", f"{path}/versions/{version}", query=query)]
        for kept in (self._ids, self._versions):
            kept.clear()
        return gone

    def config(self, subject: str | None = None, *, in_effect: bool = True) -> dict[str, Any]:
        """Compatibility level and normalization, of a subject or of all; `in_effect` also if it is the global one."""
        found = self._address.ask(_Config, "GET", f"/config{_of(subject)}", query={"defaultToGlobal": in_effect})
        return {"compatibility": found.level, "normalize": bool(found.normalize)}

    def set_config(
        self, subject: str | None = None, *, compatibility: str | None = None, normalize: bool | None = None
    ) -> None:
        """What is left out stays as it is."""
        wish = {"compatibility": compatibility, "normalize": normalize}
        body = {name: value for name, value in wish.items() if value is not None}
        self._address.ask(Any, "PUT", f"/config{_of(subject)}", body=body)

    def reset_config(self, subject: str | None = None) -> None:
        self._address.ask(Any, "DELETE", f"/config{_of(subject)}")

    def mode(self, subject: str | None = None, *, in_effect: bool = True) -> str:
        return self._address.ask(_Mode, "GET", f"/mode{_of(subject)}", query={"defaultToGlobal": in_effect}).mode

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> None:
        self._address.ask(Any, "PUT", f"/mode{_of(subject)}", query={"force": force}, body={"mode": mode})

    def reset_mode(self, subject: str | None = None) -> None:
        self._address.ask(Any, "DELETE", f"/mode{_of(subject)}")

    def _post(self, kind: type[Answer], path: str, schema: Schema, **query: bool) -> Answer:
        return self._address.ask(kind, "POST", path, query=query, body=msgspec.to_builtins(schema))


def _subject(name: str) -> str:
    return f"/subjects/{quote(name, safe='')}"


def _of(subject: str | None) -> str:
    return "" if subject is None else f"/{quote(subject, safe='')}"
