"""What the client library promises by name: a change here is a change for its users."""

import inspect
from typing import Unpack, get_origin, get_type_hints

import pytest

from goqueue import client
from goqueue.client import direct, sync

NAMES = {
    "Admin",
    "Cancellation",
    "Cleanup",
    "Consumer",
    "Delivery",
    "Durability",
    "Job",
    "LetterEdit",
    "LetterSelect",
    "LogId",
    "Message",
    "Part",
    "Producer",
    "RawBatch",
    "Sent",
    "Settlement",
    "Topic",
    "TopicConfig",
    "Transaction",
    "Worker",
}

METHODS = {
    "Producer": {"close", "flush", "send", "send_batch", "send_many", "transaction"},
    "Consumer": {
        "assigned",
        "close",
        "commit",
        "offsets_at",
        "pause",
        "poll",
        "poll_raw",
        "position",
        "resume",
        "seek",
    },
    "Admin": {
        "abort_transaction",
        "alter_topic",
        "alter_schedule",
        "change_schedule",
        "describe_delayed",
        "describe_schedule",
        "describe_topic",
        "list_dead_letters",
        "list_schedules",
        "list_topics",
        "cancel_delayed",
        "cancel_delayed_many",
        "close",
        "committed_offsets",
        "create_schedule",
        "create_topic",
        "dead_letter_stats",
        "dead_letters",
        "decide",
        "delay_stats",
        "delayed",
        "delete_group",
        "delete_schedule",
        "delete_topic",
        "describe_group",
        "describe_transaction",
        "list_delayed",
        "group_policy",
        "list_groups",
        "list_transactions",
        "offsets_at",
        "part",
        "pause_group",
        "purge_dead_letters",
        "redrive_dead_letters",
        "reschedule_delayed",
        "reset_offsets",
        "resume_group",
        "schedule",
        "set_group_policy",
        "schedules",
        "topic",
        "topic_sizes",
        "topics",
        "transaction_stats",
    },
    "Delivery": {"done", "result"},
    "Worker": {"ack", "close", "extend", "nack", "reject", "release", "run", "stop", "take"},
    "Transaction": {"abort", "ack", "add_offsets", "commit", "nack", "number", "reject"},
    "Part": {
        "abort",
        "ack",
        "add_offsets",
        "begin",
        "close",
        "nack",
        "number",
        "prepare",
        "reject",
        "send",
        "send_batch",
        "send_many",
    },
}

PRODUCER_SETTINGS = {
    "acks": "all",
    "batch_bytes": 65536,
    "batch_records": 100,
    "buffer_records": 10_000,
    "compression": None,
    "connect_timeout_ms": 5000,
    "delivery_timeout_ms": 120_000,
    "durability": None,
    "idempotent": True,
    "linger_ms": 5,
    "partitioner": "murmur3",
    "transaction_timeout_ms": 60_000,
    "transactional_id": None,
    "when_full": "block",
}
CONSUMER_SETTINGS = {
    "assignor": None,
    "auto_commit_ms": 5000,
    "client_id": "goqueue-python",
    "connect_timeout_ms": 5000,
    "instance_id": None,
    "isolation": "read_committed",
    "max_bytes": 1 << 20,
    "protocol": "cooperative",
    "session_ms": 30_000,
    "start": "earliest",
}


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("library", [client, sync], ids=["asyncio", "sync"])
def test_the_names_are_written_down_and_there(library):
    assert set(library.__all__) == NAMES
    assert all(hasattr(library, name) for name in NAMES)


@pytest.mark.parametrize("library", [client, sync], ids=["asyncio", "sync"])
@pytest.mark.parametrize("name", METHODS)
def test_each_class_has_these_methods_and_no_others(library, name):
    assert public(getattr(library, name)) == METHODS[name]


def parameters(function):
    """A consumer that blocks is another class than one of asyncio, and a handler that blocks another function."""
    found = inspect.signature(function).parameters.values()
    others = ("Consumer", "Callable")
    return [
        one.replace(annotation=None) if any(name in str(one.annotation) for name in others) else one for one in found
    ]


