"""Flags of `goqueue server` that are read without Typer: the same ones, with the same meaning."""

import inspect

import pytest

from goqueue.cli.server import server
from goqueue.cli.serving import FLAGS, plain_flags, welcome


def test_what_is_read_without_typer_are_all_the_flags_that_typer_knows():
    assert set(FLAGS) == {f"--{name.replace('_', '-')}" for name in inspect.signature(server).parameters}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", {}),
        ("--data /d --http=h:1", {"data": "/d", "listen.http": "h:1"}),
        ("--grpc=", {"listen.grpc": ""}),
        ("--log-level debug --log-level info", {"log.level": "info"}),
        ("--config a=b.toml --data=x=y", {"config": "a=b.toml", "data": "x=y"}),
    ],
)
def test_known_flags_with_values_are_read(words: str, found: dict[str, str]):
    assert plain_flags(words.split()) == found


@pytest.mark.parametrize("words", ["--help", "--nope 1", "--data", "--data --http", "extra", "-d x", "--dat x"])
def test_everything_else_is_left_to_typer(words: str):
    assert plain_flags(words.split()) is None


def test_an_empty_value_may_be_a_word_of_its_own():
    assert plain_flags(["--grpc", ""]) == {"listen.grpc": ""}


def test_a_person_at_a_terminal_is_told_what_to_open_and_what_to_try():
    told = welcome("0.0.0.0:8080", "127.0.0.1:7171")
    assert "http://127.0.0.1:8080/console" in told, "where it listens on all addresses, loopback is one to open"
    assert "topic create orders" in told
    assert "--server" not in told, "commands find the usual address by themselves"


def test_commands_to_try_name_the_address_where_it_is_not_the_usual_one():
    assert " --server 127.0.0.1:9171 produce orders hello\n" in welcome("[::]:8080", "0.0.0.0:9171")
