"""Which message of a file a record names, and how that is written in front of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.schemas.protobuf.framing import (
    message_indexes,
    message_name,
)
from goqueue.errors import InvalidRecord
from goqueue.wire.framed_values import message_path, read_message_path
from tests.unit.core.schemas.protobuf.protos import PROTOBUF, proto3

SCHEMA = proto3(
    "message A { message B {} message C { message D {} } } message E { map<string, A> m = 1; message F {} }"
)


@pytest.mark.parametrize(
    ("name", "path", "encoded"),
    [
        ("shop.A", (0,), b"\x00"),
        ("shop.E", (1,), b"\x02\x02"),
        ("shop.A.B", (0, 0), b"\x04\x00\x00"),
        ("shop.A.C.D", (0, 1, 0), b"\x06\x00\x02\x00"),
    ],
)
def test_a_message_has_a_path_and_the_path_has_bytes(name, path, encoded):
    assert message_indexes(SCHEMA, name) == path
    assert message_name(SCHEMA, path) == name
    assert message_path(path) == encoded
    assert read_message_path(b"\x00" * 5 + encoded + b"rest", 5) == (path, 5 + len(encoded))


def test_a_file_without_package_has_plain_names():
    plain = PROTOBUF.parse('syntax = "proto3"; message A { message B {} }', {})
    assert message_indexes(plain, "A.B") == (0, 0)
    assert message_name(plain, (0, 0)) == "A.B"


@given(st.lists(st.integers(0, (1 << 31) - 1), min_size=1, max_size=40))
def test_every_path_survives_encoding(path):
    encoded = message_path(path)
    assert read_message_path(encoded, 0) == (tuple(path), len(encoded))


@given(st.binary(max_size=30))
def test_any_bytes_are_a_path_or_refused(data):
    try:
        path, end = read_message_path(data, 0)
    except InvalidRecord:
        return
    assert all(index >= 0 for index in path)
    assert 0 < end <= len(data)


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x01", b"\xff\xff\xff\xff\xff\x01", b"\x80\x80\x04", b"\x02\x01"])
def test_damaged_paths_are_refused(data):
    with pytest.raises(InvalidRecord):
        read_message_path(data, 0)


@pytest.mark.parametrize("name", ["A", "shop", "shop.", "shop.Z", "shop.A.Z", "other.A", ""])
def test_unknown_names_are_refused(name):
    with pytest.raises(InvalidRecord, match="no message"):
        message_indexes(SCHEMA, name)


@pytest.mark.parametrize("path", [(), (2,), (0, 2), (-1,), (0, 0, 0)])
def test_unknown_paths_are_refused(path):
    with pytest.raises(InvalidRecord):
        message_name(SCHEMA, path)
