"""Which native requests are answered by what: each family is loaded with its first request."""

from typing import Any, cast

import pytest

from goqueue.gateways.native.routes import FAMILIES
from goqueue.gateways.native.waits import Waits
from goqueue.wire.native.frames import Opcode

NO_BROKER = cast(Any, None)
ALWAYS_LOADED = {
    Opcode.HELLO,
    Opcode.METADATA,
    Opcode.INIT_PRODUCER,
    Opcode.PUBLISH,
    Opcode.FETCH,
    Opcode.LIST_OFFSETS,
}


def test_every_request_is_of_a_family_or_always_loaded():
    assert FAMILIES.keys() | ALWAYS_LOADED == set(Opcode)
    assert not FAMILIES.keys() & ALWAYS_LOADED


@pytest.mark.parametrize("family", dict.fromkeys(FAMILIES.values()), ids=lambda family: family.__name__)
def test_a_family_answers_the_requests_that_are_said_to_be_of_it(family):
    said = {opcode for opcode, found in FAMILIES.items() if found is family}
    assert {route[0] for route in family(NO_BROKER, Waits())} == said
