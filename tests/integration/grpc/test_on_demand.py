"""gRPC is loaded with the first connection to its port: nobody is lost on the way, and nothing else changes."""

import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from grpc_health.v1 import health_pb2, health_pb2_grpc

from goqueue.client.sync import Admin
from tests.behaviour.serving import Server, eventually, running_server
from tests.integration.grpc.talking import WITHIN_S, batch_request, connected, create_topic

SERVING = health_pb2.HealthCheckResponse.SERVING
STOPS_WITHIN_S = 10.0
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def is_loaded(server: Server) -> bool:
    return "cygrpc" in Path(f"/proc/{server.pid}/maps").read_text()


def health(address: str) -> int:
    """Over a connection of its own."""
    with grpc.insecure_channel(address, OWN_CONNECTION) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        return stub.Check(health_pb2.HealthCheckRequest(), timeout=WITHIN_S).status


def test_nothing_of_grpc_is_loaded_before_somebody_connects(tmp_path: Path):
    with running_server(tmp_path) as server:
        assert not is_loaded(server)
        assert health(server.grpc) == SERVING
        assert is_loaded(server)


def test_whoever_connects_before_during_and_after_the_hand_over_is_served(tmp_path: Path):
    with running_server(tmp_path) as server:
        with ThreadPoolExecutor(12) as pool:
            # All of them one after another take several times as long as the hand-over.
            found = pool.map(health, [server.grpc] * 500)
        assert set(found) == {SERVING}
        server.stop()


async def test_a_client_that_came_first_is_served_for_as_long_as_it_stays(tmp_path: Path):
    with running_server(tmp_path) as server, connected(server.grpc) as stubs:
        topic = await create_topic(server.native, "large")
        # More than all that lies between may hold at a time, in both directions.
        large = [bytes([number]) * 8_000_000 for number in range(4)]
        for value in large:
            stubs.publish.Publish(batch_request(topic, value), timeout=WITHIN_S)
        assert [one.value for one in stubs.fetch_all(topic)] == large
        assert health(server.grpc) == SERVING
        assert len(stubs.fetch_all(topic)) == len(large)
        server.stop()


def test_a_client_that_is_gone_before_grpc_is_loaded_harms_nobody(tmp_path: Path):
    with running_server(tmp_path) as server:
        host, _, port = server.grpc.rpartition(":")
        for _ in range(3):
            socket.create_connection((host, int(port))).close()
        silent = socket.create_connection((host, int(port)))
        with silent, socket.create_connection((host, int(port)), timeout=WITHIN_S) as stranger:
            assert health(server.grpc) == SERVING
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            while stranger.recv(4096):
                pass
        assert health(server.grpc) == SERVING
        server.stop()


@pytest.mark.parametrize("is_used", [False, True], ids=["before gRPC is loaded", "afterwards"])
def test_a_second_broker_on_the_port_is_refused(tmp_path: Path, is_used: bool):
    with running_server(tmp_path / "first") as server:
        if is_used:
            health(server.grpc)
        (tmp_path / "second").mkdir()
        second = Server(tmp_path / "second")
        second.grpc = server.grpc
        second.launch()
        eventually(lambda: not second.is_running, within_s=WITHIN_S)
        said = (tmp_path / "second" / "server.log").read_text()
        assert f"cannot listen on {server.grpc}: Address already in use" in said
        assert "choose another for listen.grpc" in said
        assert health(server.grpc) == SERVING


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost", "[::1]"])
def test_a_port_chosen_by_the_system_is_said_and_served(tmp_path: Path, host: str):
    with running_server(tmp_path, flags=["--grpc", f"{host}:0"]) as server:
        (said,) = [line["grpc"] for line in server.log() if line["event"] == "goqueue is serving"]
        shown, _, port = str(said).rpartition(":")
        assert shown == host
        assert int(port) > 0
        reached = str(said).replace("0.0.0.0", "127.0.0.1")
        assert [health(reached) for _ in range(3)] == [SERVING] * 3


def test_a_broker_stops_at_once_whether_grpc_is_loaded_or_being_loaded_or_not(tmp_path: Path):
    with running_server(tmp_path) as server:
        host, _, port = server.grpc.rpartition(":")
        server.stop()
        for has_come_to_it in (lambda: True, lambda: is_loaded(server), lambda: health(server.grpc) == SERVING):
            server.start()
            with socket.create_connection((host, int(port))):
                eventually(has_come_to_it, within_s=WITHIN_S)
                assert server.stop() < STOPS_WITHIN_S
        server.start()
        assert health(server.grpc) == SERVING
        server.stop()


def test_a_key_that_only_grpc_cannot_use_is_told_and_costs_nothing_but_grpc(tmp_path: Path):
    given = Ed448PrivateKey.generate()
    files = {"tls_key": given.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())}
    files["tls_certificate"] = own_certificate(given).public_bytes(Encoding.PEM)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    settings = "[grpc]\n" + "".join(f'{name} = "{tmp_path / name}"\n' for name in files)
    with running_server(tmp_path, settings) as server:
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as refused:
                health(server.grpc)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        told = [line for line in server.log() if line["event"] == "listener cannot serve"]
        assert "check listen.grpc, and the files of grpc.tls_certificate" in str(told[0]["hint"])
        with Admin(server.native) as admin:
            assert admin.topics() == ()
        server.stop()


def own_certificate(key: Ed448PrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2020, 1, 1), datetime(2100, 1, 1))
    return made.sign(key, None)
