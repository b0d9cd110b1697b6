"""The native port under clients that do not keep to the protocol, or to what is decent."""

import asyncio
import resource
import socket
import struct
import time

import msgspec
import pytest

from goqueue import codec
from goqueue.client import Admin, Consumer, LogId, Producer, TopicConfig
from goqueue.client.connection import connect
from goqueue.client.link import Link
from goqueue.errors import BrokerUnreachable, InvalidRequest
from goqueue.model.record import Record
from goqueue.wire.native import messages
from goqueue.wire.native.frames import FRAME_HEAD, MAX_FRAME_BYTES, FrameFlag, Opcode, encode_frame
from tests.behaviour.serving import running_server

SETTINGS = """
[native]
connections = 30
frame_within_ms = 300
idle_ms = 1500
frame_bytes = 2000000
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("protocol") / "broker", SETTINGS) as running:
        yield running


@pytest.fixture(autouse=True)
async def still_serves(server):
    """Whatever a test did: others are served, and the broker has not complained about itself."""
    yield
    # On a machine that stalls for longer than a frame may take, the broker hangs up on decent clients too.
    for attempt in range(3):
        try:
            async with Admin(server.native) as admin:
                await admin.topics()
            break
        except BrokerUnreachable:
            if attempt == 2:
                raise
    server.check_log()


def dial(server):
    host, port = server.native.split(":")
    return socket.create_connection((host, int(port)), timeout=5)


def greeted(server):
    opened = dial(server)
    opened.sendall(frame(Opcode.HELLO, 1, messages.Hello((1,))))
    assert answer(opened)[0] == Opcode.HELLO
    return opened


def frame(opcode, correlation, message=None, tail=b"", flags=0):
    return encode_frame(opcode, flags, correlation, msgspec.msgpack.encode(message), tail)


def answer(opened):
    """Opcode, flags, correlation and head of the next frame; None when the broker has hung up."""
    head = receive(opened, FRAME_HEAD.size)
    if head is None:
        return None
    length, opcode, flags, correlation, size = FRAME_HEAD.unpack(head)
    body = receive(opened, length - FRAME_HEAD.size + 4)
    return opcode, flags, correlation, body[:size]


def receive(opened, size):
    data = b""
    while len(data) < size:
        try:
            more = opened.recv(size - len(data))
        except ConnectionResetError:
            return None
        if not more:
            return None
        data += more
    return data


def refusal(opened):
    _, flags, _, head = answer(opened)
    assert flags & FrameFlag.ERROR
    return msgspec.msgpack.decode(head, type=messages.ErrorReply)


def is_hung_up(opened):
    return answer(opened) is None


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\0" * 100,
        b"\xff" * 100,
        struct.pack(">IBBII", 14, 1, 0, 1, 1000) + b"four",
        struct.pack(">I", 2_000_001) + bytes(20),
        struct.pack(">IBBII", 0xFFFFFFFF, 7, 0, 1, 0),
    ],
    ids=["http", "zeros", "ones", "a head longer than its frame", "just too long", "4 GiB"],
)
def test_bytes_that_are_no_frames_are_answered_with_a_reason_and_a_hang_up(server, garbage):
    with dial(server) as opened:
        opened.sendall(garbage)
        assert refusal(opened).code == "invalid_request"
        assert is_hung_up(opened)


def test_the_first_frame_must_be_a_greeting(server):
    with dial(server) as opened:
        opened.sendall(frame(Opcode.METADATA, 1, messages.Metadata()))
        assert "HELLO" in refusal(opened).message
        assert is_hung_up(opened)


def test_a_version_that_is_not_spoken_is_refused(server):
    with dial(server) as opened:
        opened.sendall(frame(Opcode.HELLO, 1, messages.Hello((2, 99))))
        assert "version" in refusal(opened).message
        opened.sendall(frame(Opcode.HELLO, 2, messages.Hello((99, 1))))
        assert answer(opened)[:3] == (Opcode.HELLO, 0, 2)


def test_the_greeting_says_how_large_a_frame_may_be(server):
    with dial(server) as opened:
        opened.sendall(frame(Opcode.HELLO, 1, messages.Hello((1,))))
        welcome = msgspec.msgpack.decode(answer(opened)[3], type=messages.Welcome)
    assert welcome.max_frame_bytes == 2_000_000


def test_an_unknown_request_is_refused_and_the_connection_goes_on(server):
    with greeted(server) as opened:
        for opcode in (0, 77, 255):
            opened.sendall(frame(opcode, 5))
            assert refusal(opened).code == "invalid_request"
        opened.sendall(frame(Opcode.METADATA, 6, messages.Metadata()))
        assert answer(opened)[:3] == (Opcode.METADATA, 0, 6)


@pytest.mark.parametrize("opcode", [Opcode.CREATE_TOPIC, Opcode.ALTER_TOPIC], ids=lambda one: one.name)
@pytest.mark.parametrize(("setting", "value"), [("retention_weeks", 2), ("retention_ms", 0), ("cleanup", "never")])
async def test_a_setting_that_cannot_be_is_refused(server, opcode, setting, value):
    name = f"{opcode.name}-{setting}"
    async with Admin(server.native) as admin:
        if opcode is Opcode.ALTER_TOPIC:
            await admin.create_topic(name, 3)
        partitions = [3] if opcode is Opcode.CREATE_TOPIC else []
        with greeted(server) as opened:
            opened.sendall(frame(opcode, 7, [name, *partitions, {setting: value}]))
            error = await asyncio.to_thread(refusal, opened)
        assert error.code == "invalid_request"
        assert f"`{setting}`" in error.message or f".{setting}`" in error.message
        assert all(one.name != name or one.epoch == 1 for one in await admin.topics())


async def test_settings_that_a_client_does_not_name_stay_as_they_are(server):
    async with Admin(server.native) as admin:
        before = await admin.create_topic("altered", 1, TopicConfig(retention_ms=5000, max_value_bytes=99))
        with greeted(server) as opened:
            opened.sendall(frame(Opcode.ALTER_TOPIC, 7, ["altered", {"retention_ms": None}]))
            await asyncio.to_thread(answer, opened)
        after = await admin.topic("altered")
    assert after.config == msgspec.structs.replace(before.config, retention_ms=None)


HEADS = [b"", b"\xc1", b"\x91", b"\x93\x01\x02\x03", b"\x80", b"\xff" * 50, msgspec.msgpack.encode(["x"] * 40)]


@pytest.mark.parametrize("opcode", [one for one in Opcode if one is not Opcode.HELLO], ids=lambda one: one.name)
def test_a_head_that_makes_no_sense_is_refused_and_the_connection_goes_on(server, opcode):
    with greeted(server) as opened:
        for number, head in enumerate(HEADS):
            opened.sendall(encode_frame(opcode, 0, 10 + number, head))
            found = answer(opened)
            assert found[2] == 10 + number
            if found[1] & FrameFlag.ERROR:
                code = msgspec.msgpack.decode(found[3], type=messages.ErrorReply).code
                assert code == "invalid_request" or code.startswith("unknown_"), (head, code)


BIG, SMALL = (1 << 64) - 1, -(1 << 63)


@pytest.mark.parametrize("number", [BIG, SMALL, 1 << 63, -1, (1 << 63) - 1])
async def test_numbers_of_any_size_are_answered_in_words(server, number):
    link = Link(server.native)
    async with Admin(server.native) as admin:
        name = f"numbers-{number}".replace("--", "-minus-")
        await admin.create_topic(name, 1)
        requests = [
            (Opcode.FETCH, messages.Fetch((messages.FetchFrom(name, 0, number),)), messages.Fetched),
            (Opcode.FETCH, messages.Fetch((messages.FetchFrom(name, number, 0),)), messages.Fetched),
            (Opcode.FETCH, messages.Fetch((messages.FetchFrom(name, 0, 0),), number), messages.Fetched),
            (Opcode.FETCH, messages.Fetch((messages.FetchFrom(name, 0, 0),), 1, number), messages.Fetched),
            (Opcode.LIST_OFFSETS, messages.ListOffsets((messages.OffsetQuestion(name, 0, number),)), messages.Offsets),
            (Opcode.CREATE_TOPIC, messages.CreateTopic(f"{name}-x", number, (await admin.topic(name)).config), None),
            (Opcode.INIT_PRODUCER, messages.InitProducer(number, number), None),
            (Opcode.PUBLISH, messages.Publish(name, 0, None, number, number, number), None),
            (Opcode.PUBLISH, messages.Publish(name, number), None),
            (Opcode.COMMIT_OFFSETS, messages.CommitOffsets("g", (messages.PartitionOffset(name, 0, number),)), None),
            (Opcode.COMMIT_OFFSETS, messages.CommitOffsets("g", (messages.PartitionOffset(name, number, 0),)), None),
            (Opcode.HEARTBEAT, messages.Heartbeat("g", "m", number), None),
            (Opcode.JOIN_GROUP, messages.JoinGroup("g", "c", (name,), session_ms=number), None),
            (Opcode.RESET_OFFSETS, messages.ResetOffsets("g", "offset", number, (name,)), None),
            (Opcode.RESET_OFFSETS, messages.ResetOffsets("g", "timestamp", number, (name,)), None),
        ]
        connection = await link.connection()
        for opcode, message, _ in requests:
            reply = await asyncio.wait(
                [connection.ask(opcode, msgspec.msgpack.encode(message), codec.encode([Record(b"")]))], timeout=5
            )
            (future,) = reply[0]
            error = future.exception()
            assert getattr(error, "code", None) != "internal", (opcode, message, error)
        await admin.delete_topic(name)
    await link.close()


async def test_records_that_are_none_are_refused(server):
    async with Admin(server.native) as admin:
        await admin.create_topic("records", 1)
    link = Link(server.native)
    connection = await link.connection()
    good = codec.encode([Record(b"value", b"key", (("h", b"v"),))])
    flipped = bytearray(good)
    flipped[-1] ^= 1
    for tail in (b"", b"x", good[:-1], good + b"x", bytes(flipped), b"\0" * 500):
        with pytest.raises(InvalidRequest) as refused:
            await connection.request(Opcode.PUBLISH, messages.Publish("records", 0), messages.Published, tail)
        assert refused.value.code == "corrupt_batch"
    reply, _ = await connection.request(Opcode.PUBLISH, messages.Publish("records", 0), messages.Published, good)
    assert reply.base_offset == 0
    await link.close()


def test_a_number_that_is_still_in_use_ends_the_connection(server):
    with greeted(server) as opened:
        wait = messages.Fetch((), 1, 1000)
        opened.sendall(frame(Opcode.FETCH, 9, wait) + frame(Opcode.FETCH, 9, wait))
        assert "9 is still in use" in refusal(opened).message
        assert is_hung_up(opened)


def test_a_frame_that_comes_byte_by_byte_is_cut_off(server):
    with greeted(server) as opened:
        whole = frame(Opcode.METADATA, 5, messages.Metadata(("x" * 100,)))
        began = time.monotonic()
        with pytest.raises((ConnectionError, AssertionError)):
            for one in whole:
                opened.sendall(bytes([one]))
                time.sleep(0.02)
            assert not is_hung_up(opened)
        assert 0.25 < time.monotonic() - began < 4


def test_one_who_never_says_hello_is_cut_off(server):
    with dial(server) as opened:
        began = time.monotonic()
        assert is_hung_up(opened)
        assert 0.25 < time.monotonic() - began < 3


def test_one_who_says_nothing_more_is_cut_off_later_and_one_who_waits_for_an_answer_is_not(server):
    with greeted(server) as silent, greeted(server) as waiting:
        waiting.sendall(frame(Opcode.FETCH, 2, messages.Fetch((), 1, 2600)))
        began = time.monotonic()
        assert is_hung_up(silent)
        assert 1.4 < time.monotonic() - began < 4
        assert answer(waiting)[:3] == (Opcode.FETCH, 0, 2)


async def test_one_who_takes_no_replies_is_cut_off_and_costs_no_memory(server):
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        await admin.create_topic("heavy", 1)
        for _ in range(12):
            await (await producer.send("heavy", bytes(1_000_000)))
    before = resident_mib(server.pid)
    with greeted(server) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ask = messages.Fetch((messages.FetchFrom("heavy", 0, 0),), 1 << 30, 0)
        opened.sendall(b"".join(frame(Opcode.FETCH, 10 + number, ask) for number in range(200)))
        most, deadline = before, time.monotonic() + 5
        while time.monotonic() < deadline and connections_to(server) > 0:
            most = max(most, resident_mib(server.pid))
            await asyncio.sleep(0.01)
        assert connections_to(server) == 0
    assert most - before < 150, f"{before} MiB before, {most} MiB meanwhile"


def resident_mib(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // (1 << 20)


def connections_to(server):
    """Established ones, seen from the broker's side."""
    port = f":{int(server.native.split(':')[1]):04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return sum(row[1].endswith(port) and row[3] == "01" for row in rows)


