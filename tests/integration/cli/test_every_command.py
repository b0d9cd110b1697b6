"""Every command and every option is used once, against one broker; none asks for a route that does not exist."""

import http.client
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from goqueue.cli.connection import is_address
from goqueue.cli.failures import CODES
from goqueue.cli.main import main
from tests.behaviour.serving import Server, running_server
from tests.integration.cli.routes import COMMAND_BY_ROUTE
from tests.integration.cli.server_stories import SERVER_STORIES
from tests.integration.cli.stories import STORIES
from tests.integration.cli.walk import COMMANDS, Step, command_of, options_left
from tests.spark.pipeline_stories import PIPELINE_STORIES
from tests.unit.offline.folders import sound_folder

ELSEWHERE = {"server": SERVER_STORIES, "pipeline": PIPELINE_STORIES}
"""Told in test_server.py, and in tests/spark/test_every_pipeline.py."""
NOWHERE = "127.0.0.1:1"
MONEY = '{"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}'
ORDER = '{"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "sum", "type": "shop.Money"}]}'
STAND_INS = {
    "handle": "1.1.0",
    "number": "1",
    "receipt": "t:0:1:1:g/1/x",
    "trace": "0" * 32,
    "id": "1",
    "partition": "0",
}

WALKED = [name for name in COMMANDS if name.split()[0] not in ELSEWHERE]
REMOTE = [name for name, command in COMMANDS.items() if any(map(is_address, command.params))]
DESTRUCTIVE = {
    "config delete-context",
    "delay cancel",
    "dlq purge",
    "group delete",
    "pipeline dlq",
    "schedule delete",
    "schema delete",
    "storage repair",
    "topic delete",
    "txn abort",
}
NO_BROKER_NEEDED = {"doctor": "it says so in a line of its own"}


def steps_of(name: str) -> list[Step]:
    stories = ELSEWHERE.get(name.split(maxsplit=1)[0], STORIES)
    return [step for story in stories.values() for step in story if command_of(step) == name]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("walk"), "[tracing]\nrate = 1.0\n") as server:
        yield server


@pytest.fixture(scope="module")
def routes(server: Server) -> list[str]:
    host, _, port = server.http.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    connection.request("GET", "/openapi.json")
    paths = json.loads(connection.getresponse().read())["paths"]
    connection.close()
    methods = ("get", "post", "put", "patch", "delete")
    return [f"{method.upper()} {path}" for path, found in paths.items() for method in found if method in methods]


@pytest.fixture
def known(server: Server, tmp_path: Path) -> dict[str, str]:
    """What steps may name."""
    files = {
        "lines": "k=line",
        "jsonl": '{"key": "k", "value": "from-jsonl", "id": "walk-1"}',
        "money": MONEY,
        "order": ORDER,
        "definitions": '{"version": 1, "topics": []}',
        "settings": f'[listen]\nhttp = "{server.http}"\nnative = "{server.native}"\ngrpc = ""\n',
    }
    names = {"lines": "lines.txt", "jsonl": "records.jsonl", "money": "m.avsc", "order": "o.avsc", "settings": "s.toml"}
    names |= {"definitions": "topics.json"}
    for name, text in files.items():
        (tmp_path / names[name]).write_text(text)
    now = datetime.now(UTC)
    return {
        **{name: str(tmp_path / file) for name, file in names.items()},
        "soon": f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
        "later": f"{now + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}",
        "data": str(server.folder / "data"),
        "sound": str(tmp_path / "data"),
        "partition": "0",
    }


