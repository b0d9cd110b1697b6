import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.errors import InvalidRecord
from goqueue.gateways.http.forms.values import Base64, Headers, header_map, header_pairs, key_and_value, shown
from goqueue.model.record import Record

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def read(value: str, key: str | None = None) -> Record:
    raw_key = None if key is None else msgspec.Raw(key.encode())
    return key_and_value(raw_key, msgspec.Raw(value.encode()), {})


def sent(value: Any) -> bytes | None:
    return read(json.dumps(value)).value


@given(st.text())
def test_a_string_is_stored_as_its_utf_8_and_shown_as_text(text):
    assert sent(text) == text.encode()
    assert shown(text.encode(), None) == (text, "text")


@given(st.binary())
def test_bytes_come_back_bit_by_bit(data):
    assert sent({"base64": base64.b64encode(data).decode()}) == data
    value, form = shown(data, "base64")
    assert (json.loads(msgspec.json.encode(value)), form) == ({"base64": base64.b64encode(data).decode()}, "base64")


@given(ANY_JSON.filter(lambda value: value is not None and not isinstance(value, str)))
def test_json_is_stored_as_the_text_it_came_as(value):
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return
    text = json.dumps(value, indent=1)
    record = read(text)
    assert record.value == text.encode()
    assert record.headers == (("content-type", b"application/json"),)
    found, form = shown(record.value, "json")
    assert (bytes(found), form) == (text.encode(), "json")


@pytest.mark.parametrize("text", ["1e400", "123456789012345678901234567890", '{"a":1,"a":2}', "-0.0", "[ ]"])
def test_json_that_python_would_change_is_not_changed(text):
    assert read(text).value == text.encode()
    assert bytes(shown(text.encode(), "json")[0]) == text.encode()


def test_a_caller_who_says_what_the_value_is_has_the_last_word():
    record = key_and_value(None, msgspec.Raw(b"[1]"), {"Content-Type": "application/vnd.x+json"})
    assert record.headers == (("Content-Type", b"application/vnd.x+json"),)


def test_null_is_a_tombstone_as_a_value_and_no_key():
    record = read("null", "null")
    assert (record.value, record.key, record.headers) == (None, None, ())
    assert shown(None, "json") == (None, "tombstone")


def test_an_empty_key_is_not_the_same_as_none():
    assert read('"x"', '""').key == b""


def test_a_json_key_is_marked_too():
    assert read('"x"', "42").key == b"42"
    assert read('"x"', "42").headers == (("key-content-type", b"application/json"),)


@pytest.mark.parametrize("text", ['{"base64": "AA==", "more": 1}', '{"Base64": "AA=="}', '[{"base64": "AA=="}]'])
def test_only_an_object_with_nothing_but_base64_is_bytes(text):
    assert read(text).value == text.encode()


@pytest.mark.parametrize("text", ['{"base64": 5}', '{"base64": "A"}', '{"base64": "A A="}', '{"base64": null}'])
def test_bytes_that_are_not_base64_are_refused(text):
    with pytest.raises(InvalidRecord, match="the value cannot be read"):
        read(text)


@pytest.mark.parametrize(
    ("data", "form", "expected"),
    [
        (b"\xff", None, (Base64(b"\xff"), "base64")),
        (b"\xff", "text", (Base64(b"\xff"), "base64")),
        (b"\xff", "json", (Base64(b"\xff"), "base64")),
        (b"not json", "json", ("not json", "text")),
        (b"", "json", ("", "text")),
        (b'{"a": "\xff"}', "json", (Base64(b'{"a": "\xff"}'), "base64")),
        (b"[" * 10_000 + b"]" * 10_000, "json", ("[" * 10_000 + "]" * 10_000, "text")),
        (b"{}", "text", ("{}", "text")),
    ],
)
def test_what_does_not_fit_the_wanted_form_comes_in_one_that_does(data, form, expected):
    assert shown(data, form) == expected


@given(st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=4))))
def test_headers_come_back_through_json_bit_by_bit(pairs):
    back = header_pairs(msgspec.json.decode(msgspec.json.encode(header_map(tuple(pairs))), type=Headers))
    assert sorted(back) == sorted(pairs)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.binary(max_size=4))))
def test_several_headers_of_one_name_keep_their_order(pairs):
    back = header_pairs(header_map(tuple(pairs)))
    for name in "ab":
        assert [value for given, value in back if given == name] == [value for given, value in pairs if given == name]
