"""The thread behind the blocking clients: there while one is open, gone afterwards, and never in a fork."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from goqueue.client.background import Background
from goqueue.client.sync import Admin, Producer
from goqueue.errors import BrokerUnreachable, ClientClosed, RequestTimeout


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "goqueue-client"]


def nobody():
    """Stands for a client that is never abandoned."""


def other():
    """A second one."""


def test_the_thread_lives_from_the_first_client_to_the_last():
    loop = Background()
    assert threads() == []
    loop.enter(nobody)
    (thread,) = threads()
    assert thread.daemon
    loop.enter(other)
    loop.leave(nobody)
    assert threads() == [thread]
    loop.leave(other)
    assert threads() == []
    loop.enter(nobody)
    assert len(threads()) == 1
    loop.leave(nobody)
    assert threads() == []


@pytest.fixture
def loop():
    made = Background()
    made.enter(nobody)
    yield made
    made.leave(nobody)
    assert threads() == []


def test_a_call_returns_or_raises_what_the_coroutine_does(loop):
    async def double(number):
        await asyncio.sleep(0)
        return 2 * number

    async def fail():
        raise BrokerUnreachable("nobody there")

    assert loop.run(None, double, 21) == 42
    with pytest.raises(BrokerUnreachable):
        loop.run(None, fail)


def test_a_call_that_takes_too_long_is_taken_back(loop):
    ended = threading.Event()

    async def wait():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(RequestTimeout):
        loop.run(0.05, wait)
    assert ended.wait(5)


def test_an_error_of_the_coroutine_that_is_a_timeout_stays_what_it_is(loop):
    async def fail():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        loop.run(5, fail)


def test_after_the_last_client_nothing_is_called():
    loop = Background()
    loop.enter(nobody)
    loop.leave(nobody)

    async def never():
        raise AssertionError

    with pytest.raises(ClientClosed):
        loop.run(None, never)
    with pytest.raises(ClientClosed):
        loop.call_soon(nobody)


def test_a_call_under_way_when_the_last_client_leaves_may_finish():
    loop, begun, go = Background(), threading.Event(), threading.Event()
    loop.enter(nobody)
    answers = []

    async def work():
        begun.set()
        await asyncio.get_running_loop().run_in_executor(None, go.wait)
        return "done"

    caller = threading.Thread(target=lambda: answers.append(loop.run(None, work)))
    caller.start()
    begun.wait()
    leaver = threading.Thread(target=loop.leave, args=(nobody,))
    leaver.start()
    go.set()
    caller.join(10)
    leaver.join(10)
    assert answers == ["done"]
    assert threads() == []


def test_a_client_that_was_never_used_starts_no_thread():
    producer, admin = Producer("127.0.0.1:1"), Admin("127.0.0.1:1")
    producer.close()
    admin.close()
    with pytest.raises(ClientClosed):
        producer.send("orders", b"late")
    assert threads() == []


def test_a_client_that_cannot_connect_leaves_nothing_behind():
    with pytest.raises(BrokerUnreachable), Admin("127.0.0.1:1"):
        raise AssertionError
    with pytest.raises(BrokerUnreachable), Producer("127.0.0.1:1", delivery_timeout_ms=100) as producer:
        producer.send("orders", b"value")
    assert threads() == []


def run(code, *arguments):
    """In a process of its own, with warnings as errors and nothing on standard error."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_fork_is_told_that_the_client_is_not_its_own_and_may_make_one():
    code = """
import os, sys, threading
from goqueue.client.background import background
from goqueue.client.sync import Producer
from goqueue.errors import BrokerUnreachable, ClientClosed

with Producer("127.0.0.1:1", delivery_timeout_ms=100) as producer:
    try:
        producer.flush()
        producer.send("orders", b"")
    except BrokerUnreachable:
        pass
    child = os.fork()
    if child == 0:
        try:
            producer.flush()
        except ClientClosed as error:
            assert "fork" in error.message and "after the fork" in error.hint, error.message
        else:
            os._exit(3)
        producer.close()
        with Producer("127.0.0.1:1", delivery_timeout_ms=100) as own:
            own.flush()
        assert threading.active_count() == 1
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    producer.flush()
assert threading.active_count() == 1
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_forgets_to_close_ends_all_the_same():
    code = """
from goqueue.client.sync import Producer
producer = Producer("127.0.0.1:1")
producer.flush()
"""
    began = time.monotonic()
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "work",
    [
        "with Producer(sys.argv[1]) as producer: producer.send('orders', b'')",
        "with Consumer('orders', bootstrap=sys.argv[1], group='g') as consumer: next(iter(consumer))",
        "with Admin(sys.argv[1]) as admin: admin.topics()",
    ],
)
def test_an_interrupt_ends_a_call_that_waits_and_leaves_no_thread(work):
    """Against a port that takes connections and never answers."""
    code = f"""
import sys, threading
from goqueue.client.sync import Admin, Consumer, Producer
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    assert [thread.name for thread in threading.enumerate()] == ["MainThread"]
    sys.exit(7)
"""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, address], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with process:
            assert process.stdout.readline() == b"ready\n"
            accepted, _ = silent.accept()
            with accepted:
                os.kill(process.pid, signal.SIGINT)
                assert process.wait(15) == 7, process.stderr.read()
            assert process.stderr.read() == b""
