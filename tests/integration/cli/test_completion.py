"""Completion as a real bash asks for it."""

import os
import shutil
import subprocess
import sys
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


class Bash:
    """A bash that has the command on its path."""

    def __init__(self, folder: Path, **environment: str) -> None:
        program = folder / "goqueue"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m goqueue "$@"\n')
        program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GOQUEUE_")}
        self._environment = {**kept, "PATH": f"{folder}:{os.environ['PATH']}", **environment}

    def completed(self, line: str) -> list[str]:
        words = line.split(" ")
        script = ASK.format(words=" ".join(f"'{word}'" for word in words), at=len(words) - 1)
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            env=self._environment,
            timeout=WITHIN_S,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()


pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


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


def test_without_a_broker_bash_gets_no_names_and_no_noise(tmp_path: Path) -> None:
    bash = Bash(tmp_path, GOQUEUE_SERVER="127.0.0.1:1", GOQUEUE_CONFIG=str(tmp_path / "none.toml"))
    assert bash.completed("goqueue topic describe t") == []
    (tmp_path / "none.toml").write_text("nonsense")
    assert Bash(tmp_path, GOQUEUE_CONFIG=str(tmp_path / "none.toml")).completed("goqueue group describe g") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(goqueue: Cli, shell: str) -> None:
    assert "_GOQUEUE_COMPLETE" in goqueue("completion", shell)
    assert goqueue.run("completion", "tcsh").code == 2
