"""How tests start Spark: soon rather than quick in the long run, also where it has a process of its own."""

import sys
from collections.abc import MutableMapping
from pathlib import Path

__all__ = ["ARCHIVE", "JAVA", "PROPERTIES", "QUICK", "start_soon"]

PROPERTIES = str(Path(__file__).parent / "quick.conf")
"""For `spark-submit --properties-file`. A folder of settings would be on the class path, and no archive allows that."""
ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
"""By `class_archive`: Spark's classes as Java has them in memory. Missing, or of another Java, it is passed over."""
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
"""Compiling for speed takes longer than what is run here."""
JAVA = f"{QUICK} -XX:SharedArchiveFile={ARCHIVE}"


def start_soon(environment: MutableMapping[str, str]) -> None:
    """Every Spark that is started with these variables."""
    environment["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {PROPERTIES} pyspark-shell"
    environment["SPARK_SUBMIT_OPTS"] = JAVA
    environment["PYSPARK_PYTHON"] = str(Path(__file__).parent / "python-of-workers")
    environment["PYSPARK_DRIVER_PYTHON"] = environment["PYTHON_OF_TESTS"] = sys.executable
