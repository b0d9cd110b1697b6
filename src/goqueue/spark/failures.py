"""What went wrong, in one line that says what to do: Spark shows of an error no more than its text."""

import inspect
import os
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from goqueue.errors import GoQueueError

__all__ = ["plainly", "reason"]

Function = TypeVar("Function", bound=Callable[..., Any])

HIDE_CALLS = "SPARK_HIDE_TRACEBACK"
"""What a Python worker looks at when it tells Spark of an error."""
RUNS_IN, WORKER = "SPARK_PYTHON_RUNTIME", "PYTHON_WORKER"
"""How Spark marks the processes that it starts for Python."""
_OURS = re.compile(r"goqueue\.errors\.\w+: (?P<said>[^\n]*)")
_ANYBODY = re.compile(r"^[\w.]+(?:Error|Exception): (?P<said>[^\n]*)", re.MULTILINE)


def plainly(function: Function) -> Function:
    """For what Spark calls: errors keep their kind, say their hint, and come without the calls that led to them."""
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            try:
                yield from function(*args, **kwargs)
            except GoQueueError as error:
                raise _told(error) from None

        return cast("Function", generate)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except GoQueueError as error:
            raise _told(error) from None

    return cast("Function", call)


def _told(error: GoQueueError) -> GoQueueError:
    # There is no other way to tell a worker, which ends after an error; those of a user's own functions keep their
    # calls. A driver, or a program that calls this without Spark, goes on, and its environment is not ours.
    if os.environ.get(RUNS_IN) == WORKER:
        os.environ[HIDE_CALLS] = "1"
    if error.hint and error.args == (error.message,):
        error.args = (f"{error.message}; {error.hint}",)
    return error.with_traceback(None)


def reason(error: BaseException) -> str:
    """Why a job failed: Spark wraps what was said in stacks of Python and Java."""
    text = str(error).strip()
    for pattern in (_OURS, _ANYBODY):
        found = pattern.findall(text)
        if found:
            return str(found[-1])
    return text.splitlines()[0] if text else type(error).__name__
