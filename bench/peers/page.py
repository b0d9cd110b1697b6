"""The page of the documentation that shows a run: facts, settings, tables, and where we are behind."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.peers.report import short

__all__ = ["write_page"]

PUBLISHING = tuple(f"batch{batch}_conn{connections}" for connections in (1, 16) for batch in (1, 10, 100, 1000))
TAKING = {"queue_cycle": "publish → take → ack", "backlog": "take + ack of a backlog", "fanout4": "fan-out to 4 groups"}
WAITING = {"latency_1k": "1 K/s", "latency_half": "half of the slowest peer's maximum"}
MILLION = {
    "resident_mb": "memory, MB",
    "empty_mb": "memory when empty, MB",
    "restart_s": "restart until a record is confirmed, s",
    "cpu_s_per_million": "processor seconds of the server",
}
HOW = """\
One harness measures all of them in one run: `make bench-peers` (within 20 minutes; `make bench-peers QUICK=--quick`
within four). Servers run on loopback, each over a folder of its own on the same disk. All are started
together; while one is measured, the others are frozen, and what they have written is synced first. Rounds go through
all workloads and all brokers in turn, so that a noisy minute falls on all alike. Clients are Python, each library
used in the way that is quickest for it: a batch of N is handed over as one pipeline, list or group of futures, and
the next one follows when all N are confirmed. Sixteen connections are spread over as many client processes as suit
the broker's client; a full run tries 1, 2 and 4 in turns before its rounds. On a machine with few cores clients and
server share them, so these figures are of both together, as a user of Python sees them.

**Durable** is what a broker confirms after a sync of its disk. **Default** is each broker as it comes: GoQueue and
RabbitMQ's quorum queues sync, the others do not. Ratios are ours / best peer, round by round: the median, and the
lowest and highest round.
"""


def write_page(document: Mapping[str, Any], path: Path) -> None:
    path.write_text("\n".join(_page(document)) + "\n")


def _page(document: Mapping[str, Any]) -> Iterator[str]:
    yield "# Beside other brokers\n"
    yield "<!-- Written by `python -m bench.peers`: change bench/peers/page.py instead. -->\n"
    yield HOW
    yield "![Figures of GoQueue and its peers](../images/peers.png)\n"
    yield "## Ratios\n"
    yield from _ratios(document["ratios"])
    yield from _behind(document["ratios"])
    yield "\n## Who took part\n"
    yield from _who(document)
    for promise, title in (("durable", "Synced before confirmed"), ("default", "As each broker comes")):
        names = [name for name, one in document["targets"].items() if promise in one["promises"]]
        yield f"\n## {title}\n"
        yield "Records/s, medians of all rounds.\n"
        yield from _rates(document, names)
        yield ""
        yield from _waits(document, names)
    yield f"\n## With {document['plan']['million']:,} records kept\n"
    yield from _million(document)
    yield from _machine(document)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _ratios(ratios: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for name, one in ratios.items():
        if not _is_main(name):
            continue
        goal = f"{'≥' if one['better'] == 'higher' else '≤'} {one['goal']:g}" if "goal" in one else ""
        verdict = {True: "holds", False: "**missed**"}.get(one.get("holds"), "")
        spread = f"{one['median']:.2f} ({one['lowest']:.2f} – {one['highest']:.2f})"
        rows.append((f"`{name}`", spread, short(one["ours"]), short(one["peers"]), one["best_peer"], goal, verdict))
    yield from _table(("", "ours / best peer", "ours", "theirs", "best peer", "goal", ""), rows)


def _is_main(name: str) -> bool:
    """Our other clients are in the tables; here is the one that ratios are about."""
    return not name.endswith(("_ready", "_http", "_grpc"))


def _behind(ratios: Mapping[str, Any]) -> Iterator[str]:
    worse = [
        f"`{name}` ({one['median']:.2f}, {one['best_peer']})"
        for name, one in ratios.items()
        if _is_main(name) and (one["median"] < 1 if one["better"] == "higher" else one["median"] > 1)
    ]
    if worse:
        yield f"\nWhere a peer is ahead of GoQueue: {', '.join(worse)}. Why, is in [performance](../performance.md)."


def _who(document: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for name, one in document["targets"].items():
        used = " / ".join(map(str, document["client_processes"].get(name, {}).get("used", ())))
        rows.append((f"`{name}`", one["setting"], one["client"], used))
    yield from _table(("", "setting", "client", "client processes for 16 connections, small / large batches"), rows)
    versions = document["versions"]
    said = [f"{name} {version}" for part in ("servers", "clients") for name, version in versions[part].items()]
    yield f"\nVersions: {', '.join(said)}."
    for one in document["left_out"]:
        yield f"\nLeft out: {one}."


def _rates(document: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    figures = document["figures"]
    cell = lambda workload, name: figures.get(workload, {}).get(name, {}).get("per_s")  # noqa: E731
    text = lambda found: "" if found is None else short(found[0])  # noqa: E731
    rows = []
    for size, suffix in (("100 B", ""), ("1 KB", "_1000b")):
        for key in PUBLISHING:
            batch, _, connections = key.removeprefix("batch").partition("_conn")
            cells = [text(cell(key + suffix, name)) for name in names]
            if any(cells):
                rows.append((f"publish {size}, batch {batch}, {connections} conn.", *cells))
    rows += [(label, *(text(cell(key, name)) for name in names)) for key, label in TAKING.items()]
    yield from _table(("", *names), rows)


def _waits(document: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    figures = document["figures"]
    rows = []
    for key, label in WAITING.items():
        cells = []
        for name in names:
            one = figures.get(key, {}).get(name)
            keys = ("p50_ms", "p99_ms", "p999_ms")
            cells.append("" if one is None else " / ".join(f"{one[part][0]:.2g}" for part in keys))
        if key == "latency_half":
            label = f"{label}, {short(document['half_rate'])}/s"
        rows.append((f"{label}: p50 / p99 / p99.9, ms", *cells))
    yield from _table(("", *names), rows)


def _million(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["figures"].get("million", {})
    rows = [
        (label, *(short(found[name][figure][0]) if figure in found[name] else "" for name in found))
        for figure, label in MILLION.items()
    ]
    yield "Of 100 B, published in batches of 100. Processor time is for a million of them.\n"
    yield from _table(("", *found), rows)


def _machine(document: Mapping[str, Any]) -> Iterator[str]:
    machine = document["machine"]
    sync = machine["fdatasync_ms"]
    yield "\n## The machine\n"
    yield (
        f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB, Linux {machine['kernel']}, Python"
        f" {machine['python']}, disk {machine['disk']}; fdatasync of a small write p50 {sync['p50_ms']} ms, p99"
        f" {sync['p99_ms']} ms. Measured {document['measured_at'][:10]} with `{document['command'].strip()}` in"
        f" {document.get('took_s', 0)} s, at most {document['plan']['rounds']} rounds. Every round is in"
        " `bench/results/peers-latest.json`."
    )


if __name__ == "__main__":
    write_page(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
