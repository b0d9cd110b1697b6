"""gRPC beside the native protocol and HTTP: the same records, broker, and number of requests under way."""

import tempfile
from pathlib import Path

from bench.report import Row, row
from bench.server import BenchServer, create_topics, put_load, running_server

TOPIC = "bench"
UNDER_WAY = 64
REQUESTS = {1: 4000, 100: 2000, 1000: 400}
"""How many for each size of a batch: each takes about a second."""
HTTP_SHARE = {1: 1.0, 100: 0.2, 1000: 0.1}
"""HTTP carries records as JSON, which takes so much longer."""
ROUNDS = 2


def run(*, quick: bool) -> list[Row]:
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder,
        running_server(f"{folder}/data") as server,
    ):
        create_topics(server, TOPIC, partitions=1)
        rows: list[Row] = []
        for batch, count in REQUESTS.items():
            rows += _publish(server, batch, count // (5 if quick else 1), rounds=1 if quick else ROUNDS)
        return rows + _read(server, quick=quick)


def _publish(server: BenchServer, batch: int, count: int, *, rounds: int) -> list[Row]:
    ways = {
        "native": ("native", server.native, count, {}),
        "HTTP": ("http", server.http, max(64, round(count * HTTP_SHARE[batch])), {}),
        "gRPC, unary": ("unary", server.grpc, count, {"form": "bytes"}),
        "gRPC, stream": ("stream", server.grpc, count, {"form": "bytes"}),
        "gRPC, unary, typed records": ("unary", server.grpc, max(64, count // 3), {"form": "typed"}),
    }
    per_s: dict[str, list[float]] = {}
    p99: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, (load, address, requests, more) in ways.items():
            arguments = {"address": address, "topic": TOPIC, "batch": batch, "count": requests, "workers": UNDER_WAY}
            answer = put_load("grpc_client", load, **arguments, **more)
            per_s.setdefault(name, []).append(answer["per_s"])
            p99.setdefault(name, []).append(answer["p99_ms"])
    rows = []
    for name in ways:
        what = f"publish 100 B, {batch} per request, {name}"
        rows.append(row(what, per_s[name], "records/s", note=f"fsync, {UNDER_WAY} requests under way"))
        rows.append(row(f"{what}, p99", p99[name], "ms"))
    return rows


def _read(server: BenchServer, *, quick: bool) -> list[Row]:
    count = 100_000 if quick else 1_000_000
    figures: dict[str, list[float]] = {}
    for _ in range(1 if quick else ROUNDS):
        native = put_load("broker_client", "fetch", address=server.native, topic=TOPIC, count=count, form="raw")
        figures.setdefault("native", []).append(native["per_s"])
        grpc = put_load("grpc_client", "consume", address=server.grpc, topic=TOPIC, count=count)
        figures.setdefault("gRPC, stream", []).append(grpc["per_s"])
    return [row(f"read as raw batches, {name}", found, "records/s") for name, found in figures.items()]
