"""`goqueue dlq` against a running broker."""

import asyncio
import json
import re
import signal
import time

import pytest

from goqueue.client import Worker
from tests.integration.cli.driver import SECONDS, Cli, Inside, Server


def reject_all(server: str, topic: str, *, reason: str = "no such customer", group: str = "billing") -> None:
    async def reject() -> None:
        async with Worker(topic, group=group, bootstrap=server) as worker:
            while jobs := await worker.take(limit=1000, wait_ms=200):
                await worker.reject(*jobs, reason=reason)

    asyncio.run(reject())


@pytest.fixture
def dead(server: Server, inside: Inside, topic: str) -> str:
    """A topic whose ten records are dead letters."""
    inside.publish(topic, *(b"%d" % number for number in range(7)), key=b"k1", headers=[("a", b"b")])
    reject_all(server.native, topic)
    inside.publish(topic, b"7", b"8", b"9", key=b"k2")
    reject_all(server.native, topic, reason="timeout of the bank")
    return topic


def places(found: list[dict]) -> list[int]:
    return [one["offset"] for one in found]


def test_letters_are_listed_and_found(goqueue: Cli, dead: str) -> None:
    found = goqueue.json("dlq", "list", dead)
    assert places(found) == list(range(10))
    assert (found[0]["key"], found[0]["value"], found[0]["headers"]["a"]) == ("k1", "0", "b")
    origin = found[0]["origin"]
    assert (origin["topic"], origin["offset"], origin["group"]) == (dead, 0, "billing")
    assert (origin["cause"], origin["reason"]) == ("rejected", "no such customer")
    for options, offsets in (
        (["--reason", "BANK"], [7, 8, 9]),
        (["--key", "k2", "--limit", 2], [7, 8]),
        (["--cause", "failed too often"], []),
        (["--group", "billing", "--from", "1h", "--limit", 1], [0]),
        (["--to", "1h"], []),
    ):
        assert places(goqueue.json("dlq", "list", dead, *options)) == offsets, options
    assert places(goqueue.json("dlq", "list", f"{dead}.dlq")) == list(range(10))


def test_tables_are_for_people(goqueue: Cli, dead: str) -> None:
    table = goqueue("dlq", "list", dead, "--limit", 4)
    assert "no such customer" in table
    assert "there are more" in table
    assert "there are more" not in goqueue("dlq", "list", dead)
    assert "no dead letters that fit" in goqueue("dlq", "list", dead, "--key", "other")
    assert f"came from   {dead}/0, offset 3" in goqueue("dlq", "show", dead, 0, 3)
    stats = goqueue("dlq", "stats", dead)
    assert f"{dead}.dlq has 10 dead letters" in stats
    assert "timeout of the bank" in stats


def test_one_letter_and_the_figures(goqueue: Cli, dead: str) -> None:
    shown = goqueue.json("dlq", "show", dead, 0, 8)
    assert (shown["value"], shown["origin"]["deliveries"]) == ("8", 1)
    stats = goqueue.json("dlq", "stats", dead)
    assert (stats["count"], stats["by_reason"]) == (10, {"no such customer": 7, "timeout of the bank": 3})
    gone = goqueue.run("dlq", "show", dead, 0, 99)
    assert (gone.code, "no dead letter at 0/99" in gone.err) == (1, True)
    assert "goqueue dlq list" in gone.err


def test_a_dry_run_and_then_the_redrive(goqueue: Cli, inside: Inside, dead: str) -> None:
    would = goqueue.json("dlq", "redrive", dead, "--reason", "bank", "--dry-run")
    assert (would["dry_run"], would["matched"], would["redriven"]) == (True, 3, 3)
    assert len(inside.messages(dead)) == 10
    assert "nothing was changed" in goqueue("dlq", "redrive", dead, "--all", "--dry-run")
    did = goqueue.json("dlq", "redrive", dead, "--reason", "bank")
    assert (did["redriven"], did["failed"], did["interrupted"]) == (3, 0, False)
    assert inside.values(dead)[10:] == [b"7", b"8", b"9"]
    assert dict(inside.messages(dead)[-1].headers)["goqueue-redriven-from"] == f"{dead}.dlq/0/9".encode()
    assert places(goqueue.json("dlq", "list", dead)) == list(range(7))
    assert "7 dead letters redriven" in goqueue("dlq", "redrive", dead, "--all")
    assert "0 dead letters redriven" in goqueue("dlq", "redrive", dead, "--all")
    assert len(inside.messages(dead)) == 20


def test_letters_are_chosen_by_place_and_number(goqueue: Cli, inside: Inside, dead: str) -> None:
    did = goqueue.json("dlq", "redrive", dead, "--offset", "0/2-4", "--offset", "0/8", "--offset", "0/88")
    assert (did["redriven"], did["missing"]) == (4, 1)
    assert inside.values(dead)[10:] == [b"2", b"3", b"4", b"8"]
    assert goqueue.json("dlq", "redrive", dead, "--all", "--limit", 1)["redriven"] == 1
    assert inside.values(dead)[14:] == [b"0"]


