"""What a request to publish does: a batch goes to the log as it is, single records each find their way."""

from collections.abc import Callable

from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.publish import Published, publish
from goqueue.engine.publish_records import Outgoing, Placed, publish_in_transaction, publish_records
from goqueue.engine.tracing.publishing import note_unreadable
from goqueue.errors import GoQueueError, InvalidRequest, UnknownTopic
from goqueue.gateways.grpc.answering import detail_of
from goqueue.gateways.grpc.choices import durability_of
from goqueue.gateways.grpc.publish.batches import batch_of, published_batch, transaction_of, wants_confirmation
from goqueue.gateways.grpc.publish.incoming import outgoing_of
from goqueue.model.topic import TopicName, topic_name
from goqueue.model.trace import TraceHeaders
from goqueue.wire.grpc.v1 import publish_pb2 as wire

__all__ = ["Answered", "Publishing"]

MOST_RECORDS = 100_000
"""Single records in one request."""

Answered = Callable[[wire.PublishResponse | GoQueueError], None]


class Publishing:
    """Carries out requests, whether they come alone or in a stream."""

    def __init__(self, broker: Broker, placement: Placement) -> None:
        self._broker = broker
        self._placement = placement

    # Batches.

    def batch(self, request: wire.PublishRequest, answer: Answered) -> None:
        """`answer` is called once, now or later; nothing is raised but for what only a bug can cause."""
        try:
            if request.records:
                raise InvalidRequest("both a batch and single records", hint="send one of them in a request")
            confirmed = wants_confirmation(request)
            batch = batch_of(self._broker, request)
        except GoQueueError as refusal:
            answer(refusal)
            return

        def reply(result: Published | GoQueueError) -> None:
            answer(published_batch(result) if isinstance(result, Published) else result)

        if confirmed:
            publish(self._broker, batch, reply)
        else:
            publish(self._broker, batch, _nobody)
            answer(wire.PublishResponse(batch=wire.PublishedBatch(partition=batch.partition)))

    # Single records.

    async def records(self, request: wire.PublishRequest, trace: TraceHeaders) -> wire.PublishResponse:
        name = topic_name(request.topic)
        broker, now = self._broker, self._broker.clock.now_ns()
        try:
            broker.catalog.topic(name)
        except UnknownTopic as refusal:
            note_unreadable(broker, name, refusal, now)
            raise
        _check_form(request)
        if request.HasField("transaction"):
            return await self._in_transaction(name, request, trace, now)
        outgoing: list[Outgoing] = []
        outcomes: dict[int, Placed | GoQueueError] = {}
        sent: list[int] = []
        for number, one in enumerate(_each(request, trace, now)):
            if isinstance(one, GoQueueError):
                outcomes[number] = one
                note_unreadable(broker, name, one, now)
            else:
                outgoing.append(one)
                sent.append(number)
        outcomes |= zip(sent, await publish_records(broker, self._placement, name, outgoing), strict=True)
        errors = [outcome for outcome in outcomes.values() if isinstance(outcome, GoQueueError)]
        if len(errors) == len(outcomes):
            raise next(outcome for _, outcome in sorted(outcomes.items()) if isinstance(outcome, GoQueueError))
        return wire.PublishResponse(results=[_result(outcomes[number]) for number in range(len(outcomes))])

    async def _in_transaction(
        self, name: TopicName, request: wire.PublishRequest, trace: TraceHeaders, now_ns: int
    ) -> wire.PublishResponse:
        """All of them or none."""
        transaction = transaction_of(request)
        assert transaction is not None
        records: list[tuple[TopicName, Outgoing]] = []
        for number, one in enumerate(_each(request, trace, now_ns)):
            if isinstance(one, GoQueueError):
                one.message = f"record {number}: {one.message}"
                raise one
            records.append((name, one))
        placed = await publish_in_transaction(self._broker, self._placement, transaction, records)
        return wire.PublishResponse(results=map(_result, placed))


def _nobody(_: Published | GoQueueError) -> None:
    """Asked not to be told."""


def _check_form(request: wire.PublishRequest) -> None:
    count = len(request.records)
    if not count:
        raise InvalidRequest("neither a batch nor records", hint="give the records to publish")
    if count > MOST_RECORDS:
        raise InvalidRequest(f"{count} records in a request", hint=f"send at most {MOST_RECORDS}, or a batch")
    if request.HasField("producer") and not request.HasField("transaction"):
        raise InvalidRequest(
            "a producer with single records", hint="a sequence counts the records of a batch; name records by ids"
        )
    misplaced = [name for name in ("ids", "deliver_at_ns") if getattr(request, name)]
    if request.HasField("partitions"):
        misplaced.append("partitions")
    if misplaced:
        raise InvalidRequest(f"{' and '.join(misplaced)} with single records", hint="give it in each record")


def _each(request: wire.PublishRequest, trace: TraceHeaders, now_ns: int) -> "list[Outgoing | GoQueueError]":
    """Each record, or what is wrong with it."""
    partition = request.partition if request.HasField("partition") else None
    durability, confirmed = durability_of(request.durability), wants_confirmation(request)
    made: list[Outgoing | GoQueueError] = []
    for given in request.records:
        try:
            made.append(outgoing_of(given, trace, partition, durability, confirmed=confirmed, now_ns=now_ns))
        except GoQueueError as refusal:
            made.append(refusal)
    return made


def _result(outcome: Placed | GoQueueError) -> wire.PublishResult:
    if isinstance(outcome, GoQueueError):
        return wire.PublishResult(error=detail_of(outcome))
    return wire.PublishResult(
        record=wire.PublishedRecord(
            partition=outcome.partition,
            offset=outcome.offset,
            duplicate=outcome.duplicate,
            deliver_at_ns=outcome.due or None,
        )
    )
