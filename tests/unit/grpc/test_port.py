"""A port that is held for gRPC, and how it is handed over."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from goqueue.gateways.grpc.port import accept_waiting, address_of, hold, keep_alone, share, steer_to_the_second

ADDRESSES = ["127.0.0.1", "localhost", "0.0.0.0", "::1", "::"]
MANY = 40


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def joined(held: socket.socket) -> socket.socket:
    """As gRPC does it."""
    second = socket.socket(held.family, socket.SOCK_STREAM)
    second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        second.bind(held.getsockname())
    except OSError:
        second.close()
        raise
    second.listen(MANY)
    second.setblocking(False)
    return second


def connect(stack: ExitStack, held: socket.socket) -> None:
    host, port = address_of(held)
    target = {"::": "::1", "0.0.0.0": "127.0.0.1"}.get(host, host)
    for _ in range(MANY):
        stack.enter_context(socket.create_connection((target, port)))


def accepted(stack: ExitStack, listener: socket.socket) -> int:
    return len([stack.enter_context(client) for client in accept_waiting(listener)])


@pytest.mark.parametrize("host", ADDRESSES)
def test_a_port_that_is_held_belongs_to_nobody_else(stack: ExitStack, host: str):
    held = stack.enter_context(hold(host, 0))
    _, port = address_of(held)
    for take in (lambda: hold(host, port), lambda: joined(held)):
        with pytest.raises(OSError, match="in use"):
            take()
    share(held)
    second = stack.enter_context(joined(held))
    with pytest.raises(OSError, match="in use"):
        hold(host, port)
    held.close()
    with pytest.raises(OSError, match="in use"):
        hold(host, port)
    second.close()
    hold(host, port).close()


def test_a_port_that_could_not_be_handed_over_is_held_as_before(stack: ExitStack):
    held = stack.enter_context(hold("127.0.0.1", 0))
    share(held)
    keep_alone(held)
    with pytest.raises(OSError, match="in use"):
        joined(held)


@pytest.mark.parametrize("host", ADDRESSES)
def test_whoever_comes_to_a_held_port_waits_there_until_it_is_accepted(stack: ExitStack, host: str):
    held = stack.enter_context(hold(host, 0))
    assert accepted(stack, held) == 0
    connect(stack, held)
    assert accepted(stack, held) == MANY


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told which socket is to get a connection")
@pytest.mark.parametrize("host", ADDRESSES)
def test_after_the_hand_over_all_who_come_go_to_the_second_socket(stack: ExitStack, host: str):
    held = stack.enter_context(hold(host, 0))
    share(held)
    second = stack.enter_context(joined(held))
    steer_to_the_second(held)
    connect(stack, held)
    assert (accepted(stack, held), accepted(stack, second)) == (0, MANY)
    held.close()
    target = second.getsockname()[1]
    assert target
    connect(stack, second)
    assert accepted(stack, second) == MANY
