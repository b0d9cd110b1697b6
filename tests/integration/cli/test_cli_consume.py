"""`goqueue consume` against a running broker."""

import json
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from goqueue.cli.main import main
from tests.integration.cli.driver import SECONDS, Cli, Inside, Server


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], SECONDS)[0], "nothing was printed"
    return process.stdout.readline()


def interrupt(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


STARTS: dict[str, Sequence[int]] = {
    "earliest": range(10),
    "latest": (),
    "7": range(7, 10),
    "-2": range(8, 10),
    "-99": range(10),
    "99": (),
    "1h ago": range(10),
    "2100-01-01T00:00:00Z": (),
}


@pytest.mark.parametrize(("start", "expected"), STARTS.items(), ids=STARTS)
def test_it_begins_where_it_is_told(
    server: Server, numbers: str, capfd: pytest.CaptureFixture[str], start: str, expected: Sequence[int]
) -> None:
    assert main(["consume", numbers, "--from", start, "--server", server.native]) == 0
    assert capfd.readouterr().out.split() == [str(number) for number in expected]


def test_a_time_that_it_printed_is_where_it_can_begin_again(goqueue: Cli, inside: Inside, topic: str) -> None:
    for value in (b"first", b"second", b"third"):
        inside.publish(topic, value)
    time, value = goqueue("consume", topic, "--show", "timestamp").splitlines()[1].split("\t")
    assert value == "second"
    assert goqueue("consume", topic, "--from", time).split() == ["second", "third"]


def test_a_count_ends_it(goqueue: Cli, numbers: str) -> None:
    assert goqueue("consume", numbers, "--count", 3, "--follow").split() == ["0", "1", "2"]


def test_partitions_can_be_chosen(goqueue: Cli, inside: Inside, wide_topic: str) -> None:
    for partition in range(3):
        inside.publish(wide_topic, b"in %d" % partition, partition=partition)
    assert goqueue("consume", wide_topic, "-p", 2, "-p", 0).splitlines() == ["in 0", "in 2"]
    done = goqueue.run("consume", wide_topic, "--partition", 3)
    assert (done.code, done.err) == (2, "error: there is no partition 3\nhint: there are 0 to 2\n")


def test_formats_show_what_is_asked_for(goqueue: Cli, inside: Inside, topic: str) -> None:
    inside.publish(topic, b"v1", key=b"k", headers=(("a", b"b"),))
    inside.publish(topic, None, b"\xff")
    shown = goqueue("consume", topic, "--show", "key,offset,headers", "--separator", "|")
    assert shown == "0|a=b|k|v1\n1||null|null\n2||null|\udcff\n"
    assert goqueue("consume", topic, "--format", "raw") == "v1\udcff"
    found = json.loads(goqueue("consume", topic, "--format", "json"))
    assert found[0].pop("timestamp").endswith("Z")
    assert found[0] == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "priority": 2,
        "headers": {"a": "b"},
        "key": "k",
        "value": "v1",
    }
    assert [one["value"] for one in found] == ["v1", None, {"base64": "/w=="}]
    lines = goqueue("consume", topic, "--format", "jsonl", "--show", "none").splitlines()
    assert [json.loads(line) for line in lines] == [{"value": one["value"]} for one in found]


def test_several_topics_are_read_together(goqueue: Cli, inside: Inside, numbers: str) -> None:
    other = inside.new_topic()
    inside.publish(other, b"elsewhere")
    assert sorted(goqueue("consume", numbers, other).split()) == [*map(str, range(10)), "elsewhere"]


def test_following_prints_what_comes_and_ends_well_with_ctrl_c(goqueue: Cli, inside: Inside, topic: str) -> None:
    process = goqueue.start("consume", topic, "--follow", "--format", "json", "--show", "none")
    assert process.stdout is not None
    assert process.stdout.read(1) == b"["
    inside.publish(topic, b"a")
    assert process.stdout.read(14) == b'\n{"value":"a"}'
    assert interrupt(process) == (0, b"\n]\n", b"")


def test_a_reader_that_has_had_enough_is_no_error(goqueue: Cli, inside: Inside, topic: str) -> None:
    inside.publish(topic, *[1000 * b"x"] * 1000)
    process = goqueue.start("consume", topic, "--group", f"of-{topic}")
    assert process.stdout is not None
    assert process.stdout.read(4) == b"xxxx"
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(SECONDS)) == (b"", 0)
    assert inside.ask(lambda admin: admin.describe_group(f"of-{topic}")).state == "Empty"


def test_a_terminal_is_not_steered_by_records(goqueue: Cli, inside: Inside, topic: str) -> None:
    inside.publish(topic, b"\x1b[2Jclear\tand\nover")
    code, shown = goqueue.on_terminal("consume", topic)
    assert (code, shown) == (0, "\\x1b[2Jclear\tand\r\nover\r\n")


# As a member of a group.


