"""The running broker against its own OpenAPI document: whatever is sent, the answer is one that the document allows."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ANSWERS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
]
EXAMPLES = 5
SHORT_POLLS = '[parameters]\ntimeout = "20ms"\n'


def schemathesis(server, folder: Path, checks: list[str], config: str, phases: str, *more: str) -> None:
    """In a process of its own: it changes how warnings and hypothesis behave."""
    file = folder / "schemathesis.toml"
    file.write_text(config)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", file, "--no-color", "run"),
            *(f"http://{server.http}/openapi.json", "--checks", ",".join(checks), "--phases", phases),
            *("--max-examples", str(EXAMPLES), "--seed", "1", "--workers", "1", "--request-timeout", "20"),
            *("--warnings", "off", "--max-failures", "5", *more),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-10_000:] + run.stderr[-2000:]
    assert "Test cases" in run.stdout


def test_whatever_is_sent_the_answer_is_one_of_those_documented(server, tmp_path):
    schemathesis(server, tmp_path, ANSWERS, SHORT_POLLS, "coverage,fuzzing")


def test_requests_that_reach_a_topic_are_answered_as_documented(server, client, tmp_path):
    client.post("/topics", json={"name": "orders", "num_partitions": 2})
    client.post("/topics/orders/messages", json={"messages": [{"key": "k", "value": {"n": n}} for n in range(50)]})
    client.post("/topics/orders/messages", json={"value": {"base64": "/w=="}, "headers": {"h": {"base64": "/w=="}}})
    polled = client.get("/groups/billing/poll", params={"topics": "orders", "limit": 20, "timeout": "1s"}).json()
    rejected = {"receipt_handles": [one["receipt_handle"] for one in polled["messages"]], "reason": "no"}
    assert client.post("/messages/reject", json=rejected).status_code == 200
    schemathesis(
        *(server, tmp_path, ANSWERS, SHORT_POLLS + 'topic = "orders"\npartition = 0\n', "fuzzing"),
        *("--include-path-regex", "topic", "--exclude-method", "DELETE"),
    )
    assert client.get("/topics/orders").status_code == 200


def test_what_the_document_does_not_allow_is_refused(server, tmp_path):
    checks = ["negative_data_rejection", *ANSWERS]
    schemathesis(server, tmp_path, checks, "", "coverage", "--mode", "negative")


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/openapi.json"])
def test_the_document_is_served(http: httpx.Client, path):
    assert http.get(path).json()["info"]["title"] == "GoQueue"
