"""What happens to occurrences on the days when clocks are changed. All instants are UTC, worked out by hand.

Berlin: ahead on 29 March 2026 at 01:00 UTC (02:00 becomes 03:00), back on 25 October at 01:00 UTC (03:00 becomes
02:00). New York: ahead on 8 March at 07:00 UTC, back on 1 November at 06:00 UTC (02:00 becomes 01:00). Lord Howe: back
on 5 April, which is 15:00 UTC on the 4th (02:00 becomes 01:30), ahead on 4 October, which is 15:30 UTC on the 3rd
(02:00 becomes 02:30).
"""

from datetime import date

import pytest

from goqueue.core.schedules.cron import CronTimes, Gap, Overlap, next_after, occurrences_between
from tests.unit.schedules import naive
from tests.unit.schedules.scene import SECOND, at, shown

BERLIN = "Europe/Berlin"
NEW_YORK = "America/New_York"
LORD_HOWE = "Australia/Lord_Howe"


def times(expression, zone, after, until, **policies):
    spec = CronTimes(expression, zone, **policies)
    found = [shown(each) for each in occurrences_between(spec, at(after), at(until), 1000)]
    one_by_one, instant = [], at(after)
    while (instant := next_after(spec, instant)) is not None and instant <= at(until):
        one_by_one.append(shown(instant))
    assert one_by_one == found
    return found


def test_a_daily_job_in_the_skipped_hour_runs_right_after_the_gap():
    assert times("30 2 * * *", BERLIN, "2026-03-28 00:00", "2026-03-31 00:00") == [
        "2026-03-28 01:30",
        "2026-03-29 01:00",
        "2026-03-30 00:30",
    ]
    assert times("30 2 * * *", NEW_YORK, "2026-03-07 00:00", "2026-03-10 00:00") == [
        "2026-03-07 07:30",
        "2026-03-08 07:00",
        "2026-03-09 06:30",
    ]


def test_a_daily_job_in_the_skipped_hour_is_left_out_on_that_day_when_asked_to_skip():
    assert times("30 2 * * *", BERLIN, "2026-03-28 00:00", "2026-03-31 00:00", gap=Gap.SKIP) == [
        "2026-03-28 01:30",
        "2026-03-30 00:30",
    ]


def test_a_daily_job_in_the_repeated_hour_runs_once_at_its_first_reading():
    assert times("30 2 * * *", BERLIN, "2026-10-24 00:00", "2026-10-27 00:00") == [
        "2026-10-24 00:30",
        "2026-10-25 00:30",
        "2026-10-26 01:30",
    ]
    assert times("30 1 * * *", NEW_YORK, "2026-10-31 00:00", "2026-11-03 00:00") == [
        "2026-10-31 05:30",
        "2026-11-01 05:30",
        "2026-11-02 06:30",
    ]


def test_a_daily_job_in_the_repeated_hour_can_be_asked_for_its_second_reading_or_both():
    span = (BERLIN, "2026-10-25 00:00", "2026-10-26 00:00")
    assert times("30 2 * * *", *span, overlap=Overlap.SECOND) == ["2026-10-25 01:30"]
    assert times("30 2 * * *", *span, overlap=Overlap.BOTH) == ["2026-10-25 00:30", "2026-10-25 01:30"]


def test_readings_of_a_repeated_hour_come_in_the_order_of_time():
    assert times("0,30 2 * * *", BERLIN, "2026-10-24 23:00", "2026-10-25 03:00", overlap=Overlap.BOTH) == [
        "2026-10-25 00:00",
        "2026-10-25 00:30",
        "2026-10-25 01:00",
        "2026-10-25 01:30",
    ]


def test_several_times_in_one_gap_and_the_one_right_after_it_run_once():
    assert times("0,15,30 2,3 * * *", BERLIN, "2026-03-29 00:00", "2026-03-29 03:00") == [
        "2026-03-29 01:00",
        "2026-03-29 01:15",
        "2026-03-29 01:30",
    ]


def test_the_edges_of_a_gap_and_of_an_overlap_belong_where_clocks_show_them():
    assert times("59 1 * * *", BERLIN, "2026-03-29 00:00", "2026-03-30 00:00") == [
        "2026-03-29 00:59",
        "2026-03-29 23:59",
    ]
    assert times("0 3 * * *", BERLIN, "2026-03-29 00:00", "2026-03-30 00:00", gap=Gap.SKIP) == ["2026-03-29 01:00"]
    # 02:00 is shown twice, 03:00 only once: at its first chance the clocks go back.
    span = (BERLIN, "2026-10-24 12:00", "2026-10-25 12:00")
    assert times("0 2 * * *", *span) == ["2026-10-25 00:00"]
    assert times("0 2 * * *", *span, overlap=Overlap.SECOND) == ["2026-10-25 01:00"]
    assert times("59 2 * * *", *span, overlap=Overlap.SECOND) == ["2026-10-25 01:59"]
    assert times("0 3 * * *", *span, overlap=Overlap.BOTH) == ["2026-10-25 02:00"]


def test_a_second_reading_is_found_from_between_the_two():
    second = CronTimes("30 2 * * *", BERLIN, overlap=Overlap.SECOND)
    assert shown(next_after(second, at("2026-10-25 00:45"))) == "2026-10-25 01:30"
    yearly = CronTimes("30 2 25 10 *", BERLIN, overlap=Overlap.SECOND)
    assert shown(next_after(yearly, at("2026-10-25 00:59"))) == "2026-10-25 01:30"
    first = CronTimes("30 2 * * *", BERLIN)
    assert shown(next_after(first, at("2026-10-25 01:00"))) == "2026-10-26 01:30"


