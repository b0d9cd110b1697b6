"""A walk over the command line: its commands, one step of a story, and which options no story uses."""

import json
import re
import shlex
from collections.abc import Iterable
from string import Template
from typing import Any, NamedTuple

from goqueue.cli.connection import is_address
from goqueue.cli.frame import NOUNS, load
from scripts.cli_reference import commands

__all__ = ["COMMANDS", "Step", "command_of", "options_left"]

COMMANDS: dict[str, Any] = {
    " ".join(words): command for name in NOUNS for words, command in commands(load(name), (name,))
}


class Step(NamedTuple):
    """A command, with $names for what came before; what it prints; and what is kept of its JSON under which name.

    One that goes on is interrupted when there is a file of the pattern `until`.
    """

    text: str
    prints: str = ""
    keeps: dict[str, str] = {}  # noqa: RUF012
    code: int = 0
    until: str = ""

    def words(self, known: dict[str, str]) -> list[str]:
        return [Template(word).safe_substitute(known) for word in shlex.split(self.text)]

    def kept(self, output: str) -> dict[str, str]:
        if not self.keeps:
            return {}
        answer = json.loads(output)
        return {name: str(_at(answer, path)) for name, path in self.keeps.items()}


def _at(answer: Any, path: str) -> Any:
    for part in path.split("."):
        answer = answer[int(part) if re.fullmatch(r"\d+", part) else part]
    return answer


def command_of(step: Step) -> str:
    first, second = (step.text + " ").split()[:2] if " " in step.text else (step.text, "")
    return f"{first} {second}" if f"{first} {second}" in COMMANDS else first


def options_left(name: str, steps: Iterable[Step]) -> list[str]:
    """Those that no step uses; where the broker is can be said of every command in the same way."""
    used = {word.partition("=")[0] for step in steps for word in step.words({}) if word.startswith("-")}
    options = [one for one in COMMANDS[name].params if one.param_type_name == "option"]
    return [
        one.opts[0]
        for one in options
        if not used & {*one.opts, *one.secondary_opts} and not is_address(one) and one.name != "context"
    ]
