"""Every flipped bit is found, and costs no more than the record or event it is in."""

import pytest

from goqueue.adapters.disk.journal_format import HEAD_SIZE, parse_file_head, parse_frame
from goqueue.testing import Image, SimulatedFileSystem
from tests.unit.offline.folders import EVERYTHING, checked, content_of, repaired, sound_image

CHECKPOINT_LSN = 5


def bytes_that_matter(name: str, content: bytes) -> list[int]:
    """All of a file; of a journal its head and the entries that the checkpoint does not cover."""
    if not name.endswith(".journal"):
        return list(range(len(content)))
    head = parse_file_head(content)
    assert head is not None
    positions = list(range(HEAD_SIZE))
    at = HEAD_SIZE
    while (frame := parse_frame(memoryview(content), at, head[1])) is not None:
        if frame.lsn > CHECKPOINT_LSN:
            positions += range(at, at + frame.size)
        at += frame.size
    return positions


def flipped(name: str, position: int, bit: int) -> SimulatedFileSystem:
    image = sound_image()
    node = image.tree()[name]
    content = bytearray(image.files[node])
    content[position] ^= 1 << bit
    return SimulatedFileSystem(Image({**image.files, node: bytes(content)}, image.folders), first_node=1000)


NAMES = sorted(name for name, content in sound_image().contents().items() if content)


def test_every_sort_of_file_is_among_those_tried() -> None:
    endings = {name.rpartition("/")[2].lstrip("0123456789abcdef-") for name in NAMES}
    assert endings == {"heckpoint", "heckpoint.copy", ".log", ".index", ".timeindex", ".journal", ".snap", ".snap.copy"}


@pytest.mark.parametrize("name", NAMES)
def test_verify_finds_every_single_flipped_bit(name: str) -> None:
    positions = bytes_that_matter(name, sound_image().contents()[name])
    assert positions
    unnoticed = [
        (position, bit)
        for position in positions
        for bit in range(8)
        if checked("data", flipped(name, position, bit)).clean
    ]
    assert unnoticed == []


@pytest.mark.parametrize("name", NAMES)
def test_repair_keeps_everything_but_the_record_or_event_that_a_flipped_bit_is_in(name: str) -> None:
    for position in bytes_that_matter(name, sound_image().contents()[name]):
        disk = flipped(name, position, position % 8)
        repaired("data", disk)
        assert checked("data", disk).clean
        found = content_of("data", disk)
        lost = {
            (log, offset)
            for log, records in EVERYTHING.records.items()
            for offset in records.keys() - found.records[log].keys()
        }
        assert len(lost) <= name.endswith(".log")
        assert found.next_offsets == EVERYTHING.next_offsets
        assert found.snapshots == EVERYTHING.snapshots
        assert set(found.events) <= set(EVERYTHING.events)
        assert len(EVERYTHING.events) - len(found.events) <= name.endswith(".journal")
        assert all(EVERYTHING.records[log].items() >= records.items() for log, records in found.records.items())
