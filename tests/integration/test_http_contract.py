"""The running broker against its own OpenAPI document: all that it allows is accepted, and all else is refused."""

import httpx
import pytest

from tests.workloads.contract import check_everything, check_records

EXAMPLES = 4
"""Of each kind; `make contract` sends more."""
SEED = 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_operation_is_exactly_as_strict_as_its_document(server, tmp_path):
    check_everything(server, tmp_path, EXAMPLES, SEED)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_requests_that_reach_records_are_answered_as_documented(server, client, tmp_path):
    check_records(server, tmp_path, EXAMPLES, SEED)
    assert client.get("/topics/orders").status_code == 200


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/openapi.json"])
def test_the_document_is_served(http: httpx.Client, path):
    assert http.get(path).json()["info"]["title"] == "GoQueue"