@pytest.fixture
def without_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No broker is named anywhere, and contexts are kept in a file of this test."""
    for name in ("GOQUEUE_SERVER", "GOQUEUE_HTTP", "GOQUEUE_REGISTRY", "GOQUEUE_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOQUEUE_CONFIG", str(tmp_path / "contexts.toml"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "contexts.toml"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every request over HTTP that a command makes."""
    found: list[str] = []
    request = http.client.HTTPConnection.request

    def note(self: http.client.HTTPConnection, method: str, url: str, *more: Any, **others: Any) -> None:
        found.append(f"{method} {url.partition('?')[0].removeprefix('/v1')}")
        request(self, method, url, *more, **others)

    monkeypatch.setattr(http.client.HTTPConnection, "request", note)
    return found


# The walk.


@pytest.mark.parametrize("noun", STORIES)
def test_every_command_does_what_it_says(
    noun: str,
    server: Server,
    routes: list[str],
    known: dict[str, str],
    asked: list[str],
    without_environment: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if noun == "storage":
        sound_folder(Path(known["sound"]).parent)
    if noun != "config":
        assert main(["config", "set-context", "walk", "--server", server.native, "--http", server.http]) == 0
        capfd.readouterr()
    for step in STORIES[noun]:
        words = step.words(known)
        code = main(words)
        out, err = capfd.readouterr()
        assert code == step.code, f"goqueue {' '.join(words)}\n{out}{err}"
        assert step.prints in out, f"goqueue {' '.join(words)}\n{out}{err}"
        if "-o json" in step.text:
            json.loads(out)
        if "-o yaml" in step.text:
            assert isinstance(yaml.safe_load(out), dict | list)
        known |= step.kept(out)
        if noun == "topic" and words[0] == "produce":
            known["partition"] = re.search(r"t-topic/(\d)", err)[1]  # type: ignore[index]
    assert [one for one in asked if not any(fits(one, route) for route in routes)] == []


def fits(request: str, route: str) -> bool:
    pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route))
    return re.fullmatch(pattern, request) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_a_story_uses_every_option_of_the_command(name: str) -> None:
    steps = steps_of(name)
    assert steps, f"no story uses `goqueue {name}`: add a step to one"
    assert options_left(name, steps) == [], f"no story uses them with `goqueue {name}`: add them to a step"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_of_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    assert re.search(rf"Example: .*goqueue {name}\b", capsys.readouterr().out)


@pytest.mark.parametrize("name", REMOTE)
def test_every_command_that_talks_to_a_broker_can_be_told_where_it_is(name: str) -> None:
    assert {"--server", "--http", "--context"} <= {flag for one in COMMANDS[name].params for flag in one.opts}


@pytest.mark.parametrize("name", [name for name in REMOTE if name in WALKED and name not in NO_BROKER_NEEDED])
def test_without_a_broker_there_is_one_line_and_what_to_do(
    name: str, known: dict[str, str], without_environment: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = steps_of(name)[0].words(known | STAND_INS)
    assert main([*words, "--server", NOWHERE, "--http", NOWHERE]) == 4
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert (out, len(lines)) == ("", 2), err
    assert lines[0].startswith("error: no ") and NOWHERE in lines[0]
    assert re.match(r"hint: .*(goqueue server|check the address)", lines[1])


def test_what_destroys_something_asks_first() -> None:
    asks = {name for name, command in COMMANDS.items() if any(one.name == "yes" for one in command.params)}
    assert asks == DESTRUCTIVE
    assert {name for name in COMMANDS if re.search(r"\b(delete|purge|cancel|abort|repair)", name)} <= DESTRUCTIVE


def test_everything_the_api_can_do_is_a_command(routes: list[str]) -> None:
    assert {route for route in routes if route not in COMMAND_BY_ROUTE} == set(), "name the command in routes.py"
    assert {route for route in COMMAND_BY_ROUTE if route not in routes} == set(), "there is no such route any more"
    assert {command for command in COMMAND_BY_ROUTE.values() if command not in COMMANDS} == set()


def test_the_exit_codes_are_those_of_the_reference() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert set(CODES) == {0, 1, 2, 3, 4, 130}
    assert all(f"| `{code}` | {meaning} |" in page for code, meaning in CODES.items())
