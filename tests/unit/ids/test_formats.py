"""What was kept or sent before there were ids can still be read, and the window has its limits."""

import msgspec
import pytest

from goqueue.core.producers.originals import Original, count_originals, pack_originals, unpack_originals
from goqueue.core.producers.window import BatchWritten
from goqueue.model.topic import TopicConfig
from goqueue.wire.native import messages

DAY_MS = 24 * 3_600_000


def decoded(kind, value):
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=kind)


def test_a_batch_journaled_before_there_were_ids_is_read():
    batch = decoded(BatchWritten, [7, 0, 100, 3, 40, 5])
    assert batch == BatchWritten(7, 0, 100, 3, 40, 5)
    assert batch.next_offset == 43


def test_a_batch_of_which_some_were_there_before_ends_behind_those_that_were_written():
    originals = pack_originals([Original(1, 2, 3, 4), Original(4, 0, 1 << 40, 1_700_000_000_000_000_000)])
    batch = decoded(BatchWritten, BatchWritten(7, 0, 100, 5, 40, 5, originals))
    assert batch.next_offset == 43
    assert count_originals(batch.originals) == 2
    assert unpack_originals(batch.originals)[1] == Original(4, 0, 1 << 40, 1_700_000_000_000_000_000)


def test_answers_and_requests_without_ids_are_what_they_were():
    assert decoded(messages.Published, [40, 3, 5]) == messages.Published(40, 3, 5)
    assert decoded(messages.Publish, ["orders", 0]).ids is None


def test_a_topic_kept_before_there_were_ids_has_the_usual_window():
    assert decoded(TopicConfig, {"retention_ms": 5}).dedup_window_ms == 600_000


@pytest.mark.parametrize("window_ms", [0, 1, 600_000, 30 * DAY_MS])
def test_a_window_within_its_limits_is_taken(window_ms):
    assert decoded(TopicConfig, {"dedup_window_ms": window_ms}).dedup_window_ms == window_ms


@pytest.mark.parametrize("window_ms", [-1, 30 * DAY_MS + 1, None, 1.5, "1"])
def test_a_window_beyond_its_limits_is_refused(window_ms):
    with pytest.raises(msgspec.ValidationError):
        decoded(TopicConfig, {"dedup_window_ms": window_ms})
