"""Docstrings of the client library: each public name has one, with an example that runs as it is printed."""

import inspect
import subprocess
import sys

import pytest

import goqueue
from goqueue import Admin, Producer, client
from goqueue.client import direct, sync
from tests.unit.client.doc_examples import example_of, public_members

LIBRARIES = {"goqueue": goqueue, "client": client, "sync": sync, "direct": direct}
NAMES = [(place, name) for place, library in LIBRARIES.items() for name in library.__all__ if name != "__version__"]
PROGRAM = "import sys\nfrom tests.unit.client.doc_examples import run\nrun(sys.stdin.read(), sys.argv[1])\n"


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
def test_every_public_method_has_a_docstring(place, name):
    kind = getattr(LIBRARIES[place], name)
    assert [member for member, function in public_members(kind) if not inspect.getdoc(function)] == []


@pytest.fixture
def broker(shared_server):
    """With jobs in each group that the examples have: each example can settle some."""
    with Admin(bootstrap=shared_server.native) as admin, Producer(bootstrap=shared_server.native) as producer:
        for topic in ("orders", "invoices"):
            admin.create_topic(topic, 3, if_not_exists=True)
        producer.send_many("orders", json=[{"id": number} for number in range(30)])
    return shared_server.native


@pytest.mark.parametrize("code", examples())
def test_an_example_runs_as_it_is_printed(broker, code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, broker],
        input=code,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
