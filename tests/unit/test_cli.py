"""The frame of the command line: nouns, errors, exit codes, output formats, times."""

import importlib
import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from goqueue import __version__, codec
from goqueue.app.build import _bound
from goqueue.cli import frame
from goqueue.cli.failures import exit_code_of, print_failure
from goqueue.cli.frame import NOUNS
from goqueue.cli.main import main
from goqueue.cli.output import to_yaml
from goqueue.cli.times import bytes_text, instant_text, parse_instant
from goqueue.errors import (
    DataFolderDamaged,
    DataFolderInUse,
    DiskFull,
    GoQueueError,
    InvalidRequest,
    InvalidSettings,
)

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_700_000_000_000_000_000


def modules_after(*arguments: str) -> set[str]:
    code = (
        "import sys; from goqueue.cli.main import main\n"
        f"code = main({list(arguments)!r})\n"
        "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


# Nouns.


def test_version_is_answered_without_what_is_slow_to_load() -> None:
    loaded = modules_after("version")
    assert "goqueue.codec" in loaded
    assert not loaded & {"typer", "rich", "asyncio", "pydantic", "uvloop", "importlib.metadata"}


def test_help_lists_every_noun_and_loads_none() -> None:
    loaded = modules_after("--help")
    assert not loaded & {noun.module for noun in NOUNS.values()}
    assert "rich" not in loaded


def test_help_names_the_nouns_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, noun in NOUNS.items():
        assert f"  {name} " in shown
        assert noun.help.split()[0] in shown
    assert "3 the data folder is in use" in shown


def test_no_words_at_all_get_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Usage: goqueue" in capsys.readouterr().out


@pytest.mark.parametrize("name", NOUNS)
def test_every_noun_has_the_module_and_command_it_is_listed_with(name: str) -> None:
    assert hasattr(importlib.import_module(NOUNS[name].module), NOUNS[name].attribute)


def commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)
    if not below:
        yield words, command
        return
    for name, sub in below.items():
        yield from commands(sub, (*words, name))


def test_every_storage_command_has_an_example_in_its_help() -> None:
    found = dict(commands(get_command(importlib.import_module("goqueue.cli.storage").app), ()))
    assert set(found) == {("inspect",), ("verify",), ("repair",), ("dump",)}
    assert all(f"Example: goqueue storage {words[0]} " in command.help for words, command in found.items())


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "goqueue", "version"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == f"goqueue  {__version__}"


# Version.


