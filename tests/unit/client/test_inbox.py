"""What was given, what is done, and what may be committed."""

import threading

from goqueue.client.inbox import Inbox
from goqueue.client.message import Message
from goqueue.model.log import LogId

A, B = LogId("orders", 0), LogId("orders", 1)


def messages(log, *offsets):
    return [Message(log.topic, log.partition, offset, 0, None, b"", (), 2) for offset in offsets]


def filled():
    inbox = Inbox()
    inbox.put(A, messages(A, 0, 1, 2), 3)
    inbox.put(B, messages(B, 7, 9), 12)
    return inbox


def test_messages_come_in_the_order_in_which_they_arrived_up_to_the_limit():
    inbox = filled()
    assert [(one.partition, one.offset) for one in inbox.take(4)] == [(0, 0), (0, 1), (0, 2), (1, 7)]
    assert [(one.partition, one.offset) for one in inbox.take(4)] == [(1, 9)]
    assert inbox.take(4) == []


def test_what_was_given_is_done_when_more_is_asked_for():
    inbox = filled()
    inbox.take(2)
    assert inbox.uncommitted(in_hand=False) == {}
    assert inbox.uncommitted(in_hand=True) == {A: 2}
    inbox.take(2)
    assert inbox.uncommitted(in_hand=False) == {A: 2}
    assert inbox.uncommitted(in_hand=True) == {A: 3, B: 8}


def test_behind_the_last_message_of_a_batch_the_next_offset_is_that_of_the_batch():
    inbox = filled()
    inbox.take(10)
    assert inbox.uncommitted(in_hand=True) == {A: 3, B: 12}


def test_what_the_application_failed_over_is_not_done():
    inbox = filled()
    inbox.take(1)
    inbox.take(1)
    inbox.abandon()
    assert inbox.uncommitted(in_hand=True) == {A: 1}


def test_a_commit_settles_what_it_covers_and_nothing_that_was_given_since():
    inbox = filled()
    inbox.take(2)
    wanted = inbox.uncommitted(in_hand=True)
    inbox.take(2)
    inbox.committed(wanted)
    assert inbox.uncommitted(in_hand=True) == {A: 3, B: 8}
    inbox.committed({A: 3, B: 8})
    assert inbox.uncommitted(in_hand=True) == {}
    assert not inbox.is_holding({A, B})


def test_what_was_dropped_is_never_given():
    inbox = filled()
    inbox.take(1)
    assert inbox.first_ready(A) == 1
    inbox.drop({A})
    assert inbox.first_ready(A) is None
    assert [one.partition for one in inbox.take(10)] == [1, 1]


def test_it_knows_whether_something_of_a_partition_is_in_hand():
    inbox = filled()
    inbox.take(3)
    assert inbox.is_holding({A})
    assert not inbox.is_holding({B})
    inbox.finish()
    assert not inbox.is_holding({A})


def test_forgotten_offsets_are_not_committed():
    inbox = filled()
    inbox.take(2)
    inbox.take(3)
    inbox.forget({A})
    assert inbox.uncommitted(in_hand=True) == {B: 12}


def test_raw_batches_are_noted_as_in_hand():
    inbox = Inbox()
    inbox.note(A, 50)
    assert (inbox.is_holding({A}), inbox.uncommitted(in_hand=False)) == (True, {})
    inbox.finish()
    assert inbox.uncommitted(in_hand=False) == {A: 50}


def test_a_thread_may_take_while_another_adds_drops_and_commits():
    inbox, taken, stop = Inbox(), [], threading.Event()

    def work():
        while not stop.is_set():
            taken.extend(inbox.take(1))

    thread = threading.Thread(target=work)
    thread.start()
    for number in range(2000):
        inbox.put(A, messages(A, number), number + 1)
        inbox.put(B, messages(B, number), number + 1)
        inbox.drop({B})
        inbox.committed(inbox.uncommitted(in_hand=False))
    while inbox.first_ready(A) is not None:
        pass
    stop.set()
    thread.join()
    assert [one.offset for one in taken if one.partition == 0] == list(range(2000))
