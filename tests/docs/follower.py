"""Reader of a page of the documentation, who types its commands and runs its Python, beside one broker."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.behaviour.serving import Server
from tests.docs.data_folder import stopped_data_folder
from tests.docs.markdown import Block
from tests.spark.quick_java import start_soon

__all__ = ["Follower"]

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
WITHIN_S = 300.0
LOOK_EVERY_S = 0.02


class Follower:
    """The addresses of the page are replaced by those of the broker. All its commands are typed into one terminal.

    A reader whose `is_activated` is false has `.venv` in the folder and nothing of it on PATH, as after `make run`.
    """

    def __init__(self, folder: Path, server: Server, is_activated: bool = True) -> None:
        self._folder = folder
        self._server = server
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GOQUEUE_", "XDG_"))},
            "PATH": f"{BIN}:{plain_path()}" if is_activated else plain_path(),
            "HOME": str(folder),
            "GOQUEUE_SERVER": server.native,
            "GOQUEUE_HTTP": server.http,
            "GOQUEUE_REGISTRY": f"http://{server.http}/schemas",
            "DOCS_BROKER": server.native,
            "PYTHONPATH": f"{HERE / 'address'}{os.pathsep}{HERE.parents[1]}",
            "COLUMNS": "120",
        }
        start_soon(self._environment)
        self._kernel: subprocess.Popen[str] | None = None
        # Otherwise curl is content with any answer.
        (folder / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
        (folder / ".venv").symlink_to(BIN.parent)
        self._exported = folder / ".exported"
        self._exported.touch()

    def close(self) -> None:
        """Python ends when it is told nothing more, and Spark with it."""
        if self._kernel is None or self._kernel.stdin is None:
            return
        self._kernel.stdin.close()
        try:
            self._kernel.wait(WITHIN_S)
        finally:
            self._kernel.kill()
            if self._kernel.stdout is not None:
                self._kernel.stdout.close()
            self._kernel.wait()

    def follow(self, block: Block) -> None:
        for text in block.all("given"):
            self._give(text)
        printed = self._visible(block)
        for text in block.all("prints"):
            assert text in printed, f"{block.place} did not print {text!r}:\n{printed}"
        for text in block.all("after"):
            self._check(block, text)

    def _give(self, text: str) -> None:
        """What the page says is there before the reader begins."""
        folder, _, topic = text.partition(" ")
        target = self._folder / folder
        shutil.rmtree(target, ignore_errors=True)
        if topic:
            stopped_data_folder(target, topic, *(b'{"n": %d}' % number for number in range(3)))
        else:
            shutil.copytree(self._server.folder / "data" / target.name, target)
            for file in target.glob("*.open"):
                file.rename(file.with_suffix(""))

    def _check(self, block: Block, mark: str) -> None:
        language, _, text = mark.partition("\n")
        assert language in ("sh", "python"), f"{block.place}: say sh or python"
        if language == "sh":
            self._shell(block.place, text)
        else:
            self._python(block.place, text)

    def _visible(self, block: Block) -> str:
        until = block.mark("until")
        if block.language == "python":
            return self._python(block.place, block.text, until)
        lines = [line for line in block.text.splitlines() if line.strip() and not line.startswith("#")]
        if all(line.startswith("goqueue pipeline ") for line in lines):
            return "".join(self._pipeline(block.place, line) for line in lines)
        return self._shell(block.place, block.text, until, int(block.mark("exits") or 0))

    def _here(self, text: str) -> str:
        for host in ("127.0.0.1", "localhost"):
            for port, address in ((8080, self._server.http), (7171, self._server.native), (7172, self._server.grpc)):
                text = text.replace(f"{host}:{port}", address)
        return text

    # The shell.

    def _shell(self, place: str, text: str, until: str | None = None, code: int = 0) -> str:
        output = self._folder / "output.txt"
        with output.open("wb") as printed:
            process = subprocess.Popen(
                ["bash", "-e", "-u", "-o", "pipefail", "-c", f"{self._terminal()}\n{self._here(text)}"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            if until is not None:
                self._wait_for(place, until, output, process)
                os.killpg(process.pid, signal.SIGINT)
            found = process.wait(WITHIN_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said = output.read_text(errors="replace")
        allowed = (0, 130, -signal.SIGINT) if until is not None else (code,)
        assert found in allowed, f"{place} ended with {found}:\n{text}\n{said}"
        return said

    def _terminal(self) -> str:
        """What one block exports, the next one has."""
        file = shlex.quote(str(self._exported))
        return f"source {file}; trap 'export -p >{file}' EXIT"

    def _wait_for(self, place: str, until: str, output: Path, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + WITHIN_S
        while until not in output.read_text(errors="replace"):
            assert process.poll() is None, f"{place} ended before {until!r}:\n{output.read_text()}"
            assert time.monotonic() < deadline, f"{place} never printed {until!r}:\n{output.read_text()}"
            time.sleep(LOOK_EVERY_S)

    # Python.

    def _python(self, place: str, text: str, until: str | None = None) -> str:
        return self._ask(place, {"code": self._here(text), "place": place, "until": until})

    def _pipeline(self, place: str, line: str) -> str:
        return self._ask(place, {"command": shlex.split(self._here(line), comments=True)})

    def _ask(self, place: str, piece: dict[str, object]) -> str:
        if self._kernel is None:
            with (self._folder / "python.log").open("ab") as log:
                self._kernel = subprocess.Popen(
                    [sys.executable, str(HERE / "kernel.py")],
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        assert self._kernel.stdin is not None and self._kernel.stdout is not None
        self._kernel.stdin.write(json.dumps(piece) + "\n")
        self._kernel.stdin.flush()
        line = self._kernel.stdout.readline()
        assert line, f"{place}: Python is gone:\n{(self._folder / 'python.log').read_text()}"
        answer = json.loads(line)
        assert answer["failure"] is None, f"{place}:\n{piece}\n{answer['printed']}\n{answer['failure']}"
        return str(answer["printed"])


def plain_path() -> str:
    """PATH without any folder in which there is `goqueue`."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / "goqueue").exists())
