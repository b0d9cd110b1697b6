"""One request to the console, read: path, query and form become checked structs, or an error that says why not."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.types import Scope

from goqueue.engine.broker import Broker
from goqueue.errors import InvalidRequest
from goqueue.gateways.console.desk import Desk
from goqueue.gateways.console.timeline import Minutes
from goqueue.model.ids import InstantNs

__all__ = ["RangeQuery", "Visit"]

MOST_FIELDS = 200
FORM_TYPE = b"application/x-www-form-urlencoded"

_MISFIT = re.compile(r"(?P<words>.*?) - at `\$\.?(?P<field>[^`]*)`", re.DOTALL)

T = TypeVar("T")


class RangeQuery(msgspec.Struct, frozen=True):
    """How much of the past the charts of a page show."""

    minutes: Minutes = 10


class Visit:
    """`params` are the parts of the path, `query` and `fields` (of a form) what else was given, all as text."""

    def __init__(
        self,
        desk: Desk,
        scope: Scope,
        body: bytes,
        render: Callable[[str, Mapping[str, Any]], str],
    ) -> None:
        self.desk = desk
        self.path: str = scope["path"]
        self.method: str = scope["method"]
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._render = render
        self.params = {name: _unescaped(text) for name, text in scope.get("path_params", {}).items()}
        self.query = _pairs(scope["query_string"], "query")
        self.fields = self._form(body) if body else {}

    @property
    def broker(self) -> Broker:
        return self.desk.broker

    @property
    def now(self) -> InstantNs:
        return self.desk.broker.clock.now_ns()

    @property
    def is_partial(self) -> bool:
        """htmx asks for a part of the page; not when it restores a whole one from its history."""
        return self.header(b"hx-request") == "true" and self.header(b"hx-history-restore-request") != "true"

    @property
    def target(self) -> str:
        """The id of the element that the answer is for."""
        return self.header(b"hx-target")

    def header(self, name: bytes) -> str:
        return next((value.decode("latin-1") for given, value in self._headers if given == name), "")

    def read_params(self, kind: type[T]) -> T:
        return _read(self.params, kind)

    def read_query(self, kind: type[T]) -> T:
        return _read(self.query, kind)

    def read_form(self, kind: type[T]) -> T:
        return _read(self.fields, kind)

    def fragment(self, template: str, values: Mapping[str, Any]) -> str:
        """A template as text, for live updates."""
        return self._render(template, values)

    def _form(self, body: bytes) -> dict[str, str]:
        if self.header(b"content-type").partition(";")[0].strip().lower() != FORM_TYPE.decode():
            raise InvalidRequest("the body is not a form", hint=f"send it as {FORM_TYPE.decode()}")
        return _pairs(body, "form")


def _unescaped(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidRequest("the path cannot be read: it is not UTF-8") from None


def _pairs(text: bytes, what: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise InvalidRequest(f"the {what} cannot be read") from None
    return dict(pairs)


def _read(given: Mapping[str, str], kind: type[T]) -> T:
    """Fields that are left empty have their defaults."""
    try:
        return msgspec.convert({name: text for name, text in given.items() if text != ""}, kind, strict=False)
    except msgspec.ValidationError as error:
        found = _MISFIT.fullmatch(str(error))
        if found is None:
            raise InvalidRequest(str(error)) from None
        raise InvalidRequest(f"{found['field'].replace('_', ' ')}: {found['words']}") from None
