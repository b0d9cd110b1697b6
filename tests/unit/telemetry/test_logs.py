"""Log lines: for machines and for people."""

import json
import sys
from collections.abc import Iterator

import pytest

from goqueue.adapters.telemetry.logs import configure_logs, get_logger


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    configure_logs("console", "info")


def test_a_json_line_has_the_event_its_level_when_it_was_and_the_facts(capsys: pytest.CaptureFixture[str]):
    configure_logs("auto", "info")
    get_logger().warning("dropped", where="journal", bytes=7, path="a\nb \udc80", kind=ValueError, none=None)
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert said.pop("timestamp").endswith("Z")
    assert said == {
        **{"event": "dropped", "level": "warning", "where": "journal", "bytes": 7, "path": "a\nb \udc80"},
        **{"kind": "<class 'ValueError'>", "none": None},
    }


def test_a_line_for_people_shows_where_each_fact_ends(capsys: pytest.CaptureFixture[str]):
    configure_logs("console", "info")
    get_logger().error("it broke", file="a b", reason="one\ntwo", count=3)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" file='a b' reason='one\\ntwo' count=3")
    assert "[error    ] it broke " in line


def test_on_a_terminal_lines_are_for_people_and_coloured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    configure_logs("auto", "info")
    get_logger().info("hello", name="x")
    said = capsys.readouterr().err
    assert "\x1b[" in said
    assert "hello" in said


@pytest.mark.parametrize(
    ("least", "said"),
    [("debug", ["d", "i", "w", "e", "c"]), ("info", ["i", "w", "e", "c"]), ("error", ["e", "c"])],
)
def test_less_than_the_least_level_is_not_said(least: str, said: list[str], capsys: pytest.CaptureFixture[str]):
    configure_logs("json", least)
    logger = get_logger()
    for name in ("debug", "info", "warning", "error", "critical"):
        getattr(logger, name)(name[0])
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == said
