"""The log as a table: rows/s read and written by Spark, beside Parquet and plain rows; what a micro-batch costs."""

import tempfile
from pathlib import Path

from bench.report import Row, row, spread
from bench.server import BenchServer, create_topics, put_load, running_server

ONE, TWO = "local[1]", "local[2]"
GROWS = 1.5
"""Waiting so much longer in the second half than in the first is no steady state."""


def run(*, quick: bool) -> list[Row]:
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder,
        running_server(f"{folder}/data") as server,
    ):
        rows = _read(server, "small", 100_000 if quick else 1_000_000, 100, quick=quick, target=1e6)
        rows += _read(server, "large", 20_000 if quick else 200_000, 1024, quick=quick, target=None)
        rows += _read_varied(server, "small-varied", 100_000 if quick else 1_000_000, 100, quick=quick)
        rows += _read_varied(server, "large-varied", 20_000 if quick else 200_000, 1024, quick=quick)
        return rows + _write(server, quick=quick) + _stream(server, quick=quick)


def _read(server: BenchServer, topic: str, count: int, size: int, *, quick: bool, target: float | None) -> list[Row]:
    create_topics(server, topic, partitions=2)
    put_load("spark_client", "fill", address=server.native, topic=topic, count=count, size=size)
    figures = {
        master: put_load(
            "spark_client",
            "read",
            address=server.native,
            topic=topic,
            count=count,
            size=size,
            master=master,
            rounds=1 if quick else 5,
        )
        for master in (ONE, TWO)
    }
    best = figures[TWO]
    what = f"{count} × {size} B"
    return [
        row(f"read {what}", best["goqueue"], "rows/s", at_least=target, note="all columns but headers, two cores"),
        row(f"read {what}, in MB", [one * size / 1e6 for one in best["goqueue"]], "MB/s"),
        row(f"read {what}, values alone", best["pruned"], "rows/s"),
        row(f"read {what} from Parquet, uncompressed", best["parquet"], "rows/s"),
        row(f"read {what} by a source of rows", best["rows"], "rows/s"),
        row(f"read {what} by a source of ready Arrow batches", best["ready"], "rows/s", note="all that Spark takes"),
        *_beside_others(what, best),
        row(f"{what}: two cores against one", spread(best["goqueue"], figures[ONE]["goqueue"]), "×"),
    ]


def _read_varied(server: BenchServer, topic: str, count: int, size: int, *, quick: bool) -> list[Row]:
    """A value that all records share is in a file of Parquet once; of values that differ it has to read each."""
    create_topics(server, topic, partitions=2)
    put_load("spark_client", "fill", address=server.native, topic=topic, count=count, size=size, varied=True)
    rounds = 1 if quick else 5
    load = {"topic": topic, "count": count, "size": size, "master": TWO, "rounds": rounds}
    found = put_load("spark_client", "read", address=server.native, **load)
    what = f"{count} × {size} B, each value another"
    return [
        row(f"read {what}", found["goqueue"], "rows/s"),
        row(f"read {what}, from Parquet, uncompressed", found["parquet"], "rows/s"),
        *_beside_others(what, found),
    ]


def _beside_others(what: str, found: dict[str, list[float]]) -> list[Row]:
    shares = [100 * one for one in spread(found["goqueue"], found["parquet"])]
    return [
        row(f"{what}: against Parquet", shares, "%", at_least=40),
        row(f"{what}: against a source of rows", spread(found["goqueue"], found["rows"]), "×", at_least=4),
    ]


def _write(server: BenchServer, *, quick: bool) -> list[Row]:
    count, rounds = (100_000, 1) if quick else (1_000_000, 4)
    found = {}
    for master in (ONE, TWO):
        topic = f"written-{len(found)}"
        create_topics(server, topic, partitions=2)
        answer = put_load(
            "spark_client", "write", address=server.native, topic=topic, count=count, master=master, rounds=rounds
        )
        found[master] = answer["per_s"]
    return [
        row(f"write {count} × 100 B", found[TWO], "rows/s", at_least=200e3, note="exactly once, fsync"),
        row("write: two cores against one", spread(found[TWO], found[ONE]), "×"),
    ]


def _stream(server: BenchServer, *, quick: bool) -> list[Row]:
    create_topics(server, "floor", "from", "to", partitions=2)
    floors = put_load(
        "spark_client", "floor", address=server.native, topic="floor", batches=6 if quick else 25, master=TWO
    )
    waits = put_load(
        "spark_client",
        "latency",
        address=server.native,
        topic="from",
        target="to",
        rate=10_000,
        seconds=10 if quick else 40,
        master=TWO,
    )
    grew = waits["second_half_ms"] > GROWS * waits["first_half_ms"]
    note = f"{waits['sent_per_s']:.0f}/s sent, batches of {waits['batch_ms']:.0f} ms; " + (
        "the backlog grew: this machine does not hold the rate" if grew else "steady"
    )
    return [
        row("what a micro-batch costs at least", floors["ms"], "ms"),
        *(
            row(f"from producer through a query to a consumer at 10 K/s, {name}", waits[f"{name}_ms"], "ms", note=note)
            for name in ("p50", "p99")
        ),
    ]
