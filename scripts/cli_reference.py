"""Writes docs/reference/cli.md from the commands that there are."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from goqueue.cli.connection import is_address
from goqueue.cli.failures import CODES
from goqueue.cli.frame import NOUNS, load
from goqueue.cli.output import OUTPUT_HELP
from scripts.references import DOCS, code, one_line, table

__all__ = ["PAGE", "commands", "page"]

PAGE = DOCS / "reference" / "cli.md"
HEAD = """# The command line

Every command with its options. This page is made from the code (`make references`); `goqueue NOUN VERB --help` says the
same. How commands are used together is described in [the guide](../guides/command-line.md).

## In common

- **For programs**: `-o json` or `-o yaml` instead of tables. Fields of JSON are stable: new ones may come, none goes.
  Answers go to standard output, everything else to standard error.
- **Errors** are one line, `error: …`, often with a second, `hint: …`, which says what to do.
- **Durations** are written 500ms, 90s, 15m, 12h, 7d; **sizes** 512KiB, 64MiB, 10GiB; `none` is no limit.
- **Times** are written 2025-12-31T23:59:59Z, or as an age: 15m.
- What destroys something asks first; `--yes` answers in advance. Where nobody can be asked, it is refused without
  `--yes`.
- **Colours** are for terminals only, and not with the variable `NO_COLOR`.
- **Progress** of what takes longer than a moment is shown on a terminal, on standard error.

## Which broker

Every command that talks to a broker takes `--server HOST:PORT` (its native address), `--http HOST:PORT` and
`--context NAME`, and uses what it needs of them. For each address by itself the first of these counts:

1. the option `--server` or `--http` (of `goqueue schema` also `--registry`, which may be a URL)
2. the option `--context`, behind `goqueue` or behind the verb
3. the variables `GOQUEUE_SERVER` and `GOQUEUE_HTTP` (of `goqueue schema` also `GOQUEUE_REGISTRY`)
4. the context of the variable `GOQUEUE_CONTEXT`
5. the context that `goqueue config use-context` chose
6. 127.0.0.1:7171 and 127.0.0.1:8080

Contexts are kept in the file that `GOQUEUE_CONFIG` names, or in `goqueue/config.toml` below `XDG_CONFIG_HOME`
(`~/.config`), which only its owner may read:

```toml
current = "staging"

[contexts."staging"]
server = "broker.example:7171"
http = "broker.example:8080"
```

## Exit codes

"""


def page() -> str:
    lines = [HEAD.rstrip("\n"), ""]
    lines += table(("Exit code", "Meaning"), ((code(number), text) for number, text in CODES.items()))
    lines += ["## Commands", ""]
    lines += table(
        ("Command", "What it does"),
        ((f"[`goqueue {name}`](#goqueue-{name})", noun.help) for name, noun in NOUNS.items()),
    )
    lines += [
        "Options that are not listed with a command: `--server`, `--http` and `--context` where it talks to a broker,",
        "`--output` (`-o`) where it prints data, and `--help`.",
        "",
    ]
    for name in NOUNS:
        below = list(commands(load(name), (name,)))
        if below != [((name,), below[0][1])]:
            lines += [f"## goqueue {name}", "", NOUNS[name].help, ""]
        for words, command in below:
            lines += _command(words, command)
    return "\n".join(lines).rstrip("\n") + "\n"


def commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, by the words before its arguments."""
    below = getattr(command, "commands", None)
    if not below:
        yield words, command
        return
    for name, sub in below.items():
        yield from commands(sub, (*words, name))


def _command(words: tuple[str, ...], command: Any) -> list[str]:
    text, example = _help(command)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(["goqueue", *words, *(_argument(one) for one in arguments), "[OPTIONS]"])
    lines = [f"{'##' if len(words) == 1 else '###'} goqueue {' '.join(words)}", "", f"`{usage}`", "", text, ""]
    context = typer.Context(command)
    records = [one.get_help_record(context) for one in command.params if not _is_common(one)]
    rows = [(code(record[0]), record[1].replace("  [", " [")) for record in records if record]
    if rows:
        lines += table(("Argument or option", "Meaning"), rows)
    lines += ["```text", example, "```", ""]
    return lines


def _is_common(parameter: Any) -> bool:
    """What is said at the top once for all commands."""
    help_text = getattr(parameter, "help", None)
    return is_address(parameter) or parameter.name == "context" or help_text == OUTPUT_HELP


def _help(command: Any) -> tuple[str, str]:
    """Paragraphs, and the example that every command has."""
    text = inspect.cleandoc(command.help or "")
    before, _, example = text.partition("Example:")
    paragraphs = [one_line(part) for part in before.split("\n\n") if part.strip()]
    return "\n\n".join(re.sub(r"([<>])", r"\\\1", part) for part in paragraphs), one_line(example)


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper()
    return name if argument.required else f"[{name}]"
