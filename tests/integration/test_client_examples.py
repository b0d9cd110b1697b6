"""Docstrings of the client library: each public name has one, with an example that runs as it is printed."""

import json
import subprocess
import sys
from datetime import timedelta

import pytest

import goqueue
from goqueue import Admin, Consumer, Producer, client
from goqueue.client import direct, sync
from tests.unit.client.doc_examples import example_of, public_members

LIBRARIES = {"goqueue": goqueue, "client": client, "sync": sync, "direct": direct}
NAMES = [(place, name) for place, library in LIBRARIES.items() for name in library.__all__ if name != "__version__"]
PROGRAM = """
import contextlib, io, json, sys, traceback
from goqueue import Producer
from tests.unit.client.doc_examples import run

outcomes = {}
producer = Producer(bootstrap=sys.argv[1])
for code in json.load(sys.stdin):
    # Each finds jobs, however many the ones before it have done.
    producer.send_many("orders", json=[{"id": number} for number in range(100)])
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run(code, sys.argv[1])
    except Exception:
        outcomes[code] = traceback.format_exc()
    else:
        outcomes[code] = "done"
producer.close()
print(json.dumps(outcomes))
"""


def examples():
    """Each with the place where it is; a method that two classes share is there once."""
    found = {}
    for place, name in NAMES:
        kind = getattr(LIBRARIES[place], name)
        found.setdefault(example_of(kind), f"{kind.__module__}.{name}")
        for member, function in public_members(kind):
            found.setdefault(example_of(function), f"{kind.__module__}.{name}.{member}")
    found.pop(None, None)
    return [pytest.param(code, id=place) for code, place in found.items()]


@pytest.mark.parametrize(("place", "name"), NAMES)
def test_every_public_name_has_a_docstring_with_an_example(place, name):
    assert example_of(getattr(LIBRARIES[place], name))


@pytest.mark.parametrize(("place", "name"), NAMES)
def test_every_public_method_has_a_docstring_with_an_example(place, name):
    kind = getattr(LIBRARIES[place], name)
    assert [member for member, function in public_members(kind) if not example_of(function)] == []


@pytest.fixture(scope="module")
def outcomes(shared_server):
    """What became of each example, by its code. One process runs all: most of the time of each would be its start."""
    bootstrap = shared_server.native
    with Admin(bootstrap=bootstrap) as admin, Producer(bootstrap=bootstrap) as producer:
        for topic in ("orders", "invoices"):
            admin.create_topic(topic, 3, if_not_exists=True)
        producer.send_many("orders", json=[{"id": number} for number in range(2000)])
        admin.create_schedule("hourly", "orders", every=timedelta(hours=1), json={"id": 60})
    for group in ("reporting", "obsolete", "outdated"):
        with Consumer("orders", group=group, bootstrap=bootstrap) as consumer:
            consumer.poll(wait=timedelta(seconds=10))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, bootstrap],
        input=json.dumps([one.values[0] for one in examples()]),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", examples())
def test_an_example_runs_as_it_is_printed(outcomes, code):
    assert outcomes[code] == "done", outcomes[code]
