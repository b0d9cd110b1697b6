"""`goqueue storage repair`, run as the real command on real folders."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from goqueue.core.catalog.catalog import Catalog
from goqueue.engine.ports import CreateLog, StateEvent
from goqueue.engine.stream_names import CATALOG
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig, topic_name
from tests.integration.storage_command import goqueue
from tests.unit.offline.folders import (
    EVERYTHING,
    ORDERS,
    append,
    checkpoint,
    content_of,
    flip,
    opened,
    segment,
    sound_folder,
    write,
)


def contents(data: Path) -> dict[str, bytes]:
    return {str(path.relative_to(data)): path.read_bytes() for path in sorted(data.rglob("*")) if path.is_file()}


def damage_two_records(data: Path) -> int:
    """Offset 2 in a sealed segment, offset 17 in the one that takes appends; returns the size of a record."""
    first = segment(data, ORDERS, 0)
    size = first.stat().st_size // 8
    flip(first, 2 * size + 37)
    store = opened(str(data))
    checkpoint(store, {})
    store.close()
    last = segment(data, ORDERS, 16)
    flip(last, last.stat().st_size // 4 + 5)
    return size


def test_a_dry_run_says_what_would_be_done_and_changes_nothing(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    damage_two_records(data)
    before = contents(data)
    ran = goqueue("storage", "repair", data, "--dry-run")
    assert ran.code == 1
    assert "cut out of the file" in ran.out
    assert ran.out.endswith("nothing was changed\n")
    assert contents(data) == before


def test_without_a_yes_and_nobody_to_ask_nothing_is_changed(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    flip(data / "checkpoint", 20)
    before = contents(data)
    ran = goqueue("storage", "repair", data)
    assert (ran.code, ran.out) == (2, "")
    assert (
        ran.err
        == "error: repair changes files, and there is nobody to ask\nhint: look with --dry-run, then add --yes\n"
    )
    assert contents(data) == before


def test_on_a_terminal_it_asks_first(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    flip(data / "checkpoint", 20)
    damaged = contents(data)
    for answer, code in ((b"n\n", 130), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        command = [sys.executable, "-m", "goqueue", "storage", "repair", str(data)]
        done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False)
        os.close(ours)
        os.close(theirs)
        assert "Mend" in done.stdout + done.stderr
        assert done.returncode == code
        assert (contents(data) == damaged) is (code != 0)


def test_damaged_records_are_cut_out_and_kept_and_everything_else_stays(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    size = damage_two_records(data)
    cut = {
        2: segment(data, ORDERS, 0).read_bytes()[2 * size : 3 * size],
        17: segment(data, ORDERS, 16).read_bytes()[-3 * (size + 1) : -2 * (size + 1)],
    }
    ran = goqueue("storage", "repair", data, "--yes", "-o", "json")
    assert ran.code == 0, ran
    report = json.loads(ran.out)
    assert report["mended"] is True
    assert [(one["first_offset"], one["last_offset"]) for one in report["cuts"]] == [(2, 2), (17, 17)]
    for one in report["cuts"]:
        assert (data / one["kept_as"]).read_bytes() == cut[one["first_offset"]]
        assert one["length"] == len(cut[one["first_offset"]])
    kept = json.loads((data / report["lost_and_found"] / "report.json").read_text())
    assert kept["cuts"] == report["cuts"]
    assert goqueue("storage", "verify", data).code == 0
    found = content_of(data)
    orders = EVERYTHING.records[str(ORDERS)]
    assert found.records[str(ORDERS)] == {offset: value for offset, value in orders.items() if offset not in (2, 17)}
    assert (found.next_offsets, found.snapshots) == (EVERYTHING.next_offsets, EVERYTHING.snapshots)


def test_a_second_repair_finds_nothing_to_do(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    damage_two_records(data)
    assert goqueue("storage", "repair", data, "--yes").code == 0
    before = contents(data)
    ran = goqueue("storage", "repair", data, "--yes")
    assert (ran.code, ran.out) == (0, "nothing to mend\n")
    assert contents(data) == before


def test_the_answer_for_people_says_what_was_cut_and_where_it_is_kept(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    size = damage_two_records(data)
    ran = goqueue("storage", "repair", data, "--yes")
    row = next(line for line in ran.out.splitlines() if f"{2 * size}–{3 * size - 1}" in line)
    assert "logs/orders/0/00000000000000000000.log" in row
    assert "2–2" in row
    assert "lost+found/" in row
    assert ran.out.endswith("all mended\n")


def test_with_both_checkpoints_destroyed_all_records_and_state_come_back(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    (data / "checkpoint").write_bytes(b"\0" * 100)
    (data / "checkpoint.copy").unlink()
    ran = goqueue("storage", "repair", data, "--yes")
    assert "built the checkpoint again from the logs and the journal" in ran.out
    assert "partitions that never took a record left no trace" in ran.out
    assert ran.code == 1, "without a catalog it is not certain that all partitions are there"
    assert goqueue("storage", "verify", data).code == 0
    found = content_of(data)
    assert found == EVERYTHING


def test_the_catalog_tells_which_empty_partitions_there_were(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store = opened(str(data))
    created = Catalog().create(topic_name("clicks"), 3, TopicConfig())
    logs = [LogId("clicks", number) for number in range(3)]
    write(store, (StateEvent(CATALOG, msgspec.msgpack.encode(created)), *map(CreateLog, logs)))
    write(store, (append(store, logs[1], 5),))
    store.close()
    for name in ("checkpoint", "checkpoint.copy"):
        (data / name).unlink()
    ran = goqueue("storage", "repair", data, "--yes")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "all mended")
    found = content_of(data)
    assert {log: len(records) for log, records in found.records.items()} == {
        "clicks/0": 0,
        "clicks/1": 5,
        "clicks/2": 0,
    }


def test_state_that_is_lost_in_both_copies_is_said_to_be_lost(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    for path in (data / "snapshots").iterdir():
        flip(path, 30)
    damage = segment(data, ORDERS, 0)
    flip(damage, 60)
    ran = goqueue("storage", "repair", data, "--yes")
    assert ran.code == 1
    assert "the snapshot of catalog of tests is unreadable in both copies: that state is lost" in ran.out
    assert ran.out.endswith("not all could be mended\n")
    left = json.loads(goqueue("storage", "verify", data, "-o", "json").out)["verification"]["findings"]
    assert [finding["kind"] for finding in left if finding["severity"] != "info"] == ["snapshot_lost"]


def test_indexes_and_copies_are_restored_byte_for_byte(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    wanted = contents(data)
    snapshots = sorted(path.name for path in (data / "snapshots").iterdir())
    flip(data / "snapshots" / snapshots[0], 20)
    flip(data / "checkpoint.copy", 20)
    flip(segment(data, ORDERS, 0, ".index"), 20)
    segment(data, ORDERS, 0, ".timeindex").write_bytes(b"")
    assert goqueue("storage", "repair", data, "--yes").code == 0
    found = contents(data)
    assert {name: found[name] for name in wanted} == wanted


def test_a_segment_file_that_is_gone_is_written_off_and_the_offsets_named(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    segment(data, ORDERS, 0).unlink()
    assert goqueue("storage", "verify", data).code == 1
    ran = goqueue("storage", "repair", data, "--yes", "-o", "json")
    assert ran.code == 0
    (cut,) = json.loads(ran.out)["cuts"]
    assert (cut["first_offset"], cut["last_offset"], cut["kept_as"]) == (0, 7, None)
    found = content_of(data)
    assert sorted(found.records[str(ORDERS)]) == list(range(8, 20))


def test_a_folder_can_be_moved_and_named_with_a_slash_or_relatively(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    flip(data / "checkpoint", 3)
    shutil.move(data, tmp_path / "elsewhere")
    ran = goqueue("storage", "repair", f"{os.path.relpath(tmp_path / 'elsewhere')}/", "--yes")
    assert ran.code == 0
    assert content_of(tmp_path / "elsewhere") == EVERYTHING
