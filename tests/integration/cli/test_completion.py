"""Completion as real shells ask for it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.cli.driver import Cli

WITHIN_S = 120
ASK = """
source <(goqueue completion bash)
COMP_WORDS=({words}); COMP_CWORD={at}
_goqueue_completion goqueue
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def environment_with_goqueue(folder: Path, **environment: str) -> dict[str, str]:
    """Of a shell that has the command on its path."""
    program = folder / "goqueue"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m goqueue "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOQUEUE_")}
    return {**kept, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), **environment}


def said_by(*command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=WITHIN_S, check=True)
    assert done.stderr == ""
    return done.stdout


class Bash:
    def __init__(self, folder: Path, **environment: str) -> None:
        self._environment = environment_with_goqueue(folder, **environment)

    def completed(self, line: str) -> list[str]:
        words = line.split(" ")
        script = ASK.format(words=" ".join(f"'{word}'" for word in words), at=len(words) - 1)
        return said_by("bash", "--norc", "-c", script, environment=self._environment).split()


class Zsh:
    """One at a terminal: zsh completes nowhere else."""

    def __init__(self, folder: Path) -> None:
        self._terminal, inside = pty.openpty()
        environment = environment_with_goqueue(folder, TERM="dumb")
        self._process = subprocess.Popen(
            ["zsh", "-f", "-i"], stdin=inside, stdout=inside, stderr=inside, env=environment, start_new_session=True
        )
        os.close(inside)

    def type(self, keys: str, *, until: str) -> None:
        os.write(self._terminal, keys.encode())
        shown, deadline = "", time.monotonic() + WITHIN_S
        while until not in shown:
            assert select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))[0], shown
            shown += os.read(self._terminal, 4096).decode(errors="replace")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)


needs_bash, needs_zsh, needs_fish = (
    pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell}") for shell in ("bash", "zsh", "fish")
)


@needs_bash
def test_bash_completes_nouns_verbs_options_and_names_of_the_running_broker(
    goqueue: Cli, topic: str, tmp_path: Path
) -> None:
    contexts = tmp_path / "contexts.toml"
    goqueue.run("config", "set-context", "staging", "--server", goqueue.server, env={"GOQUEUE_CONFIG": str(contexts)})
    bash = Bash(tmp_path, GOQUEUE_CONFIG=str(contexts))
    assert bash.completed("goqueue sched") == ["schedule"]
    assert sorted(bash.completed("goqueue group re")) == ["rebalances", "reset-offsets", "resume"]
    assert "--retention-bytes" in bash.completed("goqueue topic create --")
    assert bash.completed("goqueue config use-context st") == ["staging"]
    assert topic in bash.completed("goqueue topic describe topic-")
    assert topic in bash.completed(f"goqueue trace journey --server {goqueue.server} topic-")


@needs_bash
def test_without_a_broker_bash_gets_no_names_and_no_noise(tmp_path: Path) -> None:
    bash = Bash(tmp_path, GOQUEUE_SERVER="127.0.0.1:1", GOQUEUE_CONFIG=str(tmp_path / "none.toml"))
    assert bash.completed("goqueue topic describe t") == []
    (tmp_path / "none.toml").write_text("nonsense")
    assert Bash(tmp_path, GOQUEUE_CONFIG=str(tmp_path / "none.toml")).completed("goqueue group describe g") == []


@needs_zsh
def test_zsh_completes_a_noun_and_a_verb(tmp_path: Path) -> None:
    zsh = Zsh(tmp_path)
    try:
        load = "autoload -Uz compinit && compinit -u && source <(goqueue completion zsh) && echo load''ed\n"
        zsh.type(load, until="loaded")
        zsh.type("goqueue sched\t", until="goqueue schedule")
        zsh.type("cre\t", until="create")
    finally:
        zsh.close()


@needs_fish
def test_fish_completes_nouns_verbs_options_and_names_of_the_running_broker(
    goqueue: Cli, topic: str, tmp_path: Path
) -> None:
    environment = environment_with_goqueue(tmp_path, GOQUEUE_SERVER=goqueue.server)

    def completed(line: str) -> list[str]:
        script = f"goqueue completion fish | source; complete -C '{line}'"
        shown = said_by("fish", "--no-config", "-c", script, environment=environment)
        return [one.split("\t")[0] for one in shown.splitlines()]

    assert completed("goqueue sched") == ["schedule"]
    assert sorted(completed("goqueue group re")) == ["rebalances", "reset-offsets", "resume"]
    assert "--retention-bytes" in completed("goqueue topic create --")
    assert topic in completed("goqueue topic describe topic-")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(goqueue: Cli, shell: str) -> None:
    assert "_GOQUEUE_COMPLETE" in goqueue("completion", shell)
    assert goqueue.run("completion", "tcsh").code == 2
