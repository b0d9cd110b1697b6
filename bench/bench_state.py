"""Many groups, producers, transactional ids, topics and schedules: what each costs, and how long they hold the loop."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import Row, row

COUNTS = {
    "groups": 100_000,
    "queues": 100_000,
    "producers": 100_000,
    "transactional ids": 100_000,
    "topics": 10_000,
    "schedules": 100_000,
}
LISTS = {"groups": "/groups", "queues": "/groups", "topics": "/topics", "schedules": "/schedules"}
SETTLE_S = 3.0
"""What the broker does by itself at a start, such as the first rounds of its jobs, is measured apart."""
QUICK = 100


def run(
    *,
    quick: bool,
    against: str | None = None,
    counts: Mapping[str, int] = COUNTS,
) -> list[Row]:
    """With the sources of another version in `against`, that one is measured first, kind by kind."""
    versions = {"": None} if against is None else {"before: ": against, "now: ": None}
    rows: list[Row] = []
    for kind, count in counts.items():
        for label, sources in versions.items():
            with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
                rows += _measure(label, sources, f"{folder}/data", kind, count // QUICK if quick else count)
    return rows


def _measure(label: str, sources: str | None, folder: str, kind: str, count: int) -> list[Row]:
    with _serving(sources, f"{folder}-empty") as (child, empty):
        _ask(child)
    shutil.rmtree(f"{folder}-empty")
    filled = json.loads(_child(sources, "fill", folder=folder, kind=kind, count=count).communicate()[0])
    made = int(filled["made"])
    name = f"{label}{made} {kind}"
    rows = [
        row(f"{name}: checkpoint", filled["checkpoint_s"], "s"),
        row(f"{name}: checkpoint, longest hold of the loop", filled["checkpoint_hold_ms"], "ms"),
    ]
    with _serving(sources, folder) as (child, start):
        rows.append(row(f"{name}: start", start["start_s"], "s"))
        rows.append(row(f"{name}: start, processor time", start["cpu_s"], "s"))
        rows.append(row(f"{name}: memory of each", 1e6 * (start["mb"] - empty["mb"]) / made, "B"))
        time.sleep(SETTLE_S)
        rows.append(row(f"{name}: idle, longest hold of the loop", _ask(child), "ms"))
        for path in ("/metrics", "/stats", *filter(None, [LISTS.get(kind)])):
            # The first request loads what answers it.
            _get(start["http"], "/healthz")
            _get(start["http"], "/metrics?")
            _ask(child)
            took, size = _get(start["http"], path)
            rows.append(row(f"{name}: {path}", took, "s", note=f"{size / 1e6:.2f} MB"))
            rows.append(row(f"{name}: {path}, longest hold of the loop", _ask(child), "ms"))
    return rows


def _get(address: str, path: str) -> tuple[float, int]:
    began = time.perf_counter()
    with urllib.request.urlopen(f"http://{address}{path}", timeout=120) as answer:
        return len(answer.read()) and time.perf_counter() - began, int(answer.headers.get("content-length", 0))


def _child(sources: str | None, work: str, **arguments: object) -> "subprocess.Popen[str]":
    environment = dict(os.environ)
    if sources is not None:
        environment["PYTHONPATH"] = sources
    command = [sys.executable, "-m", "bench.state_client", work, json.dumps(arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@contextmanager
def _serving(sources: str | None, folder: str) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    with _child(sources, "serve", folder=folder) as child:
        assert child.stdin is not None and child.stdout is not None
        yield child, json.loads(child.stdout.readline())
        child.stdin.close()


def _ask(child: "subprocess.Popen[str]") -> float:
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    hold: float = json.loads(child.stdout.readline())["hold_ms"]
    return hold
