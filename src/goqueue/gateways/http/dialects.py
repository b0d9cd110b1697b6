"""Where APIs that share a listener differ: what their answers are called, how errors look, what they pass over."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from starlette.types import Scope, Send

from goqueue.errors import GoQueueError
from goqueue.gateways.http.responses import (
    ErrorBody,
    Header,
    HttpRefusal,
    encode_json,
    error_body,
    respond,
    retry_after,
)

__all__ = ["OWN", "Dialect", "DialectAt", "Refused", "body_of", "own_dialect"]

_REFUSED = re.compile(r"q\s*=\s*0(?:\.0*)?")

Refused = GoQueueError | HttpRefusal


def body_of(refused: Refused) -> ErrorBody:
    return refused.body if isinstance(refused, HttpRefusal) else error_body(refused)


class Dialect(msgspec.Struct, frozen=True):
    """The first media type is taken unless the client asks for another of them, and for none of those before."""

    media_types: tuple[str, ...]
    error_type: type
    error_content: Callable[[Refused], Any]
    ignores_unknown: bool
    """Parameters of a query that an endpoint does not have."""
    where_to_look: str
    """For somebody who asks for what there is not."""
    taken_types: tuple[str, ...] = ()
    """Of a body, besides `media_types`."""
    is_strict: bool = False
    """Other media types are refused, and what cannot be in a path is not found."""

    def media_type(self, scope: Scope) -> bytes:
        if len(self.media_types) > 1:
            accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"").decode("latin-1")
            for each in self.media_types:
                if each in accepted:
                    return each.encode()
        return self.media_types[0].encode()

    def check_types(self, scope: Scope, *, has_body: bool) -> None:
        """Raise HttpRefusal when the body is of a type that is not taken, or the answer of none that is asked for."""
        if not self.is_strict:
            return
        headers = scope["headers"]
        accepted = b",".join(value for name, value in headers if name == b"accept").decode("latin-1")
        if accepted and not any(map(self._gives, accepted.split(","))):
            raise HttpRefusal(
                406,
                "not_acceptable",
                f"the answer can be {', '.join(self.media_types)}, and {accepted[:200]} is accepted",
                hint="send Accept: application/json, or none",
            )
        given = next((value for name, value in headers if name == b"content-type"), b"").decode("latin-1")
        plain = given.partition(";")[0].strip().lower()
        if has_body and plain and plain not in (*self.media_types, *self.taken_types):
            raise HttpRefusal(
                415,
                "unsupported_media_type",
                f"the body can be {', '.join(self.media_types)}, and is {plain[:200]}",
                hint="send Content-Type: application/json",
            )

    def _gives(self, accepted: str) -> bool:
        kind, *parameters = (part.strip().lower() for part in accepted.split(";"))
        if any(_REFUSED.fullmatch(one) for one in parameters):
            return False
        return kind in ("", "*/*", "application/*", *self.media_types)

    async def respond_error(
        self, scope: Scope, send: Send, refused: Refused, *, headers: Iterable[Header] = (), finished: bool = True
    ) -> None:
        body = body_of(refused)
        given = refused.headers if isinstance(refused, HttpRefusal) else ()
        await respond(
            send,
            body.status,
            encode_json(self.error_content(refused)),
            media_type=self.media_type(scope),
            headers=(*given, *retry_after(body), *headers),
            finished=finished,
        )


OWN = Dialect(("application/json",), ErrorBody, body_of, ignores_unknown=False, where_to_look="see /docs")
"""GoQueue's own: one shape for all errors, and nothing misspelt is passed over."""

DialectAt = Callable[[str], Dialect]
"""The dialect that is spoken under a path, also where there is no endpoint."""


def own_dialect(_: str) -> Dialect:
    return OWN
