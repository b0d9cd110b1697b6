"""What a pipeline shows on standard error where that is no terminal, and what of Java's output it passes on."""

import os
import sys
import threading

from goqueue.cli.pipelines.java_output import JavaOutput
from goqueue.cli.pipelines.task_progress import task_progress

WITHIN_S = 20


class Lines:
    """A file that tells when it has a line like that."""

    def __init__(self):
        self.text, self._changed = "", threading.Condition()

    def isatty(self):
        return False

    def write(self, text):
        with self._changed:
            self.text += text
            self._changed.notify_all()

    def flush(self):
        pass

    def wait_for(self, part):
        with self._changed:
            assert self._changed.wait_for(lambda: part in self.text, WITHIN_S), self.text


def listened_to(monkeypatch):
    """Standard error, from here on: pytest puts its own in place before each test."""
    errors = Lines()
    monkeypatch.setattr(sys, "stderr", errors)
    return errors


def test_off_a_terminal_there_is_a_line_now_and_then_that_says_how_far_the_job_is(monkeypatch):
    errors = listened_to(monkeypatch)
    with task_progress("replay", every_s=0.01) as progress:
        errors.wait_for("replay: Spark is starting, ")
        progress.started()
        errors.wait_for("replay: planning, ")
        progress.tell(1200, 4800)
        errors.wait_for("replay: 1,200 of 4,800 tasks, ")
    assert "?" not in errors.text


def test_a_job_that_is_done_at_once_says_nothing(monkeypatch):
    errors = listened_to(monkeypatch)
    with task_progress("replay") as progress:
        progress.started()
    assert errors.text == ""


def test_what_java_says_while_it_starts_is_shown_only_if_it_does_not_start(monkeypatch):
    errors = listened_to(monkeypatch)
    for ends in (JavaOutput.started, JavaOutput.failed):
        output = JavaOutput()
        java = os.dup(output.sink)
        os.write(java, b"WARNING: Using incubator modules\n")
        ends(output)
        assert ("incubator" in errors.text) == (ends is JavaOutput.failed)
        os.write(java, b"ERROR after it has ")
        os.write(java, ends.__name__.encode() + b"\n")
        errors.wait_for(f"ERROR after it has {ends.__name__}\n")
        os.close(java)


HANG_UP = b"""Traceback (most recent call last):
  File "/x/pyspark.zip/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/x/pyspark.zip/pyspark/daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe
"""


def test_a_process_that_spark_hangs_up_on_leaves_no_traceback_and_any_other_failure_does(monkeypatch):
    errors = listened_to(monkeypatch)
    output = JavaOutput()
    java = os.dup(output.sink)
    output.started()
    other = HANG_UP.replace(b"BrokenPipeError: [Errno 32] Broken pipe", b"MemoryError")
    ours = HANG_UP.replace(b"pyspark/daemon.py", b"jobs/mine.py")
    os.write(java, HANG_UP + HANG_UP + other + ours + b"the end\n")
    errors.wait_for("the end\n")
    os.close(java)
    assert errors.text == (other + ours).decode() + "the end\n"
