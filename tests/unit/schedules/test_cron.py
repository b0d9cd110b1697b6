"""Which instants expressions and fixed rates name, away from clock changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.schedules.cron import CronTimes, EveryTimes, latest_between, next_after, occurrences_between
from goqueue.core.schedules.local.expression import check_expression
from goqueue.core.schedules.local.zones import check_zone
from goqueue.errors import InvalidRequest
from tests.unit.schedules.scene import MINUTE, SECOND, at, shown

NOW = "2026-06-03 12:30"  # a Wednesday


@pytest.mark.parametrize(
    ("expression", "first", "second"),
    [
        ("* * * * *", "2026-06-03 12:31", "2026-06-03 12:32"),
        ("*/20 * * * *", "2026-06-03 12:40", "2026-06-03 13:00"),
        ("5,50 * * * *", "2026-06-03 12:50", "2026-06-03 13:05"),
        ("0 9-17/4 * * *", "2026-06-03 13:00", "2026-06-03 17:00"),
        ("0 9 * * MON-FRI", "2026-06-04 09:00", "2026-06-05 09:00"),
        ("0 9 * * sat,sun", "2026-06-06 09:00", "2026-06-07 09:00"),
        ("0 9 * * 7", "2026-06-07 09:00", "2026-06-14 09:00"),
        ("0 0 1 JAN,JUL *", "2026-07-01 00:00", "2027-01-01 00:00"),
        ("0 0 31 * *", "2026-07-31 00:00", "2026-08-31 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00", "2032-02-29 00:00"),
        ("0 0 13 * FRI", "2026-06-05 00:00", "2026-06-12 00:00"),
        ("@hourly", "2026-06-03 13:00", "2026-06-03 14:00"),
        ("@daily", "2026-06-04 00:00", "2026-06-05 00:00"),
        ("@weekly", "2026-06-07 00:00", "2026-06-14 00:00"),
        ("@monthly", "2026-07-01 00:00", "2026-08-01 00:00"),
        ("@YEARLY", "2027-01-01 00:00", "2028-01-01 00:00"),
        ("*/15 * * * * *", "2026-06-03 12:30:15", "2026-06-03 12:30:30"),
        ("30 0 9 * * *", "2026-06-04 09:00:30", "2026-06-05 09:00:30"),
    ],
)
def test_an_expression_names_its_instants(expression, first, second):
    check_expression(expression)
    found = occurrences_between(CronTimes(expression), at(NOW), at("2040-01-01 00:00"), 2)
    assert [shown(each) for each in found] == [first, second]


def test_the_next_one_is_strictly_later_to_the_nanosecond():
    hourly = CronTimes("0 * * * *")
    noon = at("2026-06-03 12:00")
    assert next_after(hourly, noon - 1) == noon
    assert next_after(hourly, noon) == next_after(hourly, noon + 1) == at("2026-06-03 13:00")


def test_a_zone_says_what_the_hours_mean():
    assert shown(next_after(CronTimes("0 9 * * *", "Asia/Kathmandu"), at(NOW))) == "2026-06-04 03:15"
    assert shown(next_after(CronTimes("0 9 * * *", "America/New_York"), at(NOW))) == "2026-06-03 13:00"


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8"),
        *("*/0 * * * *", "0 0 30 2 *", "5-1 * * * *", "a * * * *", "@reboot", "0 0 ? * *", "² * * * *"),
        "1" * 5000 + " * * * *",
    ],
)
def test_what_is_no_expression_is_refused_with_a_hint(wrong):
    with pytest.raises(InvalidRequest) as refusal:
        check_expression(wrong)
    assert refusal.value.hint


@settings(max_examples=100)
@given(st.lists(st.text("0123456789*/-,#LWMONJAN@?", max_size=8), min_size=4, max_size=7).map(" ".join))
def test_any_text_is_either_refused_or_can_be_searched(text):
    try:
        check_expression(text)
    except InvalidRequest:
        return
    found = next_after(CronTimes(text, "Europe/Berlin"), at(NOW))
    assert found is None or found > at(NOW)


def test_a_day_that_never_comes_has_no_occurrence():
    assert next_after(CronTimes("* * */20 * 1L"), at(NOW)) is None


def test_occurrences_end_with_the_instants_that_can_be_kept():
    assert next_after(CronTimes("0 0 1 1 *"), at("2262-01-01 00:00")) is None
    assert next_after(EveryTimes(86400, at(NOW)), at("2262-04-11 20:00")) is None


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "Asia/Kathmandu", "Etc/GMT+5", "US/Eastern"])
def test_zones_of_the_database_are_known(zone):
    check_zone(zone)


@pytest.mark.parametrize(
    "zone",
    ["", "Berlin", "Europe", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "localtime", "right/UTC", "a\0b"],
)
def test_what_is_no_zone_is_refused_with_a_hint(zone):
    with pytest.raises(InvalidRequest) as refusal:
        check_zone(zone)
    assert "IANA" in refusal.value.hint


def test_a_fixed_rate_is_counted_from_its_anchor_whatever_is_asked():
    spec = EveryTimes(90, at(NOW))
    assert next_after(spec, at("2020-01-01 00:00")) == at(NOW)
    assert next_after(spec, at(NOW)) == at(NOW) + 90 * SECOND
    assert next_after(spec, at(NOW) + 90 * SECOND - 1) == at(NOW) + 90 * SECOND
    assert next_after(spec, at(NOW) + 900 * SECOND) == at(NOW) + 990 * SECOND


def test_the_first_of_many_are_given_and_none_behind_the_end():
    minutely = CronTimes("* * * * *")
    found = occurrences_between(minutely, at(NOW), at(NOW) + 3 * MINUTE, 10)
    assert found == [at(NOW) + number * MINUTE for number in (1, 2, 3)]
    assert occurrences_between(minutely, at(NOW), at(NOW) + 3 * MINUTE, 2) == found[:2]
    assert occurrences_between(minutely, at(NOW), at(NOW) - MINUTE, 2) == []


@settings(max_examples=40)
@given(
    expression=st.sampled_from(
        ["* * * * *", "*/7 2 * * *", "0 0 * * MON", "* 3 27 * *", "*/5 * 3 * * *", "0 9,10 * * *"]
    ),
    hours=st.integers(0, 150),
    most=st.integers(1, 30),
)
def test_the_latest_are_the_end_of_all_of_them(expression, hours, most):
    spec = CronTimes(expression, "Europe/Berlin")
    after, until = at("2026-09-25 00:00"), at("2026-09-25 00:00") + hours * 60 * MINUTE
    everything = occurrences_between(spec, after, until, 200_000)
    assert latest_between(spec, after, until, most) == everything[-most:]


def test_the_latest_of_many_millions_are_found_without_counting_through():
    second_by_second = CronTimes("* * * * 1 *")
    found = latest_between(second_by_second, at("2000-01-01 00:00"), at("2026-06-03 00:00"), 3)
    assert [shown(each) for each in found] == ["2026-01-31 23:59:57", "2026-01-31 23:59:58", "2026-01-31 23:59:59"]
