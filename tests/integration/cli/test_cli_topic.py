"""`goqueue topic` against a running broker."""

import json
from pathlib import Path

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


def test_topics_are_listed_with_records_size_and_the_rate_of_the_last_minute(
    goqueue: Cli, inside: Inside, numbers: str
) -> None:
    found = {one["name"]: one for one in goqueue.json("topic", "list")}[numbers]
    assert (found["records"], found["records_per_s"]) == (10, 10 / 60)
    assert found["size"] >= 10 * 34, "a record has a header of 34 bytes"
    line = next(line for line in goqueue("topic", "list").splitlines() if numbers in line.split())
    assert {"10", "0.2"} < set(line.split())


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


def test_an_unknown_topic_is_answered_with_the_nearest_name(goqueue: Cli, topic: str, server: Server) -> None:
    misspelt = f"{topic}s"
    for command in (
        ("topic", "describe", misspelt),
        ("consume", misspelt),
        ("produce", misspelt, "v"),
        ("--http", server.http, "topic", "compact", misspelt),
    ):
        done = goqueue.run(*command)
        assert done.code == 1, done
        assert f"there is no topic {misspelt}\n" in done.err, done
        assert f"did you mean {topic!r}?" in done.err, done


def test_the_number_of_partitions_cannot_be_altered_and_the_error_says_why_and_how_else(
    goqueue: Cli, topic: str
) -> None:
    done = goqueue.run("topic", "alter", topic, "--partitions", 6)
    assert (done.code, done.out) == (2, "")
    assert "each key would move to another partition" in done.err
    assert "goqueue topic create NEW --partitions 6" in done.err


def test_the_address_may_stand_before_the_command(goqueue: Cli, server: Server, topic: str) -> None:
    nowhere = {"GOQUEUE_SERVER": "127.0.0.1:1"}
    done = goqueue.run("--server", server.native, "topic", "describe", topic, env=nowhere)
    assert (done.code, done.err) == (0, "")
    assert goqueue.run("-s", "127.0.0.1:1", "topic", "describe", topic, "--server", server.native).code == 0
    assert goqueue.run("-s", "127.0.0.1:1", "topic", "describe", topic).code == 4


def test_exported_topics_are_imported_as_they_were(goqueue: Cli, inside: Inside, tmp_path: Path) -> None:
    goqueue("topic", "create", "defined", "-p", 2, "--retention", "30d", "--set", "max_attempts=7")
    before = inside.ask(lambda admin: admin.topic("defined"))
    file = tmp_path / "topics.json"
    goqueue("topic", "export", "defined", "--file", file)
    goqueue("topic", "delete", "defined", "--yes")

    assert goqueue("topic", "import", file, "--dry-run") == "would create defined: 2 partitions\n"
    assert "defined" not in goqueue("topic", "list")
    assert goqueue("topic", "import", file) == "created defined: 2 partitions\n"
    after = inside.ask(lambda admin: admin.topic("defined"))
    assert (after.partitions, after.config) == (before.partitions, before.config)
    assert goqueue("topic", "import", file) == "kept defined: the same settings\n"


def test_an_import_alters_settings_only_when_told_to(goqueue: Cli, inside: Inside, topic: str) -> None:
    wanted = json.dumps({"version": 1, "topics": [{"name": topic, "partitions": 1, "config": {"max_attempts": 9}}]})
    assert goqueue("topic", "import", "-", stdin=wanted) == f"kept {topic}: differs in max_attempts\n"
    assert inside.ask(lambda admin: admin.topic(topic)).config.max_attempts == 3
    assert goqueue("topic", "import", "-", "--alter", stdin=wanted) == f"altered {topic}: differs in max_attempts\n"
    assert inside.ask(lambda admin: admin.topic(topic)).config.max_attempts == 9


@pytest.mark.parametrize(
    ("topics", "says"),
    [
        ([{"name": "new-one"}, {"name": "bad/name"}], "bad/name"),
        ([{"name": "new-one"}, {"name": "other", "config": {"max_atempts": 9}}], "wrong settings for other"),
        ([{"name": "new-one"}, {"name": "new-one"}], "new-one more than once"),
        ([{"name": "new-one"}, {"name": "existing", "partitions": 9}], "has 1 partitions, and 9 in the file"),
        ("none", "is not a file of topics"),
    ],
)
def test_a_file_with_one_mistake_changes_nothing(goqueue: Cli, topic: str, topics: object, says: str) -> None:
    text = json.dumps({"version": 1, "topics": topics}).replace("existing", topic)
    done = goqueue.run("topic", "import", "-", stdin=text)
    assert (done.code, done.out) == (2, ""), done
    assert says in done.err
    assert "new-one" not in goqueue("topic", "list")
