"""What tracing costs: the same load on a broker that does not trace, and on one that traces some or all of it."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.report import Row, row, spread
from bench.server import create_topics, put_load, running_server
from goqueue.client import TopicConfig

OFF, SOME, ALL = "off", "some", "all"
RATES = {SOME: 0.01, ALL: 1.0}
AT_LEAST = {SOME: 0.95, ALL: 0.7}


def run(*, quick: bool) -> list[Row]:
    rounds, count = (4, 400_000) if quick else (9, 2_000_000)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder, ExitStack() as stack:
        no_tracing = Path(folder, "off.toml")
        no_tracing.write_text("[tracing]\nenabled = false\n")
        off = stack.enter_context(running_server(f"{folder}/off", "--config", str(no_tracing)))
        on = stack.enter_context(running_server(f"{folder}/on"))
        create_topics(off, OFF)
        for topic, rate in RATES.items():
            create_topics(on, topic, config=TopicConfig(trace_rate=rate))
        rows: list[Row] = []
        for carried in (False, True):
            figures: dict[str, list[float]] = {OFF: [], SOME: [], ALL: []}
            # In turns, so that a noisy minute falls on all alike.
            for _ in range(rounds):
                for topic, samples in figures.items():
                    server = off if topic == OFF else on
                    answer = put_load(
                        "tracing_client", "publish", address=server.native, topic=topic, count=count, carried=carried
                    )
                    samples.append(answer["per_s"])
            rows += _rows(figures, carried=carried)
        return rows


def _rows(figures: dict[str, list[float]], *, carried: bool) -> list[Row]:
    what = "each with a context" if carried else "without contexts"
    rows = [
        row(f"publish, {what}, tracing {name}", figures[name], "records/s", note="batches of 1000, not synced")
        for name in (OFF, SOME, ALL)
    ]
    for name, rate in RATES.items():
        ratios = spread(figures[name], figures[OFF])
        note = "round by round"
        rows.append(row(f"{what}: {rate:.0%} traced, of off", ratios, "×", at_least=AT_LEAST[name], note=note))
    return rows
