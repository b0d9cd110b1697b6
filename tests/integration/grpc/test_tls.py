from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from goqueue.wire.grpc.v1 import publish_pb2
from tests.behaviour.serving import Server, eventually, running_server
from tests.integration.grpc.talking import WITHIN_S, batch_request, connected, create_topic


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("certificates")
    given = authority.issue_cert("localhost", "127.0.0.1")
    files = {name: folder / f"{name}.pem" for name in ("certificate", "key", "client_ca")}
    for blob in given.cert_chain_pems:
        blob.write_to_path(files["certificate"], append=True)
    given.private_key_pem.write_to_path(files["key"])
    authority.cert_pem.write_to_path(files["client_ca"])
    return files


def settings(files: dict[str, Path], *names: str) -> str:
    return "[grpc]\n" + "".join(f'tls_{name} = "{files[name]}"\n' for name in names)


@pytest.fixture(scope="module")
def strict(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A broker that wants a certificate of its clients."""
    wanted = settings(files, "certificate", "key", "client_ca")
    with running_server(tmp_path_factory.mktemp("strict"), wanted) as running:
        yield running


def roots(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


def refusal(address: str, credentials: grpc.ChannelCredentials | None) -> grpc.StatusCode:
    with connected(address, credentials) as stubs, pytest.raises(grpc.RpcError) as refused:
        stubs.publish.InitProducer(publish_pb2.InitProducerRequest(), timeout=WITHIN_S)
    return refused.value.code()


async def test_a_client_that_trusts_the_broker_talks_to_it_over_tls(
    authority: trustme.CA, files: dict[str, Path], tmp_path: Path
) -> None:
    with running_server(tmp_path, settings(files, "certificate", "key")) as server:
        topic = await create_topic(server.native, "secret")
        with connected(server.grpc, grpc.ssl_channel_credentials(roots(authority))) as stubs:
            assert stubs.publish.Publish(batch_request(topic, b"x"), timeout=WITHIN_S).batch.base_offset == 0
        assert refusal(server.grpc, None) is grpc.StatusCode.UNAVAILABLE
        stranger = grpc.ssl_channel_credentials(roots(trustme.CA()))
        assert refusal(server.grpc, stranger) is grpc.StatusCode.UNAVAILABLE


def test_a_client_without_a_certificate_is_refused_when_one_is_asked_for(strict: Server, authority: trustme.CA) -> None:
    assert refusal(strict.grpc, grpc.ssl_channel_credentials(roots(authority))) is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("is_known", [True, False], ids=["of the same root", "of another root"])
def test_certificates_of_clients_must_come_from_the_root_that_was_named(
    strict: Server, authority: trustme.CA, is_known: bool
) -> None:
    given = (authority if is_known else trustme.CA()).issue_cert("client@example.org")
    chain = b"".join(blob.bytes() for blob in given.cert_chain_pems)
    credentials = grpc.ssl_channel_credentials(roots(authority), given.private_key_pem.bytes(), chain)
    if not is_known:
        assert refusal(strict.grpc, credentials) is grpc.StatusCode.UNAVAILABLE
        return
    with connected(strict.grpc, credentials) as stubs:
        assert stubs.publish.InitProducer(publish_pb2.InitProducerRequest(), timeout=WITHIN_S).producer_id >= 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[grpc]\ntls_certificate = "c.pem"\n', "grpc.tls_certificate is given without grpc.tls_key"),
        ('[grpc]\ntls_key = "k.pem"\n', "grpc.tls_key is given without grpc.tls_certificate"),
        ('[grpc]\ntls_client_ca = "r.pem"\n', "grpc.tls_client_ca is given without grpc.tls_certificate"),
        ('[grpc]\ntls_certificate = "no.pem"\ntls_key = "no.pem"\n', "cannot be read"),
        ('[grpc]\ntls_certificate = "FILE"\ntls_key = "FILE"\n', "is not a PEM file"),
        ('[grpc]\ntls_certificate = "CERT"\ntls_key = "OTHER"\n', "KEY_VALUES_MISMATCH"),
        ('[grpc]\ntls_certificate = "CERT"\ntls_key = "LOCKED"\n', "without a password"),
        ('[grpc]\ntls_certificate = "KEY"\ntls_key = "KEY"\n', "cannot be used"),
        ('[grpc]\ntls_certificate = "CERT"\ntls_key = "KEY"\ntls_client_ca = "KEY"\n', "grpc.tls_client_ca = "),
    ],
    ids=[
        *("no key", "no certificate", "roots alone", "no such file", "no PEM"),
        *("another key", "a key with a password", "no certificate in it", "no roots in it"),
    ],
)
def test_a_broker_says_what_is_wrong_with_its_certificate(
    tmp_path: Path, files: dict[str, Path], text: str, said: str
) -> None:
    (tmp_path / "nonsense").write_text("nonsense")
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(tmp_path / "other")
    given = load_pem_private_key(files["key"].read_bytes(), None)
    locked = given.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (tmp_path / "locked").write_bytes(locked)
    places = {"CERT": files["certificate"], "KEY": files["key"], "FILE": tmp_path / "nonsense"}
    for name, place in (places | {"OTHER": tmp_path / "other", "LOCKED": tmp_path / "locked"}).items():
        text = text.replace(f'"{name}"', f'"{place}"')
    server = Server(tmp_path, text)
    server.launch()
    eventually(lambda: not server.is_running, within_s=WITHIN_S)
    assert said in (tmp_path / "server.log").read_text()
    assert "Traceback" not in (tmp_path / "server.log").read_text()
    assert not (tmp_path / "data").exists()
