"""How does the shop open? A broker of its own in a fresh folder, topics for orders, payments and invoices, a schema."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from examples.shop.orders import INVOICES, ORDERS, PAYMENTS, SCHEMA
from goqueue.client.schemas.sync import Registry, Schema
from goqueue.client.sync import Admin, TopicConfig
from goqueue.errors import GoQueueError
from goqueue.model.topic import LaneMode, SchemaValidation

__all__ = ["SUBJECT", "Address", "fresh_folder", "open_shop", "running_broker"]

USUAL = {"http": 8080, "native": 7171, "grpc": 7172}
MARK = ".goqueue-demo"
SUBJECT = f"{ORDERS}-value"
START_WITHIN_S = 60.0
STOP_WITHIN_S = 30.0

ORDER_SETTINGS = TopicConfig(
    # What a worker has in hand when it dies comes back after so long.
    visibility_timeout_ms=4000,
    max_attempts=4,
    retry_backoff_ms=250,
    # An order of a higher priority always goes first, however long the others wait.
    lane_mode=LaneMode.STRICT,
    lane_starvation_ms=600_000,
    schema_validation=SchemaValidation.ON,
    schema_subject=SUBJECT,
    trace_rate=1.0,
)


class Address(msgspec.Struct, frozen=True):
    """Where a broker is; HTTP is for people, the console and the registry, everything else is native."""

    native: str
    http: str

    @property
    def registry(self) -> str:
        return f"http://{self.http}/schemas"

    @property
    def console(self) -> str:
        return f"http://{self.http}/console"


def fresh_folder(folder: Path) -> Path:
    """Emptied if it is that of an earlier demonstration; anything else is left alone."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise GoQueueError(f"{folder} is not empty, and not of a demo", hint="choose another one with --folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
    return folder


@contextmanager
def running_broker(folder: Path, *, usual_ports: bool) -> Iterator[Address]:
    """`goqueue server` in a process of its own; stopped at the end, whatever happens."""
    log = folder / "server.log"
    ports = {name: port if usual_ports and _is_free(port) else 0 for name, port in USUAL.items()}
    command = [
        *(sys.executable, "-m", "goqueue", "server", "--data", str(folder / "data"), "--log-format", "json"),
        *(word for name, port in ports.items() for word in (f"--{name}", f"127.0.0.1:{port}")),
    ]
    with log.open("wb") as out:
        # In a session of its own, Ctrl-C does not reach it: the demo stops it when it is done itself.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> Address:
    """What it says when it serves."""
    deadline = time.monotonic() + START_WITHIN_S
    while True:
        for line in log.read_text().splitlines():
            said = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
            if said.get("event") == "goqueue is serving":
                return Address(said["native"], said["http"].removeprefix("http://"))
        if process.poll() is not None or time.monotonic() > deadline:
            raise GoQueueError(f"the broker does not start, see {log}", hint="goqueue doctor looks for the reason")
        time.sleep(0.02)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def open_shop(shop: Address) -> None:
    with Admin(shop.native) as admin:
        admin.create_topic(ORDERS, 3, ORDER_SETTINGS)
        admin.create_topic(PAYMENTS, 1)
        admin.create_topic(INVOICES, 1)
    Registry(shop.registry).register(SUBJECT, Schema(json.dumps(SCHEMA), "JSON"))
