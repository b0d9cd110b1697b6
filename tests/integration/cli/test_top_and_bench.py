"""`goqueue top` on a terminal, and `goqueue bench` against a broker."""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.serving import Server, running_server
from tests.integration.cli.driver import Cli

WITHIN_S = 120.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("top")) as server:
        yield server


class Terminal:
    """A command on a terminal of its own, and everything that appeared on it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execvpe(command[0], command, environment)
        self._shown = b""

    def wait_for(self, text: str) -> None:
        """Looks at what appeared since the last time."""
        deadline = time.monotonic() + WITHIN_S
        while text.encode() not in self._shown:
            assert time.monotonic() < deadline, self._shown
            if select.select([self._terminal], [], [], 1.0)[0]:
                self._shown += os.read(self._terminal, 65536)
        self._shown = b""

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def ended(self) -> int:
        try:
            while select.select([self._terminal], [], [], WITHIN_S)[0] and os.read(self._terminal, 65536):
                pass
        except OSError:
            # How Linux says that nobody has the other end open any more.
            pass
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)


def environment_of(server: Server, tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOQUEUE_")}
    there = {"GOQUEUE_SERVER": server.native, "GOQUEUE_HTTP": server.http, "GOQUEUE_CONFIG": str(tmp_path / "none")}
    return {**kept, **there, "TERM": "xterm", "COLUMNS": "160", "LINES": "50"}


def test_top_goes_on_while_the_broker_is_away_and_ends_with_q(tmp_path: Path) -> None:
    with running_server(tmp_path / "broker") as server:
        cli = Cli(server.native)
        cli("topic", "create", "orders")
        terminal = Terminal(cli.command("top", "--interval", "0.1"), environment_of(server, tmp_path))
        terminal.wait_for("orders")
        terminal.press(b"s")
        terminal.wait_for("by in")
        server.kill()
        terminal.wait_for("trying again")
        server.start()
        cli("topic", "create", "payments")
        terminal.wait_for("payments")
        terminal.press(b"q")
        assert terminal.ended() == 0


def test_top_without_a_terminal_says_what_to_do(server: Server) -> None:
    done = Cli(server.native).run("top", "--http", server.http)
    assert done.code == 2
    assert "--once" in done.err


def test_a_frame_has_the_rates_of_what_happens_between_two_looks(server: Server) -> None:
    cli = Cli(server.native)
    cli("topic", "create", "busy", "-p", "1")
    cli("produce", "busy", *map(str, range(50)))
    frame = cli.json("top", "--interval", "0.1", "--http", server.http)
    line = next(one for one in frame["topics"] if one["topic"] == "busy")
    assert (line["partitions"], line["records"]) == (1, 50)


def test_bench_says_what_it_measured_and_leaves_nothing_behind(server: Server) -> None:
    cli = Cli(server.native)
    before = cli.json("topic", "list"), cli.json("group", "list")
    found = cli.json("bench", "--records", 200, "--batch", 20, "--seconds", 60)
    assert [one["load"] for one in found["results"]] == ["publish", "consume", "queue", "latency"]
    for one in found["results"]:
        assert (one["records"], one["errors"]) == (200, 0)
        assert one["per_second"] > 0 and one["bytes"] >= 200 * 100
        assert 0 < one["p50_ms"] <= one["p99_ms"] <= one["p999_ms"] <= one["max_ms"]
    assert (cli.json("topic", "list"), cli.json("group", "list")) == before


def test_bench_leaves_a_topic_that_it_did_not_make(server: Server) -> None:
    cli = Cli(server.native)
    cli("topic", "create", "mine", "-p", "1")
    table = cli("bench", "publish", "--topic", "mine", "-n", 30, "--batch", 10, "--seconds", 60)
    assert re.search(r"publish +│ +30 ", table)
    assert "until it was confirmed" in table
    described = cli.json("topic", "describe", "mine")
    assert described["partitions"][0]["latest"] >= 30


def test_bench_of_a_topic_that_is_not_there_is_refused(server: Server) -> None:
    done = Cli(server.native).run("bench", "publish", "--topic", "nowhere")
    assert done.code == 1
    assert "there is no topic nowhere" in done.err


@pytest.mark.parametrize(("words", "said"), [(("--size", "4"), "at least 16"), (("--rate", "fast"), "not a rate")])
def test_bench_refuses_what_it_cannot_do(server: Server, words: tuple[str, ...], said: str) -> None:
    done = Cli(server.native).run("bench", "publish", *words)
    assert done.code == 2
    assert said in done.err
