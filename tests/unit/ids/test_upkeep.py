"""Ids that outlive memory: handed over to the index, forgotten in time, and found again when the index is lost."""

import asyncio
import sqlite3

import pytest

from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.engine.id_upkeep import IdUpkeep
from goqueue.engine.ports import IdIndexDamaged
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.errors import DiskFull, LogReadOnly, StorageBusy
from goqueue.model.topic import TopicConfig
from tests.unit.ids.scene import (
    MINUTE_MS,
    ORDERS,
    Reports,
    Scene,
    batch_of,
    checkpoint,
    hand_over,
    ids_in,
    maintenance_of,
    places,
    send,
    start,
)

MANY = 50


def names(first: int, last: int) -> list[str]:
    return [f"order-{number}" for number in range(first, last)]


@pytest.fixture(params=["memory", "sqlite"])
def scene(request, tmp_path) -> Scene:
    return Scene(MemoryIdIndex() if request.param == "memory" else SqliteIdIndex(str(tmp_path / "ids")))


@pytest.fixture
def on_disk(tmp_path) -> Scene:
    return Scene(SqliteIdIndex(str(tmp_path / "ids")))


async def assert_known(broker, ids: list[str]) -> None:
    published = await send(broker, *ids)
    assert published.duplicate, [name for name, one in zip(ids, published.places(), strict=True) if not one.duplicate]


# --- handing over


async def test_ids_in_the_index_are_known_and_no_longer_in_memory(scene):
    async with scene.with_topic() as broker:
        first = await send(broker, *names(0, MANY), partition=1)
        await hand_over(broker)
        assert len(broker.ids.recent) == 0
        again = await send(broker, *names(0, MANY))
        assert [one[:2] for one in places(again)] == [one[:2] for one in places(first)]
        assert ids_in(broker, 0) == []


async def test_known_ids_come_from_memory_and_index_together(scene):
    async with scene.with_topic() as broker:
        await send(broker, "a", "b")
        await hand_over(broker)
        await send(broker, "c")
        assert places(await send(broker, "c", "x", "a")) == [(0, 2, True), (0, 3, False), (0, 0, True)]


async def test_few_ids_stay_in_memory(scene):
    async with scene.with_topic() as broker:
        await send(broker, *names(0, MANY))
        await maintenance_of(broker).tend_ids()
        assert len(broker.ids.recent) == MANY


async def test_an_id_in_the_index_is_forgotten_when_the_window_is_over(scene):
    async with scene.with_topic(dedup_window_ms=MINUTE_MS) as broker:
        await send(broker, "a")
        await hand_over(broker)
        scene.clock.advance_ms(MINUTE_MS)
        assert places(await send(broker, "a")) == [(0, 1, False)]
        await hand_over(broker)
        assert places(await send(broker, "a")) == [(0, 1, True)]


async def test_the_index_is_given_only_what_is_durable(scene, monkeypatch):
    async with scene.with_topic() as broker:
        scene.store.may_sync.clear()
        start(broker, "a")
        durable_at_add = []
        add = scene.index.add

        def spy(ids, number):
            durable_at_add.append(scene.store.synced_lsn == scene.store.written_lsn)
            add(ids, number)

        monkeypatch.setattr(scene.index, "add", spy)
        task = asyncio.create_task(hand_over(broker))
        await asyncio.sleep(0.05)
        assert durable_at_add == []
        scene.store.may_sync.set()
        await task
        assert durable_at_add == [True]


async def test_ids_written_meanwhile_wait_for_the_next_time(scene):
    async with scene.with_topic() as broker:
        await send(broker, "a")
        scene.store.may_sync.clear()
        task = asyncio.create_task(hand_over(broker))
        answers = [start(broker, name) for name in ("b", "a", "b")]
        await asyncio.sleep(0.02)
        scene.store.may_sync.set()
        await task
        assert [places(await one)[0] for one in answers] == [(0, 1, False), (0, 0, True), (0, 1, True)]
        await hand_over(broker)
        await assert_known(broker, ["a", "b"])


async def test_an_index_without_room_leaves_the_ids_in_memory(scene, monkeypatch):
    async with scene.with_topic() as broker:
        await send(broker, "a")

        def full(*_):
            raise DiskFull("no room")

        with monkeypatch.context() as patch:
            patch.setattr(scene.index, "add", full)
            with pytest.raises(DiskFull):
                await hand_over(broker)
        await send(broker, "b")
        await assert_known(broker, ["a", "b"])
        await hand_over(broker)
        await hand_over(broker)
        assert len(broker.ids.recent) == 0
        await assert_known(broker, ["a", "b"])