@pytest.mark.parametrize("name", ["Producer", "Consumer", "Worker", "Admin", "Transaction", "Part"])
def test_the_blocking_methods_take_what_those_of_asyncio_take(name):
    for method in METHODS[name] - {"assigned", "number"}:
        one, two = (parameters(getattr(getattr(library, name), method)) for library in (client, sync))
        assert one == two, method
    if name not in {"Transaction", "Part"}:
        # Those are made by a producer and by an admin.
        assert inspect.signature(getattr(client, name)).parameters == inspect.signature(getattr(sync, name)).parameters


CLIENTS = ["Producer", "Consumer", "Worker", "Admin"]


@pytest.mark.parametrize("library", [client, sync], ids=["asyncio", "sync"])
@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_is_told_in_the_same_way_where_its_broker_is(library, name):
    given = inspect.signature(getattr(library, name)).parameters["bootstrap"]
    publishers = inspect.signature(direct.Publisher).parameters["bootstrap"]
    assert (given.annotation, given.default) == (publishers.annotation, publishers.default)
    topics = [] if name in {"Producer", "Admin"} else ["orders"]
    group = {"group": "billing"} if name == "Worker" else {}
    getattr(library, name)(*topics, bootstrap=["one:7171", "two:7171"], **group)


@pytest.mark.parametrize("library", [client, sync], ids=["asyncio", "sync"])
@pytest.mark.parametrize("name", [*CLIENTS, "Publisher"])
def test_the_types_and_the_help_of_a_client_name_each_of_its_settings(library, name):
    from goqueue.client import admin, consumer, direct, options, producer, worker

    modules = {"Admin": admin, "Consumer": consumer, "Producer": producer, "Publisher": direct, "Worker": worker}
    settings = getattr(modules[name], f"{name}Settings").__struct_fields__
    typed = get_type_hints(getattr(options, f"{name}Options"))
    assert typed.keys() == {*settings, *(one.removesuffix("_ms") for one in settings if one.endswith("_ms"))}
    kind = modules[name].Publisher if name == "Publisher" else getattr(library, name)
    given = inspect.signature(kind).parameters["settings"]
    assert get_origin(given.annotation) is Unpack
    assert [one for one in settings if f"`{one}`" not in inspect.getdoc(kind)] == []


def test_the_clients_that_block_are_names_of_the_package_that_are_loaded_when_used():
    import subprocess
    import sys

    code = (
        "import sys, goqueue\n"
        "loaded = [m for m in sys.modules if m.startswith('goqueue.')]\n"
        "assert not loaded, loaded\n"
        "from goqueue import Admin, Consumer, Producer, Worker\n"
        "import goqueue.client.sync as sync\n"
        "assert (Admin, Consumer, Producer, Worker) == (sync.Admin, sync.Consumer, sync.Producer, sync.Worker)\n"
        "assert set(goqueue.__all__) <= set(dir(goqueue))\n"
        "assert all(getattr(goqueue, name) for name in goqueue.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(ImportError):
        from goqueue import Broker  # noqa: F401


def test_the_publisher_that_waits_takes_what_a_producer_sends():
    assert direct.__all__ == ["Publisher"]
    assert public(direct.Publisher) == {"close", "publish", "publish_many"}
    one, two = (inspect.signature(method) for method in (direct.Publisher.publish, sync.Producer.send))
    assert one.parameters == two.parameters


def test_the_settings_have_these_names_and_defaults():
    from goqueue.client.consumer import ConsumerSettings
    from goqueue.client.producer import ProducerSettings

    for kind, expected in ((ProducerSettings, PRODUCER_SETTINGS), (ConsumerSettings, CONSUMER_SETTINGS)):
        assert {name: getattr(kind(), name) for name in kind.__struct_fields__} == expected


def test_the_client_imports_no_server_code():
    import subprocess
    import sys

    code = (
        "import sys, goqueue.client.sync\n"
        "wrong = [m for m in sys.modules if m.startswith(('goqueue.engine', 'goqueue.core', 'goqueue.gateways', "
        "'goqueue.adapters', 'goqueue.app', 'goqueue.cli.', 'starlette', 'uvicorn', 'typer', 'structlog'))]\n"
        "sys.exit(', '.join(wrong) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
