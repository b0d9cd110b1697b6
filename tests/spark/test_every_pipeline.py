"""Every pipeline is run as a command, with every one of its options."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from goqueue.cli.main import main
from goqueue.client.sync import Admin
from tests.behaviour.serving import Server, eventually, running_server
from tests.spark.pipeline_stories import PIPELINE_STORIES

WITHIN_S = 120
LOOK_EVERY_S = 0.05
TIMES = [f"2026-01-01T00:0{minute}:00Z" for minute in range(4)]
ORDERS = [(b"k%d" % (n % 3), n, at) for n, at in zip((0, 1, 2, 0), TIMES, strict=True)]
RULES = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[Server]:
    """With four orders, two of which are the same but for their time."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "orders.jsonl").write_text(
        "".join(
            json.dumps({"key": key.decode(), "value": json.dumps({"n": n, "at": at})}) + "\n" for key, n, at in ORDERS
        )
    )
    with running_server(folder / "broker", "[tracing]\nrate = 1.0\nfiles.enabled = true\n") as server:
        with Admin(server.native) as admin:
            for name in ("w-orders", "w-copy"):
                admin.create_topic(name, 1)
        where = ["--server", server.native]
        assert main(["produce", "w-orders", "--file", str(folder / "orders.jsonl"), "--format", "jsonl", *where]) == 0
        yield server


@pytest.fixture
def commands(lent_session, broker, monkeypatch, tmp_path) -> dict[str, str]:
    """What commands may name."""
    for name in ("GOQUEUE_CONTEXT", "GOQUEUE_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOQUEUE_SERVER", broker.native)
    monkeypatch.setenv("GOQUEUE_HTTP", broker.http)
    monkeypatch.setenv("GOQUEUE_CONFIG", str(tmp_path / "contexts.toml"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    spans = broker.folder / "data" / "traces"
    eventually(lambda: any(one.stat().st_size for one in spans.glob("spans-*")))
    (tmp_path / "spans.txt").write_text("".join(one.read_text() for one in spans.glob("spans-*")))
    copy = tmp_path / "copy"
    shutil.copytree(broker.folder / "data", copy)
    return {
        "folder": str(tmp_path),
        "orders": str(broker.folder.parent / "orders.jsonl"),
        "rules": str(tmp_path / "rules.json"),
        "registry": f"http://{broker.http}/schemas",
        "copy": str(copy),
        "spans": str(spans),
        "lines": str(tmp_path / "spans.txt"),
    }


@contextmanager
def interrupted(folder: Path, until: str) -> Iterator[None]:
    """Ctrl-C while it waits for its query, as soon as there is a file like that.

    A signal could hit any of the connections that Python and Java have, and other tests need them.
    """
    wait = StreamingQuery.awaitTermination
    deadline = time.monotonic() + WITHIN_S

    def waited(query: StreamingQuery, _within_s: float | None = None) -> bool | None:
        while not wait(query, LOOK_EVERY_S):
            assert time.monotonic() < deadline, f"there is no {until}"
            if found():
                raise KeyboardInterrupt
        return True

    def found() -> bool:
        # Spark removes folders of its own while they are looked into.
        with suppress(FileNotFoundError):
            return any(folder.glob(until))
        return False

    with pytest.MonkeyPatch.context() as patch:
        if until:
            patch.setattr(StreamingQuery, "awaitTermination", waited)
        yield


@pytest.mark.parametrize("pipeline", PIPELINE_STORIES)
def test_every_pipeline_does_what_it_says_with_every_option(pipeline, commands, capfd, tmp_path):
    for step in PIPELINE_STORIES[pipeline]:
        words = step.words(commands)
        with interrupted(tmp_path, step.until):
            code = main(words)
        out, err = capfd.readouterr()
        assert code == step.code, f"goqueue {' '.join(words)}\n{out}{err}"
        assert step.prints in out, f"goqueue {' '.join(words)}\n{out}{err}"
        commands |= step.kept(out)


def test_spark_runs_where_it_is_told_with_the_settings_that_are_given(broker, tmp_path):
    events = tmp_path / "events"
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = ["pipeline", "replay", "w-orders", "--sandbox", "--dry-run", "--master", "local[1]", *given]
    done = subprocess.run(
        [sys.executable, "-m", "goqueue", *command, "--server", broker.native],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200"},
        timeout=WITHIN_S,
        check=False,
    )
    assert (done.returncode, "nothing was written" in done.stdout) == (0, True), done
    assert '"spark.master":"local[1]"' in "".join(one.read_text() for one in events.rglob("*") if one.is_file())


def test_a_pipeline_that_succeeds_says_on_standard_error_how_far_it_is_and_nothing_else(broker, tmp_path):
    with Admin(broker.native) as admin:
        admin.create_topic("w-quiet", 1)
    command = [sys.executable, "-m", "goqueue", "pipeline", "dedup", "w-orders", "--into", "w-quiet", "--by", "field:n"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    done = subprocess.run(
        [*command, "--master", "local[2]", "--server", broker.native],
        capture_output=True,
        text=True,
        env=plain,
        cwd=tmp_path,
        timeout=WITHIN_S * 2,
        check=False,
    )
    assert (done.returncode, "3 written to w-quiet" in done.stdout) == (0, True), done
    said = [line for line in done.stderr.splitlines() if not line.startswith("dedup: ")]
    assert said == []
    spans = "".join(one.read_text() for one in (broker.folder / "data" / "traces").glob("spans-*"))
    transactions = [json.loads(line) for line in spans.splitlines() if '"operation":"transaction"' in line]
    assert [one["error"] for one in transactions if one["status"] == "error"] == []