def test_half_an_hour_is_skipped_and_repeated_on_lord_howe():
    assert times("15 2 * * *", LORD_HOWE, "2026-10-02 12:00", "2026-10-05 00:00") == [
        "2026-10-02 15:45",
        "2026-10-03 15:30",
        "2026-10-04 15:15",
    ]
    assert times("45 2 * * *", LORD_HOWE, "2026-10-03 12:00", "2026-10-04 12:00") == ["2026-10-03 15:45"]
    assert times("45 1 * * *", LORD_HOWE, "2026-04-03 12:00", "2026-04-06 00:00") == [
        "2026-04-03 14:45",
        "2026-04-04 14:45",
        "2026-04-05 15:15",
    ]
    span = (LORD_HOWE, "2026-04-04 12:00", "2026-04-05 12:00")
    assert times("45 1 * * *", *span, overlap=Overlap.BOTH) == ["2026-04-04 14:45", "2026-04-04 15:15"]
    assert times("15 1 * * *", *span, overlap=Overlap.BOTH) == ["2026-04-04 14:15"]


def test_a_zone_without_clock_changes_has_the_same_time_all_year():
    for day in ("2026-03-29", "2026-07-01", "2026-10-25"):
        # Kathmandu is 5:45 ahead of UTC.
        assert times("30 2 * * *", "Asia/Kathmandu", f"{day} 00:00", f"{day} 23:59") == [f"{day} 20:45"]


@pytest.mark.parametrize("gap", Gap)
@pytest.mark.parametrize("overlap", Overlap)
def test_a_job_of_every_half_hour_runs_through_by_elapsed_time(gap, overlap):
    for start, end in (("2026-03-29 00:00", "2026-03-29 03:00"), ("2026-10-25 00:00", "2026-10-25 03:00")):
        found = times("*/30 * * * *", BERLIN, start, end, gap=gap, overlap=overlap)
        assert found == [shown(at(start) + number * 1800 * SECOND) for number in range(1, 7)]


def test_an_hourly_job_runs_each_elapsed_hour():
    assert times("@hourly", NEW_YORK, "2026-11-01 04:00", "2026-11-01 08:00") == [
        "2026-11-01 05:00",
        "2026-11-01 06:00",
        "2026-11-01 07:00",
        "2026-11-01 08:00",
    ]


def test_a_job_of_every_few_hours_runs_when_clocks_show_its_hours():
    assert times("0 */2 * * *", BERLIN, "2026-03-28 22:30", "2026-03-29 05:00") == [
        "2026-03-28 23:00",
        "2026-03-29 02:00",
        "2026-03-29 04:00",
    ]


def test_a_step_that_leaves_one_hour_is_a_time_of_day():
    span = (BERLIN, "2026-10-25 00:00", "2026-10-26 00:00")
    assert times("30 2/24 * * *", *span) == times("30 2 * * *", *span) == ["2026-10-25 00:30"]


def test_seconds_follow_the_same_policies():
    assert times("*/20 30 2 * * *", BERLIN, "2026-10-25 00:00", "2026-10-26 00:00") == [
        "2026-10-25 00:30",
        "2026-10-25 00:30:20",
        "2026-10-25 00:30:40",
    ]
    assert times("*/20 30 2 * * *", BERLIN, "2026-03-29 00:00", "2026-03-29 23:00") == ["2026-03-29 01:00"]


def test_midnight_that_does_not_exist_is_shifted_and_hides_no_later_time():
    # Cairo went ahead on 24 April 2026 at 00:00, which is 22:00 UTC the day before.
    assert times("@daily", "Africa/Cairo", "2026-04-23 12:00", "2026-04-25 12:00") == [
        "2026-04-23 22:00",
        "2026-04-24 21:00",
    ]
    assert times("30 1 * * FRI", "Africa/Cairo", "2026-04-23 12:00", "2026-04-25 12:00") == ["2026-04-23 22:30"]


def test_a_whole_day_that_a_zone_left_out_is_made_up_for_once():
    # Samoa had no 30 December 2011; the 31st began at 10:00 UTC on the 30th.
    assert times("0 8 * * *", "Pacific/Apia", "2011-12-29 12:00", "2011-12-31 12:00") == [
        "2011-12-29 18:00",
        "2011-12-30 10:00",
        "2011-12-30 18:00",
    ]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE, "Asia/Kathmandu", "Africa/Cairo", "America/Havana"])
@pytest.mark.parametrize(
    ("hour", "hours", "gap", "overlap"),
    [
        ("23,0,1,2,3", {23, 0, 1, 2, 3}, Gap.SHIFT, Overlap.FIRST),
        ("23,0,1,2,3", {23, 0, 1, 2, 3}, Gap.SKIP, Overlap.SECOND),
        ("23,0,1,2,3", {23, 0, 1, 2, 3}, Gap.SHIFT, Overlap.BOTH),
        ("*/3", {0, 3, 6, 9, 12, 15, 18, 21}, Gap.SHIFT, Overlap.FIRST),
    ],
)
def test_spring_and_autumn_agree_with_a_reading_by_reading_search(zone, hour, hours, gap, overlap):
    spec = CronTimes(f"0,45 {hour} * * *", zone, gap, overlap)
    for first, days in ((date(2026, 3, 1), 60), (date(2026, 9, 30), 40)):
        expected = naive.occurrences(
            {0, 45}, hours, zone=zone, first=first, days=days, through="*" in hour, gap=gap, overlap=overlap
        )
        after = at(f"{first} 00:00") + 24 * 3600 * SECOND
        until = after + (days - 2) * 24 * 3600 * SECOND
        found = occurrences_between(spec, after, until, 100_000)
        assert found == [each * SECOND for each in expected if after < each * SECOND <= until]
