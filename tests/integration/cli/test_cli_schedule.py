"""`goqueue schedule` against a running broker."""

import time

from tests.integration.cli.driver import SECONDS, Cli


def test_a_schedule_is_made_fires_and_is_deleted(goqueue: Cli, numbers: str) -> None:
    schedule = f"every-second-{numbers}"
    made = goqueue.json("schedule", "create", schedule, numbers, "--every", "1s", "--value", "ping", "--max-firings", 2)
    assert (made["status"], made["every_s"], made["value"]) == ("active", 1, "ping")
    until = time.monotonic() + SECONDS
    while (found := goqueue.json("schedule", "show", schedule))["status"] != "ended":
        assert time.monotonic() < until
    assert (found["fired"], [one["outcome"] for one in found["history"]]) == (2, ["fired", "fired"])
    assert goqueue("consume", numbers, "--from", 10, "--count", 2).count("ping") == 2
    assert schedule in goqueue("schedule", "list")
    assert "fired" in goqueue("schedule", "show", schedule)
    assert "deleted" in goqueue("schedule", "delete", schedule, "--yes")


def test_a_schedule_is_changed_paused_and_resumed(goqueue: Cli, numbers: str) -> None:
    schedule = f"daily-{numbers}"
    goqueue("schedule", "create", schedule, numbers, "--cron", "0 9 * * MON-FRI", "--zone", "Europe/Berlin")
    changed = goqueue.json("schedule", "change", schedule, "--cron", "30 8 * * *", "--description", "earlier")
    assert (changed["cron"], changed["zone"], changed["description"]) == ("30 8 * * *", "Europe/Berlin", "earlier")
    assert "paused" in goqueue("schedule", "pause", schedule)
    assert goqueue.json("schedule", "show", schedule)["status"] == "paused"
    assert "resumed" in goqueue("schedule", "resume", schedule)
    assert goqueue.json("schedule", "show", schedule)["status"] == "active"


def test_what_is_wrong_with_a_schedule_is_said(goqueue: Cli, numbers: str) -> None:
    wrong = goqueue.run("schedule", "create", "x", numbers, "--cron", "nonsense")
    assert wrong.code == 2
    assert "nonsense" in wrong.err
    nothing = goqueue.run("schedule", "show", "none")
    assert nothing.code != 0
    assert "there is no schedule none" in nothing.err
    unasked = goqueue.run("schedule", "create", "x", numbers, "--every", "1500ms")
    assert "whole seconds" in unasked.err
