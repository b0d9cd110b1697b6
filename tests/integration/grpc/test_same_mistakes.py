"""The same mistake has the same code over gRPC as over HTTP, and whatever is asked, nothing is the broker's fault."""

import asyncio

import grpc
import httpx
import pytest

from goqueue.gateways.grpc.answering import STATUS_BY_CODE as GRPC_STATUS
from goqueue.gateways.http.api.schemas.dialect import NUMBER_BY_CODE
from goqueue.gateways.http.responses import STATUS_BY_CODE
from goqueue.wire.grpc.v1 import schedules_pb2, topics_pb2, transactions_pb2
from tests.integration.grpc.calling import SERVICES, Service, service_of
from tests.integration.grpc.mistakes import KNOWN, MISTAKES, NOT_OVER_HTTP, NOTHING_TO_GET_WRONG
from tests.integration.grpc.talking import create_topic

EACH = [(service, one) for service, some in MISTAKES.items() for one in some]
NAMES = [f"{one.method}-{number}" for number, (_, one) in enumerate(EACH)]


@pytest.fixture(scope="module")
def asked(server, stubs):
    asyncio.run(create_topic(server.native, KNOWN))
    with httpx.Client(base_url=f"http://{server.http}", timeout=120, verify=False, trust_env=False) as http:
        yield http, {name: Service(stubs, name) for name in SERVICES}


@pytest.mark.parametrize(
    ("service", "wrong"), EACH, ids=[f"{one.method}-{number}" for number, (_, one) in enumerate(EACH)]
)
def test_a_mistake_has_the_same_code_on_both(asked, service, wrong):
    http, services = asked
    answer = http.request(wrong.verb, wrong.path, json=wrong.body)
    code = services[service].refusal(wrong.method, **wrong.fields)
    assert 400 <= answer.status_code < 500, answer.text
    said = answer.json()
    if service == "SchemaService":
        # Clients of the registry know numbers in the place of codes.
        assert said["error_code"] == NUMBER_BY_CODE.get(code, STATUS_BY_CODE[code]), (said, code)
    else:
        assert said["code"] == code, said


def test_every_call_that_can_be_refused_is_in_the_table(stubs):
    for name in SERVICES:
        methods = set(Service(stubs, name).methods) - NOTHING_TO_GET_WRONG - NOT_OVER_HTTP
        assert methods == {one.method for one in MISTAKES.get(name, [])}, name


@pytest.mark.parametrize("method", ["Ack", "Nack", "Reject", "Extend", "Release"])
def test_a_receipt_that_nobody_was_given_has_the_same_code_whatever_is_said_of_it(stubs, method):
    queue = service_of(stubs, "QueueService")
    forged = f"{KNOWN}:0:0:1:g/1/AAAAAAAAAAAAAAAA"
    lease = {"topic": KNOWN, "partition": 0, "grant": 1, "token": "AAAA", "runs": [{"first": 0, "count": 1}]}
    records = {"receipts": [forged, "x"], "group": "g", "leases": [lease]}
    codes = [one.error.code for one in getattr(queue, method)(records=records).results]
    assert codes == ["unknown_receipt"] * 3


@pytest.mark.parametrize("runs", [[{"first": 0, "count": 0}], [{"first": 0, "count": 10**9}]], ids=["none", "too many"])
def test_runs_that_cannot_be_written_out_are_refused_before_anything_is_done(stubs, runs):
    lease = {"topic": KNOWN, "grant": 1, "token": "AAAA", "runs": runs}
    assert service_of(stubs, "QueueService").refusal("Ack", records={"leases": [lease]}) == "invalid_request"


def test_work_is_refused_like_a_poll(stubs):
    queue = service_of(stubs, "QueueService")
    for fields, code in (
        ({"group": "g", "topics": ["nowhere"]}, "unknown_topic"),
        ({"group": "fresh"}, "state_conflict"),
        ({"group": "g", "max_in_flight": 1001}, "invalid_request"),
    ):
        with pytest.raises(grpc.RpcError) as error:
            next(queue.Work(**fields))
        assert dict(error.value.trailing_metadata())["goqueue-code"] == code


def test_every_code_has_a_status_on_both():
    assert GRPC_STATUS.keys() == STATUS_BY_CODE.keys()


@pytest.mark.parametrize(
    ("service", "method", "fields"),
    [
        ("TopicService", "CreateTopic", {"settings": {"cleanup": topics_pb2.CLEANUP_DELETE}}),
        (
            "ScheduleService",
            "CreateSchedule",
            {"settings": {"misfire": schedules_pb2.MISFIRE_ALL, "cleared": ["topic"]}},
        ),
        ("TransactionService", "AddAcks", {"action": transactions_pb2.SETTLE_ACTION_NACK, "delay_ms": -1}),
        ("QueueService", "Poll", {"max_bytes": -1}),
        ("GroupService", "Heartbeat", {"wait_ms": -(2**63)}),
        ("OffsetService", "ListOffsets", {"questions": [{"partition": -(2**31)}]}),
        ("DelayService", "RescheduleDelayed", {"delay_ms": 2**63 - 1, "deliver_at_ns": -(2**63)}),
        ("DeadLetterService", "GetDeadLetter", {"partition": -1, "offset": -1}),
        ("TraceService", "SearchSpans", {"operation": 99}),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_odd_requests_are_the_callers_fault(stubs, service, method, fields):
    assert service_of(stubs, service).refusal(method, **fields) != "internal"
