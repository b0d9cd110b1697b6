import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.errors import InvalidRequest
from goqueue.gateways.http.forms.times import LATEST_NS, instant_ns, instant_text, when_ns

S = 1_000_000_000


@given(st.integers(0, LATEST_NS))
def test_a_time_comes_back_as_it_went(instant):
    assert instant_ns(instant_text(instant), "at") == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("0", 0),
        ("1700000000123", 1_700_000_000_123_000_000),
        ("1970-01-01T00:00:01Z", S),
        ("1970-01-01t00:00:01z", S),
        ("1970-01-01T00:00:01.5Z", S + S // 2),
        ("1970-01-01T00:00:00.123456789999Z", 123_456_789),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00 01:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("1969-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59Z", LATEST_NS),
        ("9999999999999999", LATEST_NS),
    ],
)
def test_a_time_is_rfc_3339_or_milliseconds(text, instant):
    assert instant_ns(text, "at") == instant


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "-5", "1e3", "1" * 17, "１"),
        *("60", "1700000000"),  # a duration without a unit, or seconds
        *("1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:61Z"),
        "0001-01-01T00:00:00+23:00",
    ],
)
def test_what_is_no_time_is_refused_by_name(text):
    with pytest.raises(InvalidRequest, match=r"at = .* is not a time"):
        instant_ns(text, "at")


@pytest.mark.parametrize(
    ("given", "instant"),
    [
        (0, 0),
        ("0", 0),
        (1500, 10 * S + 1_500_000_000),
        ("30s", 40 * S),
        ("1h 30m", 5410 * S),
        ("1700000000123", 1_700_000_000_123_000_000),
        ("1970-01-01T00:00:01Z", S),
    ],
)
def test_when_is_a_duration_from_now_or_a_time(given, instant):
    assert when_ns(given, "deliverAt", now_ns=10 * S) == instant


@pytest.mark.parametrize("given", ["60", "10000000000", "soon", 10**12 + 1, -1, 1_700_000_000_123])
def test_when_is_refused_where_it_could_be_mistaken(given):
    """A number of seconds or of Unix milliseconds is not taken for milliseconds from now."""
    with pytest.raises(InvalidRequest, match=r"^deliverAt: .*(duration|between)"):
        when_ns(given, "deliverAt", now_ns=0)
