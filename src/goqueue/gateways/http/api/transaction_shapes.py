"""What producers ask and are answered about transactions, as JSON."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.transactions.coordinator import MOST_PART_TIMEOUT_MS, MOST_PARTS
from goqueue.core.transactions.enlisted import MOST_TIMEOUT_MS, NAME_PATTERN
from goqueue.engine.queue.by_receipt import MOST_RECEIPTS
from goqueue.engine.transactions.joining import InTransaction
from goqueue.gateways.http.api.acknowledging import ReasonText, ReceiptText, RetryPause
from goqueue.gateways.http.api.group_shapes import Generation, GroupText, MemberText, OffsetsByTopic
from goqueue.gateways.http.api.params import TopicText
from goqueue.gateways.http.api.publishing import MOST_MESSAGES, MessageIn, PublishBody
from goqueue.gateways.http.rules import HereOrInEach, Needs, Never, Ruled
from goqueue.model.topic import MOST_PARTITIONS

__all__ = [
    "AddAcksBody",
    "AddOffsetsBody",
    "AddPartitionBody",
    "Added",
    "AddedAcks",
    "Alive",
    "BeginBody",
    "BeginPartBody",
    "Begun",
    "DecideBody",
    "Decided",
    "EndBody",
    "Ended",
    "HeartbeatBody",
    "InTransactionBody",
    "InitBody",
    "ManyRecords",
    "OneRecord",
    "Prepared",
    "Producer",
    "ProducerParams",
    "RecordIn",
    "RecordsBody",
    "Whole",
]

LARGEST = (1 << 63) - 1
DEFAULT_TIMEOUT_MS = 60_000

Whole = Annotated[int, Meta(ge=0, le=LARGEST)]
TransactionalId = Annotated[
    str,
    Meta(
        description="the same after every restart of the producer",
        extra_json_schema={"pattern": NAME_PATTERN},
        examples=["billing-1"],
    ),
]
Key = Annotated[
    str,
    Meta(
        description="under which the parts are decided",
        extra_json_schema={"pattern": NAME_PATTERN},
        examples=["query/7"],
    ),
]


class ProducerParams(msgspec.Struct, frozen=True):
    producer_id: Whole


class InitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Without a transactional id the producer cannot begin transactions."""

    transactional_id: TransactionalId | UnsetType = UNSET
    transaction_timeout_ms: Annotated[int, Meta(ge=1, le=MOST_TIMEOUT_MS, description="15 minutes at most")] = (
        DEFAULT_TIMEOUT_MS
    )


class Producer(msgspec.Struct, frozen=True):
    """Who came before under the same transactional id can do nothing from now on."""

    producer_id: int
    epoch: int


class HeartbeatBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The epoch that the producer has."""

    epoch: Whole


class Alive(msgspec.Struct, frozen=True):
    """It is still the newest instance; `transaction` is the one it has open."""

    producer_id: int
    epoch: int
    transaction: int | None


class BeginBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The producer that begins a transaction."""

    producer_id: Whole
    epoch: Whole


class BeginPartBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The key of the larger transaction."""

    key: Key
    timeout_ms: Annotated[
        int, Meta(ge=1, le=MOST_PART_TIMEOUT_MS, description="until it must be decided; a day at most")
    ] = DEFAULT_TIMEOUT_MS


class Begun(msgspec.Struct, frozen=True):
    """Give the first three with everything that belongs to it. What has not ended by the deadline is aborted."""

    transaction: int
    producer_id: int
    epoch: int
    timeout_ms: int
    deadline: str


class InTransactionBody(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A transaction, and who says so."""

    transaction: Whole
    producer_id: Whole
    epoch: Whole

    @property
    def ref(self) -> InTransaction:
        return InTransaction(self.transaction, self.producer_id, self.epoch)


class RecordIn(MessageIn, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A record as on any other way to publish, without `id`; `acks` and `durability` say nothing here.

    Without a topic it goes to the one of the request.
    """

    topic: TopicText | UnsetType = UNSET

    RULES = (*MessageIn.RULES, Never("id"))


class OneRecord(RecordIn, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One record of a transaction."""

    transaction: Whole
    producer_id: Whole
    epoch: Whole
    topic: TopicText  # nothing else says where to


class ManyRecords(InTransactionBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Many records, of any topics; `topic` is for those that have none of their own."""

    topic: TopicText | UnsetType = UNSET
    messages: Annotated[list[RecordIn], Meta(min_length=1, max_length=MOST_MESSAGES)]

    RULES = (HereOrInEach("topic", "messages"),)


class RecordsBody(PublishBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Either of them."""

    transaction: Whole
    producer_id: Whole
    epoch: Whole
    topic: TopicText | UnsetType = UNSET
    messages: Annotated[list[RecordIn], Meta(min_length=1, max_length=MOST_MESSAGES)] | UnsetType = UNSET  # type: ignore[assignment]

    RULES = (*RecordIn.RULES, *ManyRecords.RULES)

    @property
    def ref(self) -> InTransaction:
        return InTransaction(self.transaction, self.producer_id, self.epoch)


class AddPartitionBody(InTransactionBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A partition that the transaction is to write to."""

    topic: TopicText
    partition: Annotated[int, Meta(ge=0, lt=MOST_PARTITIONS)]


class AddAcksBody(InTransactionBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When one receipt is refused, the transaction can only be aborted: some of them may have been added.

    `delay` is the pause of what is given back with nack; without it, it follows from the failures so far.
    """

    receipts: Annotated[list[ReceiptText], Meta(min_length=1, max_length=MOST_RECEIPTS)]
    action: Literal["ack", "nack", "reject"] = "ack"
    reason: ReasonText = ""
    delay: RetryPause | UnsetType = UNSET

    RULES = (Needs("delay", "action", needed_value="nack"),)


class AddOffsetsBody(InTransactionBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Next offsets to read, by topic and partition number; without a member only when the group has none."""

    group: GroupText
    offsets: Annotated[OffsetsByTopic, Meta(min_length=1)]
    member_id: MemberText | None = None
    generation: Generation | None = None

    RULES = (Needs("member_id", "generation"),)


class Added(msgspec.Struct, frozen=True):
    """It takes effect when the transaction commits."""

    transaction: int
    success: Literal[True] = True


class AddedAcks(msgspec.Struct, frozen=True):
    """`dead_letters` of the records go to the topic of dead letters when the transaction commits."""

    transaction: int
    records: int
    dead_letters: int
    success: Literal[True] = True


class EndBody(InTransactionBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """May be sent again when the answer was lost."""


class Ended(msgspec.Struct, frozen=True):
    """How the transaction ended."""

    transaction: int
    state: Literal["committed", "aborted"]


class Prepared(msgspec.Struct, frozen=True):
    """All of the part is durable; only the decision is missing."""

    transaction: int
    state: Literal["prepared"] = "prepared"


class DecideBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """These parts are committed together, all others under the key are aborted. None at all is a decision too."""

    key: Key
    transactions: Annotated[list[Whole], Meta(max_length=MOST_PARTS)]


class Decided(msgspec.Struct, frozen=True):
    """What was decided, and when."""

    key: str
    committed: list[int]
    aborted: list[int]
    decided_at: str
