"""The schema registry in a broker: what it confirmed stays, whatever happens to the broker and to those who ask."""

import asyncio
import json
import threading

import pytest

from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.adapters.schemas.protoc import compile_files
from goqueue.core.schemas.policies import Config, Level, Mode
from goqueue.core.schemas.schema import LATEST, Schema
from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.schemas.changing import (
    delete_subject,
    delete_version,
    register_schema,
    remove_config,
    set_config,
    set_mode,
)
from goqueue.engine.schemas.looking import find_schema, incompatibilities, settled_registry
from goqueue.engine.schemas.parsing import parsed_schema, serialized_text
from goqueue.errors import IncompatibleSchema, InvalidSchema, UnknownSchema
from goqueue.testing import Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.clock import FakeClock
from goqueue.testing.observer import RecordingObserver

SMALL = StoreSettings(segment_bytes=4096, journal_file_bytes=64 * 1024)
PROTO = 'syntax = "proto3"; message Order { int32 id = 1; reserved 2; }'


def record(*fields):
    schema = {"type": "record", "name": "Order", "fields": [{"name": name, "type": "int"} for name in fields]}
    return Schema("AVRO", json.dumps(schema))


def broker_on(files: SimulatedFileSystem) -> Broker:
    store = DiskStore("data", files, SeededEntropy(), RecordingObserver(), SMALL)
    return Broker(store, FakeClock(), SeededEntropy(), MemoryIdIndex())


def in_memory(compile_proto=compile_files) -> Broker:
    return Broker(MemoryStore(MemoryDisk()), FakeClock(), SeededEntropy(), MemoryIdIndex(), compile_proto)


async def given_id(broker, subject, schema, **options):
    return (await register_schema(broker, subject, schema, **options)).id


@pytest.mark.parametrize("checkpointed", [False, True])
async def test_everything_is_there_after_a_restart(open_broker, checkpointed):
    async with open_broker() as broker:
        await set_config(broker, None, Config(Level.NONE))
        for number in range(3):
            await given_id(broker, "orders", record(f"f{number}"))
        await delete_version(broker, "orders", 2)
        await given_id(broker, "bills", record("b"))
        await delete_subject(broker, "bills")
        await delete_subject(broker, "bills", permanent=True)
        await set_mode(broker, "old", Mode.READONLY)
        before = broker.schemas.snapshot()
        if checkpointed:
            await Maintenance(broker, None, MaintenanceSettings()).checkpoint()
    async with open_broker() as broker:
        assert broker.schemas.snapshot() == before
        assert broker.schemas.view.versions("orders") == [1, 3]
        # The id of what is gone for good is not given again.
        assert await given_id(broker, "more", record("m")) == 5


async def test_no_power_cut_takes_back_an_id_or_gives_it_twice():
    files = SimulatedFileSystem()
    confirmed: list[tuple[int, int]] = []
    async with broker_on(files) as broker:
        await set_config(broker, None, Config(Level.NONE))
        began = len(files.changes)
        for number in range(4):
            schema_id = await given_id(broker, "orders", record(f"f{number}"))
            confirmed.append((len(files.changes), schema_id))
    platter, entropy, states = Platter(), SeededEntropy(), 0
    for number, change in enumerate(files.changes, 1):
        platter.apply(change)
        if not began <= number <= confirmed[-1][0]:
            continue
        certain = {schema_id for after, schema_id in confirmed if number >= after}
        for image in crash_states(platter, entropy, exhaustive=3, samples=2, cuts=2, sector=64):
            states += 1
            async with broker_on(SimulatedFileSystem(image)) as broker:
                known = {version: broker.schemas.view.version("orders", version) for version in _versions(broker)}
                assert certain <= {one.id for one in known.values()}
                assert all(one.schema.text == record(f"f{one.id - 1}").text.replace(" ", "") for one in known.values())
                assert await given_id(broker, "orders", record("other")) == len(known) + 1
    assert states >= 10


def _versions(broker):
    view = broker.schemas.view
    return view.versions("orders") if view.subjects() else []


async def test_a_schema_is_parsed_in_a_thread_and_others_go_on_meanwhile():
    began, go_on = threading.Event(), threading.Event()

    def slow(root, texts):
        began.set()
        assert go_on.wait(10)
        return compile_files(root, texts)

    async with in_memory(slow) as broker:
        waiting = asyncio.ensure_future(given_id(broker, "slow", Schema("PROTOBUF", PROTO)))
        while not began.is_set():
            await asyncio.sleep(0)
        assert await given_id(broker, "quick", record("a")) == 1
        assert not waiting.done()
        go_on.set()
        assert await waiting == 2


async def test_many_who_register_the_same_schema_at_once_get_the_same_id():
    async with in_memory() as broker:
        found = await asyncio.gather(*(given_id(broker, "orders", record("a")) for _ in range(50)))
        assert set(found) == {1}
        assert broker.schemas.view.versions("orders") == [1]


async def test_of_many_different_schemas_at_once_each_gets_an_id_of_its_own():
    async with in_memory() as broker:
        await set_config(broker, None, Config(Level.NONE))
        found = await asyncio.gather(*(given_id(broker, "orders", record(f"f{n}")) for n in range(50)))
        assert sorted(found) == list(range(1, 51))
        assert broker.schemas.view.versions("orders") == list(range(1, 51))


