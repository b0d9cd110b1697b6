"""Timelines of charts: the last ten minutes by the second, the last hour by ten seconds, in bounded memory."""

import tracemalloc

from goqueue.gateways.console.timeline import Timeline


def filled(seconds: int) -> Timeline:
    """The first value counts the seconds, the second one is always 4."""
    timeline = Timeline(("count", "four"))
    for second in range(seconds):
        timeline.add(1000.0 + second, (float(second), 4.0))
    return timeline


def test_ten_minutes_are_shown_second_by_second():
    points = filled(700).points(("count", "four"), 10, is_first=True)
    assert points.t == [1100.0 + second for second in range(600)]
    assert points.y == [[100.0 + second for second in range(600)], [4.0] * 600]


def test_a_minute_is_the_last_sixty_seconds():
    assert filled(700).points(("count",), 1, is_first=True).y == [[640.0 + second for second in range(60)]]


def test_an_hour_is_shown_in_means_of_ten_seconds():
    points = filled(7200).points(("count",), 60, is_first=True)
    assert len(points.t) == 361
    assert {after - before for before, after in zip(points.t, points.t[1:], strict=False)} == {10.0}
    assert points.t[-1] == 8190.0
    assert points.y[0][-2:] == [7184.5, 7194.5]


def test_the_ten_seconds_under_way_are_sent_again_until_they_are_over():
    timeline = filled(12)
    assert timeline.points(("count",), 60, is_first=False).t == [1000.0, 1010.0]
    assert timeline.points(("count",), 60, is_first=False).y == [[4.5, 10.5]]
    timeline.add(1012.0, (20.0, 4.0))
    assert timeline.points(("count",), 60, is_first=False).y == [[4.5, (10 + 11 + 20) / 3]]


def test_after_the_first_time_only_what_is_new_is_sent():
    assert filled(30).points(("count",), 10, is_first=False).t == [1029.0]


def test_nothing_is_shown_before_the_first_second():
    timeline = Timeline(("count",))
    assert timeline.points(("count",), 10, is_first=True).t == []
    assert timeline.points(("count",), 60, is_first=False).y == [[]]
    assert timeline.last("count") == 0.0


def test_the_history_of_two_hundred_topics_takes_less_than_sixteen_megabytes():
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [Timeline(tuple("abcdef")) for _ in range(20)]
    for second in range(4000):
        for one in kept:
            one.add(float(second), (1.5, 2.5, 3.5, 4.5, 5.5, 6.5))
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(kept[0]) == 600
    assert taken * 10 < 16 * 1024 * 1024
