"""gRPC is loaded in the background: the port is kept for it meanwhile, and what cannot be served is told."""

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
from tests.integration.grpc.talking import WITHIN_S

SERVING = health_pb2.HealthCheckResponse.SERVING
STOPS_WITHIN_S = 10.0
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def is_loaded(server: Server) -> bool:
    return "cygrpc" in Path(f"/proc/{server.pid}/maps").read_text()


def served_at(server: Server) -> str:
    def told() -> list[object]:
        return [line["grpc"] for line in server.log() if line["event"] == "gRPC is serving"]

    eventually(told, within_s=WITHIN_S)
    (address,) = told()
    return str(address)


def health(address: str) -> int:
    """Over a connection of its own."""
    with grpc.insecure_channel(address, OWN_CONNECTION) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        return stub.Check(health_pb2.HealthCheckRequest(), timeout=WITHIN_S).status


def test_the_port_is_told_when_it_really_listens(tmp_path: Path):
    with running_server(tmp_path) as server:
        assert server.grpc
        events = [line["event"] for line in server.log()]
        assert events.index("goqueue is serving") < events.index("gRPC is serving")
        assert health(server.grpc) == SERVING
        assert is_loaded(server)
        server.stop()


def test_other_listeners_serve_while_grpc_is_being_loaded(tmp_path: Path):
    with running_server(tmp_path) as server, Admin(server.native) as admin:
        admin.create_topic("t", 1)
        assert health(server.grpc) == SERVING
        server.stop()


def test_a_second_broker_on_the_port_is_refused(tmp_path: Path):
    with running_server(tmp_path / "first") as server:
        assert health(server.grpc) == SERVING
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
        said = served_at(server)
        shown, _, port = str(said).rpartition(":")
        assert shown == host
        assert int(port) > 0
        reached = str(said).replace("0.0.0.0", "127.0.0.1")
        assert [health(reached) for _ in range(3)] == [SERVING] * 3


def test_a_broker_stops_at_once_whether_grpc_is_loaded_or_being_loaded(tmp_path: Path):
    with running_server(tmp_path) as server:
        server.stop()
        for has_come_to_it in (lambda: True, lambda: is_loaded(server), lambda: health(server.grpc) == SERVING):
            server.start()
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

        def told() -> list[dict[str, object]]:
            return [line for line in server.log() if line["event"] == "listener cannot serve"]

        eventually(told, within_s=WITHIN_S)
        assert "check listen.grpc, and the files of grpc.tls_certificate" in str(told()[0]["hint"])
        with Admin(server.native) as admin:
            assert admin.topics() == ()
        server.stop()


def own_certificate(key: Ed448PrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2020, 1, 1), datetime(2100, 1, 1))
    return made.sign(key, None)
