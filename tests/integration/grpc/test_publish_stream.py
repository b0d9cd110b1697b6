import queue
import threading
from collections.abc import Iterator

import grpc
import pytest

from goqueue.wire.grpc.v1 import publish_pb2
from tests.behaviour.serving import Server, running_server
from tests.integration.grpc.talking import (
    WITHIN_S,
    Stubs,
    batch_request,
    connected,
    create_topic,
    detail_of,
    records_request,
)


def numbered(*requests: publish_pb2.PublishRequest) -> Iterator[publish_pb2.PublishStreamRequest]:
    for number, request in enumerate(requests, 100):
        yield publish_pb2.PublishStreamRequest(correlation_id=number, publish=request)


def answers_of(
    stubs: Stubs, requests: Iterator[publish_pb2.PublishStreamRequest]
) -> dict[int, publish_pb2.PublishStreamResponse]:
    answers = list(stubs.publish.PublishStream(requests, timeout=WITHIN_S))
    by_number = {answer.correlation_id: answer for answer in answers}
    assert len(by_number) == len(answers), "a request was answered twice"
    return by_number


def test_each_request_of_a_stream_is_answered_under_its_number(stubs: Stubs, topic: str) -> None:
    requests = [
        batch_request(topic, b"%d" % number) if number % 3 else records_request(topic, b"%d" % number)
        for number in range(300)
    ]

    answers = answers_of(stubs, numbered(*requests))

    assert sorted(answers) == list(range(100, 400))
    assert {answer.WhichOneof("outcome") for answer in answers.values()} == {"published"}
    assert [one.value for one in stubs.fetch_all(topic)] == [b"%d" % number for number in range(300)]


def test_a_bad_request_in_the_middle_is_answered_and_the_stream_goes_on(stubs: Stubs, topic: str) -> None:
    garbage = batch_request(topic, b"x")
    garbage.batch.records = garbage.batch.records[:-1] + b"?"
    nowhere = records_request("there-is-no-such-topic", b"x")
    requests = [batch_request(topic, b"first"), garbage, nowhere, batch_request(topic, b"last")]

    answers = answers_of(stubs, numbered(*requests))

    assert [answers[number].error.code for number in (101, 102)] == ["corrupt_batch", "unknown_topic"]
    assert answers[102].error.hint
    assert answers[100].published.batch.base_offset == 0
    assert answers[103].published.batch.base_offset == 1
    assert [one.value for one in stubs.fetch_all(topic)] == [b"first", b"last"]


def test_a_request_with_nothing_in_it_is_answered_with_an_error(stubs: Stubs) -> None:
    answers = answers_of(stubs, iter([publish_pb2.PublishStreamRequest(correlation_id=5)]))
    assert answers[5].error.code == "invalid_request"


def test_bytes_that_are_no_request_end_the_stream_after_the_answers_to_those_before(stubs: Stubs, topic: str) -> None:
    good = next(numbered(batch_request(topic, b"good"))).SerializeToString()
    call = stubs.channel.stream_stream(
        "/goqueue.v1.PublishService/PublishStream",
        request_serializer=None,
        response_deserializer=publish_pb2.PublishStreamResponse.FromString,
    )(iter([good, b"\xff\xff\xff"]), timeout=WITHIN_S)

    answers = []
    with pytest.raises(grpc.RpcError) as failed:
        answers.extend(call)

    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert detail_of(failed.value).code == "invalid_request"
    assert [one.value for one in stubs.fetch_all(topic)] == [b"good"]


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A broker that lets a stream have four requests under way."""
    with running_server(tmp_path_factory.mktemp("narrow"), "[grpc]\npublishes_per_stream = 4\n") as running:
        yield running


async def test_a_client_that_takes_no_answers_is_read_no_further(narrow: Server) -> None:
    """Its requests stay with the client: neither lost nor in the memory of the broker."""
    topic = await create_topic(narrow.native, "held-back")
    large, count = b"x" * 1_000_000, 60
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done = threading.Event()

    def requests() -> Iterator[publish_pb2.PublishStreamRequest]:
        for number in range(count):
            waiting.put(number)
            request = publish_pb2.PublishRequest(topic=topic, partition=number + 1000, batch={"records": large})
            yield publish_pb2.PublishStreamRequest(correlation_id=number, publish=request)
        done.set()

    # Small windows, so that answers that are not taken soon come to a stop.
    with connected(narrow.grpc, options=[("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0)]) as stubs:
        call = stubs.publish.PublishStream(requests(), timeout=WITHIN_S)
        first = next(call)
        assert first.error.code == "unknown_partition"
        numbers = [first.correlation_id, *(answer.correlation_id for answer in call)]
    assert done.is_set()
    assert sorted(numbers) == list(range(count))


def test_what_was_sent_before_the_client_hangs_up_is_whole_or_not_there(stubs: Stubs, topic: str) -> None:
    go_on = threading.Event()

    def requests() -> Iterator[publish_pb2.PublishStreamRequest]:
        yield from numbered(*[batch_request(topic, b"a", b"b")] * 20)
        go_on.wait(WITHIN_S)

    call = stubs.publish.PublishStream(requests(), timeout=WITHIN_S)
    next(call)
    call.cancel()
    go_on.set()

    values = [one.value for one in stubs.fetch_all(topic)]
    assert values
    assert values == [b"a", b"b"] * (len(values) // 2)
