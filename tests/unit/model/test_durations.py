import pytest

from goqueue.errors import InvalidRequest
from goqueue.model.durations import parse_duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("0ms", 0),
        ("250ms", 250),
        ("30s", 30_000),
        ("5m", 300_000),
        ("5 m", 300_000),
        ("1.5h", 5_400_000),
        ("1h 30m", 5_400_000),
        ("1h30m", 5_400_000),
        ("1d", 86_400_000),
        ("2w", 1_209_600_000),
        ("999999999999d", 999_999_999_999 * 86_400_000),
    ],
)
def test_a_duration_is_a_number_with_a_unit(text, milliseconds):
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["60", "1", "007", "1" * 13])
def test_a_duration_without_a_unit_is_refused_and_the_hint_names_two(text):
    with pytest.raises(InvalidRequest, match=r"timeout: the duration '\d+' has no unit") as caught:
        parse_duration_ms(text, "timeout")
    assert f"write {text[:12]}s for seconds, {text[:12]}ms for milliseconds" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "s", "-1s", "5 parsecs", "1h and 5m", "5s5", "1e9s", "٣s", "٣", "30s\n", " 30s", "1h  30m"]
)
def test_what_is_no_duration_is_refused_by_name(text):
    with pytest.raises(InvalidRequest, match=r"timeout: .* is not a duration"):
        parse_duration_ms(text, "timeout")
