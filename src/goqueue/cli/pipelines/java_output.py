"""Standard error of the Java that Spark runs in: shown from the moment that Spark has started.

What Java says while it starts (modules, logging profiles, log levels) is shown only if Spark does not start. Later one
thing is left out: while it plans a query, Spark hangs up on its Python processes as soon as it has their answer. Those
that flush a moment later print a traceback.
"""

import os
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator

__all__ = ["JavaOutput"]

MOST_LINES = 1000
READ_BYTES = 65_536
SHOW, FORGET = b"\0show\n", b"\0forget\n"
WITHIN_S = 5.0
HANG_UP = re.compile(rb"BrokenPipeError|ConnectionResetError")
IN_DAEMON = re.compile(rb'  File "[^"]*pyspark/daemon\.py", line \d+, in (manager|worker)$')
AROUND_IT = re.compile(rb"Traceback \(most recent call last\):$|    (code = |outfile\.| *\^)")


class JavaOutput:
    """`sink` is a file descriptor for Java. It is read in a thread for as long as Java has it open."""

    def __init__(self) -> None:
        source, self.sink = os.pipe()
        self._is_shown = threading.Event()
        threading.Thread(target=self._read, args=(source,), name="goqueue-java-output", daemon=True).start()

    def started(self) -> None:
        """What was said until now is forgotten."""
        self._switch(FORGET)

    def failed(self) -> None:
        """What was said until now is shown."""
        self._switch(SHOW)

    def _switch(self, mark: bytes) -> None:
        """In the pipe itself: what Java has said before lies in front of it."""
        os.write(self.sink, mark)
        self._is_shown.wait(WITHIN_S)
        os.close(self.sink)

    def _read(self, source: int) -> None:
        kept: deque[bytes] = deque(maxlen=MOST_LINES)
        for line in _without_hang_ups(_lines(source)):
            if self._is_shown.is_set():
                _show(line)
            elif line.endswith((SHOW, FORGET)):
                for one in kept if line.endswith(SHOW) else ():
                    _show(one)
                self._is_shown.set()
            else:
                kept.append(line)
        os.close(source)


def _lines(source: int) -> Iterator[bytes]:
    # No buffered file: Python would wait for its lock when it ends while this thread reads.
    rest = b""
    while data := os.read(source, READ_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


def _without_hang_ups(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines that may belong to such a traceback wait for the next: several processes may print theirs at once."""
    held: list[bytes] = []
    for line in lines:
        if IN_DAEMON.match(line) or AROUND_IT.match(line):
            held.append(line)
            continue
        if not (HANG_UP.match(line) and any(map(IN_DAEMON.match, held))):
            yield from held
            yield line
        held.clear()
    yield from held


def _show(line: bytes) -> None:
    sys.stderr.write(line.decode(errors="replace"))
    sys.stderr.flush()
