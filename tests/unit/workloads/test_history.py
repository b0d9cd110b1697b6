"""The checker of histories finds each broken promise, and nothing where all were kept."""

from collections.abc import Callable

import pytest

from goqueue.model.log import LogId
from tests.workloads.history import At, Delivery, History, Outcome, Transaction, violations

FIRST, SECOND = At("orders", 0, 0), At("orders", 0, 1)
QUEUE, STREAM, TRANSFORM = "workers", "readers", "billing"
Change = Callable[[History, dict], None]


def kept() -> tuple[History, dict]:
    """A short run in which every promise was kept."""
    history = History()
    history.attempted |= {b"p/0", b"p/1"}
    history.published |= {b"p/0": FIRST, b"p/1": SECOND}
    for group in (QUEUE, STREAM, TRANSFORM):
        for at, value in ((FIRST, b"p/0"), (SECOND, b"p/1")):
            history.deliveries.append(Delivery(group, at, value, history.now()))
    history.done[QUEUE, FIRST] = history.now()
    history.rejecting[QUEUE].add(SECOND)
    history.rejected.add((QUEUE, SECOND))
    history.done[QUEUE, SECOND] = history.now()
    history.committed.append((history.now(), STREAM, LogId("orders", 0), 2))
    history.transactions |= {
        "t1": Transaction(b"p/0", "committed"),
        "t2": Transaction(b"p/1", "aborted"),
        "t3": Transaction(b"p/1", "unknown"),
    }
    outcome = {
        "records": {FIRST: b"p/0", SECOND: b"p/1"},
        "letters": {SECOND: b"p/1"},
        "letters_total": 1,
        "outputs": [b"t1|p/0|a", b"t1|p/0|b", b"t3|p/1|a", b"t3|p/1|b"],
    }
    return history, outcome


def found(change: Change) -> list[str]:
    history, outcome = kept()
    change(history, outcome)
    return violations(history, Outcome(**outcome), [QUEUE], [STREAM], [TRANSFORM])


def lose_a_record(_: History, outcome: dict) -> None:
    outcome["records"] = {FIRST: b"p/0"}


def write_twice(_: History, outcome: dict) -> None:
    outcome["records"][At("orders", 0, 2)] = b"p/1"


def swap(history: History, outcome: dict) -> None:
    history.published = {}
    outcome["records"] = {FIRST: b"p/1", SECOND: b"p/0"}


def invent(_: History, outcome: dict) -> None:
    outcome["records"][At("orders", 0, 2)] = b"p/7"


def deliver_after_the_ack(history: History, _: dict) -> None:
    history.deliveries.append(Delivery(QUEUE, FIRST, b"p/0", history.now()))


def deliver_behind_the_commit(history: History, _: dict) -> None:
    history.deliveries.append(Delivery(STREAM, FIRST, b"p/0", history.now()))


def skip(history: History, _: dict) -> None:
    history.deliveries = [one for one in history.deliveries if one[:2] != (STREAM, SECOND)]


def bury_nothing(_: History, outcome: dict) -> None:
    outcome["letters"], outcome["letters_total"] = {}, 0


def bury_twice(_: History, outcome: dict) -> None:
    outcome["letters_total"] = 2


def bury_what_was_acked(_: History, outcome: dict) -> None:
    outcome["letters"][FIRST] = b"p/0"
    outcome["letters_total"] = 2


def show_half(_: History, outcome: dict) -> None:
    outcome["outputs"].remove(b"t1|p/0|b")


def show_what_was_aborted(_: History, outcome: dict) -> None:
    outcome["outputs"] += [b"t2|p/1|a", b"t2|p/1|b"]


def drop_what_was_committed(_: History, outcome: dict) -> None:
    outcome["outputs"] = outcome["outputs"][2:]


BROKEN = {
    lose_a_record: "lost:",
    write_twice: "duplicated:",
    swap: "reordered:",
    invent: "unexpected:",
    deliver_after_the_ack: "redelivered:",
    deliver_behind_the_commit: "redelivered:",
    skip: "never delivered:",
    bury_nothing: "lost:",
    bury_twice: "duplicated:",
    bury_what_was_acked: "unexpected:",
    show_half: "not atomic:",
    show_what_was_aborted: "unexpected:",
    drop_what_was_committed: "lost:",
}


def test_nothing_is_found_where_every_promise_was_kept():
    assert found(lambda history, outcome: None) == []


@pytest.mark.parametrize(("change", "kind"), BROKEN.items(), ids=[one.__name__ for one in BROKEN])
def test_each_broken_promise_is_found(change: Change, kind: str):
    assert any(line.startswith(kind) for line in found(change)), found(change)


def test_a_poll_that_began_before_the_ack_was_confirmed_may_return_the_record():
    def change(history: History, _: dict) -> None:
        history.deliveries.insert(0, Delivery(QUEUE, FIRST, b"p/0", 0))

    assert found(change) == []


def test_what_was_not_confirmed_may_be_there_or_not():
    def change(history: History, outcome: dict) -> None:
        history.attempted |= {b"p/2", b"p/3"}
        at = At("orders", 0, 2)
        outcome["records"][at] = b"p/2"
        outcome["outputs"] += [b"t4|p/2|a", b"t4|p/2|b"]
        history.transactions |= {"t4": Transaction(b"p/2", "unknown"), "t5": Transaction(b"p/2", "unknown")}
        history.deliveries += [Delivery(group, at, b"p/2", history.now()) for group in (QUEUE, STREAM, TRANSFORM)]

    assert found(change) == []