def test_letters_are_changed_on_the_way(goqueue: Cli, inside: Inside, dead: str) -> None:
    other = inside.new_topic()
    edit = ("--into", other, "--new-value", "mended", "--new-key", "n", "--new-header", "by=me")
    did = goqueue.json("dlq", "redrive", dead, "--offset", "0/5", *edit)
    assert did["moves"] == [{"partition": 0, "offset": 5, "topic": other, "target_partition": 0, "target_offset": 0}]
    (message,) = inside.messages(other)
    assert (message.key, message.value) == (b"n", b"mended")
    assert [name for name, _ in message.headers] == ["by", "goqueue-redriven-from"]


def test_what_cannot_go_back_is_named_and_is_a_problem(goqueue: Cli, inside: Inside, dead: str) -> None:
    inside.ask(lambda admin: admin.delete_topic(dead))
    done = goqueue.run("dlq", "redrive", dead, "--all")
    assert done.code == 1
    assert "10 could not be" in done.out
    assert "there is no topic" in done.out
    assert goqueue.json("dlq", "stats", dead)["count"] == 10


def test_a_rate_is_kept(goqueue: Cli, dead: str) -> None:
    began = time.monotonic()
    assert goqueue.json("dlq", "redrive", dead, "--all", "--rate", "5/s")["redriven"] == 10
    assert 1.5 <= time.monotonic() - began < 10


def test_an_interruption_ends_it_and_tells_what_is_done(goqueue: Cli, inside: Inside, dead: str) -> None:
    process = goqueue.start("dlq", "redrive", dead, "--all", "--rate", "1/s", "-o", "json")
    until = time.monotonic() + SECONDS
    while len(inside.messages(dead)) == 10 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert json.loads(out)["interrupted"] is True
    assert 11 <= len(inside.messages(dead)) < 20


def test_a_purge_asks_first(goqueue: Cli, dead: str) -> None:
    refused = goqueue.run("dlq", "purge", dead, "--all")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    assert goqueue.json("dlq", "purge", dead, "--all", "--dry-run")["purged"] == 10
    assert goqueue.json("dlq", "purge", dead, "--key", "k2", "--yes")["purged"] == 3
    assert "7 dead letters purged" in goqueue("dlq", "purge", dead, "--all", "--yes")
    assert goqueue.json("dlq", "list", dead) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("redrive", "x"),
        ("purge", "x", "--yes"),
        ("redrive", "x", "--all", "--key", "k"),
        ("redrive", "x", "--offset", "17"),
        ("redrive", "x", "--offset", "0/9-3"),
        ("redrive", "x", "--all", "--rate", "0"),
        ("redrive", "x", "--all", "--new-header", "nothing"),
        ("list", "x", "--from", "yesterday"),
        ("list", "x", "--limit", "0"),
    ],
)
def test_wrong_usage_is_refused_before_anything_happens(goqueue: Cli, arguments: tuple[str, ...]) -> None:
    done = goqueue.run("dlq", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")


@pytest.mark.parametrize("verb", ["list", "show", "stats", "redrive", "purge"])
def test_an_unknown_topic_is_a_problem_and_every_verb_has_an_example(goqueue: Cli, verb: str) -> None:
    more = {"show": ("0", "0"), "redrive": ("--all",), "purge": ("--all", "--yes")}.get(verb, ())
    done = goqueue.run("dlq", verb, "nowhere", *more)
    assert (done.code, "goqueue topic list" in done.err) == (1, True)
    assert "Example: goqueue dlq" in goqueue("dlq", verb, "--help")


def test_many_letters_take_several_requests(goqueue: Cli, server: Server, inside: Inside, topic: str) -> None:
    inside.publish(topic, *(b"%d" % number for number in range(2500)))
    reject_all(server.native, topic)
    assert len(goqueue.json("dlq", "list", topic, "--limit", 2200)) == 2200
    done = goqueue("dlq", "redrive", topic, "--all")
    assert re.search(r"2,500 dead letters redriven", done)
    assert len(inside.messages(topic)) == 5000


def test_on_a_terminal_progress_is_shown_and_a_purge_can_be_declined(goqueue: Cli, dead: str) -> None:
    code, shown = goqueue.on_terminal("dlq", "redrive", dead, "--offset", "0/0-3", term="xterm")
    assert code == 0
    assert "4 dead letters redriven" in shown
    assert "dead letters" in shown.split("4 dead letters redriven")[0]
    code, shown = goqueue.on_terminal("dlq", "purge", dead, "--all", typed="n\n")
    assert code == 130
    assert f"Purge 6 dead letters of {dead}?" in shown
    code, shown = goqueue.on_terminal("dlq", "purge", dead, "--all", typed="y\n")
    assert (code, "6 dead letters purged" in shown) == (0, True)
