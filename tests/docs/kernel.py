"""Python process that runs pieces of code, given as lines of JSON, in one namespace, and answers how each one ended.

As in a notebook, `await` is allowed outside of functions. Pipelines are run in it as well.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import signal
import sys
import threading
import time
import traceback

LOOK_EVERY_S = 0.02


def holds(namespace: dict[str, object], until: str) -> bool:
    try:
        return bool(eval(until, namespace))
    except NameError:
        return False


async def watched(work, namespace, until: str | None) -> None:
    task = asyncio.ensure_future(work)
    while until is not None and not task.done():
        if holds(namespace, until):
            task.cancel()
            break
        await asyncio.sleep(LOOK_EVERY_S)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def interrupt_when(namespace, until: str, is_over: threading.Event) -> None:
    while not is_over.is_set():
        if holds(namespace, until):
            os.kill(os.getpid(), signal.SIGINT)  # to the main thread, as Ctrl-C
            return
        time.sleep(LOOK_EVERY_S)


def run(runner: asyncio.Runner, namespace: dict[str, object], code: str, place: str, until: str | None) -> None:
    tree = compile(code, place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if tree.co_flags & inspect.CO_COROUTINE:
        runner.run(watched(eval(tree, namespace), namespace, until))
        return
    is_over = threading.Event()
    if until is not None:
        threading.Thread(target=interrupt_when, args=(namespace, until, is_over), daemon=True).start()
    try:
        with contextlib.suppress(KeyboardInterrupt) if until is not None else contextlib.nullcontext():
            exec(tree, namespace)
    finally:
        is_over.set()


def command(words: list[str]) -> None:
    """`goqueue pipeline …` here and now: a session of Spark for each of them would take longer than its work."""
    from pyspark.sql import SparkSession

    from goqueue.cli.main import main as goqueue

    SparkSession.stop = lambda self: None  # type: ignore[method-assign]
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = goqueue(words[1:])
    assert code == 0, f"{' '.join(words)} ended with {code}:\n{said.getvalue()}"


def main() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # Java prints as well: that is for the log, not for those who read the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    namespace: dict[str, object] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            piece = json.loads(line)
            printed = io.StringIO()
            failure = None
            with contextlib.redirect_stdout(printed):
                try:
                    if "command" in piece:
                        command(piece["command"])
                    else:
                        run(runner, namespace, piece["code"], piece["place"], piece["until"])
                except BaseException:
                    failure = traceback.format_exc()
            answers.write(json.dumps({"printed": printed.getvalue(), "failure": failure}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