def test_version_is_the_one_of_the_package_and_names_the_codec(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    assert main(["version"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"goqueue  {__version__}",
        f"python   {sys.version.split()[0]}",
        f"codec    {codec.ACTIVE}",
    ]
    assert main(["version", "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"version": __version__, "python": sys.version.split()[0], "codec": codec.ACTIVE}
    assert main(["version", "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == answer


# Failing.


def fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def broken() -> None:
        raise error

    monkeypatch.setitem(frame.NOUNS, "broken", frame.Noun(__name__, "broken_command", ""))
    monkeypatch.setattr(sys.modules[__name__], "broken_command", broken, raising=False)
    return main(["broken"])


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InvalidRequest("that is wrong", hint="do this"), 2, "error: that is wrong\nhint: do this\n"),
        (DataFolderInUse("taken"), 3, "error: taken\nhint: stop the other process"),
        (DataFolderDamaged("torn"), 1, "error: torn\nhint: run `goqueue storage verify`"),
        (DiskFull("full"), 1, "error: full\nhint: free disk space"),
        (GoQueueError("two\nlines"), 1, "error: two lines\n"),
        (
            PermissionError(13, "Permission denied", "/data/lock"),
            1,
            "error: /data/lock: Permission denied\nhint: `ls -ld /data/lock` shows",
        ),
        (typer.BadParameter("no such thing"), 2, "error: "),
        (KeyboardInterrupt(), 130, ""),
        (typer.Abort(), 130, ""),
        (typer.Exit(7), 7, ""),
    ],
)
def test_an_error_is_a_line_a_hint_and_a_code(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fail(monkeypatch, error) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(words)
    assert bool(shown.err) is bool(words)


def test_the_hint_of_a_path_that_cannot_be_reached_names_the_folder_that_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(monkeypatch, PermissionError(13, "Permission denied", str(tmp_path / "new folder" / "file")))
    assert f"hint: `ls -ld {tmp_path}` shows" in capsys.readouterr().err


def test_a_port_that_only_root_may_have_is_not_called_taken() -> None:
    def refuse(_host: str, _port: int) -> socket.socket:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(InvalidSettings, match="Permission denied") as caught, _bound("listen.http", "[::1]:80", refuse):
        pass
    assert "ports below 1024" in (caught.value.hint or "") and "listen.http" in (caught.value.hint or "")


def test_a_mistake_in_the_program_itself_is_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        fail(monkeypatch, ZeroDivisionError())


def test_every_error_of_goqueue_has_an_exit_code() -> None:
    def below(kind: type[GoQueueError]) -> Iterator[type[GoQueueError]]:
        yield kind
        for sub in kind.__subclasses__():
            yield from below(sub)

    assert all(exit_code_of(kind("why")) in (1, 2, 3, 4) for kind in below(GoQueueError))


def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["storrage"]) == 2
    assert capsys.readouterr().err == "error: there is no command 'storrage'\nhint: did you mean `goqueue storage`?\n"
    assert main(["storage", "verfy"]) == 2
    assert "Did you mean 'verify'?" in capsys.readouterr().err
    assert main(["storage"]) == 2
    assert "`goqueue storage --help` shows how it is used" in capsys.readouterr().err
    assert main(["xyzzy"]) == 2
    assert "`goqueue --help` lists what there is" in capsys.readouterr().err


def test_errors_are_coloured_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_failure(GoQueueError("plain"))
    assert capsys.readouterr().err == "error: plain\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_failure(GoQueueError("red"))
    assert capsys.readouterr().err == "\x1b[31m\x1b[1merror:\x1b[0m red\n"


def test_who_wants_no_colours_gets_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    print_failure(GoQueueError("plain"))
    assert capsys.readouterr().err == "error: plain\n"


def test_a_closed_pipe_is_not_complained_about() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "goqueue", "version", "-o", "json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""


# Output.

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_yaml_reads_back_as_what_was_printed(value: Any) -> None:
    assert yaml.safe_load(to_yaml(value)) == value


def test_yaml_is_pleasant_to_read() -> None:
    value = {"name": "orders/0", "parts": [{"offset": 1, "open": True}, "yes"], "none": None, "empty": []}
    assert to_yaml(value).splitlines() == [
        "name: orders/0",
        "parts:",
        "  - offset: 1",
        "    open: true",
        '  - "yes"',
        "none: null",
        "empty: []",
    ]


# Times and sizes.


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T22:13:20", NOW),
        ("2023-11-14T23:13:20.000001+01:00", NOW + 1000),
        ("1700000000000000007", NOW + 7),
        ("90s", NOW - 90 * 10**9),
        ("15m", NOW - 900 * 10**9),
        ("2h", NOW - 7200 * 10**9),
        ("7d", NOW - 7 * 86_400 * 10**9),
        ("1h 30m", NOW - 5400 * 10**9),
        ("500ms", NOW - 5 * 10**8),
        ("1960-01-01", 0),
    ],
)
def test_an_instant_can_be_written_in_several_ways(text: str, instant: int) -> None:
    assert parse_instant(text, now_ns=NOW) == instant


@pytest.mark.parametrize("text", ["", "yesterday", "12x", "٣", "2023-13-01"])
def test_what_is_no_instant_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a time") as caught:
        parse_instant(text, now_ns=NOW)
    assert caught.value.hint is not None


@pytest.mark.parametrize("text", ["60", "0", "1700000000"])
def test_an_age_without_a_unit_is_refused_and_is_not_a_time_long_ago(text: str) -> None:
    with pytest.raises(InvalidRequest, match="an age needs a unit") as caught:
        parse_instant(text, now_ns=NOW)
    assert f"{text}s for seconds" in (caught.value.hint or "")


@given(st.integers(0, (1 << 63) - 1))
def test_an_instant_is_printed_with_every_digit(instant: int) -> None:
    shown = instant_text(instant)
    if shown.endswith("Z"):
        assert parse_instant(shown[:26] + "Z", now_ns=0) // 1000 == instant // 1000
        assert int(shown[20:29]) == instant % 10**9


def test_sizes_are_short() -> None:
    assert [bytes_text(size) for size in (0, 1023, 1024, 5 << 20, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 TiB",
    ]
