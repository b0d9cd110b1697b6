"""`goqueue storage` as a process of its own, and in this process."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from goqueue.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def goqueue(*arguments: object, stdin: int = subprocess.DEVNULL) -> Ran:
    """Run the real command, as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "goqueue", *map(str, arguments)],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def goqueue_here(*arguments: object) -> Ran:
    """The same in this process: for the many variants of what was once seen to work as a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(map(str, arguments)))
    return Ran(code, out.getvalue(), err.getvalue())
