"""Contexts: brokers by name, and what counts when several things name one."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from goqueue.cli.main import main
from tests.behaviour.serving import Server, running_server
from tests.integration.cli.driver import Cli

NOWHERE = "127.0.0.1:1"
ELSEWHERE = "127.0.0.1:2"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("contexts")) as server:
        yield server


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("GOQUEUE_SERVER", "GOQUEUE_HTTP", "GOQUEUE_REGISTRY", "GOQUEUE_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "folder" / "config.toml"
    monkeypatch.setenv("GOQUEUE_CONFIG", str(path))
    return path


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The address at which a command looked for a broker and found none."""
    capsys.readouterr()
    assert main(["topic", "list", *words]) == 4
    return capsys.readouterr().err.splitlines()[0]


def test_options_are_stronger_than_the_environment_which_is_stronger_than_the_current_context(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["config", "set-context", "one", "--server", NOWHERE])
    main(["config", "set-context", "two", "--server", ELSEWHERE])
    assert NOWHERE in asked(capsys)
    monkeypatch.setenv("GOQUEUE_CONTEXT", "two")
    assert ELSEWHERE in asked(capsys)
    monkeypatch.setenv("GOQUEUE_SERVER", "127.0.0.1:3")
    assert "127.0.0.1:3" in asked(capsys)
    assert NOWHERE in asked(capsys, "--context", "one")
    assert "127.0.0.1:4" in asked(capsys, "--context", "one", "--server", "127.0.0.1:4")


def test_a_context_can_be_named_before_the_noun_and_the_one_behind_the_verb_wins(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["config", "set-context", "one", "--server", NOWHERE])
    main(["config", "set-context", "two", "--server", ELSEWHERE])
    capsys.readouterr()
    assert main(["--context", "two", "topic", "list"]) == 4
    assert ELSEWHERE in capsys.readouterr().err
    assert main(["--context", "two", "topic", "list", "--context", "one"]) == 4
    assert NOWHERE in capsys.readouterr().err


@pytest.mark.parametrize("words", [("topic", "list"), ("trace", "stats"), ("schema", "list"), ("queue", "stats")])
def test_native_http_and_registry_commands_all_follow_the_context(
    file: Path, server: Server, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    main(["config", "set-context", "here", "--server", server.native, "--http", server.http])
    assert main(list(words)) == 0
    main(["config", "set-context", "away", "--server", NOWHERE, "--http", NOWHERE])
    capsys.readouterr()
    assert main([*words, "--context", "away"]) == 4
    assert NOWHERE in capsys.readouterr().err


def test_the_file_is_for_its_owner_alone_and_is_replaced_as_a_whole(file: Path) -> None:
    main(["config", "set-context", "one", "--server", NOWHERE])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) & 0o077 == 0
    before = os.stat(file).st_ino
    main(["config", "set-context", "two", "--server", NOWHERE])
    assert os.stat(file).st_ino != before
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_without_a_variable_the_file_is_where_settings_of_a_user_are(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GOQUEUE_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    main(["config", "set-context", "one", "--server", NOWHERE])
    assert (tmp_path / "home" / ".config" / "goqueue" / "config.toml").exists()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    main(["config", "set-context", "one", "--server", NOWHERE])
    assert (tmp_path / "xdg" / "goqueue" / "config.toml").exists()


def test_a_command_uses_the_first_address_that_answers_and_names_all_of_them_when_none_does(
    server: Server, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["config", "set-context", "one", "--server", f"{NOWHERE}, {server.native}"])
    assert f'server = "{NOWHERE},{server.native}"' in file.read_text()
    assert main(["topic", "list"]) == 0
    assert main(["topic", "list", "--server", f"{NOWHERE},{server.native}"]) == 0
    load = ("queue", "--seconds", "0.2", "--partitions", "1")
    assert main(["bench", *load, "--server", f"{NOWHERE},{server.native}"]) == 0
    said = asked(capsys, "--server", f"{NOWHERE},{ELSEWHERE}")
    assert said == f"error: no broker answers at {NOWHERE}: Connection refused; {ELSEWHERE}: Connection refused"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set-context", "a b", "--server", NOWHERE), "cannot be the name of a context"),
        (("set-context", "one"), "no address is given"),
        (("set-context", "one", "--server", "nowhere"), "'nowhere' is not an address"),
        (("set-context", "one", "--server", "a:1,nowhere"), "'nowhere' is not an address"),
        (("set-context", "one", "--http", "http://x:1/path"), "is not an address"),
        (("use-context", "nobody"), "there is no context 'nobody'"),
        (("rename-context", "known", "known"), "there is a context 'known' already"),
        (("delete-context", "known"), "there is nobody to ask"),
        (("delete-context", "nobody", "--yes"), "there is no context 'nobody'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    file: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    main(["config", "set-context", "known", "--server", NOWHERE])
    before = file.read_bytes()
    capsys.readouterr()
    assert main(["config", *words]) == 2
    assert said in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.parametrize("text", ["nonsense", 'colour = "red"', 'current = "gone"', "[contexts.a]\nserver = 1"])
def test_a_file_that_is_no_list_of_contexts_is_named_and_left_alone(
    file: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert main(["topic", "list"]) == 2
    err = capsys.readouterr().err
    assert str(file) in err.splitlines()[0] and err.splitlines()[1].startswith("hint:")
    assert main(["topic", "list", "--server", NOWHERE]) == 4
    assert file.read_text() == text


def test_a_broker_ignores_what_is_for_commands(server: Server, tmp_path: Path) -> None:
    cli = Cli(server.native)
    environment = {"GOQUEUE_CONFIG": str(tmp_path / "c.toml"), "GOQUEUE_CONTEXT": "x", "GOQUEUE_SPARK_MASTER": "local"}
    assert cli.run("config", "show", "-o", "json", env=environment).code == 0


HTTP_NEEDED = ("queue", "stats")
NATIVE_NEEDED = ("topic", "list")


@pytest.mark.parametrize(
    ("words", "address"),
    [
        (("--server", "127.0.0.9:7171", *HTTP_NEEDED), "127.0.0.9:8080"),
        ((*HTTP_NEEDED, "-s", "127.0.0.9:7171"), "127.0.0.9:8080"),
        (("--http", "127.0.0.9:8080", *NATIVE_NEEDED), "127.0.0.9:7171"),
        ((*NATIVE_NEEDED, "--http", "127.0.0.9:8080"), "127.0.0.9:7171"),
    ],
)
def test_an_address_leads_to_the_usual_port_of_the_same_host_for_commands_that_need_the_other(
    file: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], address: str
) -> None:
    assert main(list(words)) == 4
    assert address in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--server", NOWHERE, *HTTP_NEEDED), "--http"),
        ((*HTTP_NEEDED, "--server", NOWHERE), "--http"),
        (("--http", NOWHERE, *NATIVE_NEEDED), "--server"),
        ((*NATIVE_NEEDED, "--http", NOWHERE), "--server"),
    ],
)
def test_no_command_asks_another_broker_than_the_one_whose_other_address_was_given(
    file: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert main(list(words)) == 2
    assert NOWHERE in (said := capsys.readouterr().err) and says in said


def test_an_address_in_the_environment_counts_as_one_that_was_given(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOQUEUE_SERVER", NOWHERE)
    assert main(list(HTTP_NEEDED)) == 2
    assert "GOQUEUE_HTTP" in capsys.readouterr().err
    monkeypatch.setenv("GOQUEUE_HTTP", ELSEWHERE)
    assert main(list(HTTP_NEEDED)) == 4
    assert ELSEWHERE in capsys.readouterr().err
