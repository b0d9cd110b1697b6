"""The schema registry: how quickly schemas are found, what it costs to check values, how a broker starts with many."""

import shutil
import tempfile
import time
from pathlib import Path

from bench.report import Row, row, spread
from bench.server import BenchServer, create_topics, put_load, running_server
from goqueue.model.topic import SchemaValidation, TopicConfig

SIZES = (100, 1000)
SUBJECTS = 10_000


def run(*, quick: bool) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        with running_server(f"{folder}/data") as server:
            rows += _validated(server, quick=quick)
        shutil.rmtree(f"{folder}/data")
        rows += _many_subjects(f"{folder}/data", quick=quick)
    return rows


def _validated(server: BenchServer, *, quick: bool) -> list[Row]:
    """The same values to topics that differ in nothing but whether values are checked."""
    put_load("schemas_client", "register", http=server.http, subject="orders")
    rows = _compared(server, "records given one by one", "send", quick=quick)
    for size in SIZES:
        rows += _compared(server, f"ready batches of {size}", "publish", quick=quick, size=size)
    return rows


def _compared(server: BenchServer, what: str, load: str, *, quick: bool, **arguments: int) -> list[Row]:
    rounds, seconds = (3, 2) if quick else (5, 5)
    figures: dict[SchemaValidation, list[float]] = {SchemaValidation.OFF: [], SchemaValidation.ON: []}
    for number in range(rounds):
        for setting, into in figures.items():
            topic = f"{what.replace(' ', '-')}-{setting.value}-{number}"
            config = TopicConfig(schema_validation=setting, schema_subject="orders")
            create_topics(server, topic, config=config)
            answer = put_load("schemas_client", load, address=server.native, topic=topic, seconds=seconds, **arguments)
            into.append(answer["per_s"])
    plain, checked = figures.values()
    note = "JSON values of 300 B against a JSON Schema, fsync, one producer that does not wait for each batch"
    share = [100 * ratio for ratio in spread(checked, plain)]
    return [
        row(f"publish {what}, not validated", plain, "records/s", note=note),
        row(f"publish {what}, validated", checked, "records/s"),
        row(f"validated against not validated, {what}", share, "%", at_least=50),
    ]


def _many_subjects(folder: str, *, quick: bool) -> list[Row]:
    with running_server(folder) as server:
        registered = put_load("schemas_client", "register_many", http=server.http, count=SUBJECTS, connections=16)
        rows = [row("register schemas, 16 connections", registered["per_s"], "schemas/s")]
        for connections in (1, 16):
            answer = put_load(
                "schemas_client",
                "look_up",
                http=server.http,
                count=SUBJECTS,
                connections=connections,
                seconds=2 if quick else 10,
            )
            note = f"of {SUBJECTS} schemas over HTTP; p50 {answer['p50_ms']:.2g} ms, p99 {answer['p99_ms']:.2g} ms"
            rows.append(
                row(f"look up schemas by id, {connections} connections", answer["per_s"], "requests/s", note=note)
            )
    starts = {
        count: [_start_s(f"{folder}{suffix}") for _ in range(3)] for count, suffix in ((0, "-empty"), (SUBJECTS, ""))
    }
    rows += [row(f"start with {count} subjects", seconds, "s") for count, seconds in starts.items()]
    return rows


def _start_s(folder: str) -> float:
    begun = time.perf_counter()
    with running_server(folder):
        return time.perf_counter() - begun
