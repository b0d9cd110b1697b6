"""The schema registry over HTTP, as clients of Confluent's speak to it: under /schemas, or at a root of its own."""

import msgspec

from goqueue.gateways.http.api.schemas import by_id, compatibility, overview, policies, subjects, versions
from goqueue.gateways.http.endpoint import Endpoint

__all__ = ["ENDPOINTS", "PREFIX", "ROOT_ENDPOINTS"]

PREFIX = "/schemas"

ROOT_ENDPOINTS: tuple[Endpoint, ...] = (
    *by_id.ENDPOINTS,
    *versions.ENDPOINTS,
    *subjects.ENDPOINTS,
    *compatibility.ENDPOINTS,
    *policies.ENDPOINTS,
    *overview.ENDPOINTS,
)
"""For a listener that serves nothing else."""

_UNDER_PREFIX = tuple(msgspec.structs.replace(one, path=PREFIX + one.path) for one in ROOT_ENDPOINTS)

ENDPOINTS: tuple[Endpoint, ...] = (
    *_UNDER_PREFIX,
    # Its root can be asked for with a slash at the end and without.
    *(msgspec.structs.replace(one, path=PREFIX) for one in ROOT_ENDPOINTS if one.path == "/"),
)
