"""`goqueue topic` against a running broker."""

import pytest
import yaml

from goqueue.cli.main import main
from goqueue.client import Cleanup
from goqueue.errors import UnknownTopic
from tests.integration.cli.driver import Cli, Inside, Server


def test_a_created_topic_has_the_settings_that_were_named(goqueue: Cli, inside: Inside) -> None:
    settings = ("--retention", "30d", "--retention-bytes", "10GiB", "--cleanup", "compact,delete")
    out = goqueue("topic", "create", "made", "--partitions", 6, *settings, "--max-value", "1MiB")
    assert out == "created made with 6 partitions\n"
    found = inside.ask(lambda admin: admin.topic("made"))
    assert (found.partitions, found.config.cleanup) == (6, Cleanup.COMPACT_DELETE)
    assert (found.config.retention_ms, found.config.retention_bytes) == (30 * 86_400_000, 10 * 1024**3)
    assert found.config.max_value_bytes == 1024**2


def test_topics_are_listed_with_what_they_keep(goqueue: Cli, topic: str) -> None:
    found = {one["name"]: one for one in goqueue.json("topic", "list")}
    assert (found[topic]["partitions"], found[topic]["config"]["retention_ms"]) == (1, 7 * 86_400_000)
    line = next(line for line in goqueue("topic", "list").splitlines() if topic in line.split())
    assert "7d" in line


def test_describe_shows_offsets_and_the_key_hashes_of_each_partition(
    goqueue: Cli, inside: Inside, wide_topic: str
) -> None:
    inside.publish(wide_topic, b"a", b"b", partition=1)
    found = goqueue.json("topic", "describe", wide_topic)
    parts = found["partitions"]
    assert [(part["earliest"], part["latest"]) for part in parts] == [(0, 0), (0, 2), (0, 0)]
    assert (parts[0]["hash_start"], parts[-1]["hash_stop"]) == (0, 1 << 32)
    assert [part["hash_start"] for part in parts[1:]] == [part["hash_stop"] for part in parts[:-1]]
    assert "00000000–55555554" in goqueue("topic", "describe", wide_topic)
    assert yaml.safe_load(goqueue("topic", "describe", wide_topic, "-o", "yaml")) == found


def test_alter_changes_only_what_is_named(goqueue: Cli, inside: Inside, topic: str) -> None:
    before = inside.ask(lambda admin: admin.topic(topic)).config
    out = goqueue("topic", "alter", topic, "--retention", "none", "--set", "max_value_bytes=9")
    assert out == f"{topic}: retention_ms 7d → none\n{topic}: max_value_bytes 16.0 MiB → 9 B\n"
    after = inside.ask(lambda admin: admin.topic(topic)).config
    assert (after.retention_ms, after.max_value_bytes) == (None, 9)
    assert (after.durability, after.cleanup, after.retention_bytes) == (
        before.durability,
        before.cleanup,
        before.retention_bytes,
    )


def test_a_topic_that_exists_is_an_error_unless_that_is_fine(goqueue: Cli, topic: str) -> None:
    done = goqueue.run("topic", "create", topic)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: the topic {topic} exists\nhint: ")
    assert goqueue("topic", "create", topic, "--if-not-exists") == f"exists: {topic} with 1 partition\n"


def test_a_topic_is_deleted_only_when_somebody_agrees(goqueue: Cli, inside: Inside, topic: str) -> None:
    done = goqueue.run("topic", "delete", topic)
    assert (done.code, "--yes" in done.err) == (2, True)
    code, shown = goqueue.on_terminal("topic", "delete", topic, typed="n\n")
    assert (code, "deleted" in shown) == (130, False)
    code, shown = goqueue.on_terminal("topic", "delete", topic, typed="y\n")
    assert (code, f"deleted {topic}" in shown) == (0, True)
    with pytest.raises(UnknownTopic):
        inside.ask(lambda admin: admin.topic(topic))


def test_of_several_topics_none_is_deleted_when_one_does_not_exist(goqueue: Cli, inside: Inside, topic: str) -> None:
    done = goqueue.run("topic", "delete", topic, "nowhere", "--yes")
    assert done.code == 1
    assert done.err.splitlines()[0] == "error: there is no topic nowhere"
    assert "`goqueue topic list`" in done.err
    assert inside.ask(lambda admin: admin.topic(topic)).name == topic


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "x", "--retention", "7x"),
        ("create", "x", "--retention-bytes", "many"),
        ("create", "x", "--set", "colour=red"),
        ("create", "x", "--set", "colour"),
        ("create", "not a name"),
        ("alter", "x"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(
    server: Server, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert main(["topic", *arguments, "--server", server.native]) == 2
    out, err = capsys.readouterr()
    assert (out, [line.split(":")[0] for line in err.splitlines()]) == ("", ["error", "hint"])


@pytest.mark.parametrize(
    "command", [("topic", "list"), ("produce", "t", "v"), ("consume", "t"), ("group", "list")], ids=" ".join
)
def test_without_a_broker_it_says_what_to_do(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    assert main([*command, "--server", "127.0.0.1:1"]) == 4
    out, err = capsys.readouterr()
    error, hint = err.splitlines()
    assert (out, hint) == ("", "hint: start one with `goqueue server`, or check the address")
    assert error.startswith("error: no broker answers at 127.0.0.1:1")
