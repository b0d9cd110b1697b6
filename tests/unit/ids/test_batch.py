"""The ids of one batch."""

import pytest

from goqueue import codec
from goqueue.core.ids.batch import Repetition, carries, digests_of, divide
from goqueue.core.ids.events import NO_ID, Place
from goqueue.errors import InvalidRequest
from goqueue.model.record import Record
from goqueue.model.record_id import ID_HEADER, LONGEST_ID, encoded_ids, id_of, with_id

ELSEWHERE = Place(2, 17, 5)


def batch(*ids: str | None, headers: tuple[tuple[str, bytes], ...] = ()) -> bytes:
    records = [Record(b"v", headers=headers) for _ in ids]
    return codec.encode([r if i is None else with_id(r, i) for r, i in zip(records, ids, strict=True)])


def divided(*ids: str | None, known: dict[str, Place] | None = None):
    division = divide(digests_of(encoded_ids(ids)), [(known or {}).get(i) if i else None for i in ids])
    return list(division.new), list(division.repetitions)


def test_digests_have_one_size_and_differ():
    digests = digests_of([b"a", b"b" * 256, None])
    assert [len(one) for one in digests] == [16, 16, 16]
    assert digests[2] == NO_ID
    assert len(set(digests)) == 3


def test_unknown_ids_are_new():
    assert divided("a", None, "b") == ([0, 1, 2], [])


def test_known_ids_are_repetitions_of_their_originals():
    assert divided("a", "b", "c", known={"b": ELSEWHERE}) == ([0, 2], [Repetition(1, ELSEWHERE)])


def test_an_id_that_comes_twice_is_new_once():
    assert divided("x", "a", "a", "b", "a", known={"x": ELSEWHERE}) == (
        [1, 3],
        [Repetition(0, ELSEWHERE), Repetition(2, 0), Repetition(4, 0)],
    )


def test_records_without_ids_never_repeat_each_other():
    assert divided(None, None) == ([0, 1], [])


@pytest.fixture(params=["one by one", "as columns"], autouse=True)
def way(request, monkeypatch):
    monkeypatch.setattr("goqueue.core.ids.batch.MANY", 0 if request.param == "as columns" else 1000)


@pytest.mark.parametrize("ids", [("a",), ("a", "b", "ccc"), ("a", None), (None, None), ("é" * 128, "x" * 256)])
def test_a_batch_carries_the_ids_in_its_headers(ids):
    assert carries(batch(*ids), encoded_ids(ids))
    assert carries(batch(*ids, headers=(("other", b"1"),)), encoded_ids(ids))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (("a", "b"), ("b", "a")),
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), ("a",)),
        (("a",), ("a", "b")),
        ((None, "b"), ("a", "b")),
        (("a", None), (None, "a")),
    ],
)
def test_ids_that_are_not_in_the_records_are_noticed(written, said):
    assert not carries(batch(*written), encoded_ids(said))


def test_a_header_of_another_name_is_not_an_id():
    records = codec.encode([Record(b"v", headers=(("goqueue-ix", b"a"),))])
    assert not carries(records, [b"a"])
    split = codec.encode([Record(b"v", headers=(("goqueue", b"a"),)), Record(b"v", headers=(("-idgoqueue-id", b"b"),))])
    assert not carries(split, [b"a", b"b"])


def test_a_record_may_have_an_id_header_and_be_sent_without_id():
    assert carries(batch("a", "b"), encoded_ids((None, "b")))


def test_an_id_replaces_the_one_a_record_had():
    record = with_id(with_id(Record(b"v", headers=(("h", b"1"),)), "a"), "b")
    assert record.headers == (("h", b"1"), (ID_HEADER, b"b"))
    assert id_of(record.headers) == b"b"
    assert id_of(()) is None


@pytest.mark.parametrize("text", ["", "x" * (LONGEST_ID + 1), "é" * 129, "\ud800"])
def test_an_id_that_is_none_is_refused(text):
    with pytest.raises(InvalidRequest):
        encoded_ids([text])
    with pytest.raises(InvalidRequest):
        with_id(Record(b"v"), text)
