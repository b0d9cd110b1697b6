"""A repair interrupted at any moment by a kill or a power cut has the same result when it is run again."""

from collections.abc import Callable
from functools import cache

import pytest

from goqueue.testing import Image, Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.power_cut import KEPT
from tests.unit.offline.folders import Content, build, checked, content_of, opened, repaired, sound_image

pytestmark = pytest.mark.slow

ORDERS = "data/logs/orders/0/"


def with_contents(change: Callable[[dict[str, bytes]], None]) -> Image:
    image = sound_image()
    contents = image.contents()
    change(contents)
    return Image({image.tree()[name]: content for name, content in contents.items()}, image.folders)


def flip(name: str, *positions: int) -> Callable[[dict[str, bytes]], None]:
    def change(contents: dict[str, bytes]) -> None:
        content = bytearray(contents[name])
        for position in positions:
            content[position] ^= 0x10
        contents[name] = bytes(content)

    return change


def lose_checkpoints(contents: dict[str, bytes]) -> None:
    contents["data/checkpoint"] = contents["data/checkpoint.copy"] = b"gone"


DAMAGE = {
    "a sealed segment": flip(f"{ORDERS}{0:020d}.log", 10, 130),
    "a segment the journal speaks of": flip(f"{ORDERS}{8:020d}.log", 100),
    "both checkpoints": lose_checkpoints,
    "the journal": flip("data/journal/00000000000000000001.journal", 1200),
    "an index and a copy": lambda contents: [
        flip(f"{ORDERS}{0:020d}.index", 20)(contents),
        flip("data/checkpoint.copy", 20)(contents),
    ].clear(),
}


@cache
def damaged(what: str) -> Image:
    return with_contents(DAMAGE[what])


def after_repair(disk: SimulatedFileSystem) -> Content:
    assert checked("data", disk).clean
    return content_of("data", disk)


@pytest.mark.parametrize("what", DAMAGE)
def test_repair_can_be_run_again_after_a_power_cut_at_any_moment(what: str) -> None:
    image = damaged(what)
    assert not checked("data", SimulatedFileSystem(image, first_node=1000)).clean
    first = SimulatedFileSystem(image, first_node=1000)
    repaired("data", first)
    changes = list(first.changes)
    wanted = after_repair(first)
    platter, entropy, tried = Platter(image), SeededEntropy(what), 0
    for number in range(len(changes) + 1):
        for state in crash_states(platter, entropy, exhaustive=3, singles=False, samples=2, cuts=1):
            disk = SimulatedFileSystem(state, first_node=5000)
            repaired("data", disk, label="again")
            assert after_repair(disk) == wanted, (what, number)
            tried += 1
        if number < len(changes):
            platter.apply(changes[number])
    assert tried > len(changes)


@pytest.mark.parametrize("name", [f"{ORDERS}{0:020d}.log", f"{ORDERS}{8:020d}.log", "data/checkpoint"])
def test_what_a_killed_broker_left_in_the_page_cache_is_durable_before_repair_forgets_the_journal(name: str) -> None:
    disk = SimulatedFileSystem()
    build("data", disk)
    for one in (name, "data/checkpoint.copy") if name == "data/checkpoint" else (name,):
        disk.open(one).write(20, [b"damage"])
    disk.open(name).sync()
    begun = len(disk.changes)
    repaired("data", disk)
    changes = list(disk.changes)
    wanted = after_repair(disk)
    platter = Platter()
    for number, change in enumerate(changes, 1):
        platter.apply(change)
        if number < begun:
            continue
        for state in crash_states(platter, SeededEntropy(name), exhaustive=2, singles=False, samples=1, cuts=1):
            left = SimulatedFileSystem(state, first_node=5000)
            repaired("data", left, label="again")
            assert after_repair(left) == wanted, number


@pytest.mark.parametrize("what", sorted(DAMAGE.keys() - {"both checkpoints"}))
def test_a_broker_that_starts_after_a_repair_was_cut_short_finds_all_that_is_intact(what: str) -> None:
    """Not advised, but it must not make things worse: the second repair is simply not run."""
    image = damaged(what)
    first = SimulatedFileSystem(image, first_node=1000)
    repaired("data", first)
    platter = Platter(image)
    before = readable(SimulatedFileSystem(image, first_node=1000))
    for change in first.changes:
        platter.apply(change)
        found = readable(SimulatedFileSystem(platter.image({}, KEPT), first_node=5000))
        assert all(found[log].items() >= records.items() for log, records in before.items())


def readable(disk: SimulatedFileSystem) -> dict[str, dict[int, int]]:
    """Offsets a broker can read, without asking for a log free of damage."""
    store = opened("data", disk)
    found: dict[str, dict[int, int]] = {}
    for log in store.logs():
        one, offset, end = store.log(log), store.log(log).start_offset, store.log(log).next_offset
        found[str(log)] = {}
        while offset < end:
            chunk = one.read(offset, 1, end)
            if chunk.records:
                found[str(log)][chunk.first_offset] = len(chunk.records)
            offset = max(offset + 1, chunk.next_offset)
    store.close()
    return found
