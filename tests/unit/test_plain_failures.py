import os

import pytest

from goqueue.errors import UnknownTopic
from goqueue.spark.failures import HIDE_CALLS, plainly


@plainly
def fail():
    raise UnknownTopic("there is no topic orders", hint="create it")


@pytest.mark.parametrize(("runs_in", "hides"), [("PYTHON_WORKER", "1"), (None, None)])
def test_calls_are_hidden_by_the_workers_of_spark_and_by_no_program_of_a_user(monkeypatch, runs_in, hides):
    monkeypatch.delenv("SPARK_PYTHON_RUNTIME", raising=False)
    # Set and removed again, so that it is put back whatever the function does.
    monkeypatch.setenv(HIDE_CALLS, "")
    monkeypatch.delenv(HIDE_CALLS)
    if runs_in is not None:
        monkeypatch.setenv("SPARK_PYTHON_RUNTIME", runs_in)
    with pytest.raises(UnknownTopic, match="there is no topic orders; create it"):
        fail()
    assert os.environ.get(HIDE_CALLS) == hides
