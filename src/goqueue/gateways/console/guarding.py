"""What protects the console: headers on every answer, and who may ask it to change something.

A browser shows what a broker on this machine says to no other page, but any page may make it send a form there. So only
forms of the console's own pages are taken.
"""

from urllib.parse import urlsplit

from goqueue.gateways.console.visit import Visit

__all__ = ["SECURITY_HEADERS", "is_own"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

SECURITY_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def is_own(visit: Visit) -> bool:
    """Whether the request was made by a page of this very origin. Browsers say so, and pages cannot forge it."""
    site, origin = visit.header(b"sec-fetch-site"), visit.header(b"origin")
    if site and site != "same-origin":
        return False
    if origin:
        return urlsplit(origin).netloc == visit.header(b"host")
    return site == "same-origin"
