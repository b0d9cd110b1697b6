"""Ids of records against a real server that is killed: each id is in the log once, and every answer is true."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from goqueue import codec
from goqueue.client import Admin, Producer
from goqueue.client.batch import Sent
from goqueue.client.link import Link
from goqueue.client.sync import Producer as SyncProducer
from goqueue.errors import InvalidRequest
from goqueue.model.record_id import id_of
from goqueue.model.topic import TopicConfig
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import Fetch, Fetched, FetchFrom
from tests.behaviour.serving import Server, eventually, running_server

TOPIC = "orders"
PARTITIONS = 3


@pytest.fixture
def server(tmp_path):
    with running_server(tmp_path / "broker") as server:
        asyncio.run(make_topic(server))
        yield server


async def make_topic(server: Server, **config) -> None:
    async with Admin(server.native) as admin:
        await admin.create_topic(TOPIC, PARTITIONS, TopicConfig(**config))


async def ids_in_log(server: Server) -> dict[tuple[int, int], str | None]:
    """The id of every record that is there."""
    link = Link(server.native)
    found: dict[tuple[int, int], str | None] = {}
    try:
        for partition in range(PARTITIONS):
            offset, end = 0, 1
            while offset < end:
                request = Fetch((FetchFrom(TOPIC, partition, offset),), 4 * 1024 * 1024)
                answer, tail = await link.request(Opcode.FETCH, request, Fetched)
                for record in codec.decode(tail):
                    name = id_of(record.headers)
                    found[partition, record.offset] = None if name is None else name.decode()
                offset, end = answer.parts[0].next_offset, answer.parts[0].high_watermark
    finally:
        await link.close()
    return found


def place(sent: Sent) -> tuple[int, int]:
    return sent.partition, sent.offset


async def test_a_record_with_a_known_id_is_answered_with_its_original(server):
    async with Producer(server.native) as producer:
        first = await (await producer.send(TOPIC, b"1", partition=2, id="a"))
        assert not first.duplicate
        again = await (await producer.send(TOPIC, b"2", key=b"k", headers=(("h", b"x"),), id="a"))
        assert again == (TOPIC, 2, first.offset, first.timestamp_ns, True)
        plain = await producer.send(TOPIC, b"3", partition=2)
        repeated = await producer.send(TOPIC, b"4", partition=2, id="a")
        fresh = await producer.send(TOPIC, b"5", partition=2, id="b")
        assert [place(await one) for one in (plain, repeated, fresh)] == [(2, 1), (2, 0), (2, 2)]
        assert [(await one).duplicate for one in (plain, repeated, fresh)] == [False, True, False]
    assert await ids_in_log(server) == {(2, 0): "a", (2, 1): None, (2, 2): "b"}


async def test_a_list_with_known_ids_is_answered_record_by_record(server):
    async with Producer(server.native) as producer:
        await producer.send_many(TOPIC, [b"1", b"2"], ids=["a", "b"], partition=1)
        sent = await producer.send_many(TOPIC, [b"3", b"4", b"5", b"6"], ids=["c", "b", None, "c"], partition=0)
        assert [(*place(one), one.duplicate) for one in sent] == [
            (0, 0, False),
            (1, 1, True),
            (0, 1, False),
            (0, 0, True),
        ]
        with pytest.raises(InvalidRequest):
            await producer.send_many(TOPIC, [b"1"], ids=["a", "b"])


async def test_without_acknowledgement_a_known_id_is_not_written_either(server):
    async with Producer(server.native, acks="none") as producer:
        for _ in range(3):
            await (await producer.send(TOPIC, b"v", partition=0, id="a"))
            await producer.flush()
    async with Producer(server.native) as producer:
        assert (await (await producer.send(TOPIC, b"v", id="a"))).duplicate
    assert list((await ids_in_log(server)).values()) == ["a"]


@pytest.mark.parametrize("wrong", ["", "x" * 257])
async def test_an_id_that_cannot_be_is_refused_by_itself(server, wrong):
    async with Producer(server.native) as producer:
        good = await producer.send(TOPIC, b"v", id="good")
        with pytest.raises(InvalidRequest):
            await producer.send(TOPIC, b"v", id=wrong)
        assert not (await good).duplicate


def test_the_blocking_client_has_ids_too(server):
    with SyncProducer(server.native) as producer:
        first = producer.send(TOPIC, b"v", partition=1, id="a").result(10)
        again = producer.send(TOPIC, b"v", partition=2, id="a").result(10)
        assert (place(again), again.duplicate) == (place(first), True)
        sent = producer.send_many(TOPIC, [b"v", b"v"], ids=["a", "b"], partition=0)
        assert [one.duplicate for one in sent] == [True, False]


async def test_concurrent_producers_of_the_same_ids_write_each_once(server):
    async def run() -> list[Sent]:
        async with Producer(server.native) as producer:
            deliveries = [await producer.send(TOPIC, b"v", id=f"id-{n}") for n in range(500)]
            return [await one for one in deliveries]

    results = await asyncio.gather(*(run() for _ in range(4)))
    there = await ids_in_log(server)
    assert sorted(there.values()) == sorted(f"id-{n}" for n in range(500))
    for number, answers in enumerate(zip(*results, strict=True)):
        assert {there[place(one)] for one in answers} == {f"id-{number}"}
        assert sum(not one.duplicate for one in answers) == 1


async def test_an_id_is_in_the_log_once_however_often_the_server_is_killed(server):
    """Producers send the same ids again and again while the server dies under them."""
    names = [f"id-{number}" for number in range(3000)]
    answers: dict[str, set[tuple[int, int]]] = {name: set() for name in names}
    is_over = asyncio.Event()

    async def produce(turn: int) -> None:
        async with Producer(server.native, linger_ms=1, batch_records=20) as producer:
            while not is_over.is_set():
                some = names[turn::7][:200]
                turn += 3
                deliveries = [(name, await producer.send(TOPIC, b"v", id=name)) for name in some]
                for name, delivery in deliveries:
                    answers[name].add(place(await delivery))

    async def kill() -> None:
        for _ in range(3):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.crash_and_restart)
        await asyncio.sleep(0.2)
        is_over.set()

    await asyncio.gather(kill(), *(produce(turn) for turn in range(3)))
    async with Producer(server.native) as producer:
        for name, sent in zip(names, await producer.send_many(TOPIC, [b"v"] * 3000, ids=names), strict=True):
            answers[name].add(place(sent))
    there = await ids_in_log(server)
    assert sorted(there.values()) == sorted(names)
    assert all(len(one) == 1 for one in answers.values())
    assert all(there[where] == name for name, (where,) in answers.items())


def rows(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT count(*) FROM ids").fetchone()[0]


@pytest.mark.slow
async def test_ids_in_the_index_survive_a_kill_and_the_loss_of_the_index(server):
    names = [f"id-{number}" for number in range(60_000)]
    path = server.folder / "data" / "ids" / "index.db"

    async def send_all() -> list[Sent]:
        async with Producer(server.native) as producer:
            return await producer.send_many(TOPIC, [b"v"] * len(names), ids=names)

    first = await send_all()
    assert not any(one.duplicate for one in first)
    await asyncio.to_thread(eventually, lambda: rows(path) >= 50_000)
    server.crash_and_restart()
    again = await send_all()
    assert list(map(place, again)) == list(map(place, first))
    assert all(one.duplicate for one in again)

    # Behind a checkpoint the journal does not have them any more either.
    server.stop()
    for file in path.parent.iterdir():
        file.unlink()
    server.start()
    again = await send_all()
    assert list(map(place, again)) == list(map(place, first))
    assert all(one.duplicate for one in again)
    said = [str(line["event"]) for line in server.log()]
    assert any("was built from the records" in line for line in said)
    server.restart()
    async with Producer(server.native) as producer:
        assert (await (await producer.send(TOPIC, b"v", id=names[-1]))).duplicate