async def test_memory_is_bounded_when_the_index_does_not_keep_up(scene, monkeypatch):
    monkeypatch.setattr("goqueue.engine.remembered_ids.MOST_RECENT", 100)
    async with scene.with_topic() as broker:
        await send(broker, *names(0, 90))
        with pytest.raises(StorageBusy):
            await send(broker, *names(90, 110))
        await hand_over(broker)
        assert not (await send(broker, *names(90, 110))).duplicate


# --- restarts


@pytest.mark.parametrize("handed_over", [0, 1, 2])
@pytest.mark.parametrize("checkpointed", [0, 1, 2])
async def test_ids_survive_a_crash_wherever_they_were(scene, handed_over, checkpointed):
    """Three batches; after some of them ids are handed over, after some there is a checkpoint."""
    async with scene.with_topic() as broker:
        for number in range(3):
            await send(broker, *names(number * 10, number * 10 + 10))
            if number == handed_over:
                await hand_over(broker)
            if number == checkpointed:
                await checkpoint(broker)
    for _ in range(2):
        async with scene.open() as broker:
            assert broker.ids.fault is None
            await assert_known(broker, names(0, 30))
            assert ids_in(broker, 0) == names(0, 30)


async def test_a_crash_between_the_index_and_memory_harms_nothing(scene, monkeypatch):
    async with scene.with_topic() as broker:
        await send(broker, "a")
        await checkpoint(broker)
        await send(broker, "b")
        monkeypatch.setattr(broker.ids.recent, "let_go", lambda: None)
        await hand_over(broker)
        await send(broker, "c")
    async with scene.open() as broker:
        assert len(broker.ids.recent) == 1
        await assert_known(broker, ["a", "b", "c"])


async def test_what_is_handed_over_is_not_in_the_next_checkpoint(scene):
    async with scene.with_topic() as broker:
        await send(broker, *names(0, 1000))
        await checkpoint(broker)
        before = len(scene.disk.checkpoint.snapshots["ids"])
        await hand_over(broker)
        await send(broker, "a")
        await checkpoint(broker)
        assert len(scene.disk.checkpoint.snapshots["ids"]) < before / 50


async def test_recovery_with_many_ids_needs_little_memory(scene):
    """Events are kept as they are until somebody looks for an id."""
    async with scene.with_topic() as broker:
        await send(broker, *names(0, 1000))
    async with scene.open() as broker:
        assert len(broker.ids.recent) == 1000
        assert broker.ids.recent._young._by_space == {}


async def test_an_id_refused_before_a_crash_does_not_stand_in_the_way(scene):
    async with scene.with_topic() as broker:
        await send(broker, "a")
        scene.store.refusing.add(broker.partition(ORDERS, 0).id)
        with pytest.raises(DiskFull):
            await send(broker, "b")
        await hand_over(broker)
        await checkpoint(broker)
    async with scene.open() as broker:
        assert places(await send(broker, "b")) == [(0, 1, False)]
        await hand_over(broker)
    async with scene.open() as broker:
        assert broker.ids.fault is None
        await assert_known(broker, ["a", "b"])


# --- forgetting


