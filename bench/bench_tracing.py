"""What tracing costs: the same load on a broker that does not trace, and on one that traces some or all of it."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import Row, row, spread
from bench.server import create_topics, put_load, running_server
from goqueue.client import TopicConfig

OFF, SOME, ALL = "off", "some", "all"
RATES = {SOME: 0.01, ALL: 1.0}
AT_LEAST = {SOME: 0.95, ALL: 0.7}
FSYNC, MEMORY = {"durability": "fsync"}, {"durability": "memory"}


class Load(NamedTuple):
    what: str
    module: str
    name: str
    arguments: dict[str, Any]
    is_usual: bool


LOADS = (
    Load("publish lists, fsync", "broker_client", "send_many", {}, True),
    Load("publish ready batches, fsync", "broker_client", "send_batch", {}, True),
    Load("each record with a context, fsync", "tracing_client", "publish", {"carried": True} | FSYNC, True),
    # Nothing but the broker's own work is left, against which everything looks large.
    Load("publish ready batches, not synced", "tracing_client", "publish", {"carried": False} | MEMORY, False),
    Load("the same, each record with a context", "tracing_client", "publish", {"carried": True} | MEMORY, False),
)


def run(*, quick: bool) -> list[Row]:
    rounds, count = (3, 400_000) if quick else (7, 1_500_000)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder, ExitStack() as stack:
        no_tracing = Path(folder, "off.toml")
        no_tracing.write_text("[tracing]\nenabled = false\n")
        off = stack.enter_context(running_server(f"{folder}/off", "--config", str(no_tracing)))
        on = stack.enter_context(running_server(f"{folder}/on"))
        create_topics(off, OFF)
        for topic, rate in RATES.items():
            create_topics(on, topic, config=TopicConfig(trace_rate=rate))
        rows: list[Row] = []
        for load in LOADS:
            figures: dict[str, list[float]] = {OFF: [], SOME: [], ALL: []}
            # In turns, so that a noisy minute falls on all alike.
            for _ in range(rounds):
                for topic, samples in figures.items():
                    address = off.native if topic == OFF else on.native
                    answer = put_load(
                        load.module, load.name, address=address, topic=topic, count=count, **load.arguments
                    )
                    samples.append(answer["per_s"])
            rows += _rows(load, figures)
        return rows


def _rows(load: Load, figures: dict[str, list[float]]) -> list[Row]:
    rows = [row(f"{load.what}: tracing off", figures[OFF], "records/s")]
    for name, rate in RATES.items():
        at_least = AT_LEAST[name] if load.is_usual else None
        ratios = spread(figures[name], figures[OFF])
        rows.append(row(f"{load.what}: {rate:.0%} traced, of that", ratios, "×", at_least=at_least))
    return rows
