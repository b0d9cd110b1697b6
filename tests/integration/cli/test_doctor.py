"""`goqueue doctor`: what it finds, what it says to do, and that it changes nothing."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goqueue.cli.main import main
from tests.behaviour.serving import Server, free_port, running_server
from tests.unit.offline.folders import flip, sound_folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("doctor")) as server:
        yield server


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GOQUEUE_SERVER", "GOQUEUE_HTTP", "GOQUEUE_CONTEXT", "GOQUEUE_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOQUEUE_CONFIG", str(tmp_path / "none.toml"))


class Doctor:
    def __init__(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        self._capfd = capfd
        self._settings = tmp_path / "settings.toml"

    def look(self, *words: str, http: str = "", native: str = "") -> tuple[int, dict[str, Any]]:
        """The exit code, and the checks by name. Listeners that are not named take any free port."""
        http, native = http or "127.0.0.1:0", native or "127.0.0.1:0"
        self._settings.write_text(f'[listen]\nhttp = "{http}"\nnative = "{native}"\ngrpc = ""\n')
        self._capfd.readouterr()
        code = main(["doctor", "--config", str(self._settings), "-o", "json", *words])
        return code, {one["name"]: one for one in json.loads(self._capfd.readouterr().out)["checks"]}


@pytest.fixture
def doctor(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Doctor:
    return Doctor(capfd, tmp_path)


def test_a_running_broker_and_its_folder_are_well(doctor: Doctor, server: Server) -> None:
    code, found = doctor.look(
        *("--data", str(server.folder / "data"), "--no-measure", "--server", server.native, "--http", server.http),
        http=server.http,
        native=server.native,
    )
    assert code == 0
    assert found["lock"]["found"] == "a broker has the folder open"
    assert found["port of http"]["found"] == f"{server.http} is a GoQueue's"
    assert found["port of native"]["found"] == f"{server.native} is a GoQueue's"
    assert {found[name]["state"] for name in ("broker, native", "broker, http", "clock", "python")} == {"ok"}


def test_a_port_of_somebody_else_is_a_problem_with_a_way_out(doctor: Doctor, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        code, found = doctor.look("--data", str(tmp_path / "new"), "--no-measure", http=taken)
    assert code == 1
    assert found["port of http"]["state"] == "problem"
    assert taken in found["port of http"]["found"]
    assert "another address" in found["port of http"]["to_do"]
    assert not (tmp_path / "new").exists()


def test_a_broker_that_was_named_and_is_not_there_is_a_problem(doctor: Doctor, tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    words = ("--data", str(tmp_path / "new"), "--no-measure", "--server", nowhere, "--http", nowhere)
    code, found = doctor.look(*words)
    assert code == 1
    assert found["broker, native"]["state"] == found["broker, http"]["state"] == "problem"
    assert "goqueue server" in found["broker, http"]["to_do"]


def test_the_disk_is_measured_beside_the_folder_and_nothing_is_left(doctor: Doctor, tmp_path: Path) -> None:
    data = sound_folder(tmp_path / "here")
    before = {path: path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()}
    code, found = doctor.look("--data", str(data))
    assert (code, found["contents"]["state"]) == (0, "ok"), found
    assert "p99" in found["sync (fsync)"]["found"]
    assert "MiB/s" in found["sequential writes"]["found"]
    after = {path: path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()}
    assert {path: text for path, text in after.items() if path.name != "lock"} == {
        path: text for path, text in before.items() if path.name != "lock"
    }


def test_damage_at_the_end_of_a_log_is_found_and_leads_to_verify(doctor: Doctor, tmp_path: Path) -> None:
    data = sound_folder(tmp_path / "here")
    last = max((data / "logs" / "orders" / "0").glob("*.log"))
    flip(last, 20)
    code, found = doctor.look("--data", str(data), "--no-measure")
    assert code == 1
    assert found["contents"]["state"] == "problem"
    assert f"goqueue storage verify {data}" in found["contents"]["to_do"]


def test_what_is_no_folder_is_a_problem(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, found = doctor.look("--data", str(tmp_path / "file"), "--no-measure")
    assert (code, found["data folder"]["state"]) == (1, "problem")


def test_for_people_each_line_says_how_it_is_and_what_to_do(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, doctor: Doctor
) -> None:
    doctor.look("--data", str(tmp_path / "new"), "--no-measure")
    nowhere = f"127.0.0.1:{free_port()}"
    settings = str(tmp_path / "settings.toml")
    words = ["doctor", "--config", settings, "--data", str(tmp_path / "new"), "--no-measure", "--http", nowhere]
    assert main(words) == 1
    lines = capfd.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("problem  broker, http:"))
    assert lines[at + 1].strip().startswith("→ start it with `goqueue server`")
    assert "problem" in lines[-1]
