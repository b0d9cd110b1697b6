"""`goqueue server` with each of its options: it serves where it is told, or says why not; SIGTERM ends it."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template

import pytest

from goqueue.client.sync import Admin
from tests.behaviour.serving import eventually, free_port
from tests.integration.cli.server_stories import SERVER_STORIES
from tests.integration.cli.walk import Step

WITHIN_S = 120.0
SETTINGS = "[tracing]\nrate = 0.125\n"


@pytest.fixture
def known(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What steps may name; the port of $taken is in use."""
    (tmp_path / "a-file").touch()
    (tmp_path / "settings.toml").write_text(SETTINGS)
    (tmp_path / "wrong.toml").write_text('[listen]\nhtpp = "127.0.0.1:1"\n')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield {
            **{name: f"127.0.0.1:{free_port()}" for name in ("http", "native", "grpc", "schemas")},
            "taken": f"127.0.0.1:{taken.getsockname()[1]}",
            "data": str(tmp_path / "data"),
            "new": str(tmp_path / "new"),
            "file": str(tmp_path / "a-file"),
            "settings": str(tmp_path / "settings.toml"),
            "missing": str(tmp_path / "missing.toml"),
            "wrong": str(tmp_path / "wrong.toml"),
        }


class Started:
    """The command in a process of its own; what it says is in a file."""

    def __init__(self, step: Step, known: dict[str, str], folder: Path) -> None:
        self._log = folder / "said.txt"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GOQUEUE_")}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "goqueue", *step.words(known)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=kept,
                cwd=folder,
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def wait_for(self, text: str) -> None:
        eventually(lambda: text in self.said or self.process.poll() is not None, within_s=WITHIN_S)
        assert self.process.poll() is None, self.said

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def answers(address: str, path: str) -> bytes:
    connection = http.client.HTTPConnection(*address.split(":"), timeout=WITHIN_S)  # type: ignore[arg-type]
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200, body
    return body


def is_open(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize("step", SERVER_STORIES["serving"], ids=["everything", "no gRPC"])
def test_a_broker_serves_where_it_is_told_until_it_is_told_to_stop(
    step: Step, known: dict[str, str], tmp_path: Path
) -> None:
    broker = Started(step, known, tmp_path)
    try:
        broker.wait_for(step.prints)
        assert b"0.1" in answers(known["http"], "/version")
        with Admin(known["native"]) as admin:
            admin.create_topic("orders", 1)
        given = {name for name in ("grpc", "schemas") if f"--{name} $" in step.text}
        assert {name for name in ("grpc", "schemas") if is_open(known[name])} == given
        if "schemas" in given:
            assert answers(known["schemas"], "/subjects") == b"[]"
        assert Path(known["data"]).is_dir()
        broker.process.send_signal(signal.SIGTERM)
        assert broker.process.wait(WITHIN_S) == 0, broker.said
    finally:
        broker.end()
    assert "stopped" in broker.said and "Traceback" not in broker.said
    assert not is_open(known["http"]) and not is_open(known["native"])


def test_what_is_wrong_is_said_before_anything_is_served(known: dict[str, str], tmp_path: Path) -> None:
    """All at once, as most of what each takes is the start of Python."""
    folders = [tmp_path / str(number) for number in range(len(SERVER_STORIES["refusing"]))]
    for folder in folders:
        folder.mkdir()
    started = [
        (step, Started(step, known, folder)) for step, folder in zip(SERVER_STORIES["refusing"], folders, strict=True)
    ]
    try:
        for step, broker in started:
            assert broker.process.wait(WITHIN_S) == step.code, f"{step.text}\n{broker.said}"
            assert Template(step.prints).safe_substitute(known) in broker.said, f"{step.text}\n{broker.said}"
            assert broker.said.startswith("error: ") and len(broker.said.splitlines()) <= 2
            assert not (Path(known["data"])).exists()
    finally:
        for _, broker in started:
            broker.end()
