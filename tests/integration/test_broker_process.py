"""Broker that the tests of a program start: `goqueue.testing.BrokerProcess`."""

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from goqueue.client.sync import Admin, Consumer, Producer
from goqueue.testing import BrokerProcess


def values_of(broker: BrokerProcess) -> list[bytes | None]:
    with Consumer("orders", bootstrap=broker.native) as consumer:
        return [message.value for message in consumer.poll(wait_ms=10_000)]


def test_a_test_gets_an_empty_broker_of_its_own_and_nothing_of_it_is_left():
    with BrokerProcess() as broker, BrokerProcess() as other:
        with Admin(broker.native) as admin, Producer(broker.native) as producer:
            admin.create_topic("orders", 1)
            producer.send("orders", b"two coffees").result()
        with Admin(other.native) as admin:
            assert admin.topics() == ()
        assert values_of(broker) == [b"two coffees"]
        assert broker._folder is not None
        folder = Path(broker._folder.name)
    assert not folder.exists()
    for address in (broker.native, broker.http):
        host, _, port = address.rpartition(":")
        with pytest.raises(ConnectionRefusedError), socket.create_connection((host, int(port))):
            pass


@pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill], ids=["stopped", "killed"])
def test_a_broker_that_was_stopped_or_killed_starts_again_with_its_data_on_the_same_port(end):
    with BrokerProcess() as broker:
        with Admin(broker.native) as admin, Producer(broker.native) as producer:
            admin.create_topic("orders", 1)
            producer.send("orders", b"two coffees").result()
        before = (broker.native, broker.http)
        end(broker)
        broker.start()
        assert (broker.native, broker.http) == before
        assert values_of(broker) == [b"two coffees"]


def test_settings_are_those_of_a_settings_file():
    with BrokerProcess("[http]\nbody_bytes = 1024\n") as broker:
        request = urllib.request.Request(f"http://{broker.http}/topics", b"x" * 2000, method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        refused.value.close()
        assert refused.value.code == 413


def test_a_broker_that_does_not_start_says_why():
    with pytest.raises(RuntimeError, match="no_such_setting"), BrokerProcess("no_such_setting = 1\n"):
        pass
