"""Figures as they are written, and what people type as it is read."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.errors import InvalidRequest
from goqueue.gateways.console import figures, forms
from goqueue.gateways.console.curl import publish_command
from goqueue.gateways.console.links import link
from goqueue.gateways.console.values import preview, shown
from goqueue.model.durations import parse_duration_ms
from goqueue.model.record import Record


@given(st.integers(0, 10**12))
def test_a_length_of_time_is_read_as_it_was_written(milliseconds):
    assert parse_duration_ms(forms.duration_text(milliseconds)) == milliseconds


@given(st.integers(0, 1 << 50))
def test_a_size_is_read_as_it_was_written(number):
    assert forms.byte_count(forms.size_text(number), "x") == number


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01 00:00:01", 1_000_000_000),
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T01:00:01+01:00", 1_000_000_000),
        ("1000", 1_000_000_000),
        ("1960-01-01", 0),
    ],
)
def test_a_time_is_read(text, instant):
    assert forms.instant_ns(text, "x") == instant


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "2026-01-01T99:00", "9" * 30])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InvalidRequest):
        forms.instant_ns(text, "x")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (7, "7"), (0.5, "0.5"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (999_999, "1M"), (3.2e9, "3.2G")],
)
def test_a_rate_has_three_digits(number, text):
    assert figures.compact(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (10**7, "9.54 MiB")]
)
def test_a_size_has_three_digits(number, text):
    assert figures.size(number) == text


@given(st.binary(max_size=300), st.sampled_from(["auto", "json", "text", "hex"]))
def test_any_bytes_can_be_shown_in_any_form(value, form):
    assert isinstance(shown(value, form).text, str)
    assert "\n" not in preview(value)


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_link_holds_nothing_that_ends_it(part, value):
    made = link("topics", part, q=value)
    assert not set(made) & set("\"'<> \n")
    assert made.count("/") == 3


@given(st.binary(max_size=50), st.one_of(st.none(), st.binary(max_size=50)))
def test_a_command_is_one_line_for_a_shell(value, key):
    words = shlex.split(publish_command("localhost:8080", "orders", Record(value, key, (("h", value),), 1)))
    assert words[:3] == ["curl", "-X", "POST"]
    assert len(words) == 6
