"""What travels between a broker and clients of another age: replies are read for what is known of them."""

from typing import Any

import msgspec
import pytest

from goqueue.model.topic import Topic, TopicConfig, WantedConfig, hash_ranges
from goqueue.wire.native import messages
from goqueue.wire.native.messages import TopicPartition

PLACES = (TopicPartition("orders", 0), TopicPartition("orders", 2))
TOPIC = Topic("orders", TopicConfig(retention_ms=None), hash_ranges(2), 3)
ERROR = messages.ErrorReply("unknown_topic", "there is no topic x", "create it")
REPLIES = [
    ERROR,
    messages.Done(),
    messages.Welcome(1, "goqueue 9.9", 1000),
    messages.MetadataReply((TOPIC, TOPIC)),
    messages.TopicReply(TOPIC),
    messages.ProducerIdentity(7, 1),
    messages.Published(5, 2, 10, False, (5, 1), (messages.Original(1, 0, 3),)),
    messages.Fetched((messages.FetchedPart("orders", 0, 1, 2, 3, 0, 4, ERROR),)),
    messages.Offsets((messages.OffsetAnswer("orders", 0, 5),)),
    messages.Joined("m", 2, PLACES, 1000, True),
    messages.Assigned(2, PLACES, PLACES, True),
    messages.OffsetsReply((messages.PartitionOffset("orders", 0, 5, "note"),)),
    messages.ResetReply((messages.OffsetChange("orders", 0, None, 4),), True),
    messages.GroupList((messages.GroupSummary("g", "stable", "eager", 2, 9),)),
    messages.GroupDescription(
        *("g", "stable", "eager", "sticky", 4, False),
        (messages.MemberDescription("m", "c", None, PLACES),),
        (messages.PartitionLag("orders", 0, None, 5, 5, "m"),),
    ),
]


def from_a_newer_broker(known: Any) -> Any:
    """As it would be sent if every struct in it had got another field."""
    if not isinstance(known, msgspec.Struct):
        return [from_a_newer_broker(one) for one in known] if isinstance(known, tuple) else known
    fields = {name: from_a_newer_broker(getattr(known, name)) for name in known.__struct_fields__}
    if known.__struct_config__.array_like:
        return [*fields.values(), {"more": [1]}, None]
    return fields | {"more": {"than": "known"}}


@pytest.mark.parametrize("reply", REPLIES, ids=lambda one: type(one).__name__)
def test_a_client_passes_over_what_a_newer_broker_adds_to_a_reply(reply):
    sent = msgspec.msgpack.encode(from_a_newer_broker(reply))
    assert msgspec.msgpack.decode(sent, type=type(reply)) == reply


def test_only_the_settings_that_a_request_asks_for_are_read_strictly():
    kinds = [one for one in vars(messages).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    assert [one for one in kinds if one.__struct_config__.forbid_unknown_fields] == [WantedConfig]


def test_a_topic_with_a_setting_that_does_not_exist_is_not_made():
    sent = msgspec.msgpack.encode(["orders", 3, {"retention_ms": 5, "retention_weeks": 2}])
    with pytest.raises(msgspec.ValidationError, match="unknown field `retention_weeks`"):
        msgspec.msgpack.decode(sent, type=messages.CreateTopic)
