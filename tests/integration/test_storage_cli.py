"""`goqueue storage verify`, `inspect` and what all its commands have in common, run as the real command."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.integration.storage_command import Ran, goqueue, goqueue_here
from tests.unit.offline.folders import ORDERS, append, flip, opened, segment, sound_folder, write

COMMANDS = [("inspect",), ("verify",), ("repair", "--yes"), ("dump",)]


def run(command: tuple[str, ...], data: Path, *, goqueue: Callable[..., Ran] = goqueue) -> Ran:
    rest = ["orders/0"] if command[0] == "dump" else []
    return goqueue("storage", command[0], data, *rest, *command[1:])


def snapshot(data: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in data.rglob("*") if path.is_file()}


# Folders that are none.


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_does_not_exist_is_wrong_usage(command: tuple[str, ...], tmp_path: Path) -> None:
    ran = run(command, tmp_path / "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        f"error: {tmp_path}/nowhere does not exist",
        "hint: give the folder that the broker has as --data",
    ]
    assert not (tmp_path / "nowhere").exists()


def test_an_empty_folder_is_not_taken_for_a_clean_one(tmp_path: Path) -> None:
    for command in COMMANDS:
        ran = run(command, tmp_path, goqueue=goqueue_here)
        assert (ran.code, ran.out) == (2, "")
        assert "nothing is in it" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"not a log")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "syslog.log").write_text("not ours either")
    before = snapshot(tmp_path)
    for command in COMMANDS:
        ran = run(command, tmp_path, goqueue=goqueue_here)
        assert (ran.code, ran.out) == (2, "")
        assert "is not a data folder of GoQueue" in ran.err
    assert snapshot(tmp_path) == before


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    ran = goqueue("storage", "verify", path)
    assert ran.code == 2
    assert "is not a folder" in ran.err


# Folders in use.


def test_a_folder_in_use_is_neither_verified_nor_repaired_but_can_be_looked_at(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    store = opened(str(data))
    try:
        write(store, (append(store, ORDERS, 1),))
        for command in (("verify",), ("repair", "--yes"), ("repair", "--dry-run")):
            ran = run(command, data)
            assert (ran.code, ran.out) == (3, "")
            assert ran.err.startswith(f"error: another process has the data folder {data} open\nhint: stop the broker")
        looked = run(("inspect",), data)
        assert looked.code == 0
        assert "a broker has this folder open, so the figures may be moving" in looked.err
        dumped = run(("dump", "--format", "json"), data)
        assert dumped.code == 0
        assert json.loads(dumped.out.splitlines()[-1])["offset"] == 20
        write(store, (append(store, ORDERS, 1),))
    finally:
        store.close()
    assert run(("verify",), data).code == 0


# Verify.


def test_verify_of_a_sound_folder_says_so_and_changes_nothing(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    before = snapshot(data)
    ran = goqueue("storage", "verify", data)
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("clean: 3 logs, 4 segments, ")
    assert ran.err == ""
    assert snapshot(data) == before


def test_verify_names_file_position_offsets_and_remedy_of_damage(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    size = segment(data, ORDERS, 0).stat().st_size // 8
    flip(segment(data, ORDERS, 0), 3 * size + 40)
    flip(data / "checkpoint.copy", 9)
    ran = goqueue("storage", "verify", data, "-o", "json")
    assert ran.code == 1
    answer = json.loads(ran.out)
    assert answer["clean"] is False
    worst, copy = (f for f in answer["verification"]["findings"] if f["severity"] != "info")
    if worst["kind"] != "log_damaged":
        worst, copy = copy, worst
    assert worst == {
        "file": "logs/orders/0/00000000000000000000.log",
        "kind": "log_damaged",
        "severity": "error",
        "what": "damaged record",
        "position": 3 * size,
        "length": size,
        "first_offset": 3,
        "last_offset": 3,
        "remedy": "cut out of the file; its bytes are kept in lost+found, every intact record stays",
    }
    assert (copy["file"], copy["kind"]) == ("checkpoint.copy", "checkpoint_copy_damaged")
    table = goqueue("storage", "verify", data)
    assert table.code == 1
    row = next(line for line in table.out.splitlines() if "damaged record" in line)
    assert "00000000000000000000.log" in row
    assert f"{3 * size}–{4 * size - 1}" in row
    assert "not clean: 1 error, 1 warning in 3 logs" in table.out
    assert f"`goqueue storage repair {data}` mends what can be mended" in table.out


def test_verify_does_not_mind_strangers_but_names_them(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    (data / "notes.txt").write_text("mine")
    (data / "checkpoint.tmp").write_bytes(b"half")
    ran = goqueue("storage", "verify", data, "-o", "yaml")
    assert ran.code == 0
    answer = yaml.safe_load(ran.out)
    kinds = {f["file"]: f["kind"] for f in answer["verification"]["findings"]}
    assert kinds["notes.txt"] == "file_unknown"
    assert kinds["checkpoint.tmp"] == "file_left_over"


def test_verify_works_on_a_folder_it_may_only_read(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    for path in [*data.rglob("*"), data]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert goqueue("storage", "verify", data).code == 0
    finally:
        for path in [data, *data.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_file_that_cannot_be_read_is_one_line_and_no_stack_trace(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    path = segment(data, ORDERS, 0)
    path.unlink()
    path.mkdir()
    ran = goqueue("storage", "verify", data)
    assert ran.code == 1
    assert ran.err == f"error: {path}: Is a directory\n" or ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 1


def test_a_terminal_gets_a_progress_bar_and_a_pipe_does_not(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    ours, theirs = pty.openpty()
    try:
        command = [sys.executable, "-m", "goqueue", "storage", "verify", str(data)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, check=False)
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0
    assert "checking" in shown
    assert "\x1b" not in done.stdout.decode()


# Inspect.


def test_inspect_tells_what_there_is_in_tables_json_and_yaml(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    before = snapshot(data)
    ran = goqueue("storage", "inspect", data, "-o", "json")
    assert ran.code == 0
    answer = json.loads(ran.out)
    assert answer["in_use"] is False
    found = answer["inspection"]
    assert found["checkpoint"] == {"lsn": 5, "copies": ["intact", "intact"]}
    assert found["journal"]["last_lsn"] == 8
    assert found["journal"]["entries_since_checkpoint"] == 3
    (journal,) = found["journal"]["files"]
    assert (journal["bytes"], journal["first_lsn"], journal["last_lsn"]) == (4096, 1, 8)
    logs = {log["log"]: log for log in found["logs"]}
    assert {name: log["next_offset"] for name, log in logs.items()} == {"audit/3": 4, "orders/0": 20, "quiet/0": 0}
    segments = logs["orders/0"]["segments"]
    assert [(one["base_offset"], one["next_offset"]) for one in segments] == [(0, 8), (8, 16), (16, 20)]
    assert segments[1]["oldest_ns"] == 1_700_000_008_000_000_000
    assert segments[1]["newest_ns"] == 1_700_000_015_000_000_000
    assert [one["stream"] for one in found["snapshots"]] == ["catalog of tests"]
    assert found["disk"]["logs"] == sum(path.stat().st_size for path in data.rglob("*.log"))
    assert yaml.safe_load(goqueue("storage", "inspect", data, "-o", "yaml").out) == answer | {
        "inspection": yaml.safe_load(json.dumps(found))
        | {"disk": found["disk"] | {"free": pytest.approx(found["disk"]["free"], rel=0.5)}}
    }
    table = goqueue("storage", "inspect", data).out
    assert "checkpoint  LSN 5 (intact, copy intact)" in table
    assert "2023-11-14T22:13:28.000000000Z" in table
    assert snapshot(data) == before


def test_inspect_also_describes_a_folder_that_lost_its_checkpoint(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    (data / "checkpoint").write_bytes(b"gone")
    (data / "checkpoint.copy").unlink()
    ran = goqueue("storage", "inspect", data)
    assert ran.code == 0
    assert "none of the two copies is readable" in ran.out
    assert "orders/0" in ran.out
