"""The pattern of durations within bounds names those that the parser puts within them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.model.durations import duration_pattern, parse_duration_ms

HOUR_MS = 3_600_000
BOUNDS = [(0, 60_000), (1, 12 * HOUR_MS), (100, 1_800_000), (0, 10**12), (7, 7), (999, 1001)]
PATTERNS = [(least, most, re.compile(duration_pattern(least, most))) for least, most in BOUNDS]


@given(st.data(), st.sampled_from(PATTERNS))
def test_what_fits_the_pattern_is_within_the_bounds(data, bounds):
    least, most, pattern = bounds
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    assert least <= parse_duration_ms(text) <= most


@given(st.integers(0, 2 * 10**12), st.sampled_from(PATTERNS))
def test_every_number_of_milliseconds_within_the_bounds_fits_the_pattern(number, bounds):
    least, most, pattern = bounds
    for ms in (number, number % (2 * most + 1)):
        assert (pattern.fullmatch(f"{ms}ms") is not None) == (least <= ms <= min(most, 10**12 - 1))


@pytest.mark.parametrize("text", ["0", "30s", "1m", "1.5s", "59s 999ms", "0.25 m", "1 s"])
def test_the_usual_spellings_fit(text):
    assert re.fullmatch(duration_pattern(0, 60_000), text)


@pytest.mark.parametrize(("text", "fits"), [("1s", True), ("2m 30s", True), ("5000ms", False), ("1.5h", False)])
def test_with_a_step_only_whole_units_that_are_as_long_fit(text, fits):
    assert (re.fullmatch(duration_pattern(1000, 86_400_000, 1000), text) is not None) == fits
