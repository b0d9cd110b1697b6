"""One session of Spark and one broker for all tests here; each test has topics of its own."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from goqueue.client.sync import Admin, Producer
from goqueue.spark import open_session
from tests.behaviour.serving import Server, running_server
from tests.spark.quick_java import start_soon

start_soon(os.environ)
# It starts Python again for each stream and for each failure: compiling modules every time takes longer than the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/spark/" in str(item.path):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("spark") / "broker") as running:
        yield running


@pytest.fixture
def server_of_its_own(tmp_path) -> Iterator[Server]:
    with running_server(tmp_path / "broker") as running:
        yield running


@pytest.fixture(scope="session")
def spark(tmp_path_factory) -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    session = open_session("goqueue tests", master="local[2]", settings=settings)
    yield session
    session.stop()


@pytest.fixture
def lent_session(spark, monkeypatch) -> Iterator[SparkSession]:
    """The session of all tests, for commands in this process: they neither end it nor leave settings behind."""
    before = dict(spark.conf.getAll)
    monkeypatch.setattr(SparkSession, "stop", lambda _self: None)
    yield spark
    for name, value in dict(spark.conf.getAll).items():
        if before.get(name) != value and spark.conf.isModifiable(name):
            spark.conf.set(name, before[name]) if name in before else spark.conf.unset(name)


@pytest.fixture
def admin(server) -> Iterator[Admin]:
    with Admin(server.native) as client:
        yield client


@pytest.fixture
def producer(server) -> Iterator[Producer]:
    with Producer(server.native) as client:
        yield client


@pytest.fixture
def topic(admin, request) -> str:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:150]
    admin.create_topic(name, 2)
    return name


@pytest.fixture
def table(spark, server):
    """Reads topics; options by name."""

    def read(**options):
        reader = spark.read.format("goqueue").option("bootstrap", server.native)
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader

    return read
