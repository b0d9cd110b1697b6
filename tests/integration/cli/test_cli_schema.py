"""`goqueue schema` against a running broker."""

import itertools
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.serving import Server, running_server
from tests.integration.cli.driver import Cli

_numbers = itertools.count(1)

MONEY = '{"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}'
PROTO = 'syntax = "proto3";\nmessage Order { int32 id = 1; string note = 2; }\n'


def order(*fields: str, **defaults: object) -> str:
    """A record of whole numbers; those with a default may be missing."""
    listed: list[dict[str, object]] = [{"name": name, "type": "int"} for name in fields]
    listed += [{"name": name, "type": "int", "default": value} for name, value in defaults.items()]
    return json.dumps({"type": "record", "name": "Order", "fields": listed})


class SchemaCli(Cli):
    """Knows where the registry is."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.native)
        self._environment |= {"GOQUEUE_REGISTRY": server.http}
        self.http = server.http


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("registry") / "broker") as running:
        yield running


@pytest.fixture
def goqueue(broker: Server) -> SchemaCli:
    return SchemaCli(broker)


@pytest.fixture
def subject() -> str:
    """One that no other test uses."""
    return f"subject{next(_numbers)}-value"


@pytest.fixture
def evolved(goqueue: SchemaCli, subject: str) -> str:
    """A subject of two versions."""
    for text in (order("id"), order("id", count=1)):
        goqueue("schema", "register", subject, "--file", "-", stdin=text)
    return subject


def test_a_schema_is_registered_from_a_file_and_shown(goqueue: SchemaCli, subject: str, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(order("id"))
    said = goqueue("schema", "register", subject, "--file", file)
    shown = goqueue.json("schema", "show", subject)
    assert said == f"{subject} version 1 has id {shown['id']}\n"
    assert (shown["subject"], shown["version"], shown["type"], shown["references"]) == (subject, 1, "AVRO", [])
    assert json.loads(goqueue("schema", "show", subject, "1", "--text")) == json.loads(order("id"))
    # Once more is the same.
    assert goqueue.json("schema", "register", subject, "--file", file) == {
        "subject": subject,
        "version": 1,
        "id": shown["id"],
    }
    by_id = goqueue("schema", "show", "--id", shown["id"])
    assert f"{subject} version 1" in by_id
    assert '"name": "Order"' in by_id


def test_the_format_is_told_by_the_file_or_by_the_option(goqueue: SchemaCli, subject: str, tmp_path: Path) -> None:
    for name, text, options, kind in (
        ("order.proto", PROTO, [], "PROTOBUF"),
        ("order.json", '{"type": "object"}', [], "JSON"),
        ("order.txt", PROTO, ["--type", "protobuf"], "PROTOBUF"),
    ):
        file = tmp_path / name
        file.write_text(text)
        goqueue("schema", "register", f"{subject}-{name}", "-f", file, *options)
        assert goqueue.json("schema", "show", f"{subject}-{name}")["type"] == kind
    refused = goqueue.run("schema", "register", subject, "--file", tmp_path / "order")
    assert (refused.code, "--type" in refused.err) == (2, True)
    goqueue("schema", "register", subject, "--file", "-", "--type", "JSON", stdin="true")
    assert goqueue.json("schema", "show", subject)["type"] == "JSON"


def test_references_are_given_by_name_subject_and_version(goqueue: SchemaCli, subject: str) -> None:
    goqueue("schema", "register", f"{subject}-money", "--file", "-", stdin=MONEY)
    text = '{"type": "record", "name": "Order", "fields": [{"name": "price", "type": "shop.Money"}]}'
    refused = goqueue.run("schema", "register", subject, "--file", "-", stdin=text)
    assert (refused.code, "shop.Money" in refused.err) == (2, True)
    reference = f"shop.Money={subject}-money:1"
    assert goqueue.run("schema", "check", subject, "--file", "-", "--reference", reference, stdin=text).code == 0
    goqueue("schema", "register", subject, "--file", "-", "--reference", reference, stdin=text)
    assert f"shop.Money, which is {subject}-money version 1" in goqueue("schema", "show", subject)
    said = goqueue("schema", "diff", subject, "--file", "-", "--reference", reference, stdin=text)
    assert "the file reads what version 1 wrote: yes" in said
    for wrong in ("shop.Money", "=a:1", "a=b", "a=:1", "a=b:c"):
        assert goqueue.run("schema", "register", subject, "--file", "-", "--reference", wrong, stdin=text).code == 2
    # What others refer to stays.
    assert goqueue.run("schema", "delete", f"{subject}-money", "--yes").code == 1


def test_schemas_that_mean_the_same_are_one_when_normalized(goqueue: SchemaCli, subject: str) -> None:
    first = '{"type": "record", "name": "a.Order", "fields": []}'
    second = '{"type": "record", "name": "Order", "namespace": "a", "fields": []}'
    goqueue("schema", "register", subject, "--file", "-", "--normalize", stdin=first)
    again = goqueue.json("schema", "register", subject, "--file", "-", "--normalize", stdin=second)
    assert again["version"] == 1


def test_subjects_are_listed(goqueue: SchemaCli, evolved: str) -> None:
    (found,) = goqueue.json("schema", "list", "--prefix", evolved)
    assert (found["subject"], found["version"]) == (evolved, 2)
    assert evolved in goqueue("schema", "list")
    assert goqueue("schema", "list", "--prefix", "nothing-like-it") == "no subject begins with nothing-like-it\n"
    goqueue("schema", "delete", evolved, "--yes")
    assert goqueue.json("schema", "list", "--prefix", evolved) == []
    (found,) = goqueue.json("schema", "list", "--prefix", evolved, "--deleted")
    assert found["deleted"]


def test_check_tells_a_pipeline_by_its_exit_code(goqueue: SchemaCli, subject: str) -> None:
    check = ("schema", "check", subject, "--file", "-")
    assert goqueue.run(*check, stdin=order("id")).code == 0
    goqueue("schema", "register", subject, "--file", "-", stdin=order("id"))
    fits = goqueue.run(*check, stdin=order("id", count=1))
    assert (fits.code, fits.out) == (0, f"{subject}: compatible at BACKWARD\n")
    breaks = goqueue.run(*check, stdin=order("id", "count"))
    assert breaks.code == 1
    assert breaks.out.startswith(f"{subject}: NOT compatible at BACKWARD\n  READER_FIELD_MISSING_DEFAULT_VALUE at ")
    told = goqueue.run(*check, "-o", "json", stdin=order("id", "count"))
    assert told.code == 1
    assert json.loads(told.out)["compatible"] is False
    assert len(json.loads(told.out)["reasons"]) == 1
    no_schema = goqueue.run(*check, stdin='{"type": "nothing"}')
    assert (no_schema.code, no_schema.out) == (2, "")
    assert goqueue.run("schema", "check", subject).code == 2
    assert goqueue.run("schema", "check", subject, "--file", "not-there.avsc").code == 1
    # Nothing was registered by asking.
    assert goqueue.json("schema", "show", subject)["version"] == 1


def test_check_compares_with_the_version_that_is_named(goqueue: SchemaCli, evolved: str) -> None:
    goqueue("schema", "config", evolved, "--compatibility", "FORWARD")
    check = ("schema", "check", evolved, "--file", "-", "--version")
    assert goqueue.run(*check, "1", stdin=order("id")).code == 0
    assert goqueue.run(*check, "latest", stdin=order("count")).code == 1
    assert goqueue.run(*check, "7", stdin=order("id")).code == 1
    assert goqueue.run(*check, "x", stdin=order("id")).code == 2


def test_diff_says_what_changed_and_what_it_breaks(goqueue: SchemaCli, subject: str) -> None:
    goqueue("schema", "register", subject, "--file", "-", stdin=order("id", "gone"))
    assert goqueue.run("schema", "diff", subject).code == 2
    goqueue("schema", "register", subject, "--file", "-", stdin=order("id", count=1))
    said = goqueue("schema", "diff", subject)
    assert said == goqueue("schema", "diff", subject, "1", "2")
    lines = said.splitlines()
    assert lines[:2] == ["--- version 1", "+++ version 2"]
    assert '-      "name": "gone",' in lines
    assert '+      "name": "count",' in lines
    assert "version 2 reads what version 1 wrote: yes" in lines
    assert "version 1 reads what version 2 wrote: NO" in lines
    assert any(line.startswith("  READER_FIELD_MISSING_DEFAULT_VALUE at /fields/1") for line in lines)
    assert lines[-1] == "allowed at NONE, BACKWARD"
    found = goqueue.json("schema", "diff", subject, "2", "1")
    assert (found["levels"], found["forward"]) == (["NONE", "FORWARD"], [])
    same = goqueue("schema", "diff", subject, "2", "--file", "-", stdin=order("id", count=1))
    assert "version 2 and the file read the same" in same
    assert "allowed at NONE, BACKWARD, FORWARD, FULL" in same
    other = goqueue("schema", "diff", subject, "--file", "-", "--type", "protobuf", stdin=PROTO)
    assert "DIFFERENT_TYPE" in other
    assert goqueue.run("schema", "diff", subject, "1", "2", "--file", "-", stdin="{}").code == 2
    assert goqueue.run("schema", "diff", subject, "--file", "-", stdin="{").code == 2


def test_diff_knows_what_protobuf_breaks(goqueue: SchemaCli, subject: str) -> None:
    goqueue("schema", "register", subject, "--file", "-", "--type", "protobuf", stdin=PROTO)
    changed = PROTO.replace("int32 id", "string id")
    said = goqueue("schema", "diff", subject, "--file", "-", "--type", "protobuf", stdin=changed)
    assert "the file reads what version 1 wrote: NO" in said
    assert said.endswith("allowed at NONE\n")


def test_delete_goes_in_two_steps_and_asks_before_each(goqueue: SchemaCli, evolved: str) -> None:
    unasked = goqueue.run("schema", "delete", evolved)
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    code, shown = goqueue.on_terminal("schema", "delete", evolved, typed="n\n")
    assert (code, f"Delete {evolved} with 2 versions?" in shown) == (130, True)
    too_early = goqueue.run("schema", "delete", evolved, "--permanent", "--yes")
    assert (too_early.code, "delete" in too_early.err) == (1, True)
    assert goqueue("schema", "delete", evolved, "--version", "1", "--yes") == f"deleted version 1 of {evolved}\n"
    code, shown = goqueue.on_terminal("schema", "delete", evolved, typed="y\n")
    assert (code, f"deleted {evolved} with 1 version" in shown) == (0, True)
    assert goqueue.run("schema", "show", evolved).code == 1
    assert goqueue.json("schema", "show", evolved, "2", "--deleted")["version"] == 2
    gone = goqueue.json("schema", "delete", evolved, "--permanent", "--yes")
    assert gone == {"subject": evolved, "versions": [1, 2], "permanent": True}
    assert goqueue.run("schema", "delete", evolved, "--yes").code == 1


def test_levels_are_shown_set_and_reset(goqueue: SchemaCli, subject: str) -> None:
    assert goqueue("schema", "config") == "all subjects without one of their own: BACKWARD\n"
    assert goqueue("schema", "config", subject) == f"{subject}: BACKWARD\n"
    said = goqueue("schema", "config", subject, "--compatibility", "full_transitive", "--normalize")
    assert said == f"{subject}: FULL_TRANSITIVE, normalized\n"
    assert goqueue.json("schema", "config", subject, "--no-normalize") == {
        "subject": subject,
        "compatibility": "FULL_TRANSITIVE",
        "normalize": False,
    }
    assert goqueue("schema", "config", subject, "--reset") == f"{subject}: BACKWARD\n"
    wrong = goqueue.run("schema", "config", subject, "--compatibility", "SIDEWAYS")
    assert (wrong.code, "FULL_TRANSITIVE" in wrong.err) == (2, True)
    assert goqueue.run("schema", "config", subject, "--reset", "--normalize").code == 2


def test_modes_are_shown_set_and_reset(goqueue: SchemaCli, subject: str) -> None:
    assert goqueue("schema", "mode") == "all subjects without one of their own: READWRITE\n"
    assert goqueue("schema", "mode", subject, "--set", "readonly") == f"{subject}: READONLY\n"
    assert goqueue.run("schema", "register", subject, "--file", "-", stdin=order("id")).code == 1
    assert goqueue.json("schema", "mode", subject, "--reset") == {"subject": subject, "mode": "READWRITE"}
    assert goqueue.run("schema", "mode", subject, "--set", "SLEEPY").code == 2
    assert goqueue.run("schema", "mode", subject, "--set", "READONLY", "--reset").code == 2


def test_what_is_not_there_is_said_with_one_line(goqueue: SchemaCli, subject: str) -> None:
    for command in (
        ("show", subject),
        ("show", "--id", 2_000_000_000),
        ("diff", subject),
        ("delete", subject, "--yes"),
    ):
        done = goqueue.run("schema", *command)
        assert (done.code, done.out, done.err.startswith("error: ")) == (1, "", True)
    assert goqueue.run("schema", "show").code == 2
    assert goqueue.run("schema", "show", subject, "--id", 1).code == 2


def test_the_registry_is_named_by_address_or_url(goqueue: SchemaCli, evolved: str) -> None:
    elsewhere = {"GOQUEUE_REGISTRY": "127.0.0.1:1"}
    for registry in (goqueue.http, f"http://{goqueue.http}/schemas", f"http://{goqueue.http}/v1/schemas/"):
        assert goqueue.run("schema", "show", evolved, "--registry", registry, env=elsewhere).code == 0
    assert goqueue.run("schema", "list", "--registry", "ftp://somewhere").code == 2
    no_registry = goqueue.run("schema", "list", "--registry", f"http://{goqueue.http}")
    assert (no_registry.code, "/schemas" in no_registry.err) == (4, True)


def test_a_registry_that_does_not_answer_has_an_exit_code_of_its_own(goqueue: SchemaCli) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        for command in (("list",), ("check", "a", "--file", "-"), ("delete", "a", "--yes"), ("config",), ("mode",)):
            done = goqueue.run("schema", *command, "--registry", address, stdin=order("id"))
            assert (done.code, done.out) == (4, "")
            assert address in done.err


def test_where_the_registry_is_does_not_disturb_a_server(goqueue: SchemaCli) -> None:
    assert goqueue.run("config", "show").code == 0


@pytest.mark.parametrize("verb", ["list", "register", "show", "check", "diff", "delete", "config", "mode"])
def test_every_verb_has_an_example(goqueue: SchemaCli, verb: str) -> None:
    assert f"Example: goqueue schema {verb}" in goqueue("schema", verb, "--help")
