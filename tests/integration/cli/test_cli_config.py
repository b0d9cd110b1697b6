"""`goqueue config show`, and what all commands have in common."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goqueue.cli.frame import NOUNS
from goqueue.cli.main import main
from tests.behaviour.serving import eventually
from tests.integration.cli.driver import Cli


@pytest.fixture
def offline() -> Cli:
    return Cli("127.0.0.1:1")


def test_every_setting_is_shown_with_where_it_comes_from(offline: Cli, tmp_path: Path) -> None:
    file = tmp_path / "goqueue.toml"
    file.write_text(
        'data = "from-file"\n[listen]\nhttp = "127.0.0.1:1"\nnative = "127.0.0.1:2"\n[log]\nlevel = "debug"'
    )
    environment = {"GOQUEUE_LISTEN_NATIVE": "127.0.0.1:3", "GOQUEUE_LOG_LEVEL": "warning"}
    arguments = ("config", "show", "--config", file, "--log-level", "error")
    done = offline.run(*arguments, "-o", "json", env=environment)
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    assert found["settings"]["data"] == "from-file"
    listen = {"http": "127.0.0.1:1", "native": "127.0.0.1:3", "schemas": ""}
    assert {name: found["settings"]["listen"][name] for name in listen} == listen
    assert found["settings"]["log"]["level"] == "error"
    expected = {
        "data": str(file),
        "listen.http": str(file),
        "listen.native": "GOQUEUE_LISTEN_NATIVE",
        "log.level": "flag",
        "log.format": "default",
    }
    assert {name: found["from"][name] for name in expected} == expected
    table = offline.run(*arguments, env=environment).out
    assert re.search(r"listen\.native +│ 127\.0\.0\.1:3 +│ GOQUEUE_LISTEN_NATIVE", table)


@pytest.mark.parametrize(
    ("text", "environment", "words"),
    [
        ("nonsense", {}, "is not TOML"),
        ("colour = 1", {}, "colour"),
        ('[listen]\nhttp = "nowhere"', {}, "listen.http = 'nowhere'"),
        ("", {"GOQUEUE_COLOUR": "red"}, "GOQUEUE_COLOUR names no setting"),
    ],
)
def test_bad_settings_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    text: str,
    environment: dict[str, str],
    words: str,
) -> None:
    file = tmp_path / "goqueue.toml"
    file.write_text(text)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["config", "show", "--config", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True)


COMMANDS = [
    *((noun,) for noun in NOUNS if noun != "storage"),
    *(("topic", verb) for verb in ("list", "create", "describe", "alter", "delete")),
    *(("group", verb) for verb in ("list", "describe", "reset-offsets", "delete", "pause", "resume")),
    ("config", "show"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    assert main([*command, "--help"]) == 0
    assert f"Example: goqueue {' '.join(command)}" in capsys.readouterr().out


def test_a_shell_can_complete_commands_options_and_names(goqueue: Cli, topic: str) -> None:
    def completed(words: str) -> list[str]:
        environment = {"_GOQUEUE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = goqueue.run(env=environment)
        assert (done.code, done.err) == (0, "")
        return done.out.split()

    assert completed("goqueue group re") == ["reset-offsets", "resume", "rebalances"]
    assert "--retention-bytes" in completed("goqueue topic create --")
    # Names come from the broker, which is given a second, so that a shell never hangs.
    eventually(lambda: completed(f"goqueue topic describe {topic}") == [topic])
    # It tells the shell by the processes above it, of which there may be none where tests are run.
    shown = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m goqueue --show-completion; exit $?"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "complete -o default -F _goqueue_completion goqueue" in shown.stdout
