"""Origin of a request: which names the broker answers to, and which web pages may make a browser change something.

A page that a developer has open can make the browser ask a broker on the same machine or network (CSRF). With a name of
its own that leads to the broker's address it can also read the answers (DNS rebinding). Rebinding needs a name, so
every IP address is allowed. Programs that are not browsers send no `Origin`.
"""

import ipaddress
from collections.abc import Iterable

from starlette.types import Scope

from goqueue.gateways.http.responses import HttpRefusal

__all__ = ["AllowedHosts", "check_host", "check_page"]

OWN_SITE = frozenset({b"same-origin", b"none"})
"""What browsers say, which pages cannot forge, when a page of this origin or the user made them ask."""
PORTS = {"http": "80", "https": "443"}
LONGEST_SHOWN = 100


class AllowedHosts:
    """Names from the settings, besides those of this machine; `*.example.com` stands for every name below it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        plain = {name.strip().rstrip(".").lower() for name in names} - {""}
        self._names = {name for name in plain if not name.startswith("*")} | {"localhost"}
        self._endings = (".localhost", *(name.removeprefix("*") for name in plain if name.startswith("*")))

    def __contains__(self, host: str) -> bool:
        name = host.rstrip(".").lower()
        return name in self._names or name.endswith(self._endings) or _is_address(name)


def check_host(scope: Scope, allowed: AllowedHosts) -> None:
    """Raises for a request that is not meant for this broker."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) > 1 or (not hosts and scope["http_version"] == "1.1"):
        raise HttpRefusal(
            400,
            "invalid_request",
            f"an HTTP/1.1 request must have one Host header, got {len(hosts)}",
            hint="send Host: and the name or address that you connect to",
        )
    if not hosts:
        return
    host, port = _split(hosts[0])
    if not host or not (not port or port.isdecimal()):
        raise HttpRefusal(400, "invalid_request", f"the Host header must be HOST or HOST:PORT, got {_shown(hosts[0])}")
    if host not in allowed:
        raise HttpRefusal(
            403,
            "foreign_host",
            f"the Host header must name this broker, got {_shown(hosts[0])}",
            hint="if that is a name of this broker, add it to the setting http.allowed_hosts; IP addresses are allowed",
        )


def check_page(scope: Scope) -> None:
    """Raises if a page of another origin made a browser send this."""
    found = dict(scope["headers"])
    # Each of several: a browser sends one, and a proxy may have added others.
    for name, value in scope["headers"]:
        if name == b"sec-fetch-site" and value not in OWN_SITE:
            raise _foreign("a page of another site asked for this: nothing was changed")
        if name == b"origin" and not _is_own(value, found):
            raise _foreign(f"the Origin header must match the Host header, got {_shown(value)}: nothing was changed")


def _foreign(text: str) -> HttpRefusal:
    hint = (
        "use the API from a program or a page of the broker; a proxy must pass on Host, and X-Forwarded-Proto for TLS"
    )
    return HttpRefusal(403, "foreign_page", text, hint=hint)


def _is_own(origin: bytes, found: dict[bytes, bytes]) -> bool:
    # A page cannot set X-Forwarded-Proto without the browser asking first, which nothing here allows.
    scheme = found.get(b"x-forwarded-proto", b"http").decode("latin-1").strip().lower()
    default = PORTS.get(scheme, "")
    its_scheme, separator, its_place = origin.partition(b"://")
    if not separator or its_scheme.decode("latin-1").lower() != scheme:
        return False
    (its_host, its_port), (host, port) = _split(its_place), _split(found.get(b"host", b""))
    return bool(host) and (its_host, its_port or default) == (host, port or default)


def _split(place: bytes) -> tuple[str, str]:
    """Host and port; the host of an IPv6 address without its brackets."""
    text = place.decode("latin-1").strip().lower()
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = text.partition(":")
    return host, port


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _shown(value: bytes) -> str:
    return repr(value[:LONGEST_SHOWN].decode("latin-1"))
