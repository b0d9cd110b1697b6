"""A session of Spark that knows the format `goqueue`, for those who do not bring one of their own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from goqueue.errors import InvalidRequest
from goqueue.spark.data_source import GoQueueDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_java", "open_session", "register"]

OLDEST_JAVA = 17
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A driver killed while it notes its very first batch leaves a temporary file, and Spark would then ask for a human.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
LOCAL_SETTINGS = {
    "spark.python.daemon.module": "goqueue.spark.daemon",
    # Rows go to Java through such a socket, which takes a sixth less processor time than TCP does.
    "spark.python.unix.domain.socket.enabled": "true",
    # A laptop's name may lead nowhere, or to an interface that is down.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}
FILTERS = "spark.sql.python.filterPushdown.enabled"
INSTALL_JAVA = "install it (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME"


def register(spark: "SparkSession") -> None:
    """Once for each session; from then on it knows the format `goqueue`, and lets it have filters."""
    spark.dataSource.register(GoQueueDataSource)
    spark.conf.set(FILTERS, "true")


def open_session(
    name: str,
    *,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    java_errors: int | None = None,
) -> "SparkSession":
    """The session there is, or a new one. Under `spark-submit` its settings count, `master` too.

    `java_errors` is a file descriptor: the standard error of Java, if this starts it.
    """
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        check_java()
    # Python workers of a session on this machine have to find this installation.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    is_local = master.startswith("local") and not submitted
    if is_local:
        # Or Spark warns of every name of this machine that leads to no network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = {
        **SETTINGS,
        **(LOCAL_SETTINGS if is_local else {}),
        **({} if submitted else {"spark.master": master}),
        **(settings or {}),
    }
    if java_errors is not None and not submitted:
        _start_java(chosen, java_errors)
    for setting, value in chosen.items():
        builder = builder.config(setting, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def _start_java(settings: Mapping[str, str], errors: int) -> None:
    """As the first session does, unless it runs already."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        SparkContext._ensure_initialized(gateway=launch_gateway(conf, {"stderr": errors}))  # type: ignore[no-untyped-call]


def check_java() -> int:
    """The version of Java that Spark will find."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None:
        raise InvalidRequest("Spark needs Java, and there is none", hint=f"{INSTALL_JAVA}; {OLDEST_JAVA} or later")
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        raise InvalidRequest(f"{program} cannot be started: {error.strerror}", hint=INSTALL_JAVA) from None
    found = re.search(r'version "(\d+)', said)
    version = int(found[1]) if found else 0
    if version < OLDEST_JAVA:
        raise InvalidRequest(
            f"Spark needs Java {OLDEST_JAVA} or later, and {program} is {version or 'of an unknown version'}",
            hint=INSTALL_JAVA,
        )
    return version
