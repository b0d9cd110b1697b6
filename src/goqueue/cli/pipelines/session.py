"""What every pipeline is told: where Spark runs and with which settings; a session, with progress and plain errors."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.errors import GoQueueError, InvalidRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DEFAULT_MASTER", "ConfOption", "MasterOption", "running"]

DEFAULT_MASTER = "local[*]"
INSTALL_SPARK = "install it with `pip install 'goqueue[spark]'`"

MasterOption = Annotated[
    str,
    typer.Option(
        "--master",
        envvar="GOQUEUE_SPARK_MASTER",
        metavar="URL",
        help="Where Spark runs: local[*], spark://HOST:PORT, yarn, k8s://….",
    ),
]
ConfOption = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be given many times."),
]


class PipelineFailed(GoQueueError):
    """Spark gave up on a job."""

    code = "pipeline_failed"
    default_hint = "the same command may be run again; --conf spark.log.level=INFO shows what Spark does"


@contextmanager
def running(name: str, master: str, conf: list[str] | None) -> Iterator["SparkSession"]:
    """A session for the block; errors come out as one line, and a bar shows the tasks on a terminal."""
    settings = dict(map(_setting, conf or ()))
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        raise InvalidRequest("Spark is not installed", hint=INSTALL_SPARK) from None
    from py4j.protocol import Py4JError

    from goqueue.spark import open_session, reason
    from goqueue.spark.watching import watched

    _hush()
    spark = open_session(f"goqueue {name}", master=master, settings={"spark.log.level": "ERROR", **settings})
    try:
        with _bar(name) as tell, watched(spark, tell):
            yield spark
    except (PySparkException, Py4JError) as error:
        raise PipelineFailed(reason(error)) from None
    finally:
        spark.stop()


def _hush() -> None:
    """PySpark logs every query that it refuses with its Java stack, besides raising it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidRequest(f"--conf {text}", hint="write it as NAME=VALUE, such as spark.executor.memory=2g")
    return name, value


@contextmanager
def _bar(title: str) -> Iterator[Callable[[int, int], None]]:
    if not sys.stderr.isatty():
        yield lambda _done, _known: None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("tasks"),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, known: bars.update(task, completed=done, total=known)