async def test_of_two_schemas_at_once_that_cannot_follow_each_other_one_is_refused():
    async with in_memory() as broker:
        done = await asyncio.gather(
            *(register_schema(broker, "orders", record(name)) for name in "ab"), return_exceptions=True
        )
        assert sorted(type(one).__name__ for one in done) == ["IncompatibleSchema", "Registered"]


async def test_a_caller_who_goes_away_leaves_nothing_half_done():
    async with in_memory() as broker:
        await set_config(broker, None, Config(Level.NONE))
        for turns in range(40):
            work = asyncio.create_task(register_schema(broker, "orders", record(f"f{turns}")))
            for _ in range(turns):
                await asyncio.sleep(0)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        last = await given_id(broker, "orders", record("last"))
        view = broker.schemas.view
        found = [view.version("orders", one).id for one in view.versions("orders")]
        assert found == list(range(1, last + 1))


async def test_a_schema_is_compared_with_more_versions_than_are_kept_parsed(monkeypatch):
    monkeypatch.setattr("goqueue.core.schemas.parsing.MOST_KEPT", 3)
    async with in_memory() as broker:
        await set_config(broker, None, Config(Level.NONE))
        for number in range(12):
            await given_id(broker, "orders", record("a", *(f"f{one}" for one in range(number))))
        await set_config(broker, "orders", Config(Level.BACKWARD_TRANSITIVE))
        assert await incompatibilities(broker, "orders", record("a")) == []
        with pytest.raises(IncompatibleSchema, match="READER_FIELD_MISSING_DEFAULT_VALUE"):
            await register_schema(broker, "orders", record("a", "other"))


async def test_a_descriptor_and_its_text_are_the_same_schema():
    async with in_memory() as broker:
        await given_id(broker, "orders", Schema("PROTOBUF", PROTO))
        descriptor = Schema("PROTOBUF", await serialized_text(broker, 1))
        assert await given_id(broker, "other", descriptor) == 1
        text = broker.schemas.view.version("other", LATEST).schema
        assert "message Order {" in text.text
        assert (await find_schema(broker, "other", text)).id == 1
        assert (await find_schema(broker, "other", descriptor)).id == 1
        assert (await find_schema(broker, "orders", descriptor, normalize=True)).id == 1


@pytest.mark.parametrize("level", [Level.BACKWARD, Level.FORWARD, Level.FULL_TRANSITIVE])
async def test_a_number_that_was_reserved_cannot_be_used_again(level):
    async with in_memory() as broker:
        await set_config(broker, None, Config(level))
        await given_id(broker, "orders", Schema("PROTOBUF", PROTO))
        again = Schema("PROTOBUF", 'syntax = "proto3"; message Order { int32 id = 1; int32 more = 2; }')
        with pytest.raises(IncompatibleSchema, match="RESERVED_NUMBER_REUSED at #/Order/2"):
            await register_schema(broker, "orders", again)


async def test_a_broker_without_a_compiler_says_so():
    async with Broker(MemoryStore(MemoryDisk()), FakeClock(), SeededEntropy(), MemoryIdIndex()) as broker:
        with pytest.raises(InvalidSchema, match="cannot compile Protobuf"):
            await register_schema(broker, "orders", Schema("PROTOBUF", PROTO))


async def test_a_parsed_schema_is_at_hand_until_something_is_gone_for_good():
    async with in_memory() as broker:
        await given_id(broker, "orders", Schema("PROTOBUF", PROTO))
        assert broker.schemas.unparsed_id(1) is None
        await given_id(broker, "gone", record("a"))
        await delete_subject(broker, "gone")
        await delete_subject(broker, "gone", permanent=True)
        assert broker.schemas.unparsed_id(1) is not None
        format, parsed = await parsed_schema(broker, 1)
        assert (format.name, parsed.file.message_type[0].name) == ("PROTOBUF", "Order")
        assert broker.schemas.unparsed_id(1) is None
        with pytest.raises(UnknownSchema):
            await parsed_schema(broker, 2)


async def test_the_registry_is_shown_once_what_is_being_written_is_durable(monkeypatch):
    async with in_memory() as broker:
        may_sync, sync, before = threading.Event(), broker.storage.sync, broker.schemas.revision
        monkeypatch.setattr("goqueue.engine.group_commit.SYNC_HERE_BYTES", -1)
        monkeypatch.setattr(broker.storage, "sync", lambda: may_sync.wait(10) and sync())
        registering = asyncio.ensure_future(given_id(broker, "orders", record("a")))
        async with asyncio.timeout(5):
            while broker.schemas.revision == before:
                await asyncio.sleep(0.001)
        looking = asyncio.ensure_future(settled_registry(broker))
        for _ in range(40):
            await asyncio.sleep(0)
        assert not looking.done()
        may_sync.set()
        assert await looking is broker.schemas
        await registering


async def test_what_was_made_of_the_registry_can_be_told_to_be_outdated():
    async with in_memory() as broker:
        before = broker.schemas.revision
        await given_id(broker, "orders", record("a"))
        after = broker.schemas.revision
        assert before < after
        await given_id(broker, "orders", record("a"))
        assert broker.schemas.revision == after
        await set_config(broker, "orders", Config(Level.FULL))
        assert broker.schemas.revision > after


async def test_what_was_set_for_a_subject_is_answered_when_it_is_removed():
    async with in_memory() as broker:
        await set_config(broker, "orders", Config(Level.FULL))
        assert await remove_config(broker, "orders") == Config(Level.FULL)
        assert await remove_config(broker, None) == Config(Level.BACKWARD, False)
