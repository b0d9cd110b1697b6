"""Kill driver, Python workers and broker under running queries, and count what arrives: `--rounds`, `--seed`."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from goqueue.client.sync import Admin, Consumer, Producer
from tests.behaviour.serving import Server, running_server

KEYS = [b"key-%d" % number for number in range(8)]
START_WITHIN_S = 300.0
AT_WORK_S = 12.0
END_WITHIN_S = 600.0


class Driver:
    """The queries of a module in a process group of their own: Python, Java and the workers."""

    def __init__(self, server: Server, folder: Path, *flags: str, query: str = "tests.spark.fault_query") -> None:
        command = [sys.executable, "-m", query, "--bootstrap", server.native]
        command += ["--folder", str(folder), *flags]
        self.log = folder / "driver.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )

    def wait_until_started(self) -> None:
        assert self.process.stdout is not None
        timer = threading.Timer(START_WITHIN_S, self.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        assert line == "started\n", self.log.read_text()[-4000:]

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        # Spark puts the processes that Python workers are forked from into groups of their own.
        for pid in _descendants(self.process.pid):
            with _gone():
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()

    def kill_python_workers(self) -> int:
        killed = 0
        for pid in _descendants(self.process.pid):
            if b"daemon" in _command(pid) and _parent(pid) != self.process.pid:
                with _gone():
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        return killed


class _gone:  # noqa: N801
    """A process may end by itself meanwhile."""

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        return kind is not None and issubclass(kind, ProcessLookupError)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _descendants(root: int) -> list[int]:
    parents = {int(one.name): _parent(int(one.name)) for one in Path("/proc").iterdir() if one.name.isdigit()}
    found, layer = [], [root]
    while layer:
        layer = [pid for pid, parent in parents.items() if parent in layer]
        found += layer
    return found


class Feeder(threading.Thread):
    """Numbers the records of each key, without an end."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._ended = threading.Event()
        self.sent: Counter[bytes] = Counter()

    def run(self) -> None:
        with Producer(self._server.native, delivery_timeout_ms=300_000) as producer:
            while not self._ended.wait(0.05):
                values = [b"%s %d" % (key, self.sent[key]) for key in KEYS]
                producer.send_many("in", values, keys=KEYS)
                self.sent.update(KEYS)

    def end(self) -> Counter[bytes]:
        self._ended.set()
        self.join()
        return self.sent


def kill_again_and_again(
    server: Server, folder: Path, *, rounds: int, seed: int, tell=lambda _: None
) -> dict[str, int]:
    """What was done to them, and how many records came through it."""
    chance = random.Random(seed)
    done: Counter[str] = Counter()
    with Admin(server.native) as admin:
        admin.create_topic("in", 2)
        admin.create_topic("out", 2)
    feeder = Feeder(server)
    feeder.start()
    for number in range(rounds):
        driver = Driver(server, folder)
        driver.wait_until_started()
        for _ in range(2):
            time.sleep(chance.uniform(0.5, AT_WORK_S / 2))
            harm = chance.choice(("workers", "broker", "nothing else"))
            if harm == "workers":
                done["killed Python workers"] += driver.kill_python_workers()
            elif harm == "broker":
                server.crash_and_restart()
                done["killed brokers"] += 1
        driver.kill()
        done["killed drivers"] += 1
        tell(f"round {number + 1} of {rounds}: {dict(done)}, {sum(feeder.sent.values())} records")
    sent = feeder.end()
    table = _finish(server, folder)
    _check(server, sent, table)
    return {**done, "records": sum(sent.values())}


def _finish(server: Server, folder: Path) -> dict[str, int]:
    """Let the queries come to the end, which may take more than one attempt: tasks still fail now and then."""
    deadline = time.monotonic() + END_WITHIN_S
    while True:
        driver = Driver(server, folder, "--to-the-end")
        said, _ = driver.process.communicate(timeout=END_WITHIN_S)
        if driver.process.returncode == 0:
            return dict(json.loads(said.splitlines()[-1]))
        assert time.monotonic() < deadline, driver.log.read_text()[-4000:]


def _check(server: Server, sent: Counter[bytes], table: dict[str, int]) -> None:
    total = sum(sent.values())
    arrived: dict[bytes, list[int]] = {key: [] for key in KEYS}
    with Consumer("out", bootstrap=server.native, start="earliest") as consumer:
        while found := consumer.poll(wait_ms=1000, limit=10_000):
            for one in found:
                done, key, number = one.value.split(b" ")
                assert (done, key) == (b"done", one.key)
                arrived[key].append(int(number))
    for key in KEYS:
        # In this order: a key stays in its partition.
        assert arrived[key] == list(range(sent[key])), f"{key!r} is lost, doubled or out of order"
    assert table == {"rows": total, "distinct": total}, f"{table} of {total}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="goqueue-spark-") as folder,
        running_server(Path(folder) / "broker") as server,
    ):
        work = Path(folder) / "work"
        work.mkdir()
        begun = time.monotonic()
        found = kill_again_and_again(
            server, work, rounds=given.rounds, seed=given.seed, tell=lambda line: print(line, flush=True)
        )
    print(f"{found} in {time.monotonic() - begun:.0f} s: every record is in the topic and in the table exactly once")


if __name__ == "__main__":
    main()
