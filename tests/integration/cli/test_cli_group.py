"""`goqueue group` against a running broker."""

import json
import signal

import pytest

from goqueue.cli.main import main
from tests.integration.cli.driver import SECONDS, Cli, Inside, Server


@pytest.fixture
def group(inside: Inside, numbers: str) -> str:
    """A group that has read three of the ten records."""
    name = f"of-{numbers}"
    inside.ask(lambda admin: admin.reset_offsets(name, "offset", 3, topics=[numbers]))
    return name


def test_a_group_is_listed_and_described_with_its_lag(goqueue: Cli, numbers: str, group: str) -> None:
    found = next(one for one in goqueue.json("group", "list") if one["group"] == group)
    assert (found["state"], found["members"], found["lag"]) == ("Empty", 0, 7)
    described = goqueue.json("group", "describe", group)
    assert (described["lag"], described["paused"]) == (7, False)
    assert described["partitions"] == [
        {"topic": numbers, "partition": 0, "committed": 3, "end": 10, "lag": 7, "member_id": None, "delayed": 0}
    ]
    assert group in goqueue("group", "list")
    assert "committed" in goqueue("group", "describe", group)


RESETS = {
    "earliest": 0,
    "latest": 10,
    "offset:2": 2,
    "offset:99": 10,
    "time:1h": 0,
    "time:2100-01-01T00:00:00Z": 10,
}


@pytest.mark.parametrize(("to", "after"), RESETS.items(), ids=RESETS)
def test_a_reset_says_what_would_change(
    server: Server, numbers: str, group: str, capsys: pytest.CaptureFixture[str], to: str, after: int
) -> None:
    assert main(["group", "reset-offsets", group, "--to", to, "-o", "json", "--server", server.native]) == 0
    change = {"topic": numbers, "partition": 0, "before": 3, "after": after}
    assert json.loads(capsys.readouterr().out) == {"group": group, "executed": False, "changes": [change]}


def test_a_reset_is_only_shown_unless_it_is_to_be_done(goqueue: Cli, inside: Inside, group: str) -> None:
    assert "add --execute to do it" in goqueue("group", "reset-offsets", group, "--to", "offset:1")
    assert inside.committed(group) == {0: 3}
    done = goqueue.json("group", "reset-offsets", group, "--to", "offset:1", "--execute")
    assert (done["executed"], done["changes"][0]["after"]) == (True, 1)
    assert inside.committed(group) == {0: 1}


def test_resetting_an_unknown_group_creates_nothing_and_suggests_the_nearest_name(
    goqueue: Cli, numbers: str, group: str
) -> None:
    misspelt = f"{group}x"
    reset = ("group", "reset-offsets", misspelt, "--to", "earliest", "--topic", numbers, "--execute")
    done = goqueue.run(*reset)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: there is no group {misspelt}\nhint: did you mean {group!r}? ")
    assert misspelt not in goqueue("group", "list")


def test_a_group_can_be_told_where_to_begin_before_it_has_members(
    goqueue: Cli, inside: Inside, numbers: str, server: Server
) -> None:
    name = f"new-in-{numbers}"
    goqueue("--http", server.http, "group", "commit-offsets", name, f"{numbers}/0=4")
    assert inside.committed(name) == {0: 4}


def test_a_group_with_members_keeps_its_offsets(goqueue: Cli, numbers: str, group: str) -> None:
    process = goqueue.start("consume", numbers, "--group", group, "--follow")
    assert process.stdout is not None
    assert process.stdout.readline() == b"3\n"
    for arguments in (("reset-offsets", group, "--to", "earliest", "--execute"), ("delete", group, "--yes")):
        done = goqueue.run("group", *arguments)
        assert done.code == 1
        assert "hint: stop the group's consumers first" in done.err
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert goqueue("group", "delete", group, "--yes") == f"deleted {group}\n"
    done = goqueue.run("group", "describe", group)
    assert (done.code, "`goqueue group list`" in done.err) == (1, True)


def test_a_paused_group_shows_that_it_is(goqueue: Cli, inside: Inside, group: str) -> None:
    assert goqueue("group", "pause", group) == f"paused {group}\n"
    assert "Empty, paused" in goqueue("group", "describe", group)
    assert goqueue("group", "resume", group) == f"resumed {group}\n"
    assert inside.ask(lambda admin: admin.describe_group(group)).paused is False


@pytest.mark.parametrize("to", ["nowhere", "offset:", "offset:-1", "time:", "time:soon"])
def test_a_place_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], to: str) -> None:
    assert main(["group", "reset-offsets", "g", "--to", to]) == 2
    out, err = capsys.readouterr()
    assert (out, [line.split(":")[0] for line in err.splitlines()]) == ("", ["error", "hint"])


def test_a_policy_is_set_shown_and_reset(goqueue: Cli, group: str) -> None:
    made = goqueue.json("group", "policy", group, "--visibility", "2m", "--max-attempts", 5)
    assert (made["visibility_timeout_ms"], made["max_attempts"], made["retry_jitter"]) == (120_000, 5, None)
    assert goqueue.json("group", "policy", group, "--jitter", 0.5)["visibility_timeout_ms"] == 120_000
    assert "as the topic" in goqueue("group", "policy", group)
    assert set(goqueue.json("group", "policy", group, "--reset").values()) == {None}
