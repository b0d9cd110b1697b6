"""A dead letter that is changed by hand: what nobody touched goes back byte for byte."""

import pytest
from msgspec import UNSET

from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER
from goqueue.errors import InvalidRequest
from goqueue.gateways.console.editing import edit_of, editable
from goqueue.model.record import Record

ONE_LINE = b'{"a":1,"b":[1,2]}'


def as_sent(texts: dict[str, str | None]) -> dict[str, str]:
    """What a browser makes of a form: every end of a line is two characters."""
    return {name: text.replace("\r\n", "\n").replace("\n", "\r\n") for name, text in texts.items() if text is not None}


JSON = (
    ONE_LINE,
    b'{"a": 1}',
    b'{\n "a": 1\n}',
    b'{"a": 1, "a": 2}',
    b'{"a": 1.10, "n": 123456789012345678901234567890}',
)
TEXT = (b"plain", b"", b"two\nlines", b"two\r\nlines\r\n", b"\n\nfirst", b"{not json", b"x" * 200_000)
BINARY = (b"\xff\xfe", b"a\x00b", b"a\rb")


@pytest.mark.parametrize("value", [*JSON, *TEXT, *BINARY, None], ids=lambda value: repr(value)[:40])
def test_what_comes_back_as_it_was_is_not_an_edit(value: bytes | None) -> None:
    record = Record(value, b"key", (("a", b"1"), ("b", b"x: y")))
    edit = edit_of(record, as_sent(editable(record)))
    assert (edit.value, edit.key, edit.headers, edit.topic) == (UNSET, UNSET, UNSET, None)


@pytest.mark.parametrize(
    ("before", "typed", "after"),
    [
        (ONE_LINE, '{\r\n  "a": 2\r\n}', b'{"a":2}'),
        (b'{"a": 1, "b": 2}', '{\r\n  "a": 3,\r\n  "b": 2\r\n}', b'{"a": 3, "b": 2}'),
        (b'{\n  "a": 1\n}', '{\r\n  "a": 2\r\n}', b'{\n  "a": 2\n}'),
        (b'{"a": 1}', "no longer json", b"no longer json"),
        (b"one\r\ntwo", "one\r\nthree", b"one\r\nthree"),
        (b"one\ntwo", "one\r\nthree", b"one\nthree"),
    ],
)
def test_a_value_is_written_in_the_layout_it_had(before: bytes, typed: str, after: bytes) -> None:
    assert edit_of(Record(before), {"value": typed}).value == after


def test_headers_of_the_broker_are_neither_shown_nor_lost_sight_of() -> None:
    record = Record(b"x", None, (("source", b"desk"), (DEAD_LETTER_HEADER, b"{}")))
    assert editable(record)["headers"] == "source: desk"
    assert edit_of(record, {"headers": "source: shop\r\nby: anna"}).headers == (("source", b"shop"), ("by", b"anna"))
    assert edit_of(record, {"headers": ""}).headers == ()


@pytest.mark.parametrize(
    "header", [("a:b", b"1"), ("a", b"\xff"), ("a", b" padded "), ("a", b"two\nlines"), (" a", b"1"), ("a\n", b"1")]
)
def test_headers_that_lines_cannot_hold_are_left_as_they_are(header: tuple[str, bytes]) -> None:
    record = Record(b"x", None, (header,))
    assert editable(record)["headers"] is None
    assert edit_of(record, {"headers": "something: else"}).headers is UNSET


def test_a_record_without_a_key_gets_one_only_when_it_is_typed() -> None:
    assert edit_of(Record(b"x"), {"key": ""}).key is UNSET
    assert edit_of(Record(b"x"), {"key": "k"}).key == b"k"
    assert edit_of(Record(b"x", b"k"), {"key": "other"}).key == b"other"


def test_a_topic_that_cannot_be_one_is_refused() -> None:
    assert edit_of(Record(b"x"), {"topic": " orders "}).topic == "orders"
    with pytest.raises(InvalidRequest):
        edit_of(Record(b"x"), {"headers": "no colon"})
