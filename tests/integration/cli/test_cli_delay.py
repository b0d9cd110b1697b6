"""`goqueue produce --delay` and `goqueue delay` against a running broker."""

import json
import time

from tests.integration.cli.driver import Cli, Inside


def test_a_delayed_record_is_written_listed_and_not_printed(goqueue: Cli, inside: Inside, topic: str) -> None:
    goqueue("produce", topic, "now")
    goqueue("produce", topic, "later", "latest", "--delay", "1h")
    goqueue("produce", topic, "sooner", "--deliver-at", _instant(60))
    assert goqueue("consume", topic) == "now\n"
    found = goqueue.json("delay", "list", topic)
    assert found["pending"] == 3
    assert [one["offset"] for one in found["records"]] == [3, 1, 2]
    assert [one["offset"] for one in goqueue.json("delay", "list", topic, "--skip", 1, "--limit", 1)["records"]] == [1]
    assert "3 in all" in goqueue("delay", "list", topic)


def test_json_lines_may_each_have_a_delay_and_the_flag_is_for_the_others(goqueue: Cli, topic: str) -> None:
    lines = [
        {"value": 1, "delay": "2h"},
        {"value": 2},
        {"value": 3, "deliverAt": _instant(60)},
        {"value": 4, "delay": 0},
    ]
    goqueue("produce", topic, "--format", "jsonl", "--delay", "1h", stdin="\n".join(map(json.dumps, lines)))
    assert [one["offset"] for one in goqueue.json("delay", "list", topic)["records"]] == [2, 1, 0]
    assert goqueue("consume", topic) == "4\n"


def test_a_delayed_record_can_be_shown_moved_and_cancelled(goqueue: Cli, topic: str) -> None:
    goqueue("produce", topic, "later", "--key", "k", "--delay", "1h")
    shown = goqueue.json("delay", "show", topic, 0, 0)
    assert (shown["state"], shown["key"], shown["value"]) == ("pending", "k", "later")
    assert "pending" in goqueue("delay", "show", topic, 0, 0)
    assert "is delivered at 20" in goqueue("delay", "reschedule", topic, 0, 0, "--delay", "2h")
    refused = goqueue.run("delay", "cancel", topic, 0, 0)
    assert (refused.code, refused.err.splitlines()[-1]) == (2, "hint: add --yes if it is meant")
    assert goqueue("delay", "cancel", topic, 0, 0, "--yes") == f"cancelled record 0 of {topic}/0\n"
    assert goqueue.json("delay", "show", topic, 0, 0)["state"] == "cancelled"
    assert goqueue("delay", "list", topic) == f"no record of {topic} is delayed\n"
    (line,) = [one for one in goqueue.json("delay", "stats") if one["topic"] == topic]
    assert (line["pending"], line["cancelled"], line["next_due"]) == (0, 1, None)
    assert topic in goqueue("delay", "stats")
    assert goqueue("consume", topic) == ""


def test_many_delayed_records_are_cancelled_at_once(goqueue: Cli, topic: str) -> None:
    goqueue("produce", topic, *"abcdef", "--partition", 0, "--delay", "1h")
    refused = goqueue.run("delay", "cancel", topic, "0/0", "0/2-4")
    assert (refused.code, refused.err.splitlines()[-1]) == (2, "hint: add --yes if it is meant")
    assert goqueue.json("delay", "list", topic)["pending"] == 6
    assert goqueue("delay", "cancel", topic, "0/0", "0/2-4", "--yes") == f"cancelled 4 records of {topic}\n"
    assert [one["offset"] for one in goqueue.json("delay", "list", topic)["records"]] == [1, 5]
    assert goqueue("delay", "cancel", topic, "0/1", "--yes") == f"cancelled record 1 of {topic}/0\n"


def test_what_cannot_be_cancelled_is_told_and_stops_no_other(goqueue: Cli, topic: str) -> None:
    goqueue("produce", topic, "now", "--partition", 0)
    goqueue("produce", topic, "later", "last", "--partition", 0, "--delay", "1h")
    done = goqueue.run("delay", "cancel", topic, "0/0-1", "7/0", "--yes")
    assert (done.code, done.out) == (1, f"cancelled record 1 of {topic}/0\n")
    first, second = done.err.splitlines()
    assert first == f"error: record 0 of {topic}/0: the record is not delayed"
    assert second.startswith(f"error: record 0 of {topic}/7: ")
    done = goqueue.run("delay", "cancel", topic, "0/0-2", "--yes", "--output", "json")
    assert done.code == 1
    facts = json.loads(done.out)
    assert facts["cancelled"] == [{"partition": 0, "offset": 1}, {"partition": 0, "offset": 2}]
    assert [(one["offset"], one["code"]) for one in facts["not_cancelled"]] == [(0, "unknown_delay")]


def test_a_record_moved_to_now_is_delivered(goqueue: Cli, topic: str) -> None:
    goqueue("produce", topic, "later", "--delay", "1h")
    goqueue("delay", "reschedule", topic, 0, 0, "--delay", 0)
    deadline = time.monotonic() + 5
    while goqueue("consume", topic) != "later\n":
        assert time.monotonic() < deadline


def test_what_cannot_be_is_an_error_with_a_hint(goqueue: Cli, topic: str) -> None:
    goqueue("produce", topic, "now")
    for flags, code, message in (
        (("produce", topic, "v", "--delay", "soon"), 2, "error: --delay: 'soon' is not a duration"),
        (("produce", topic, "v", "--delay", "60"), 2, "error: --delay: the duration '60' has no unit"),
        (("produce", topic, "v", "--deliver-at", "60"), 2, "error: --deliver-at: the duration '60' has no unit"),
        (("produce", topic, "v", "--deliver-at", "2026-13-01"), 2, "error: --deliver-at 2026-13-01 is not a time"),
        (("produce", topic, "v", "--delay", "1s", "--deliver-at", "x"), 2, "error: both --delay and --deliver-at"),
        (("produce", topic, "v", "--delay", "8d"), 1, "error: value 1: a delay of 691200000 ms, but"),
        (("delay", "reschedule", topic, 0, 0), 2, "error: no time is given"),
        (("delay", "show", topic, 0, 0), 1, f"error: record 0 of {topic}/0 is not delayed"),
        (("delay", "list", f"{topic}-not"), 1, "error: there is no topic"),
        (("delay", "cancel", topic, "17", "--yes"), 2, "error: '17' is not a place"),
        (("delay", "cancel", topic, "0/5-2", "0/1", "--yes"), 2, "error: '0/5-2' has its ends the wrong way round"),
        (("delay", "cancel", topic, "0/0-9999", "1/0", "--yes"), 2, "error: 10001 offsets"),
        (("delay", "cancel", f"{topic}-not", "0/0-5", "--yes"), 1, "error: there is no topic"),
    ):
        done = goqueue.run(*flags)
        assert (done.code, done.out) == (code, ""), done
        assert done.err.startswith(message), done
        assert "\nhint: " in done.err, done


def _instant(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
