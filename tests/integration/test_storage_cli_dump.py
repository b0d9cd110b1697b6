"""`goqueue storage dump`, run as the real command on real folders."""

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from goqueue import codec
from goqueue.engine.ports import AppendRecords, CreateLog
from goqueue.model.log import LogId
from goqueue.model.record import Record
from tests.integration.storage_command import goqueue, goqueue_here
from tests.unit.offline.folders import ORDERS, T0, flip, opened, segment, sound_folder, write

MIXED = LogId("mixed", 0)


def offsets(text: str) -> list[int]:
    return [json.loads(line)["offset"] for line in text.splitlines()]


def with_log(path: Path, records: list[Record], log: LogId = MIXED) -> Path:
    store = opened(str(path))
    batch = bytearray(codec.encode(records))
    codec.stamp(batch, 0, T0)
    write(store, (CreateLog(log), AppendRecords(log, bytes(batch), len(records))))
    store.close()
    return path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], range(20)),
        (["--from-offset", "7"], range(7, 20)),
        (["--from-offset", "7", "--to-offset", "9"], range(7, 10)),
        (["--to-offset", "0"], range(1)),
        (["--from-offset", "99"], range(0)),
        (["--limit", "3"], range(3)),
        (["--from-offset", "6", "--limit", "4"], range(6, 10)),
        (["--from-time", "2023-11-14T22:13:29.5+00:00"], range(10, 20)),
        (["--from-time", "2023-11-14T22:13:29"], range(9, 20)),
        (["--from-time", str(T0 + 18 * 10**9)], range(18, 20)),
        (["--from-time", "1h"], range(0)),
        (["--from-time", "2000-01-01", "--from-offset", "17"], range(17, 20)),
    ],
)
def test_the_range_asked_for_is_printed(options: list[str], expected: range, tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    ran = goqueue_here("storage", "dump", data, "orders/0", "--format", "json", *options)
    assert (ran.code, ran.err) == (0, "")
    assert offsets(ran.out) == list(expected)


def test_a_record_is_printed_with_everything_it_has(tmp_path: Path) -> None:
    data = with_log(
        tmp_path / "data",
        [
            Record(value="grüße".encode(), key=b"\xff\x1b[31m", headers=(("trace", b"\x00\x01"),), priority=0),
            Record(value=None, key=b""),
            Record(value=b"", key=None),
        ],
    )
    ran = goqueue("storage", "dump", data, "mixed/0", "--format", "json")
    first, second, third = map(json.loads, ran.out.splitlines())
    assert first == {
        "offset": 0,
        "time": "2023-11-14T22:13:20.000000000Z",
        "timestamp_ns": T0,
        "priority": 0,
        "flags": [],
        "key": "\\xff\x1b[31m",
        "value": "grüße",
        "headers": [["trace", "\x00\x01"]],
    }
    assert (second["key"], second["value"], second["flags"]) == ("", None, ["tombstone"])
    assert (third["key"], third["value"], third["flags"]) == (None, "", [])
    exact = json.loads(
        goqueue_here("storage", "dump", data, "mixed/0", "-f", "json", "--values", "base64", "--limit", 1).out
    )
    assert base64.b64decode(exact["key"]) == b"\xff\x1b[31m"
    hexed = json.loads(
        goqueue_here("storage", "dump", data, "mixed/0", "-f", "json", "--values", "hex", "--limit", 1).out
    )
    assert hexed["headers"] == [["trace", "0001"]]
    sizes = goqueue_here("storage", "dump", data, "mixed/0", "-f", "json", "--values", "none").out.splitlines()
    assert [(json.loads(line)["key_bytes"], json.loads(line)["value_bytes"]) for line in sizes] == [
        (6, 7),
        (0, None),
        (None, 0),
    ]


def test_lines_of_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    data = with_log(tmp_path / "data", [Record(value=b"\x1b]0;owned\x07\x9b\n", key=b"k")])
    out = goqueue("storage", "dump", data, "mixed/0").out
    assert "\\x1b]0;owned\\x07\\x9b\\x0a" in out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2


def test_raw_output_is_the_log_as_it_is_stored(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    command = [sys.executable, "-m", "goqueue", "storage", "dump", str(data), "orders/0", "--format", "raw"]
    whole = subprocess.run(command, capture_output=True, check=True).stdout
    assert whole == b"".join(segment(data, ORDERS, base).read_bytes() for base in (0, 8, 16))
    some = subprocess.run([*command, "--from-offset", "6", "--limit", "5"], capture_output=True, check=True).stdout
    assert [record.offset for record in codec.decode(some)] == [6, 7, 8, 9, 10]


@pytest.mark.parametrize("form", ["table", "json"])
def test_damage_is_shown_in_its_place_and_does_not_stop_it(form: str, tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    size = segment(data, ORDERS, 0).stat().st_size // 8
    flip(segment(data, ORDERS, 0), 3 * size + 20)
    ran = goqueue("storage", "dump", data, "orders/0", "--format", form)
    assert ran.code == 1
    if form == "json":
        lines = [json.loads(line) for line in ran.out.splitlines()]
        assert [line.get("offset") for line in lines] == [0, 1, 2, None, *range(4, 20)]
        assert lines[3]["damaged"] == {
            "file": "logs/orders/0/00000000000000000000.log",
            "position": 3 * size,
            "length": size,
            "first_offset": 3,
            "last_offset": 3,
            "reason": "damaged record",
        }
    else:
        assert ran.out.splitlines()[4].startswith("-- damaged: logs/orders/0/00000000000000000000.log, bytes")
        assert len(ran.out.splitlines()) == 21


def test_damage_in_raw_output_is_told_beside_it(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    size = segment(data, ORDERS, 0).stat().st_size // 8
    flip(segment(data, ORDERS, 0), 3 * size + 20)
    command = [sys.executable, "-m", "goqueue", "storage", "dump", str(data), "orders/0", "--format", "raw"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    assert [record.offset for record in codec.decode(done.stdout)] == [0, 1, 2, *range(4, 20)]
    assert done.stderr.startswith(b"-- damaged: logs/orders/0/00000000000000000000.log, bytes")


def test_a_torn_end_is_shown_with_an_unknown_last_offset(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    path = segment(data, ORDERS, 16)
    path.write_bytes(path.read_bytes()[:-3])
    ran = goqueue("storage", "dump", data, "orders/0", "--format", "json", "--from-offset", 18)
    assert ran.code == 1
    last = json.loads(ran.out.splitlines()[-1])["damaged"]
    assert (last["first_offset"], last["last_offset"], last["reason"]) == (19, None, "torn record")


def test_a_damaged_index_misleads_nobody(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    flip(segment(data, ORDERS, 0, ".index"), 30)
    ran = goqueue("storage", "dump", data, "orders/0", "--format", "json", "--from-offset", 5, "--limit", 1)
    assert (ran.code, offsets(ran.out)) == (0, [5])


def test_a_log_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    ran = goqueue("storage", "dump", data, "ordres/0")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"error: there is no log ordres/0 in {data}\nhint: there are audit/3, orders/0\n"
    for odd in ("orders", "orders/x", "../../etc/0", "/0"):
        assert goqueue_here("storage", "dump", data, odd).code in (1, 2)


def test_a_log_without_segments_has_nothing_to_print(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    (data / "logs" / "fresh" / "0").mkdir(parents=True)
    ran = goqueue_here("storage", "dump", data, "fresh/0", "--format", "json")
    assert (ran.code, ran.out) == (0, "")


def test_a_time_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    ran = goqueue("storage", "dump", sound_folder(tmp_path), "orders/0", "--from-time", "yesterday")
    assert ran.code == 2
    assert ran.err.startswith("error: 'yesterday' is not a time\nhint: write 2025-12-31T23:59:59Z")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 64 MB, so large that it fits no pipe."""
    path = tmp_path_factory.mktemp("large") / "data"
    batch = bytearray(codec.encode([Record(value=bytes(1000)) for _ in range(1000)]))
    store = opened(str(path))
    write(store, (CreateLog(MIXED),))
    store.close()
    (path / "logs" / "mixed" / "0").mkdir(parents=True)
    with segment(path, MIXED, 0).open("wb") as file:
        for base in range(0, 64_000, 1000):
            codec.stamp(batch, base, T0 + base)
            file.write(batch)
    return path


def test_a_reader_that_has_had_enough_is_no_failure(large: Path) -> None:
    command = f"set -o pipefail; {sys.executable} -m goqueue storage dump {large} mixed/0 --format json | head -2"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert offsets(done.stdout) == [0, 1]


def test_an_interruption_is_quiet(large: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "storage", "dump", str(large), "mixed/0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_memory_does_not_grow_with_the_log(large: Path, tmp_path: Path) -> None:
    def peak_kib(data: Path, log: str) -> int:
        code = (
            "import resource, sys; from goqueue.cli.main import main\n"
            f"code = main(['storage', 'dump', {str(data)!r}, {log!r}, '--format', 'json', '--values', 'none'])\n"
            "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        exit_code, peak = map(int, done.stderr.split())
        assert exit_code == 0
        return peak

    assert peak_kib(large, "mixed/0") - peak_kib(sound_folder(tmp_path), "orders/0") < 24 * 1024
