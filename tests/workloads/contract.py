"""The HTTP API against its own OpenAPI document, by schemathesis with all its checks.

What the document allows is accepted, what it forbids is refused, and each answer is one that it names. `make contract`
runs it with EXAMPLES requests of each kind under SEED; the tests run it with few.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.behaviour.serving import Server, running_server
from tests.workloads.contract_formats import TOPIC

__all__ = ["check_everything", "check_records"]

ROOT = Path(__file__).parents[2]
PHASES = "examples,coverage,fuzzing,stateful"
CONFIG = """
hooks = "tests.workloads.contract_formats"

# No JSON Schema can say which text is a schema of its format; the registry answers 422, with its own codes.
[[operations]]
include-tag = "Schemas"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
"""
TAKES_RECORDS = r"^/topics/\{topic\}/(messages|delayed)"
"""Operations whose requests may be refused because of a setting of the topic, such as its retention."""


def check_everything(server: Server, folder: Path, examples: int, seed: int) -> None:
    """Every operation, on topics that come and go, but those that publish: a topic's retention bounds their delays."""
    _run(server, folder, examples, seed, {}, "--exclude-path-regex", TAKES_RECORDS)


def check_records(server: Server, folder: Path, examples: int, seed: int) -> None:
    """The others, on a topic that keeps its records for ever, and has some."""
    with httpx.Client(base_url=f"http://{server.http}", timeout=30, trust_env=False) as client:
        client.post("/topics", json={"name": "orders", "num_partitions": 2, "retention_ms": None}).raise_for_status()
        records = [{"key": "k", "value": {"n": number}} for number in range(50)]
        delayed = {"value": {"base64": "/w=="}, "headers": {"h": {"base64": "/w=="}}, "delay": "1h", "partition": 0}
        body = {"messages": [*records, delayed]}
        client.post("/topics/orders/messages", json=body).raise_for_status()
    _run(server, folder, examples, seed, {TOPIC: "orders"}, "--include-path-regex", TAKES_RECORDS)


def _run(server: Server, folder: Path, examples: int, seed: int, told: dict[str, str], *more: str) -> None:
    """In a process of its own: schemathesis changes how warnings and hypothesis behave."""
    file = folder / "schemathesis.toml"
    file.write_text(CONFIG)
    command: Sequence[str | Path] = (
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", file, "--no-color", "run"),
        *(f"http://{server.http}/openapi.json", "--checks", "all", "--phases", PHASES, "--max-examples", str(examples)),
        *("--seed", str(seed), "--workers", "1", "--request-timeout", "20", "--warnings", "off", "--max-failures", "5"),
        # A busy machine makes requests slowly; that is no finding.
        *("--suppress-health-check", "too_slow"),
        *more,
    )
    environment = {**os.environ, **told, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]
    assert "Test cases" in done.stdout
    server.check_log()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200, help="requests of each kind")
    parser.add_argument("--seed", type=int, default=1, help="another seed tries other requests")
    given = parser.parse_args()
    for check in (check_everything, check_records):
        with tempfile.TemporaryDirectory() as name, running_server(Path(name) / "broker") as server:
            check(server, Path(name), given.examples, given.seed)
        print(f"{check.__name__}: nothing found with {given.examples} examples under seed {given.seed}")


if __name__ == "__main__":
    main()