async def test_old_ids_leave_the_index_and_newer_ones_stay(scene):
    async with scene.with_topic(dedup_window_ms=MINUTE_MS) as broker:
        await send(broker, *names(0, MANY))
        scene.clock.advance_ms(MINUTE_MS // 2)
        await send(broker, *names(MANY, 2 * MANY))
        await hand_over(broker)
        upkeep = IdUpkeep(broker)
        await upkeep.forget_old()
        assert await rows_of(scene, broker) == 2 * MANY
        scene.clock.advance_ms(MINUTE_MS // 2 + 1)
        await upkeep.forget_old()
        assert await rows_of(scene, broker) == MANY
        await assert_known(broker, names(MANY, 2 * MANY))


async def test_forgetting_goes_in_steps(scene, monkeypatch):
    monkeypatch.setattr("goqueue.engine.id_upkeep.STEP_IDS", 4)
    monkeypatch.setattr("goqueue.engine.id_upkeep.STEPS_AT_A_TIME", 2)
    async with scene.with_topic(dedup_window_ms=MINUTE_MS) as broker:
        await send(broker, *names(0, MANY))
        await hand_over(broker)
        scene.clock.advance_ms(MINUTE_MS)
        scene.clock.advance_ms(1)
        upkeep = IdUpkeep(broker)
        left = []
        for _ in range(7):
            await upkeep.forget_old()
            left.append(await rows_of(scene, broker))
        assert left == [42, 34, 26, 18, 10, 2, 0]


async def test_the_ids_of_a_deleted_topic_leave_the_index(scene):
    async with scene.with_topic() as broker:
        await send(broker, *names(0, MANY))
        await hand_over(broker)
        await delete_topic(broker, ORDERS)
        await create_topic(broker, ORDERS, 1, TopicConfig())
        assert places(await send(broker, "order-1")) == [(0, 0, False)]
        await hand_over(broker)
        await IdUpkeep(broker).forget_old()
        assert await rows_of(scene, broker) == 1
        await assert_known(broker, ["order-1"])


async def test_between_passes_the_index_is_left_alone(scene):
    async with scene.with_topic(dedup_window_ms=MINUTE_MS) as broker:
        await send(broker, "a")
        await hand_over(broker)
        upkeep = IdUpkeep(broker)
        await upkeep.forget_old()
        scene.clock.advance_ms(1)
        calls = []
        scene.index.spaces, spaces = lambda: calls.append(1) or spaces(), scene.index.spaces
        await upkeep.forget_old()
        assert calls == []
        scene.clock.advance_ms(30_000)
        await upkeep.forget_old()
        assert calls == [1]


async def rows_of(scene, broker) -> int:
    if isinstance(scene.index, MemoryIdIndex):
        return len(scene.index._places)
    return scene.index._writer.execute("SELECT count(*) FROM ids").fetchone()[0]


# --- damage


async def filled(scene: Scene) -> None:
    """Ids in the index, ids in memory, records without ids, and a checkpoint in between."""
    async with scene.with_topic(dedup_window_ms=10 * MINUTE_MS) as broker:
        await send(broker, *names(0, 20))
        await send(broker, *names(20, 30), None, None, partition=1)
        await hand_over(broker)
        await checkpoint(broker)
        await send(broker, *names(30, 40))


async def rebuilt(scene: Scene) -> list[tuple]:
    """Opens the broker, expects it to refuse ids until the index is built, and to know them all then."""
    reports = Reports()
    async with scene.open() as broker:
        assert broker.ids.fault is not None
        with pytest.raises(StorageBusy):
            await send(broker, "order-1")
        await maintenance_of(broker, reports).tend_ids()
        await assert_known(broker, names(0, 40))
        assert places(await send(broker, "order-25")) == [(1, 5, True)]
        assert places(await send(broker, "new")) == [(0, 30, False)]
        await hand_over(broker)
    async with scene.open() as broker:
        assert broker.ids.fault is None
        await assert_known(broker, [*names(0, 40), "new"])
    return reports.told


def harm(tmp_path, how: str) -> None:
    path = tmp_path / "ids" / "index.db"
    if how == "removed":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(b"\xa5" * path.stat().st_size)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    else:
        with sqlite3.connect(path) as connection:
            connection.execute(how)
        connection.close()


@pytest.mark.parametrize(
    "how",
    [
        "removed",
        "empty",
        "garbage",
        "cut",
        "PRAGMA user_version = 9",
        "PRAGMA application_id = 1",
        "DROP TABLE added",
        "DELETE FROM added",
        "UPDATE added SET number = 1",
        "UPDATE added SET number = 99",
    ],
)
async def test_an_index_that_is_damaged_lost_old_or_of_another_kind_is_built_again_from_the_records(
    on_disk, tmp_path, how
):
    await filled(on_disk)
    harm(tmp_path, how)
    told = await rebuilt(on_disk)
    assert [one[0] for one in told] == ["id_index_damaged", "id_index_rebuilt"]
    assert told[1] == ("id_index_rebuilt", 40)


async def test_the_write_ahead_log_of_a_lost_index_is_not_taken_for_that_of_the_new_one(on_disk, tmp_path):
    async with on_disk.with_topic(dedup_window_ms=10 * MINUTE_MS) as broker:
        await send(broker, "a")
        await hand_over(broker)
        await checkpoint(broker)
        left = (tmp_path / "ids" / "index.db-wal").read_bytes()
        assert left
    harm(tmp_path, "removed")
    (tmp_path / "ids" / "index.db-wal").write_bytes(left)
    async with on_disk.open() as broker:
        assert broker.ids.fault is not None
        await maintenance_of(broker).tend_ids()
        await assert_known(broker, ["a"])
        assert await rows_of(on_disk, broker) == 1


async def test_a_broker_starts_also_when_there_is_no_room_for_the_index(scene, monkeypatch):
    def full():
        raise DiskFull("no room")

    await filled(scene)
    with monkeypatch.context() as patch:
        patch.setattr(scene.index, "open", full)
        async with scene.open() as broker:
            assert broker.ids.fault == "no room"
            with pytest.raises(StorageBusy):
                await send(broker, "order-1")
            await maintenance_of(broker).tend_ids()
            await assert_known(broker, names(0, 40))


async def test_damage_met_while_looking_is_mended(on_disk, tmp_path):
    await filled(on_disk)
    harm(tmp_path, "DROP TABLE ids")
    reports = Reports()
    async with on_disk.open() as broker:
        with pytest.raises(StorageBusy):
            await send(broker, "order-1")
        await maintenance_of(broker, reports).tend_ids()
        await assert_known(broker, names(0, 40))
        assert [one[0] for one in reports.told] == ["id_index_damaged", "id_index_rebuilt"]


async def test_damage_met_while_adding_or_forgetting_is_mended(scene, monkeypatch):
    def damaged(*_):
        raise IdIndexDamaged("broken")

    for step in ("add", "spaces", "forget"):
        scene = Scene()
        await filled(scene)
        async with scene.open() as broker:
            with monkeypatch.context() as patch:
                patch.setattr(scene.index, step, damaged)
                await hand_over(broker)
                await IdUpkeep(broker).forget_old()
            assert broker.ids.fault == "broken"
            await maintenance_of(broker).tend_ids()
            assert broker.ids.fault is None
            await assert_known(broker, names(0, 40))


async def test_records_without_ids_are_taken_while_the_index_is_damaged(on_disk, tmp_path):
    await filled(on_disk)
    harm(tmp_path, "garbage")
    async with on_disk.open() as broker:
        published = await publish_and_wait(broker, PublishBatch(ORDERS, 0, batch_of([None, None])))
        assert published.base_offset == 30


async def test_only_records_of_the_window_are_read_when_the_index_is_built(on_disk, tmp_path):
    await filled(on_disk)
    on_disk.clock.advance_ms(9 * MINUTE_MS)
    async with on_disk.open() as broker:
        await send(broker, "late")
    on_disk.clock.advance_ms(MINUTE_MS)
    harm(tmp_path, "removed")
    reports = Reports()
    async with on_disk.open() as broker:
        await maintenance_of(broker, reports).tend_ids()
        assert reports.told[-1] == ("id_index_rebuilt", 1)
        assert places(await send(broker, "late", "order-1")) == [(0, 30, True), (0, 31, False)]


async def test_a_crash_while_the_index_is_built_has_it_built_again(on_disk, tmp_path, monkeypatch):
    await filled(on_disk)
    harm(tmp_path, "removed")
    async with on_disk.open() as broker:
        add = on_disk.index.add

        def crash(ids, number):
            if not ids:
                raise RuntimeError("killed")
            add(ids, number)

        with monkeypatch.context() as patch:
            patch.setattr(on_disk.index, "add", crash)
            with pytest.raises(RuntimeError):
                await maintenance_of(broker).tend_ids()
    await rebuilt(on_disk)


async def test_an_index_that_cannot_be_built_is_tried_again_later(scene, monkeypatch):
    def damaged():
        raise IdIndexDamaged("read-only")

    await filled(scene)
    async with scene.open() as broker:
        broker.ids.fault = "broken"
        maintenance = maintenance_of(broker, reports := Reports())
        with monkeypatch.context() as patch:
            patch.setattr(scene.index, "reset", damaged)
            with pytest.raises(LogReadOnly):
                await maintenance.tend_ids()
            await maintenance.tend_ids()
            assert len(reports.told) == 1
        scene.clock.advance_ms(30_000)
        await maintenance.tend_ids()
        await assert_known(broker, names(0, 40))


async def test_a_new_folder_has_nothing_to_build(on_disk):
    async with on_disk.with_topic() as broker:
        assert broker.ids.fault is None
        reports = Reports()
        await maintenance_of(broker, reports).tend_ids()
        assert reports.told == []