def test_a_group_commits_what_was_printed_and_no_more(goqueue: Cli, inside: Inside, numbers: str) -> None:
    group = f"of-{numbers}"
    assert goqueue("consume", numbers, "--group", group, "--count", 3).split() == ["0", "1", "2"]
    assert inside.committed(group) == {0: 3}
    assert goqueue("consume", numbers, "--group", group).split() == [*map(str, range(3, 10))]
    assert goqueue("consume", numbers, "--group", group) == ""


def test_a_group_begins_where_it_is_told_if_it_has_committed_nothing(
    goqueue: Cli, inside: Inside, numbers: str
) -> None:
    assert goqueue("consume", numbers, "--group", f"new-in-{numbers}", "--from", "latest") == ""
    last = ("consume", numbers, "--group", f"of-{numbers}", "--from", -3)
    assert goqueue(*last).split() == ["7", "8", "9"]
    inside.publish(numbers, b"new")
    assert goqueue(*last).split() == ["new"]


def test_ctrl_c_leaves_the_group_in_order(goqueue: Cli, inside: Inside, numbers: str) -> None:
    group = f"of-{numbers}"
    process = goqueue.start("consume", numbers, "--group", group, "--follow")
    assert [read_line(process) for _ in range(10)] == [b"%d\n" % number for number in range(10)]
    (member,) = inside.ask(lambda admin: admin.describe_group(group)).members
    assert member.client_id == "goqueue-cli"
    assert interrupt(process) == (0, b"", b"")
    found = inside.ask(lambda admin: admin.describe_group(group))
    assert (found.state, found.members, inside.committed(group)) == ("Empty", (), {0: 10})


def test_members_share_the_partitions(goqueue: Cli, inside: Inside, wide_topic: str) -> None:
    group = f"of-{wide_topic}"
    inside.ask(lambda admin: admin.reset_offsets(group, "earliest", topics=[wide_topic]))
    processes = [goqueue.start("consume", wide_topic, "--group", group, "--follow") for _ in range(2)]

    def members() -> int:
        found = inside.ask(lambda admin: admin.describe_group(group))
        return len(found.members) if found.state == "Stable" else 0

    while members() != 2:
        assert all(process.poll() is None for process in processes)
    for partition in range(3):
        inside.publish(wide_topic, b"%d" % partition, partition=partition)
    while inside.committed(group) != {0: 1, 1: 1, 2: 1}:
        assert all(process.poll() is None for process in processes)
    outcomes = [interrupt(process) for process in processes]
    assert [(code, err) for code, _, err in outcomes] == [(0, b"")] * 2
    assert sorted(len(out.split()) for _, out, _ in outcomes) == [1, 2]
    assert sorted(b"".join(out for _, out, _ in outcomes).split()) == [b"0", b"1", b"2"]


def test_a_paused_group_says_so_instead_of_ending(goqueue: Cli, inside: Inside, numbers: str) -> None:
    group = f"of-{numbers}"
    inside.ask(lambda admin: admin.reset_offsets(group, "earliest", topics=[numbers]))
    inside.ask(lambda admin: admin.pause_group(group))
    done = goqueue.run("consume", numbers, "--group", group)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"error: the group {group} is paused\nhint: `goqueue group resume {group}` lets it go on\n"
    process = goqueue.start("consume", numbers, "--group", group, "--follow")
    assert process.stderr is not None
    assert b"is paused" in process.stderr.readline()
    inside.ask(lambda admin: admin.resume_group(group))
    assert read_line(process) == b"0\n"


def test_partitions_of_a_group_cannot_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", "t", "--group", "g", "--partition", "0"]) == 2
    assert "the group decides" in capsys.readouterr().err


def test_whoever_follows_waits_for_a_broker_that_comes_back(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.start()
    goqueue = Cli(server.native)
    inside = Inside(server.native)
    topic = inside.new_topic()
    following = [
        goqueue.start("consume", topic, "--follow"),
        goqueue.start("consume", topic, "--follow", "--group", "g"),
    ]
    try:
        inside.publish(topic, b"before")
        assert [read_line(process) for process in following] == [b"before\n"] * 2
        server.stop()
        server.start()
        inside.publish(topic, b"after")
        assert [read_line(process) for process in following] == [b"after\n"] * 2
        assert [interrupt(process)[0] for process in following] == [0, 0]
    finally:
        goqueue.end()
        server.stop()


def test_a_template_prints_fields_as_kcat_does(goqueue: Cli, inside: Inside, topic: str) -> None:
    goqueue("produce", topic, "two coffees", "--key", "c8", "--header", "from=till")
    out = goqueue("consume", topic, "-f", r"%t:%p:%o %k(%K) %s(%S) %h %y %%\t\x41\n")
    assert out == f"{topic}:0:0 c8(2) two coffees(11) from=till 2 %\tA\n"


@pytest.mark.parametrize(
    ("template", "says"), [("%z", "there is no field '%z'"), ("50%", "there is no field '%'"), (r"\q", "no escape")]
)
def test_a_template_with_a_mistake_is_refused(goqueue: Cli, topic: str, template: str, says: str) -> None:
    done = goqueue.run("consume", topic, "-f", template)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
