"""What native requests about transactions do."""

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.broker import Broker
from goqueue.engine.transactions import beginning, ending
from goqueue.engine.transactions.joining import InTransaction, check
from goqueue.engine.transactions.pledging import pledge_all
from goqueue.errors import InvalidRequest
from goqueue.gateways.native.leases import check_leases, lease_of
from goqueue.gateways.native.routes import Answer, Route
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native import transactions as wire
from goqueue.wire.native.frames import Opcode

__all__ = ["transaction_routes"]


def transaction_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    async def init(request: wire.InitTransactions) -> Answer:
        known_as = None if request.producer_id is None else (request.producer_id, request.epoch)
        enlisted = await beginning.enlist(
            broker, request.transactional_id, request.timeout_ms, request.instance, known_as
        )
        return messages.ProducerIdentity(enlisted.producer_id, enlisted.epoch), []

    async def begin(request: wire.BeginTransaction) -> Answer:
        began = await beginning.begin(broker, request.producer_id, request.epoch)
        return wire.Begun(began.number, began.producer_id, began.epoch), []

    async def begin_part(request: wire.BeginPart) -> Answer:
        began = await beginning.begin_part(broker, request.key, request.timeout_ms)
        return wire.Begun(began.number, began.producer_id, began.epoch), []

    async def prepare(request: wire.PreparePart) -> Answer:
        await beginning.prepare(broker, _ref(request.transaction))
        return messages.Done(), []

    async def commit(request: wire.EndTransaction) -> Answer:
        await ending.commit(broker, *_ref(request.transaction))
        return messages.Done(), []

    async def abort(request: wire.EndTransaction) -> Answer:
        await ending.abort(broker, *_ref(request.transaction))
        return messages.Done(), []

    async def decide(request: wire.DecideParts) -> Answer:
        decided = await ending.decide(broker, request.key, request.numbers)
        return wire.PartsDecided(decided.committed, decided.aborted), []

    async def add_acks(request: wire.AddAcks) -> Answer:
        return wire.AcksAdded(await _pledge_all(broker, request)), []

    async def add_offsets(request: wire.AddOffsets) -> Answer:
        offsets = {
            LogId(one.topic, one.partition): OffsetAndMetadata(one.offset, one.metadata) for one in request.offsets
        }
        who = (request.member_id, request.generation)
        await beginning.add_offsets(broker, _ref(request.transaction), request.group, offsets, *who)
        return messages.Done(), []

    return [
        Route(Opcode.INIT_TRANSACTIONS, wire.InitTransactions, init),
        Route(Opcode.BEGIN_TRANSACTION, wire.BeginTransaction, begin),
        Route(Opcode.BEGIN_PART, wire.BeginPart, begin_part),
        Route(Opcode.PREPARE_PART, wire.PreparePart, prepare),
        Route(Opcode.COMMIT_TRANSACTION, wire.EndTransaction, commit),
        Route(Opcode.ABORT_TRANSACTION, wire.EndTransaction, abort),
        Route(Opcode.DECIDE_PARTS, wire.DecideParts, decide),
        Route(Opcode.ADD_ACKS, wire.AddAcks, add_acks),
        Route(Opcode.ADD_OFFSETS, wire.AddOffsets, add_offsets),
    ]


def _ref(given: wire.TransactionRef) -> InTransaction:
    return InTransaction(given.number, given.producer_id, given.epoch)


async def _pledge_all(broker: Broker, request: wire.AddAcks) -> int:
    """How many go to the dead letters."""
    ref = _ref(request.transaction)
    check(broker, ref)
    if not request.leases:
        raise InvalidRequest("no records", hint="say which records it is about")
    check_leases(request.leases)
    leases = (lease_of(request.group, given) for given in request.leases)
    return (await pledge_all(broker, ref, leases, request.action, request.reason, request.delay_ms))[1]
