"""What every pipeline is told: where Spark runs and with which settings; a session, with progress and plain errors."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.pipelines.java_output import JavaOutput
from goqueue.cli.pipelines.task_progress import task_progress
from goqueue.errors import GoQueueError, InvalidRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DEFAULT_MASTER", "ConfOption", "MasterOption", "running"]

DEFAULT_MASTER = "local[*]"
LOG_LEVEL = "spark.log.level"
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
    """A session for the block, which shows its progress; errors come out as one line."""
    settings = dict(map(_setting, conf or ()))
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        raise InvalidRequest("Spark is not installed", hint=INSTALL_SPARK) from None
    from py4j.protocol import Py4JError

    from goqueue.spark import reason
    from goqueue.spark.watching import watched

    _hush()
    with task_progress(name) as progress:
        try:
            spark = _open(name, master, settings)
            try:
                progress.started()
                with watched(spark, progress.tell):
                    yield spark
            finally:
                spark.stop()
        except (PySparkException, Py4JError) as error:
            raise PipelineFailed(reason(error)) from None


def _open(name: str, master: str, settings: dict[str, str]) -> "SparkSession":
    from goqueue.spark import open_session

    if LOG_LEVEL in settings:
        # All of it is wanted.
        return open_session(f"goqueue {name}", master=master, settings=settings)
    said = JavaOutput()
    try:
        spark = open_session(f"goqueue {name}", master=master, settings=settings, java_errors=said.sink)
        spark.sparkContext.setLogLevel("ERROR")
    except BaseException:
        said.failed()
        raise
    said.started()
    return spark


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