async def test_too_many_connections_are_told_so_and_the_others_go_on(server):
    await until_none(server)
    opened = [greeted(server) for _ in range(30)]
    try:
        with dial(server) as late:
            assert "too many connections" in refusal(late).message
            assert is_hung_up(late)
        with pytest.raises(BrokerUnreachable, match="too many connections"):
            await connect(server.native)
        opened[0].sendall(frame(Opcode.METADATA, 2, messages.Metadata()))
        assert answer(opened[0])[2] == 2
    finally:
        for one in opened:
            one.close()
    await until_none(server)


async def until_none(server):
    async with asyncio.timeout(5):
        while connections_to(server):
            await asyncio.sleep(0.01)


async def test_a_client_that_vanishes_takes_its_waiting_requests_with_it(server):
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        await admin.create_topic("waiting", 1)
        with greeted(server) as opened:
            wait = messages.Fetch((messages.FetchFrom("waiting", 0, 0),), 1000, 60_000)
            opened.sendall(b"".join(frame(Opcode.FETCH, 10 + number, wait) for number in range(50)))
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert (await (await producer.send("waiting", b"value"))).offset == 0


async def test_the_client_takes_the_limit_of_the_broker_into_account(server):
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        await admin.create_topic("limited", 1)
        await (await producer.send("limited", bytes(1_900_000)))
        with pytest.raises(InvalidRequest) as refused:
            await (await producer.send("limited", bytes(2_000_000)))
        assert refused.value.code == "record_too_large"
        await (await producer.send("limited", b"goes on"))


async def test_a_fetch_never_answers_with_more_than_a_client_takes(shared_server):
    """However much is asked for: one record of the largest kind behind many small ones still fits."""
    largest, small = bytes(16 * 1024 * 1024), bytes(1_000_000)
    async with Admin(shared_server.native) as admin, Producer(shared_server.native) as producer:
        await admin.create_topic("enormous", 1)
        for _ in range(2):
            await producer.send_many("enormous", [small] * 15)
            await producer.send_many("enormous", [largest])
    async with Consumer("enormous", bootstrap=shared_server.native, max_bytes=MAX_FRAME_BYTES) as consumer:
        sizes = []
        while len(sizes) < 32:
            sizes += [len(one.value) for one in await consumer.poll(wait_ms=5000)]
        assert consumer.position(LogId("enormous", 0)) == 32
    assert sizes == ([len(small)] * 15 + [len(largest)]) * 2
