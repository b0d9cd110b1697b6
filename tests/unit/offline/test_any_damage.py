"""Repair of a folder with any damage ends, invents no data, and leaves a folder that needs no second repair."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.errors import DataFolderDamaged
from goqueue.offline.findings import Severity
from goqueue.offline.repair.repair import needs_repair
from goqueue.testing import Image, SimulatedFileSystem
from tests.unit.offline.folders import EVERYTHING, checked, content_of, repaired, sound_image

pytestmark = pytest.mark.slow

NAMES = sorted(name for name, content in sound_image().contents().items() if content)
PLACES = st.floats(0, 1, exclude_max=True)

Blow = tuple[str, str, float, float, bytes]

BLOWS = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(["flip", "overwrite", "zero", "cut", "grow", "remove", "insert"]),
    PLACES,
    PLACES,
    st.binary(min_size=1, max_size=64),
)


def struck(blows: list[Blow]) -> SimulatedFileSystem:
    image = sound_image()
    contents, folders = dict(image.files), {node: dict(names) for node, names in image.folders.items()}
    for name, how, where, size, noise in blows:
        node = image.tree()[name]
        content = bytearray(contents[node])
        at = int(where * len(content))
        length = int(size * (len(content) - at))
        if how == "flip" and content:
            content[at] ^= 1 << noise[0] % 8
        elif how == "overwrite":
            content[at : at + len(noise)] = noise
        elif how == "zero":
            content[at : at + length] = bytes(length)
        elif how == "cut":
            del content[at:]
        elif how == "grow":
            content += noise
        elif how == "insert":
            content[at:at] = noise
        elif how == "remove":
            parent, _, last = name.rpartition("/")
            folders[image.tree()[parent]].pop(last, None)
        contents[node] = bytes(content)
    return SimulatedFileSystem(Image(contents, folders), first_node=1000)


@settings(max_examples=400)
@given(st.lists(BLOWS, min_size=1, max_size=4))
def test_any_damage_is_repaired_or_reported(blows: list[Blow]) -> None:
    disk = struck(blows)
    try:
        before = checked("data", disk)
    except DataFolderDamaged as refusal:
        assert "newer version" in refusal.message
        return
    done = repaired("data", disk)
    after = checked("data", disk)
    assert needs_repair(after) == ()
    assert after.clean or done.notes
    assert repaired("data", disk, label="again").done == ()
    if any(finding.severity is Severity.ERROR for finding in after.findings):
        return
    found = content_of("data", disk)
    for log, records in found.records.items():
        assert EVERYTHING.records[log].items() >= records.items()
    if before.clean:
        assert done == done.__class__((), (), None, ())


@settings(max_examples=200)
@given(st.lists(BLOWS.filter(lambda blow: blow[0].endswith(("index", "copy"))), min_size=1, max_size=6))
def test_damage_to_copies_and_indexes_costs_nothing(blows: list[Blow]) -> None:
    disk = struck(blows)
    repaired("data", disk)
    assert checked("data", disk).clean
    assert content_of("data", disk) == EVERYTHING


def hits_journal_or_checkpoint(blow: Blow) -> bool:
    """By a flipped bit or the loss of the file; a journal that was cut off cleanly looks as after a crash."""
    return ("journal" in blow[0] or "/checkpoint" in blow[0]) and blow[1] in ("flip", "remove")


@settings(max_examples=300)
@given(st.lists(BLOWS.filter(hits_journal_or_checkpoint), min_size=1, max_size=3))
def test_damage_to_journal_and_checkpoints_costs_no_record(blows: list[Blow]) -> None:
    disk = struck(blows)
    repaired("data", disk)
    assert checked("data", disk).clean
    found = content_of("data", disk)
    assert {log: records for log, records in found.records.items() if records} == {
        log: records for log, records in EVERYTHING.records.items() if records
    }
