"""Types of the client as a user's program meets them, under mypy and under pyright, both strict."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RIGHT = """
import asyncio
from datetime import UTC, datetime, timedelta

from goqueue import Admin, Consumer, Job, Message, Producer, TopicConfig, Worker
from goqueue import client


def handle(job: Job) -> None:
    print(job.text, job.json(), job.key)


def blocking() -> None:
    with Admin(bootstrap=["one:7171", "two:7171"], connect_timeout=timedelta(seconds=1)) as admin:
        topic = admin.create_topic("orders", 3, TopicConfig(max_attempts=5), if_not_exists=True)
        print(topic.partitions, [one.name for one in admin.list_topics()], admin.list_groups())
        admin.create_schedule("daily", "orders", cron="0 7 * * *", json={"report": True}, zone="Europe/Berlin")
        admin.set_group_policy("billing", visibility_timeout=timedelta(minutes=2))
    with Producer(bootstrap="one:7171", acks="all", linger=timedelta(milliseconds=5)) as producer:
        delivery = producer.send("orders", "text", key="customer-1", headers={"source": "web"})
        print(delivery.result(10).offset)
        producer.send("orders", json={"id": 5}, delay=timedelta(minutes=1))
        producer.send("orders", b"bytes", deliver_at=datetime.now(UTC) + timedelta(days=1), ttl=timedelta(days=2))
        producer.send("orders", None, key=b"customer-1")
        print([one.offset for one in producer.send_many("orders", ["a", b"b", None])])
    with Consumer("orders", group="billing", auto_commit_ms=None, start="latest") as consumer:
        for message in consumer:
            received: Message = message
            print(received.text)
            consumer.commit()
    with Worker("orders", group="billing", visibility=timedelta(minutes=1), prefetch=10) as worker:
        for job in worker:
            handle(job)
            worker.ack(job)
        worker.run(handle, concurrency=4)


async def handle_soon(job: Job) -> None:
    print(job.text)


async def with_asyncio() -> None:
    async with client.Admin() as admin:
        await admin.create_topic("orders", if_not_exists=True)
    async with client.Producer(compression="zstd", transactional_id="billing") as producer:
        async with producer.transaction() as transaction:
            await producer.send("orders", json=[1, 2])
            print(transaction.number)
    async with client.Consumer("orders", isolation="read_uncommitted") as consumer:
        async for message in consumer:
            print(message.json())
    async with client.Worker("orders", group="billing", key_order=True) as worker:
        async for job in worker:
            await worker.nack(job, reason="later", delay=timedelta(seconds=5))
        await worker.run(handle_soon, concurrency=4)


blocking()
asyncio.run(with_asyncio())
"""
WRONG = [
    "Producer(linger=5)",
    "Producer(lingering_ms=5)",
    'Producer(acks="some")',
    "Producer(bootstrap=7171)",
    'Consumer("orders", start="middle")',
    'Consumer("orders", prefetch=5)',
    'Worker("orders", group="billing", visibility_ms="5")',
    'Worker("orders")',
    "Admin(timeout=5)",
    'Producer().send("orders", 5)',
    'Producer().send("orders", b"", delay=5)',
    'Worker("orders", group="billing").run(print, parallel=5)',
    'Producer().send("orders", b"", headers={"source": 5})',
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "right.py").write_text(RIGHT)
    lines = ["from goqueue import Admin, Consumer, Producer, Worker", *WRONG]
    (folder / "wrong.py").write_text("\n".join(lines) + "\n")
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return folder


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=240)


def mypy(program):
    """With the settings of this project, as those are what its own modules are checked with."""
    found = run(sys.executable, "-m", "mypy", "--strict", program, cwd=ROOT)
    return found.stdout, {int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line}


def pyright(program):
    found = run(
        *(sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, program.name),
        cwd=program.parent,
    )
    said = json.loads(found.stdout)["generalDiagnostics"]
    errors = [one for one in said if one["severity"] == "error"]
    return json.dumps(errors, indent=1), {one["range"]["start"]["line"] + 1 for one in errors}


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_a_right_program_of_a_user_has_no_error(programs, checker):
    said, lines = checker(programs / "right.py")
    assert not lines, said


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_every_wrong_setting_and_argument_of_a_users_program_is_an_error(programs, checker):
    said, lines = checker(programs / "wrong.py")
    assert lines == set(range(2, 2 + len(WRONG))), said
