"""Tools of others: buf lints the protos, and talks to a running broker with nothing but reflection."""

import base64
import json
import subprocess
import sys
from pathlib import Path

from goqueue.wire.grpc.v1 import errors_pb2
from scripts.grpc_stubs import PROTOS, STUBS, stubs
from tests.behaviour.serving import Server

BUF = Path(sys.executable).parent / "buf"


def buf(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUF, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def curl(server: Server, method: str, data: object = None, *flags: str) -> subprocess.CompletedProcess[str]:
    given = [] if data is None else ["--data", json.dumps(data)]
    return buf(
        "curl", "--http2-prior-knowledge", "--protocol", "grpc", *given, *flags, f"http://{server.grpc}/{method}"
    )


def test_the_protos_pass_the_lint_of_buf() -> None:
    result = buf("lint", cwd=PROTOS)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_the_stubs_are_those_of_the_protos() -> None:
    """Else run `make grpc-stubs`."""
    kept = {path.name: path.read_text(encoding="utf-8") for path in STUBS.glob("*_pb2*")}
    assert kept == stubs()


def test_buf_lists_the_services_of_a_running_broker(server: Server) -> None:
    result = curl(server, "", None, "--list-services")
    assert result.returncode == 0, result.stderr
    assert {"goqueue.v1.PublishService", "goqueue.v1.ConsumeService"} <= set(result.stdout.split())


def test_buf_publishes_a_record_and_reads_it(server: Server, topic: str) -> None:
    record = {"key": "aw==", "value": "aGVsbG8=", "headers": [{"name": "a", "value": "MQ=="}]}
    published = curl(server, "goqueue.v1.PublishService/Publish", {"topic": topic, "records": [record]})
    assert published.returncode == 0, published.stderr
    assert json.loads(published.stdout) == {"results": [{"record": {"offset": "0"}}]}

    asked = {"positions": [{"topic": topic}], "form": "RECORD_FORM_TYPED"}
    read = curl(server, "goqueue.v1.ConsumeService/Fetch", asked)
    (found,) = json.loads(read.stdout)["batches"][0]["records"]
    assert record.items() <= found.items()


def test_buf_shows_the_code_and_the_hint_of_an_error(server: Server) -> None:
    result = curl(server, "goqueue.v1.PublishService/Publish", {"topic": "no-such-topic", "records": [{"value": ""}]})
    assert result.returncode != 0
    said = json.loads(result.stderr)
    assert (said["code"], said["message"]) == ("not_found", "there is no topic no-such-topic")
    (shown,) = said["details"]
    assert shown["type"] == "goqueue.v1.ErrorDetail"
    detail = errors_pb2.ErrorDetail.FromString(base64.b64decode(shown["value"] + "=="))
    assert (detail.code, detail.message) == ("unknown_topic", said["message"])
    assert detail.hint == "create the topic first, or check the spelling against the list of topics"


def test_buf_asks_for_the_health_of_the_broker(server: Server) -> None:
    result = curl(server, "grpc.health.v1.Health/Check", {})
    assert json.loads(result.stdout) == {"status": "SERVING"}
